"""What the terminal shows: lines, bars, tables, and the log of a run."""
