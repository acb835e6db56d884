"""Comparing mechanisms on data whose truth is known. Nothing here is private."""
