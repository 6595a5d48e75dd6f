"""The same numbers to the last bit on processors of other kinds, as the nodes of a cluster are."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from segjury.protocols import builtin_names
from tests.benchmark_files import golden_pdacvi, write_prediction, write_reference
from tests.small_benchmarks import write_benchmark

PROCESSORS = {  # as libraries see them: which code they have for it
    "this": {},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "no AVX": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
}
PROGRAM = """
import sys
from pathlib import Path
from segjury.evaluation import run

for folder in map(Path, sys.argv[1:]):
    found = run(folder.name, reference=folder / "reference", predictions=folder / "predictions")
    for table in (found.scores, found.details, found.calibration, found.cases):
        sys.stdout.write(table.to_csv(index=False))
"""


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory):
    """A benchmark of each protocol; that of lesions with contact of all kinds."""
    top = tmp_path_factory.mktemp("machines")
    for protocol in builtin_names():
        if protocol != "curvas-pdacvi-2025":
            write_benchmark(protocol, top / protocol)
    for case in golden_pdacvi():
        write_reference(case, top / "curvas-pdacvi-2025" / "reference" / case.name)
        write_prediction(case, top / "curvas-pdacvi-2025" / "predictions" / "A" / case.name)
    return sorted(map(str, top.iterdir()))


@pytest.fixture(scope="module")
def expected(benchmarks):
    return numbers(benchmarks, {})


def numbers(benchmarks, environment):
    """Every line of all tables, on a processor of some kind."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *benchmarks]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "NPY_"))}
    return subprocess.run(
        command, env=clean | environment, check=True, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_numbers_do_not_depend_on_the_processor(benchmarks, expected, processor):
    found = numbers(benchmarks, PROCESSORS[processor])
    differing = [pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1]]
    assert differing == []
