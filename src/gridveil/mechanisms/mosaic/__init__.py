"""Mosaic: the default mechanism, and its parts."""

from gridveil.mechanisms.mosaic.mechanism import Mosaic

__all__ = ["Mosaic"]
