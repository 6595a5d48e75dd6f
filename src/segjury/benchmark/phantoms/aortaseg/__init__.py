"""A synthetic AortaSeg benchmark."""
