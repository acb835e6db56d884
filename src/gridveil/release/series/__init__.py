"""Releases that follow each other in time, read as one."""
