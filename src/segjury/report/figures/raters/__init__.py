"""Figures of the raters, and of methods beside them."""
