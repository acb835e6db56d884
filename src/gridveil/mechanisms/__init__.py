"""Plans of measurements and reconstructions. None of this is trusted with true values."""
