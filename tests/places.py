"""Where the files of the project are that tests look at."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GOLDEN = ROOT / "tests" / "golden"
PUBLISHED = ROOT / "tests" / "published"
