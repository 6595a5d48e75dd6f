"""What pictures of a case share: its images, slices, tiles and their layout."""
