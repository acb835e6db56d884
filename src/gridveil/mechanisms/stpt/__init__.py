"""STPT and its parts. Importing this does not import torch."""

from gridveil.mechanisms.stpt.mechanism import STPT_PAPER, Stpt

__all__ = ["STPT_PAPER", "Stpt"]
