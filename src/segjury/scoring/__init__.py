"""A prediction beside a reference becomes rows: of one case, and of a whole run."""
