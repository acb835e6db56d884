"""What everything shares: windows, estimates, values, errors, progress and safe files. All of it is public."""
