"""A short run of each fuzzer, the same every time; `fuzz/fuzz.py` runs them at length."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segjury.errors import InputError
from tests.places import ROOT

sys.path.insert(0, str(ROOT / "fuzz"))
from targets import TARGETS, damaged, reworded

RUNS = {"toml": 60, "scores": 40, "cases": 60}  # the others are quicker


@pytest.mark.parametrize("name", TARGETS)
def test_each_seed_is_read_by_a_reader(tmp_path, name):
    target = TARGETS[name]
    for content in target.seeds:
        path = tmp_path / target.file
        refused = 0
        for read in target.readers:
            path.write_bytes(content)
            try:
                read(path)
            except InputError:
                refused += 1
        assert refused < len(target.readers)


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_files_are_read_or_refused(tmp_path, name):
    target, rng = TARGETS[name], random.Random(name)  # noqa: S311 - no secret
    for _ in range(RUNS.get(name, 300)):
        target.run(damaged(target.seeds, rng), tmp_path)
        target.run(reworded(rng.choice(target.seeds), target.seeds, rng), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path, name, content):
    TARGETS[name].run(content, tmp_path)
