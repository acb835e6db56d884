"""Whether a release, or a series, is what it says it is."""
