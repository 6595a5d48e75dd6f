"""What a report says of the files that were scored, from the definition in `run.json`."""

from __future__ import annotations

from segjury.protocols import load_protocol
from segjury.report.provenance import _on_files


def said(**reference):
    definition = load_protocol("kits-2023").model_dump()
    return list(_on_files({**definition, "reference": {**definition["reference"], **reference}}))


def test_regions_are_told_with_their_numbers():
    (told,) = said(labels={"kidney": [1, 2], "tumour": 2})
    assert told.startswith(
        "Labels are made up of the numbers in the files: kidney 1 and 2; tumour 2."
    )
    assert said(labels={"kidney": 1, "tumour": 2}) == []


def test_ignored_voxels_panels_and_weights_are_told():
    told = said(labels={"a": 1}, ignore=9, min_raters=2, rater_weights={"A": 2.0})
    assert told == [
        "Voxels to which any rater gave 9 were not scored.",
        "A case needs masks of at least 2 raters, or is left out.",
        "Raters were weighted where a score allows it: A 2; 1 for the others.",
    ]


def test_a_definition_of_another_form_says_nothing():
    assert list(_on_files({"reference": ["?"], "metrics": 3})) == []
    assert list(_on_files({"reference": {"labels": 1}})) == []
