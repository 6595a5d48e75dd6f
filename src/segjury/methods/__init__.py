"""What makes predictions, or changes them."""
