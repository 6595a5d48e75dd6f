"""Errors of bad input: what travels with them."""

from __future__ import annotations

import ast
import pickle

import pytest

from segjury.benchmark.check import KINDS
from segjury.errors import InputError, MissingInputError, PassingError
from tests.places import ROOT


@pytest.mark.parametrize("made", [InputError, MissingInputError, PassingError])
def test_kind_and_hint_stay_when_the_file_is_named(made):
    named = made("is odd", "Turn it", kind="mirrored", hint="Perhaps").about("a.nii")
    assert type(named) is made
    assert (str(named), named.kind, named.hint) == ("a.nii is odd. Turn it.", "mirrored", "Perhaps")


def test_kind_and_hint_come_back_from_another_process():
    error = InputError("is odd", "Turn it", kind="mirrored", hint="Perhaps")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own, as workers send it
    assert (str(back), back.kind, back.hint) == (str(error), "mirrored", "Perhaps")


def test_a_missing_file_has_a_kind_unless_it_is_told_another():
    assert MissingInputError("is missing").about("a.nii").kind == "missing-file"
    assert MissingInputError("no prediction", kind="missing-prediction").kind == (
        "missing-prediction"
    )


def test_every_kind_that_is_raised_is_one_of_the_checks():
    raised = set()
    for path in ROOT.joinpath("src", "segjury").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "").endswith("InputError"):
                raised |= {
                    word.value.value
                    for word in call.keywords
                    if word.arg == "kind" and isinstance(word.value, ast.Constant)
                }
    assert len(raised) > 8
    assert raised <= KINDS.keys()
