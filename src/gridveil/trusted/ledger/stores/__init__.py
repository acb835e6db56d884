"""Where a ledger's entries are kept: one file, or a database server."""
