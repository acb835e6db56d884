"""A publication from end to end, once or as the next of a series."""
