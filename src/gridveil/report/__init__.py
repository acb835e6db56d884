"""One self-contained page about a release, to be mailed to whoever plans with it."""
