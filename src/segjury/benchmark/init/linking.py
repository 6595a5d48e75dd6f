"""Links to masks in segjury's own layout, where they lie as no pattern can say."""

from __future__ import annotations

from pathlib import Path

from segjury.benchmark.case_links import check_empty
from segjury.benchmark.init.layouts import ReferenceLayout
from segjury.benchmark.names import place_in
from segjury.runtime.paths import make_folder, resolved


def link_reference(layout: ReferenceLayout, out: Path) -> Path:
    """Make `out` a reference of links, `<case>/annotation_<rater>`, and return it."""
    check_empty(out)
    for case, of_case in sorted(layout.marks.items()):
        folder = place_in(out, case, "case")
        make_folder(folder)
        for rater, image in of_case.items():
            name = f"annotation_{rater}" if rater else "annotation"
            (folder / f"{name}{image.end}").symlink_to(resolved(image.below(layout.folder)))
    return out
