"""One self-contained page about a release, to be mailed to people who plan with it."""
