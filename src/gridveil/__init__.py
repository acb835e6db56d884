"""Publish household electricity consumption over space and time under differential privacy."""
