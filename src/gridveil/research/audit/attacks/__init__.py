"""The attacks that break the utilities' count rules, and the same attackers at gridveil's releases."""
