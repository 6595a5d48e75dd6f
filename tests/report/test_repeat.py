"""The commands that a report prints: each is run as it stands, and gives the same report."""

from __future__ import annotations

import html
import re
import shlex
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import segjury as library
from segjury.report.repeat import from_folder, in_row, shell_word
from tests.commands import segjury
from tests.score_tables import ODD_NAMES, make_scores

QUICK = ("--bootstrap", "100", "--figures", "none")


def commands(report: Path) -> list[str]:
    """The lines that a page prints for its repetition."""
    code = re.search(r'id="origin".*?<pre[^>]*><code>(.*?)</code>', report.read_text("utf-8"), re.S)
    return html.unescape(code[1]).splitlines()


def without_times(report: Path) -> str:
    """The page but for when it was evaluated, and in how long."""
    return re.sub(r"<p>Evaluated .*?</p>", "", report.read_text("utf-8"))


def check_repeats(report: Path) -> list[str]:
    """Run what a report prints, in its folder; the report is the same afterwards."""
    before = without_times(report)
    lines = [line for line in commands(report) if not line.startswith("#")]
    report.unlink()
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "segjury"
        done = segjury(*words, cwd=report.parent)
        assert done.returncode == 0, done.stderr
    assert without_times(report) == before
    return lines


def write_report(table: Path, out: Path, *options: object) -> Path:
    done = segjury("report", table, "--out", out, *QUICK, *options)
    assert done.returncode == 0, done.stderr
    return out


FOREIGN = """team;patient;site;speed;dsc;Größe, mm
A 1;1;01;12,5;0,9;3
B;1;01;10,5;0,8;4
C;1;01;11,5;0,7;5
A 1;2;02;12,5;0,9;3
B;2;02;9,5;0,85;4,5
C;2;02;9,5;0,8;
"""
OPTIONS = {
    "least": (),
    "ranking": (
        *("--exclude", "C", "--scheme", "rank-then-aggregate", "--aggregate", "0.25"),
        *("--ties", "min", "--metrics", "Dice,speed", "--weights", "dsc=0.5"),
    ),
    "analysis": (
        *("--baseline", "A 1", "--baseline", "B", "--failure", "dsc<0.8", "--title", "It's $me"),
        *("--cohort", "site=01", "--by", "site", "--seed", 3, "--alpha", 0.01),
    ),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_report_of_another_tools_table_is_repeated(tmp_path, options):
    folder = tmp_path / "of others"
    folder.mkdir()
    table = folder / "team's scores.csv"
    table.write_text(FOREIGN, "utf-8")
    said = ("--columns", "method=team,case=patient", "--groups", "site", "--missing", "worst")
    better = ("--higher", "speed", "--lower", '"Größe, mm"')
    report = write_report(table, tmp_path / "a b" / "-r.html", *said, *better, *options)
    (line,) = check_repeats(report)
    assert line.startswith(
        """segjury report '../of others/team'"'"'s scores.csv' --out ./-r.html"""
    )
    assert str(tmp_path) not in line


def test_a_matrix_is_repeated(tmp_path):
    (tmp_path / "m.csv").write_text("case,A,B\n1,0.5,0.6\n2,0.4,0.5\n")
    report = write_report(tmp_path / "m.csv", tmp_path / "r.html", "--matrix", "x", "--lower", "x")
    (line,) = check_repeats(report)
    options = "--matrix x --lower x --figures none --bootstrap 100"
    assert sorted(line.split()) == sorted(f"segjury report m.csv --out r.html {options}".split())


def test_a_run_is_scored_and_reported_again(tmp_path):
    bench, results = tmp_path / "bench", tmp_path / "results"
    options = ("--cases", 2, "--methods", 3, "--seed", 1, "--shape", "48,48,24")
    assert segjury("phantom", "curvas-2024", bench, *options).returncode == 0
    methods = sorted(path.name for path in (bench / "predictions").iterdir())[:2]
    done = segjury(
        "evaluate", "curvas-2024", "--reference", bench / "reference", "--predictions",
        bench / "predictions", "--methods", ",".join(methods), "--reading", "corrected,released",
        "--out", results, "--jobs", 1, "--time-limit", "1h",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = write_report(results, tmp_path / "r.html", "--reading", "released")
    score, _ = check_repeats(report)
    assert score.startswith(
        "segjury evaluate curvas-2024 --reference bench/reference --predictions bench/predictions "
        "--out results --reading "
    )
    assert score.endswith(" --time-limit 3600s")


def test_a_report_of_a_frame_says_so(tmp_path):
    frame = make_scores(cases=2, readings=("given",), metrics=("dsc",))
    library.read(frame).analyze(samples=100).report(tmp_path / "r.html", figures=[])
    comment, line = commands(tmp_path / "r.html")
    assert comment == "# SCORES.csv is the table that was given in memory"
    frame.to_csv(tmp_path / "SCORES.csv", index=False)
    assert segjury(*shlex.split(line)[1:], cwd=tmp_path).returncode == 0


def test_markdown_says_it_too(tmp_path):
    make_scores(cases=2).to_csv(tmp_path / "s.csv", index=False)
    text = write_report(tmp_path / "s.csv", tmp_path / "r.md").read_text("utf-8")
    (line,) = re.findall(r"```sh\n(.*)\n```", text)
    assert segjury(*shlex.split(line)[1:], cwd=tmp_path).returncode == 0
    assert (tmp_path / "r.md").read_text("utf-8") == text


def test_odd_names_come_through_a_shell():
    names = [*ODD_NAMES, "it's", 'say "so", or', "-x", "`id`", "\\", "a\nb\x1b[1m", "$(id)", "!h"]
    words = " ".join(map(shell_word, names))
    assert words.isprintable()
    code = ["bash", "-c", f"printf '%s\\0' {words}"]
    found = subprocess.run(code, capture_output=True, check=True).stdout.decode()
    assert found.split("\0")[:-1] == names


def test_odd_methods_are_chosen_again(tmp_path):
    from segjury.cli.options import names

    odd = [name for name in ODD_NAMES if name == name.strip()]
    assert names(in_row(odd)) == odd
    table = make_scores((*odd, "A", 'say "so", or'), 2, ("given",), ("dsc",))
    table.to_csv(tmp_path / "s.csv", index=False)
    report = write_report(tmp_path / "s.csv", tmp_path / "r.html", "--methods", "A")
    (line,) = commands(report)
    assert "--methods A" in line
    out = ("--exclude", in_row(odd[1:]))
    (line,) = commands(write_report(tmp_path / "s.csv", tmp_path / "r.html", *out))
    code = ["bash", "-c", f"segjury() {{ printf '%s\\0' \"$@\"; }}; {line}"]
    given = subprocess.run(code, capture_output=True, check=True).stdout.decode().split("\0")
    chosen = given[given.index("--methods") + 1]
    assert names(chosen) == [odd[0], "A", 'say "so", or']


def test_paths_are_from_the_folder_of_the_report(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    assert from_folder(tmp_path / "s.csv", tmp_path / "a") == "../s.csv"
    assert from_folder(tmp_path / "s.csv", tmp_path / "link") == "../../s.csv"
    assert from_folder(tmp_path / "-s.csv", tmp_path) == "./-s.csv"
    assert from_folder(Path(), Path()) == "."


def test_the_table_of_a_run_without_its_folders_names_them(tmp_path):
    pd.DataFrame(make_scores(cases=2)).to_csv(tmp_path / "scores.csv", index=False)
    (tmp_path / "run.json").write_text('{"protocol": {"name": "x\\u001b; rm"}, "reference": "/no"}')
    lines = commands(write_report(tmp_path / "scores.csv", tmp_path / "r.html"))
    assert lines[:2] == [
        "# protocol.toml is the protocol file that this report holds",
        "# REFERENCE has a folder for each case, PREDICTIONS one for each method",
    ]
    assert lines[2].startswith("segjury evaluate protocol.toml --reference REFERENCE ")
