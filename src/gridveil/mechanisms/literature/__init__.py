"""Methods of the literature, one file each, and what they share."""
