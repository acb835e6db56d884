"""Inference that several mechanisms share: post-processing of noisy answers."""
