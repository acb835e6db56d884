"""Opening a release, and asking it for the consumption of a region over a period."""
