"""Faults that nobody's files are to blame for, and results that must not outlive their cause."""

from __future__ import annotations

import ctypes
import errno
import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pandas as pd
import pytest

from segjury.cli.output.run_log import Log
from segjury.cli.output.terminal import answer
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.formats import nifti
from segjury.images.volume import Volume
from segjury.results import run as records
from segjury.scoring import one_case, run
from tests.commands import segjury, segjury_apart
from tests.test_hostile import BAD, CASES, GOOD, GRID, MASK, PROTOCOL

DAC_OVERRIDE, DAC_READ_SEARCH, DROP_FROM_BOUNDING_SET = 1, 2, 24


@pytest.fixture
def bench(tmp_path):
    """Two cases and two methods, masks alone."""
    metrics = PROTOCOL[: PROTOCOL.rindex("[[metrics]]")]
    (tmp_path / "tiny.toml").write_text(metrics)
    for case in CASES:
        write_volume(tmp_path / "reference" / case / "annotation_1.nii.gz", Volume(MASK, GRID))
        for method in (BAD, GOOD):
            place = tmp_path / "predictions" / method / case
            write_volume(place / "segmentation.nii.gz", Volume(MASK, GRID))
    return tmp_path


def words(folder, *options):
    places = [f"--{name}={folder / name}" for name in ("reference", "predictions", "out")]
    return ["evaluate", str(folder / "tiny.toml"), *places, "--jobs=1", *options]


def evaluate(folder, *options):
    return segjury(*words(folder, *options))


def row(folder, case=CASES[0], method=BAD):
    scores = pd.read_csv(folder / "out" / "scores.csv", index_col=["case", "method", "reading"])
    return scores.loc[case, method, "corrected"]


def taken(done):
    """How many results a run took from an earlier one."""
    said = [line for line in done.stderr.splitlines() if "predictions scored" in line]
    (counts,) = said
    return int(counts.rpartition(", ")[2].split()[0]) if "taken" in counts else 0


# ---- of the system -------------------------------------------------------------------------


def failing(monkeypatch, place, code):
    """Let the system fail to open the images below a place."""
    before = nifti._open

    def fails(path):
        if place in path.parents:
            raise OSError(code, os.strerror(code), str(path))
        return before(path)

    monkeypatch.setattr(nifti, "_open", fails)


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ESTALE])
@pytest.mark.parametrize("part", ["predictions", "reference"])
def test_what_the_system_fails_to_read_is_nobodys_fault_and_read_again(
    bench, monkeypatch, part, code
):
    with monkeypatch.context() as patch:
        failing(patch, bench / part / (BAD if part == "predictions" else CASES[0]), code)
        done = evaluate(bench)
    assert done.returncode == 75
    found = row(bench)
    assert found["status"] == "failed"
    assert pd.isna(found["value"])
    assert found["detail"].startswith("not scored: ")
    assert os.strerror(code) in found["detail"]
    assert evaluate(bench).returncode == 0
    assert row(bench)["value"] == 1


def test_a_file_that_may_not_be_read_is_its_owners_fault(bench, monkeypatch):
    failing(monkeypatch, bench / "predictions" / BAD, errno.EACCES)
    assert evaluate(bench).returncode == 2
    assert row(bench)["value"] == 0


def test_a_penalty_that_cannot_be_computed_costs_its_own_rows(bench, monkeypatch):
    shutil.rmtree(bench / "predictions" / BAD / CASES[0])

    def fails(protocol, readings, reference, *rest):
        if reference is not None:
            raise MemoryError
        return before(protocol, readings, reference, *rest)

    before = one_case.penalty_rows
    monkeypatch.setattr(one_case, "penalty_rows", fails)
    done = evaluate(bench)
    assert done.returncode == 75
    assert "not scored: memory was short" in done.stderr
    assert pd.isna(row(bench)["value"])
    assert row(bench, CASES[1])["value"] == row(bench, method=GOOD)["value"] == 1


def unprivileged():
    """Let permissions count for root too."""
    for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
@pytest.mark.parametrize("of", [BAD, f"{BAD}/{CASES[0]}"])
@pytest.mark.parametrize("mode", [0o000, 0o111])
def test_a_folder_that_may_not_be_read_costs_its_own_rows(bench, of, mode):
    place = bench / "predictions" / of
    place.chmod(mode)
    try:
        done = segjury_apart(*words(bench), preexec_fn=unprivileged)
        check = ["check", *words(bench)[1:4], "--json"]
        checked = segjury_apart(*check, preexec_fn=unprivileged)
    finally:
        place.chmod(0o755)
    problems = json.loads(checked.stdout)["problems"]
    if mode:  # what is in it can be read all the same, as its name is known
        assert (done.returncode, row(bench)["status"]) == (0, "ok")
        assert not [problem for problem in problems if problem["severity"] == "error"]
        return
    assert done.returncode == checked.returncode == 2
    assert row(bench)["detail"].endswith("cannot be read (Permission denied). Allow it.")
    assert row(bench, method=GOOD)["status"] == "ok"
    assert {(p["kind"], p["method"]) for p in problems if p["severity"] == "error"} == {
        ("unreadable-file", BAD)
    }


@pytest.mark.parametrize("options", [(), ("--log-json",)])
def test_a_log_that_cannot_be_written_stops_nothing(bench, options):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = segjury_apart(*words(bench, *options), stderr=full)
    assert done.returncode == 0
    assert row(bench)["status"] == "ok"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_exit_code_tells_where_nothing_can_be_said(bench, stream):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        assert segjury_apart(*words(bench), **{stream: full}).returncode == 0
        assert segjury_apart("rank", "nowhere.csv", **{stream: full}).returncode == 2


def test_streams_in_memory_are_written_to():
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as log:
        Log("shown").warning("one")
        answer("two")
    assert (out.getvalue(), log.getvalue()) == ("two\n", "warning: one\n")


def test_signs_that_a_terminal_lacks_are_written_out(bench):
    out = bench / "out-\u00e9"
    done = segjury_apart(
        *words(bench, f"--out={out}"), env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0
    assert done.stdout.endswith("out-\\xe9/scores.csv\n")


@pytest.mark.parametrize(("missing", "code"), [(False, 0), (True, 2)])
def test_a_reader_that_has_gone_changes_no_exit_code(bench, missing, code):
    if missing:
        shutil.rmtree(bench / "predictions" / BAD / CASES[0])
    command = [sys.executable, "-m", "segjury", *words(bench, "--log-json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.close()
    assert process.returncode == code
    assert (bench / "out" / "run.json").exists()


# ---- what is kept --------------------------------------------------------------------------


def test_another_layout_is_another_input(bench):
    case = bench / "predictions" / BAD / CASES[0]
    shutil.move(case / "segmentation.nii.gz", case.with_name(f"{CASES[0]}.nii.gz"))
    case.rmdir()
    evaluate(bench)
    assert row(bench)["status"] == "ok"
    case.mkdir()  # which is looked into first
    evaluate(bench)
    assert row(bench)["status"] == "missing"
    case.rmdir()
    evaluate(bench)
    assert row(bench)["status"] == "ok"


def test_results_of_other_settings_are_kept_too(bench):
    assert taken(evaluate(bench)) == 0
    fewer = evaluate(bench, "--reading", "corrected", "--methods", GOOD)
    assert taken(fewer) == 0
    assert f"warning: the tables no longer have the methods {BAD}" in fewer.stderr
    assert "warning: the tables no longer have the readings released, published" in fewer.stderr
    assert taken(evaluate(bench)) == 4


def test_what_changes_no_score_keeps_results(bench):
    evaluate(bench)
    protocol = bench / "tiny.toml"
    text = protocol.read_text().replace("One label", "A label")
    protocol.write_text(text + '[ranking]\nscheme = "rank-then-aggregate"\n')
    assert taken(evaluate(bench)) == 4
    protocol.write_text(text.replace('name = "dsc"', 'name = "dsc"\nepsilon = 0.5'))
    assert taken(evaluate(bench)) == 0


DAMAGE = {
    "value": lambda content: content["result"]["rows"][0].update(value=0.25),
    "case": lambda content: content["result"].update(case="other"),
    "rows": lambda content: content["result"].update(rows=[]),
    "text": lambda content: content.update(result="x"),
    "checksum": lambda content: content.pop("checksum"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_result_that_was_changed_is_computed_again(bench, damage):
    evaluate(bench)
    before = (bench / "out" / "scores.csv").read_bytes()
    for part in (bench / "out" / "parts").glob("*.json"):
        content = json.loads(part.read_text())
        damage(content)
        part.write_text(json.dumps(content))
    assert taken(evaluate(bench)) == 0
    assert (bench / "out" / "scores.csv").read_bytes() == before


@pytest.mark.parametrize("content", ["[" * 100_000, "", "null", "[]", "\xff"])
def test_a_broken_result_is_computed_again(bench, content):
    evaluate(bench)
    for part in (bench / "out" / "parts").glob("*.json"):
        part.write_text(content, "latin-1")
    done = evaluate(bench)
    assert (done.returncode, taken(done)) == (0, 0)


def test_tables_take_the_place_of_others_all_together(bench, monkeypatch):
    evaluate(bench)
    before = {path.name: path.read_bytes() for path in (bench / "out").glob("*.*")}
    shutil.rmtree(bench / "predictions" / BAD / CASES[0])

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(records, "write_text", full)  # of run.json, the last of them
        done = evaluate(bench)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert {path.name: path.read_bytes() for path in (bench / "out").glob("*.*")} == before
    evaluate(bench)
    assert row(bench)["status"] == "missing"


# ---- where it is written -------------------------------------------------------------------


@pytest.mark.parametrize("out", ["reference", "predictions", "predictions/new", "reference/one"])
def test_results_are_not_written_among_the_inputs(bench, out):
    before = sorted(bench.rglob("*"))
    done = evaluate(bench, f"--out={bench / out}")
    assert done.returncode == 2
    assert "Give a folder of its own" in done.stderr
    assert sorted(bench.rglob("*")) == before


@pytest.mark.parametrize("command", ["raters", "curate"])
def test_nothing_else_is_written_among_the_inputs_either(bench, command):
    before = sorted(bench.rglob("*"))
    places = [f"--reference={bench / 'reference'}", f"--out={bench / 'reference' / 'new'}"]
    done = segjury(command, bench / "tiny.toml", *places)
    assert done.returncode == 2
    assert "Give a folder of its own" in done.stderr
    assert sorted(bench.rglob("*")) == before


def test_a_bad_name_does_not_keep_others_from_being_asked_for(bench):
    (bench / "predictions" / "bad\nname").mkdir()
    assert "has characters that cannot be shown" in evaluate(bench).stderr
    assert evaluate(bench, "--methods", GOOD).returncode == 0


@pytest.mark.parametrize("where", ["", BAD])
def test_a_link_that_leads_nowhere_changes_nothing_else(bench, where):
    (bench / "predictions" / where / "note").symlink_to("a" * 300)
    done = evaluate(bench)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "4 of 4 predictions scored")
    assert "note" not in done.stderr
    assert "error" not in segjury("check", *words(bench)[1:4]).stdout


@pytest.mark.parametrize("names", ["a\nb", '"a', 'a,"b"x'])
def test_names_that_are_no_list_are_refused(bench, names):
    done = evaluate(bench, "--methods", names)
    assert done.returncode == 2
    assert "is no list of names" in done.stderr


def test_a_method_with_a_comma_in_its_name_can_be_asked_for(bench):
    (bench / "predictions" / BAD).rename(bench / "predictions" / "Bad, Ltd")
    assert evaluate(bench, "--methods", f'"Bad, Ltd",{GOOD}').returncode == 0
    assert row(bench, method="Bad, Ltd")["status"] == row(bench, method=GOOD)["status"] == "ok"


def test_a_linked_method_is_not_looked_into(bench):
    private = bench / "private"
    private.mkdir()
    (private / "secret.txt").touch()
    (bench / "predictions" / "Linked").symlink_to(private)
    done = segjury("check", *words(bench)[1:4])
    assert "secret" not in done.stdout
    assert "method Linked: Linked is reached by a link that leaves" in done.stdout
    evaluate(bench)
    assert "is reached by a link" in row(bench, method="Linked")["detail"]


def test_the_cost_of_a_case_counts_more_than_that_of_all(bench):
    lines = [f"{BAD},{CASES[0]},7", f"{BAD},,5", f"{GOOD},,1"]
    for order in (lines, lines[::-1]):
        table = bench / "costs.csv"
        table.write_text("\n".join(["method,case,time_s", *order]))
        costs = run.read_efficiency(table, [BAD, GOOD], CASES).of["time_s"]
        assert [costs[BAD, case] for case in CASES] == [7, 5]
    with pytest.raises(InputError):
        run.read_efficiency(table, ["Other"], CASES)
