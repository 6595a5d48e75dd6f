"""What figures share: style, frame, cells, markers, axes."""
