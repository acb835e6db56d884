"""Loaders: official distributions of smart-meter readings, turned into the tables that gridveil reads."""
