"""Where others meet the library: notebooks."""
