from __future__ import annotations

import re

import numpy as np
import pytest

from segjury.errors import InputError
from segjury.protocols import builtin_names, load_protocol, protocol_text

NAME = "curvas-pdacvi-2025"
TEXT = protocol_text(NAME)


def edited(tmp_path, old, new):
    assert old in TEXT
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.replace(old, new, 1))
    return path


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_protocols_load(name):
    protocol = load_protocol(name)
    assert protocol.name == name
    assert protocol.sources
    assert re.fullmatch(r"[0-9a-f]{64}", protocol.hash)


def test_pdacvi_says_what_the_benchmark_says():
    protocol = load_protocol(NAME)
    assert [use.name for use in protocol.metrics if use.ranked] == [
        "dsc", "thr_dsc", "mr_ece", "crps", "vi",
    ]  # fmt: skip
    assert protocol.reference.structures.labels == {
        "PORTA": 1, "SMV": 2, "AORTA": 3, "CELIAC TRUNK": 4, "SMA": 5,
    }  # fmt: skip
    thresholds = next(use.thresholds for use in protocol.metrics if use.name == "vi")
    assert thresholds == tuple(np.linspace(0.1, 0.8, 6))
    assert protocol.cohorts[0].at_most == 0.30


def test_a_users_own_file_works_the_same(tmp_path):
    path = edited(tmp_path, 'name = "curvas-pdacvi-2025"', 'name = "mine"')
    protocol = load_protocol(path)
    assert protocol.name == "mine"
    assert protocol.metrics == load_protocol(NAME).metrics


def test_the_hash_follows_the_meaning_not_the_layout(tmp_path):
    original = load_protocol(NAME).hash
    commented = edited(tmp_path, "[policy]", "# a remark\n\n[policy]")
    assert load_protocol(commented).hash == original
    changed = edited(tmp_path, "padding_voxels = 20", "padding_voxels = 21")
    assert load_protocol(changed).hash != original


def line_of(text, start):
    return next(i for i, line in enumerate(text.splitlines(), 1) if line.startswith(start))


WRONG = {
    "syntax": ("n_raters = 5", "n_raters = = 5", "not valid TOML"),
    "type": ("bins = 50", 'bins = "many"', r"bins: .*integer.*got 'many'.*number of confidence"),
    "range": ("n_raters = 5", "n_raters = 0", "greater than or equal to 1.*how many raters"),
    "unknown key": (
        "bins = 50",
        "bims = 50",
        r"bims: this key is not known.*bins, .*padding_voxels",
    ),
    "unknown metric": ('name = "crps"', 'name = "crsp"', "crsp"),
    "twice": ('name = "crps"', 'name = "mr_ece"', "mr_ece is listed twice"),
    "missing": ("n_raters = 5\n", "", "reference: give either n_raters or rater_names"),
    "descending": ("first = 0.1, last = 0.8", "first = 0.8, last = 0.1", "must ascend"),
    "outside": ("last = 0.8", "last = 1.8", "between 0 and 1"),
    "odd count": ("count = 6", "count = 6.5", "count must be a whole number from 1 to 60"),
    "huge count": ("count = 6", "count = 10000000000", "count must be a whole number from 1 to 60"),
    "words": ("first = 0.1", 'first = "low"', "first and last must lie between 0 and 1"),
    "many thresholds": (
        "thresholds = { first = 0.1, last = 0.8, count = 6 }",
        f"thresholds = {[k / 100 for k in range(1, 99)]}",
        "at most 60 items",
    ),
    "many bins": ("bins = 50", "bins = 1000000000000", "less than or equal to 10000"),
    "endless": ("tolerance_mm = 0.01", "tolerance_mm = inf", "finite"),
    "structure label": ("PORTA = 1", "PORTA = 300", "less than or equal to 255"),
    "structure twice": ("PORTA = 1", "PORTA = 2", "two structures the same number"),
    "no worst": ('worst = "empty-prediction"\n', "", "crps has no worst value"),
    "choice": ('spacing = "warn"', 'spacing = "shout"', "'error', 'warn' or 'ignore'"),
    "raters": ("annotation_{rater}", "annotation", "must contain {rater}"),
    "no labels": ("labels = { PDAC = 1 }", "labels = {}", "at least 1 item.*what is scored"),
    "label twice": ("pancreas = 2", "pancreas = 1", "two things the same number"),
    "label of background": ("PDAC = 1", "PDAC = 0", "expected a number from 1 to 255"),
    "too many": (
        "n_raters = 5\nlabels = { PDAC = 1 }",
        "n_raters = 16\nlabels = { PDAC = 1, cyst = 3 }",
        "16 raters with 2 labels are too many",
    ),
    "two labels": (
        "labels = { PDAC = 1 }",
        "labels = { PDAC = 1, cyst = 3 }",
        "vi needs a single label",
    ),
    "empty has no distance": (
        'name = "crps"',
        'name = "bavd"',
        "bavd is undefined for an empty prediction",
    ),
    "worst of all": (
        'worst = "empty-prediction"',
        'worst = "worst-method"',
        "'empty-prediction' or 'image-diagonal'",
    ),
    "no number": ('worst = "empty-prediction"', "worst = inf", "finite"),
    "no length": ('worst = "empty-prediction"', 'worst = "image-diagonal"', "crps is no length"),
    "label called all": ("PDAC = 1", "all = 1", "cannot be called all"),
    "label as a path": ("PDAC = 1", '"../x" = 1', "pattern"),
    "column taken": (
        "[policy]",
        '[cases]\ncolumns = ["value"]\n\n[policy]',
        "scores have a column value of their own",
    ),
    "reading": ("ranked = false", 'ranked = ["final"]', "'released', 'published' or 'corrected'"),
    "path": ('image = "image"', 'image = "../image"', "cannot begin or end with a dot"),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_gets_an_error_with_the_lines_meaning(tmp_path, old, new, message):
    path = edited(tmp_path, old, new)
    with pytest.raises(InputError) as caught:
        load_protocol(path)
    assert str(caught.value).startswith("mine.toml")
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bins = 50", 'bins = "many"'),
        ("n_raters = 5", "n_raters = 0"),
        ("at_most = 0.30", 'at_most = "few"'),
        ('ties = "average"', 'ties = "coin"'),
        ("padding_voxels = 20", "padding_voxels = -1"),
    ],
)
def test_the_line_is_named(tmp_path, old, new):
    path = edited(tmp_path, old, new)
    with pytest.raises(InputError, match=f"line {line_of(path.read_text(), new)}, "):
        load_protocol(path)


def test_an_unknown_protocol_lists_the_known_ones():
    with pytest.raises(InputError, match=NAME):
        load_protocol("curvas-2099")


HOSTILE = {
    "dotted key": (f"{'a.' * 100_000}a = 1", "line 1 has more than 100 dots"),
    "dotted table": (f"[{'a.' * 101}a]", "line 1 has more than 100 dots"),
    "nested lists": (f"a = {'[' * 20_000}", "nested too deeply"),
    "nested tables": (f"a = {'{a = ' * 20_000}", "nested too deeply"),
    "long number": (f"a = {'9' * 10_000}", "is not valid TOML"),
    "long file": ("#" * (1 << 18) + "\n", "more than 262144 bytes"),
    "many unknown keys": ("\n".join(f"a{n} = 1" for n in range(9000)), "and .* more"),
    "long value": (f"name = [{'1, ' * 40_000}]", r"1, 1\.\.\."),
    "spaces in a table": (f"[{' ' * 40_000}", "is not valid TOML"),
    "a key that speaks to the terminal": (r'"\u001b[2J" = 1', r"'\\x1b\[2J': this key"),
    "a key of two lines": (r'"a\nb" = 1', r"'a\\nb': this key"),
}


@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused_in_a_moment(tmp_path, text, message):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        load_protocol(tmp_path / "p.toml")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 10_000


def test_looking_for_a_line_takes_no_time_over_spaces(tmp_path):
    (tmp_path / "p.toml").write_text(f'a = """\n[{" " * 200_000}\n"""\n')
    with pytest.raises(InputError, match="line 1, a: this key is not known"):
        load_protocol(tmp_path / "p.toml")
