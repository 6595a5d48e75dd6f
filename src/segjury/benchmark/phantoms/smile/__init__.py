"""A synthetic SMILE-UHURA benchmark."""
