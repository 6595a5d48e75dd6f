"""A synthetic CURVAS 2024 benchmark."""
