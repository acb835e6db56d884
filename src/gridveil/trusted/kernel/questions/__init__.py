"""What can be asked of the kernel: each question with its sensitivity and the argument for it. No data here."""
