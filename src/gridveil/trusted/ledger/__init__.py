"""The ledger: what has been spent on a population of households, kept beyond any one process, and never overspent."""
