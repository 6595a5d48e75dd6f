"""Names from outside: which are refused, where they may lead, and how they are shown."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from segjury.benchmark.case_links import check_cases
from segjury.benchmark.folders import prediction_files
from segjury.benchmark.names import check_name, place_in
from segjury.errors import DEFAULT_IGNORABLE, InputError, escaped
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.methods.ensembles import Ensemble, score_ensemble, write_ensemble
from segjury.protocols import load_protocol
from segjury.report.pictures import case_images
from segjury.scoring.evaluate import run
from tests.commands import segjury

GRID = Grid((12, 12, 6), (1.0, 1.0, 2.0))
PROTOCOL = """
name = "tiny"
title = "One label, one rater"
[reference]
raters = "annotation_{rater}"
n_raters = 1
[[metrics]]
name = "dsc"
readings = ["corrected"]
[[metrics]]
name = "jaccard"
readings = ["corrected"]
"""
CASES, METHODS = ("P1", "P2", "P3"), ("A", "B")
OUTSIDE = "../../victim/SECRET"


def box(size: int) -> Volume:
    mask = np.zeros(GRID.shape, np.uint8, order="F")
    mask[2 : 2 + size, 2:8, 1:5] = 1
    return Volume(mask, GRID)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A scored benchmark, and another one beside it that nobody named."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "tiny.toml").write_text(PROTOCOL)
    for n, case in enumerate(CASES):
        write_volume(folder / "bench" / "reference" / case / "annotation_1.nii.gz", box(4 + n))
        for m, method in enumerate(METHODS):
            place = folder / "bench" / "predictions" / method / case
            write_volume(place / "segmentation.nii.gz", box(5 + n + m))
    for name in ("annotation_1", "segmentation"):
        write_volume(folder / "victim" / "SECRET" / f"{name}.nii.gz", box(3))
    write_volume(folder / "victim" / "P1" / "segmentation.nii.gz", box(3))
    run(
        folder / "tiny.toml",
        reference=folder / "bench" / "reference",
        predictions=folder / "bench" / "predictions",
        readings=("corrected",),
        out=folder / "results",
    )
    return folder


@pytest.fixture
def place(prepared, tmp_path):
    folder = Path(shutil.copytree(prepared, tmp_path / "place"))
    record = json.loads((folder / "results" / "run.json").read_text())
    for kind in ("reference", "predictions"):
        record[kind] = str(folder / "bench" / kind)
    (folder / "results" / "run.json").write_text(json.dumps(record))
    return folder


def rename(place: Path, column: str, old: str, new: str) -> Path:
    """Give a case or method of the results another name, as any editor could."""
    table = place / "results" / "scores.csv"
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    with table.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(row | {column: new} if row[column] == old else row for row in rows)
    (place / "results" / "scores.parquet").unlink(missing_ok=True)
    return table


# ---- which names are refused ---------------------------------------------------------------


def test_default_ignorable_characters_are_those_of_unicode():
    """DerivedCoreProperties.txt ends the property with `Total code points: 4174`."""
    assert sum(map(len, DEFAULT_IGNORABLE)) == 4174
    every = [code for span in DEFAULT_IGNORABLE for code in span]
    assert every == sorted(set(every))


@pytest.mark.parametrize(
    "code",
    [0xAD, 0x34F, 0x115F, 0x180F, 0x200B, 0x202E, 0x2060, 0x2800, 0x3164, 0xFE0F, 0xFFA0, 0xE0100],
    ids="U+{:04X}".format,
)
def test_invisible_characters_are_refused_and_written_out(code):
    name = f"Team{chr(code)}"
    with pytest.raises(InputError, match="cannot be shown") as raised:
        check_name(name, "method")
    assert raised.value.kind == "bad-name"
    assert str(raised.value).isascii()
    assert escaped(name).isascii()


@pytest.mark.parametrize("name", ["", " ", ".", "..", ".git", "/etc", "a/b", "a\\b", "../A", "A\0"])
def test_a_name_that_is_none_of_a_folder_is_refused(name, tmp_path):
    with pytest.raises(InputError) as raised:
        check_name(name, "case")
    assert raised.value.kind == "bad-name"
    with pytest.raises(InputError):
        place_in(tmp_path, name, "case")


def test_names_in_any_script_are_fine(tmp_path):
    for name in ("Müller", "山田", "فريق", "टीम", "a b", "it's", "x[red]y", "%s{0}", "=1+1", "a.."):
        assert place_in(tmp_path, name, "method") == tmp_path / name


# ---- where names may lead ------------------------------------------------------------------


@pytest.mark.parametrize("name", [OUTSIDE, "/etc", "..", "P1/../../../victim/SECRET"])
def test_a_figure_of_a_case_outside_is_refused(place, name):
    table = rename(place, "case", "P1", name)
    words = ("slices", table, "--case", name, "--out", place / "x.png")
    done = segjury("figure", *words)
    assert done.returncode == 2
    assert "is no name of a folder" in done.stderr
    assert not (place / "x.png").exists()


def test_a_report_draws_no_case_outside(place):
    """All cases lead outside, so that those which tell most do too."""
    for case in CASES:
        table = rename(place, "case", case, f"{OUTSIDE}/../{case}/../SECRET")
    done = segjury("report", table, "--out", place / "r.html", "--bootstrap", 100, "--jobs", 1)
    assert done.returncode == 0
    assert "no pictures of cases" in done.stderr
    assert "SECRET" not in " ".join(path.name for path in (place / "figures").iterdir())
    assert not list((place / "figures").glob("*slices*"))


def test_a_method_outside_is_left_out_of_pictures(place):
    protocol = load_protocol(place / "tiny.toml")
    folders = (place / "bench" / "reference", place / "bench" / "predictions")
    methods = ["A", "../../victim", str(place / "victim"), "B/../../../victim"]
    assert set(case_images(protocol, *folders, "P1", methods).predictions) == {"A"}


def test_a_prediction_of_a_case_outside_is_not_found(place):
    """Not even where links are followed: it takes none."""
    protocol = load_protocol(place / "tiny.toml")
    method = place / "bench" / "predictions" / "A"
    for case in (f"../{OUTSIDE}", str(place / "victim" / "SECRET")):
        with pytest.raises(InputError, match="is no name of a folder"):
            prediction_files(protocol, method, case, follow_links=True)


def test_an_ensemble_takes_no_method_outside(place):
    rename(place, "method", "B", "../../victim")
    with pytest.raises(InputError, match="is no name of a folder"):
        score_ensemble(place / "results")


@pytest.mark.parametrize("name", ["../up", "a/b", "..", ".hidden", "x\x1b[2J"])
def test_an_ensemble_is_not_written_outside(place, name):
    predictions = place / "bench" / "predictions"
    with pytest.raises(InputError):
        write_ensemble(
            Ensemble(name, METHODS, "majority"),
            load_protocol(place / "tiny.toml"),
            reference=place / "bench" / "reference",
            predictions=predictions,
            cases=CASES,
        )
    assert {path.name for path in predictions.iterdir()} == set(METHODS)


@pytest.mark.parametrize("name", ["..", ".", OUTSIDE, "/etc"])
def test_a_split_links_no_case_outside(place, name):
    with pytest.raises(InputError):
        check_cases(place / "bench" / "reference", ["P1", name])
