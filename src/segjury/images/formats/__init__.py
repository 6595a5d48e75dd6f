"""Image file formats, one file each; all decode what they read here, and trust no header."""
