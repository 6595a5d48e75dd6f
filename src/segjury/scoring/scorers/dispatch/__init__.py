"""Calling the scorer of a metric: for each label or structure, and for the case."""
