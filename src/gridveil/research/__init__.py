"""What a release is worth: workloads, errors, invented towns and the pictures that show them."""
