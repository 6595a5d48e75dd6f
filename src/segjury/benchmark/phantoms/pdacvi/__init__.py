"""A synthetic CURVAS-PDACVI benchmark."""
