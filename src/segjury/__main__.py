"""`python -m segjury` is `segjury`."""

from segjury.cli import main

if __name__ == "__main__":
    main()
