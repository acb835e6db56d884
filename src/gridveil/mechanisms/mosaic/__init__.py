"""Mosaic and its parts."""
