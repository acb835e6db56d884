"""What an engine is: its protocol, the tables it opens, and the engines by name."""
