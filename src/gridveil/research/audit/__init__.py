"""Attacks on the claim: canary households, many runs of the real code, and how much epsilon an attacker gets out."""
