"""The HTTP API and the map, for people who receive a release."""
