"""The paper's evaluation (its section 5), all of it, and what this project adds to it. Nothing here is private."""
