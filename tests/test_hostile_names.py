"""Names from outside: which are refused, where they may lead, and how they are shown."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from segjury.benchmark.case_links import check_cases
from segjury.benchmark.folders import prediction_files
from segjury.benchmark.names import check_name, place_in
from segjury.errors import DEFAULT_IGNORABLE, InputError, escaped, is_hidden
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
    words = ("--out", place / "r.html", "--figures", "boxes", "--bootstrap", 100, "--jobs", 1)
    done = segjury("report", table, *words)
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


# ---- how names are shown -------------------------------------------------------------------

STEERING = "\x1b[31m\x9b2J\u202e\u3164\x07"
MARKUP = "[red]x[link=y]|:smile:\\"  # a file may be called so
EVIL = f"E{STEERING}{MARKUP}"


def renamed_table(place: Path) -> Path:
    """A table in which methods, cases, metrics and groups have such names."""
    rows = [
        {"method": f"{method}{EVIL}", "case": f"{n}{EVIL}", f"site{EVIL}": f"{n % 2}{EVIL}"}
        | {"metric": metric, "value": value}
        for n in range(6)
        for metric in (f"m{EVIL}", "dsc")
        for method, value in (("A", n / 9), ("B", n / 8), ("C", (n % 4) / 7))
    ]
    pd.DataFrame(rows).to_csv(place / "theirs.csv", index=False)
    return place / "theirs.csv"


def run_record(place: Path) -> Path:
    """Results whose record is another's, all of its texts with such names."""
    path = place / "results" / "run.json"
    record = json.loads(path.read_text())
    record |= {"methods": [EVIL], "segjury": EVIL, "machine": {EVIL: EVIL}, "started": EVIL}
    record["protocol"] |= {"name": EVIL, "title": f"{EVIL}\ud800", "text": EVIL}
    record["protocol"]["definition"] |= {"title": EVIL, "summary": EVIL}
    path.write_text(json.dumps(record))
    return place / "results"


def protocol_file(place: Path) -> Path:
    title = json.dumps(EVIL)
    text = PROTOCOL.replace('"One label, one rater"', title)
    text += f"[[sources]]\ntitle = {title}\nurl = {title}\n"
    text += "# \x9b2J\u202e is all that TOML lets through as it is\n"
    (place / "evil.toml").write_text(text, "utf-8")
    return place / "evil.toml"


def benchmark_words(place: Path, protocol: object = "") -> list[object]:
    bench = place / "bench"
    return [protocol or place / "tiny.toml", "--reference", bench / "reference"]


def rank_words(place):
    return ["rank", renamed_table(place), "--lower", f"m{EVIL}", "--by", f"site{EVIL}",
            "--bootstrap", 100, "--out", place / "new"]  # fmt: skip


def analyze_words(place):
    return ["analyze", renamed_table(place), "--lower", f"m{EVIL}", "--by", f"site{EVIL}",
            "--baseline", f"A{EVIL}", "--bootstrap", 100, "--out", place / "new"]  # fmt: skip


def report_words(place):
    return ["report", renamed_table(place), "--lower", f"m{EVIL}", "--figures", "boxes,cd",
            "--bootstrap", 100, "--jobs", 1, "--out", place / "new" / "r.html"]  # fmt: skip


def markdown_words(place):
    return [*report_words(place)[:-1], place / "new" / "r.md"]


def report_of_a_foreign_run(place):
    return ["report", run_record(place), "--figures", "boxes", "--bootstrap", 100,
            "--jobs", 1, "--out", place / "new" / "r.html"]  # fmt: skip


def figure_words(place):
    return ["figure", "boxes", renamed_table(place), "--lower", f"m{EVIL}", "--score", "dsc",
            "--out", place / "new.svg"]  # fmt: skip


def picture_of_a_foreign_run(place):
    return ["figure", "slices", run_record(place), "--case", EVIL, "--out", place / "new.png"]


def unknown_metric(place):
    return ["rank", renamed_table(place)]


def evaluate_with_efficiency(place):
    (place / "new").mkdir()
    shutil.copy(run_record(place) / "run.json", place / "new" / "run.json")
    costs = pd.DataFrame({"method": ["A", "B", EVIL], "time_s": [1.0, 2.0, 3.0]})
    costs.to_csv(place / "costs.csv", index=False)
    (place / "bench" / "predictions" / "A" / EVIL).mkdir()
    return ["evaluate", *benchmark_words(place, protocol_file(place)), "--predictions",
            place / "bench" / "predictions", "--out", place / "new", "--jobs", 1,
            "--efficiency", place / "costs.csv"]  # fmt: skip


def evaluate_json(place):
    return [*evaluate_with_efficiency(place), "--log-json"]


def check_names(place):
    for folder in ("reference", "predictions", "predictions/A"):
        (place / "bench" / folder / EVIL).mkdir()
        (place / "bench" / folder / EVIL / EVIL).write_text("x")
    return ["check", *benchmark_words(place, protocol_file(place)), "--jobs", 1,
            "--predictions", place / "bench" / "predictions"]  # fmt: skip


def check_alone(place):
    words = check_names(place)
    return [*words[:2], *words[4:]]


def check_json(place):
    return [*check_names(place), "--json"]


def protocols_words(place):
    return ["protocols", protocol_file(place)]


def curate_words(place):
    (place / "bench" / "reference" / EVIL).write_text("x")
    return [
        "curate",
        *benchmark_words(place, protocol_file(place)),
        "--out",
        place / "new",
        "--jobs",
        1,
    ]


def raters_words(place):
    (place / "bench" / "reference" / "P1" / EVIL).write_text("x")
    (place / "bench" / "reference" / "cases.csv").write_text(f"case,{EVIL}\n{EVIL},1\n")
    words = benchmark_words(place, protocol_file(place))
    return ["raters", *words, "--out", place / "new", "--jobs", 1]


def ratings_words(place):
    rows = [
        {"method": f"{m}{EVIL}", "case": f"{c}{EVIL}", "rater": f"{r}{EVIL}", "question": EVIL}
        | {"value": (c * 2 + len(m) + r) % 5}
        for m in ("A", "BB")
        for c in range(4)
        for r in range(3)
    ]
    pd.DataFrame(rows).to_csv(place / "ratings.csv", index=False)
    return ["ratings", place / "ratings.csv", "--out", place / "new"]


def split_words(place):
    rows = [{"case": f"{n}{EVIL}", f"sex{EVIL}": f"{n % 2}{EVIL}", "age": n} for n in range(12)]
    pd.DataFrame(rows).to_csv(place / "split.csv", index=False)
    (place / "new").mkdir()
    return ["split", place / "split.csv", "--sizes", "6,6", "--by", f'"sex{EVIL}",age',
            "--names", f"one{EVIL},two", "--out", place / "new" / "s.csv"]  # fmt: skip


def consensus_words(place):
    names = [f"{k}{EVIL}.nii.gz" for k in range(3)]
    for k, name in enumerate(names):
        write_volume(place / name, box(3 + k))
    return ["consensus", *(place / name for name in names), "--out", place / f"{EVIL}.nii.gz"]


def vessels_words(place):
    write_volume(place / f"{EVIL}.nii.gz", box(3))
    return ["vessels", place / f"{EVIL}.nii.gz", "--out", place / "new"]


def ensemble_words(place):
    rename(place, "method", "A", f"A{EVIL}")
    return ["ensemble", run_record(place)]


def compare_words(place):
    folder = place / f"v{EVIL}"
    shutil.copytree(place / "bench" / "predictions" / "A", folder)
    other = place / "bench" / "predictions" / "B"
    words = ("--protocol", protocol_file(place), "--reference", place / "bench" / "reference")
    return ["compare", folder, other, *words, "--out", place / "new"]


def no_such_file(place):
    return ["rank", place / EVIL]


COMMANDS = {
    rank_words: 0,
    analyze_words: 0,
    report_words: 0,
    markdown_words: 0,
    report_of_a_foreign_run: 0,
    figure_words: 0,
    picture_of_a_foreign_run: 2,
    unknown_metric: 2,
    evaluate_with_efficiency: 0,
    evaluate_json: 0,
    check_names: 2,
    check_alone: 2,
    check_json: 2,
    protocols_words: 0,
    curate_words: 0,
    raters_words: 2,
    ratings_words: 0,
    split_words: 0,
    consensus_words: 0,
    vessels_words: 0,
    ensemble_words: 2,
    compare_words: 2,
    no_such_file: 2,
}


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words.__name__)
def test_no_name_steers_the_terminal_or_a_text(place, words):
    command = words(place)
    before = {path for path in place.rglob("*") if path.is_file()}
    done = segjury(*command)
    assert done.returncode == COMMANDS[words], done.stderr
    for text in (done.stdout, done.stderr):
        assert hidden_in(text) == set()
    written = {path for path in place.rglob("*") if path.is_file()} - before
    texts = [path for path in written if path.suffix in (".tex", ".md", ".html", ".json", ".svg")]
    for path in texts:
        assert hidden_in(path.read_text("utf-8")) == set(), path.name


def hidden_in(text: str) -> set[str]:
    return {char for char in text if char not in "\n\t" and is_hidden(char)}


def test_names_are_shown_as_they_are_but_for_what_cannot_be_seen(place):
    done = segjury("rank", renamed_table(place), "--lower", f"m{EVIL}", "--bootstrap", 0)
    assert f"AE\\x1b[31m\\x9b2J\\u202e\\u3164\\x07{MARKUP}" in done.stdout.replace("\n", "")


def test_a_printed_protocol_is_the_same_protocol(place):
    path = protocol_file(place)
    (place / "copy.toml").write_text(segjury("protocols", path).stdout, "utf-8")
    assert load_protocol(place / "copy.toml") == load_protocol(path)


@pytest.mark.parametrize("where", ["labels", "structures"])
def test_a_label_that_cannot_be_shown_is_refused(place, where):
    labels = '{ "x\\u009b2J" = 1 }'
    extra = (
        f"labels = {labels}"
        if where == "labels"
        else (f'[reference.structures]\nfile = "vessels"\nlabels = {labels}')
    )
    (place / "bad.toml").write_text(PROTOCOL.replace("n_raters = 1", f"n_raters = 1\n{extra}"))
    with pytest.raises(InputError, match="cannot be shown"):
        load_protocol(place / "bad.toml")


# ---- many of them --------------------------------------------------------------------------


def test_many_stray_folders_are_told_in_few_lines(place):
    """The first ten in full, and how many more; JSON has them all."""
    method = place / "bench" / "predictions" / "A"
    for n in range(300):
        (method / f"X{n:03d}").mkdir()
        (method / f"X{n:03d}" / "segmentation.nii.gz").write_text("x")
    words = [*benchmark_words(place), "--predictions", method.parent, "--jobs", 1]
    checked = segjury("check", *words).stdout.splitlines()
    assert len(checked) == 11
    assert checked[0] == "warning: method A: X000 is no case of the reference"
    assert checked[-1] == "warning: method A: 290 more like these (unknown-case)"
    document = json.loads(segjury("check", *words, "--json").stdout)
    assert document["warnings"] == len(document["problems"]) == 300
    scored = segjury("evaluate", *words, "--out", place / "new").stderr.splitlines()
    assert scored[0] == "warning: method A: X000 is no case of the reference"
    assert scored[10] == "warning: method A: 290 more like these"
    assert len(scored) == 12  # and how many predictions were scored


@pytest.mark.parametrize("folder", ["reference", "predictions"])
def test_many_bad_names_are_told_in_few_lines(place, folder):
    for n in range(1500):
        (place / "bench" / folder / f"\u3164{n}").mkdir()
    words = [*benchmark_words(place), "--predictions", place / "bench" / "predictions"]
    checked = segjury("check", *words, "--jobs", 1).stdout.splitlines()
    assert checked[10:] == ["error: 1,490 more like these (bad-name)"]


def test_many_methods_without_any_prediction_are_told_in_few_lines(place):
    for n in range(100):
        (place / "bench" / "predictions" / f"empty{n}x").mkdir()
    words = [*benchmark_words(place), "--predictions", place / "bench" / "predictions"]
    checked = segjury("check", *words, "--jobs", 1)
    lines = checked.stdout.splitlines()
    assert len(lines) == 22
    assert "error: 290 more like these (missing-prediction)" in lines
    assert "warning: 90 more like these (empty-method)" in lines
    assert checked.stderr.strip().endswith("300 errors, 100 warnings")


def test_many_strange_rows_of_a_table_of_costs_are_told_in_few_lines(place):
    names = ["A", "B", *(f"X{n}" for n in range(200))]
    costs = pd.DataFrame({"method": names, "time_s": 1.0})
    costs.to_csv(place / "costs.csv", index=False)
    words = [*benchmark_words(place), "--predictions", place / "bench" / "predictions"]
    words += ["--out", place / "new", "--jobs", 1, "--efficiency", place / "costs.csv"]
    said = segjury("evaluate", *words).stderr.splitlines()
    assert len(said) == 12
    assert said[10] == "warning: 190 more like these"
