"""The kernel, which holds the source, and what it rests on: bounds, questions, accounts and noise."""
