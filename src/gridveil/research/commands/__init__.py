"""The commands of research; they register themselves with the command line."""
