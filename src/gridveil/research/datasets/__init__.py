"""Data whose truth is known, to compare mechanisms on."""
