"""The trusted rooms: bounds, budget, noise, accounts and the kernel that holds the true data."""
