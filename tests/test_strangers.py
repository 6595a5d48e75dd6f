"""What a stranger sends, against every command that reads it.

No command ends in a traceback, prints a raw control character, waits for what never comes, or takes
what is no image, table or protocol for one.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from segjury.errors import is_hidden
from segjury.scoring.evaluate import run
from tests.commands import segjury
from tests.small_benchmarks import write_benchmark

PDACVI = "curvas-pdacvi-2025"
FINE = (0, 2, 75)  # exit codes of a program that knows what happened
DEEP = 3000


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strangers")
    write_benchmark(PDACVI, folder)
    places = {name: folder / name for name in ("reference", "predictions")}
    run(PDACVI, **places, readings=("corrected",), out=folder / "results")
    done = segjury("protocols", PDACVI)
    (folder / "mine.toml").write_text(done.stdout)
    rows = [f"M{n % 3},P{n % 4},{r},q1,{(n + r) % 5}" for n in range(12) for r in (1, 2)]
    (folder / "ratings.csv").write_text("\n".join(["method,case,rater,question,rating", *rows]))
    cases = [f"P{c},{'f' if c % 2 else 'm'},{30 + c}" for c in range(12)]
    (folder / "table.csv").write_text("\n".join(["case,sex,age", *cases]))
    (folder / "costs.csv").write_text("method,time_s,memory_gb_s\nA,1,2\nB,2,3\n")
    return folder


@pytest.fixture
def place(prepared, tmp_path):
    folder = Path(shutil.copytree(prepared, tmp_path / "place"))
    record = json.loads((folder / "results" / "run.json").read_text())
    for kind in ("reference", "predictions"):
        record[kind] = str(folder / kind)
    (folder / "results" / "run.json").write_text(json.dumps(record))
    return folder


def pairs(commands, kinds, *, all_of, few):
    """Each command with a few kinds of damage, and those that read most with all of them."""
    return pytest.mark.parametrize(
        ("command", "kind"), [(c, k) for c in commands for k in (kinds if c in all_of else few)]
    )


def ends_well(place: Path, *words: object) -> None:
    """Run a command; it must know what happened, and say it in characters that can be seen."""
    done = segjury(*words, cwd=place)
    said = done.stdout + done.stderr
    assert done.returncode in FINE, said
    assert "Traceback" not in said
    assert not {c for c in said if is_hidden(c)} - {"\n"}, ascii(said)
    if done.returncode == 2:
        assert said.strip()


# ---- images --------------------------------------------------------------------------------


def a_bomb() -> bytes:
    """A gzip stream of 64 MB of zeros that claims to be an image."""
    return gzip.compress(bytes(64 << 20))


def an_archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("../../outside.npy", b"x")
    return stream.getvalue()


def of_bytes(content: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content())


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def a_sparse_giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def half_of_it(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def another_header(path: Path) -> None:
    raw = bytearray(gzip.decompress(path.read_bytes()))
    raw[40:56] = np.array([3, 30000, 30000, 30000, 1, 1, 1, 1], "<i2").tobytes()
    path.write_bytes(gzip.compress(bytes(raw)))


BAD_FILES: dict[str, Callable[[Path], None]] = {
    "nothing": of_bytes(bytes),
    "noise": of_bytes(lambda: np.random.default_rng(0).bytes(5000)),
    "escape sequences": of_bytes(lambda: b"\x1b[2J\x1b]0;title\x07" * 100),
    "an archive": of_bytes(an_archive),
    "a bomb": of_bytes(a_bomb),
    "a pipe": a_pipe,
    "a folder": a_folder,
    "a circle of links": a_circle,
    "a device": a_device,
    "a sparse giant": a_sparse_giant,
    "half of it": half_of_it,
    "a header that lies": another_header,
}
READ_IMAGES = {
    "check": ("check", PDACVI, "--reference", "reference", "--predictions", "predictions"),
    "evaluate": (
        *("evaluate", PDACVI, "--reference", "reference", "--predictions", "predictions"),
        *("--out", "out", "--jobs", "1", "--reading", "corrected"),
    ),
    "raters": ("raters", PDACVI, "--reference", "reference", "--out", "out", "--jobs", "1"),
    "consensus": (
        *("consensus", "reference/P1/annotation_1.nii.gz", "reference/P1/annotation_2.nii.gz"),
        *("predictions/A/P1/segmentation.nii.gz", "--method", "staple", "--out", "c.nii.gz"),
    ),
    "curate": ("curate", PDACVI, "--reference", "reference", "--out", "out"),
    "vessels": ("vessels", "predictions/A/P1/segmentation.nii.gz", "--out", "out"),
    "vessels label": ("vessels", "label", "predictions/A/P1/probability.nii.gz", "--out", "out"),
    "phantom raters": (
        *("phantom", "raters", "predictions/A/P1/segmentation.nii.gz", "--raters", "2"),
        *("--out", "out"),
    ),
    "figure": (
        *("figure", "slices", "results/scores.csv", "--case", "P1", "--bootstrap", "100"),
        *("--out", "p.png"),
    ),
    "ensemble": ("ensemble", "results/scores.csv", "--top", "2", "--jobs", "1"),
    "compare": (
        *("compare", "predictions/A", "predictions/B", "--protocol", PDACVI),
        *("--reference", "reference", "--out", "out", "--pictures", "1", "--jobs", "1"),
    ),
}


@pairs(READ_IMAGES, BAD_FILES, all_of=("consensus",), few=("noise", "a pipe"))
def test_bad_images_end_no_command(place, command, kind):
    for name in ("predictions/A/P1/segmentation", "predictions/A/P1/probability"):
        BAD_FILES[kind](place / f"{name}.nii.gz")
    ends_well(place, *READ_IMAGES[command])


@pairs(("check", "raters", "curate"), BAD_FILES, all_of=("check",), few=("a pipe",))
def test_bad_references_end_no_command(place, command, kind):
    BAD_FILES[kind](place / "reference" / "P1" / "annotation_2.nii.gz")
    ends_well(place, *READ_IMAGES[command])


# ---- tables --------------------------------------------------------------------------------


def in_cells(change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(change(path.read_text()), newline="")

    return damage


def last_cell(text: str) -> Callable[[Path], None]:
    def change(table: str) -> str:
        head, *rows = table.splitlines()
        return "\n".join([head, *rows[:-1], rows[-1].rpartition(",")[0] + "," + text]) + "\n"

    return in_cells(change)


BAD_TABLES: dict[str, Callable[[Path], None]] = {
    "nothing": of_bytes(bytes),
    "noise": of_bytes(lambda: np.random.default_rng(1).bytes(5000)),
    "zeros": of_bytes(lambda: bytes(5000)),
    "a head alone": in_cells(lambda text: text.splitlines()[0] + "\n"),
    "no head": in_cells(lambda text: text.partition("\n")[2]),
    "a long cell": last_cell("9" * 200_000),
    "a long row": last_cell("," * 100_000),
    "a huge number": last_cell("1e308"),
    "no number": last_cell("nan"),
    "a formula": last_cell("=cmd|' /C calc'!A0"),
    "escape sequences": last_cell("\x1b[2J\x9b\u202e"),
    "an open quote": last_cell('"'),
    "each row twice": in_cells(lambda text: text + text.partition("\n")[2]),
    "an archive": of_bytes(an_archive),
    "a bomb": of_bytes(a_bomb),
    "a pipe": a_pipe,
    "a folder": a_folder,
    "a circle of links": a_circle,
    "a sparse giant": a_sparse_giant,
}
SCORES = "results/scores.csv"
READ_TABLES = {
    "rank": (SCORES, "rank", SCORES, "--out", "out"),
    "analyze": (SCORES, "analyze", SCORES, "--bootstrap", "100", "--out", "out"),
    "report": (
        *(SCORES, "report", SCORES, "--out", "out/r.md", "--bootstrap", "100"),
        *("--figures", "boxes", "--jobs", "1"),
    ),
    "figure": (SCORES, "figure", "blob", SCORES, "--bootstrap", "100", "--out", "b.svg"),
    "ensemble": (SCORES, "ensemble", SCORES, "--top", "2", "--jobs", "1"),
    "ratings": ("ratings.csv", "ratings", "ratings.csv", "--out", "out"),
    "split": ("table.csv", "split", "table.csv", "--sizes", "6,6", "--by", "sex", "--out", "s.csv"),
    "efficiency": (
        *("costs.csv", "evaluate", PDACVI, "--reference", "reference", "--predictions"),
        *("predictions", "--out", "results", "--reading", "corrected", "--jobs", "1"),
        *("--efficiency", "costs.csv"),
    ),
    "cases": (
        *("table.csv", "evaluate", PDACVI, "--reference", "reference", "--predictions"),
        *("predictions", "--out", "results", "--reading", "corrected", "--jobs", "1"),
        *("--cases", "table.csv"),
    ),
    "details": ("results/details.csv", "analyze", SCORES, "--bootstrap", "100", "--out", "out"),
    "facts": ("results/cases.csv", "analyze", SCORES, "--bootstrap", "100", "--out", "out"),
    "bins": (
        *("results/calibration.csv", "figure", "reliability", SCORES, "--method", "A"),
        *("--score", "mr_ece", "--bootstrap", "100", "--out", "b.svg"),
    ),
}


@pairs(READ_TABLES, BAD_TABLES, all_of=("rank", "split"), few=("noise", "no head", "a pipe"))
def test_bad_tables_end_no_command(place, command, kind):
    table, *words = READ_TABLES[command]
    BAD_TABLES[kind](place / table)
    ends_well(place, *words)


# ---- protocols and records -----------------------------------------------------------------

BAD_PROTOCOLS: dict[str, Callable[[Path], None]] = {
    **{kind: BAD_TABLES[kind] for kind in ("nothing", "noise", "zeros", "a pipe", "a folder")},
    "a circle of links": a_circle,
    "a sparse giant": a_sparse_giant,
    "deep lists": of_bytes(lambda: b"name = " + b"[" * DEEP + b"]" * DEEP),
    "a long key": of_bytes(lambda: b".".join([b"a"] * DEEP) + b" = 1"),
    "a path in a name": in_cells(lambda t: t.replace("annotation_{rater}", "../../../{rater}")),
    "escape sequences": in_cells(lambda t: t.replace("CURVAS-PDACVI", "\\u001b[2J\\u202e")),
    "many raters": in_cells(lambda t: t.replace("n_raters = 5", "n_raters = 100000000")),
    "a huge padding": in_cells(lambda t: t.replace('"mr_ece"', '"mr_ece"\npadding_voxels = 1e300')),
    "code": in_cells(lambda t: t.replace('name = "dsc"', 'python = "os:system"')),
}
READ_PROTOCOLS = {
    "protocols": ("protocols", "mine.toml"),
    "check": ("check", "mine.toml", "--reference", "reference", "--predictions", "predictions"),
    "evaluate": (
        *("evaluate", "mine.toml", "--reference", "reference", "--predictions", "predictions"),
        *("--out", "out", "--jobs", "1"),
    ),
    "raters": ("raters", "mine.toml", "--reference", "reference", "--out", "out", "--jobs", "1"),
    "curate": ("curate", "mine.toml", "--reference", "reference", "--out", "out"),
}


@pairs(READ_PROTOCOLS, BAD_PROTOCOLS, all_of=("protocols", "check"), few=("many raters",))
def test_bad_protocols_end_no_command(place, command, kind):
    BAD_PROTOCOLS[kind](place / "mine.toml")
    ends_well(place, *READ_PROTOCOLS[command])


def edited(**change: object) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | change))

    return damage


BAD_RECORDS: dict[str, Callable[[Path], None]] = {
    **{kind: BAD_PROTOCOLS[kind] for kind in ("nothing", "noise", "a pipe", "a folder")},
    "a sparse giant": a_sparse_giant,
    "deep lists": of_bytes(lambda: b"[" * DEEP + b"]" * DEEP),
    "another kind": of_bytes(lambda: b"[1, 2, 3]"),
    "no protocol": edited(protocol=None),
    "odd places": edited(reference="/dev", predictions="\u0000"),
    "escape sequences": edited(segjury="\x1b[2J", started="\u202e\x9b", versions={"\x1b": "\x07"}),
    "huge numbers": edited(seconds=1e308, kept=10**40),
}
READ_RECORDS = {
    name: READ_TABLES[name][1:] for name in ("rank", "analyze", "report", "ensemble", "figure")
} | {"picture": READ_IMAGES["figure"]}


@pairs(READ_RECORDS, BAD_RECORDS, all_of=("rank",), few=("odd places",))
def test_bad_records_end_no_command(place, command, kind):
    BAD_RECORDS[kind](place / "results" / "run.json")
    ends_well(place, *READ_RECORDS[command])
