"""A benchmark on disk: its folders, table of cases and files, and a case in memory."""
