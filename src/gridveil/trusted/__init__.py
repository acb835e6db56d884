"""Everything that the guarantee rests on: kernel, source, engines and ledger. PROOF.md has the argument."""
