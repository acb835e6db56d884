"""Spark, on this machine or a cluster."""
