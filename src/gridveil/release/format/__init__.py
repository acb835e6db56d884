"""The files of a release: values, label, README and digests, written and read."""
