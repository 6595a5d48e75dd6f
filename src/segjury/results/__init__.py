"""The long table of scores, and what lies beside it."""
