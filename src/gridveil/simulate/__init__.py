"""Invented towns and rehearsals: what `plan` and `demo` use. Nothing here is private."""
