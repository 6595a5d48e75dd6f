"""The same numbers to the last bit on processors of other kinds, as the nodes of a cluster are."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.metrics import METRICS
from segjury.protocols import builtin_names, load_protocol
from tests.benchmark_files import golden_pdacvi, write_prediction, write_reference
from tests.small_benchmarks import write_benchmark

PROCESSORS = {  # as libraries see them: which code they have for it
    "this": {},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "no FMA": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX,-AVX512F"},
    "no AVX": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
}
PROGRAM = """
import sys
from pathlib import Path
from segjury.scoring.run import score_benchmark

for folder in map(Path, sys.argv[1:]):
    written = folder / "protocol.toml"
    folders = {kind: folder / kind for kind in ("reference", "predictions")}
    found = score_benchmark(written if written.exists() else folder.name, **folders)
    for table in (found.scores, found.details, found.calibration, found.cases):
        sys.stdout.write(table.to_csv(index=False))
"""

OF_SAMPLES = """
import numpy as np
from segjury import metrics

rng = np.random.default_rng(0)
base = rng.random((20, 20, 10)) < 0.5
masks = np.stack([base ^ (rng.random(base.shape) < 0.01 * (k % 5)) for k in range(40)])
for metric in metrics.METRICS.values():
    if metric.needs_samples:
        for n in (7, 16, 33):
            print(metric.name, n, repr(getattr(metrics, metric.name)(masks[:7], masks[7 : 7 + n])))
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
    write_round_vessels(top / "curvas-pdacvi-2025")
    write_maps_protocol(top / "curvas-pdacvi-2025", top / "maps")
    return sorted(map(str, top.iterdir()))


def write_maps_protocol(lesions, folder):
    """The same cases, scored by what no built-in protocol has: all other metrics of maps."""
    shutil.copytree(lesions, folder)
    used = {use.name for name in builtin_names() for use in load_protocol(name).metrics}
    lines = ['name = "maps"', 'title = ""', "[reference]"]
    lines += ['raters = "annotation_{rater}"', "n_raters = 5"]
    for name, metric in METRICS.items():
        if metric.needs_probability and name not in used:
            lines += ["[[metrics]]", f'name = "{name}"', "worst = 1.0"]
        if name == "uncertainty_ncc":
            lines.append('uncertainty = "entropy"')  # which takes more to compute
    (folder / "protocol.toml").write_text("\n".join(lines))


def write_round_vessels(folder):
    """Cases whose vessels have no longest axis: balls, halves of balls, corners of cubes."""
    step = np.indices((5, 5, 5)) - 2
    square, side = (step**2).sum(axis=0), step.sum(axis=0)
    corner = np.zeros((5, 5, 5), bool)
    corner[2:4, 2:4, 2:4] = np.unpackbits(np.uint8([23]), bitorder="little").reshape(2, 2, 2)
    shapes = [square <= 3, (square <= 3) & (side >= 0), square <= 6, (square <= 6) & (side >= 0)]
    grid, rng = Grid((40, 10, 10), (0.7, 0.7, 0.7)), np.random.default_rng(0)
    vessels = np.zeros(grid.shape, np.uint8)
    for k, shape in enumerate([*shapes, corner]):
        vessels[8 * k : 8 * k + 5, 2:7, 2:7][shape] = k + 1

    def lesion():
        return rng.random(grid.shape) < 0.1

    for case in ("round_1", "round_2", "round_3"):
        there, found = folder / "reference" / case, folder / "predictions" / "A" / case
        for rater in range(1, 6):
            mask = Volume(lesion().astype(np.uint8), grid)
            write_volume(there / f"annotation_{rater}.nii.gz", mask)
        write_volume(there / "annotation_vascular.nii.gz", Volume(vessels, grid))
        p = np.mean([lesion() for _ in range(7)], axis=0).astype(np.float32)
        write_volume(found / "probability.nii.gz", Volume(p, grid))
        write_volume(found / "segmentation.nii.gz", Volume((p > 0.5).astype(np.uint8), grid))


@pytest.fixture(scope="module")
def expected(benchmarks):
    lines = numbers(benchmarks, {})
    assert any(",uncertainty_ncc," in line for line in lines)  # the last one of the maps
    return lines


def numbers(benchmarks, environment, program=PROGRAM):
    """Every line of all tables, on a processor of some kind."""
    command = [sys.executable, "-W", "ignore", "-c", program, *benchmarks]
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "NPY_", "GLIBC_"))
    }
    return subprocess.run(
        command, env=clean | environment, check=True, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_numbers_do_not_depend_on_the_processor(benchmarks, expected, processor):
    found = numbers(benchmarks, PROCESSORS[processor])
    differing = [pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1]]
    assert differing == []


@pytest.fixture(scope="module")
def expected_of_samples():
    return numbers([], {}, OF_SAMPLES)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_metrics_of_samples_do_not_depend_on_the_processor(expected_of_samples, processor):
    assert len(expected_of_samples) == 27
    assert numbers([], PROCESSORS[processor], OF_SAMPLES) == expected_of_samples
