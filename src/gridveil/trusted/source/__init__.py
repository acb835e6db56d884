"""From tables of readings and households to the source that only the kernel may ask."""
