"""How sure a ranking is, tests between methods, and agreement; all from arrays of scores."""
