"""Memory of scoring a case, and what of it is read ahead."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from segjury.benchmark import loading
from segjury.benchmark.loading import read_ahead
from segjury.images.grid import Grid
from segjury.protocols import load_protocol
from segjury.scoring.memory import PROCESS_BYTES, case_bytes
from tests.places import ROOT

BENCHMARKS = ROOT / "benchmarks"
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from scoring import memory
print(memory(*sys.argv[2:]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    ("protocol", "shape", "n_labels", "n_maps"),
    [
        ("curvas-pdacvi-2025", (256, 256, 160), 1, 1),
        ("smile-uhura-2023", (128, 128, 96), 1, 0),
        ("aortaseg-2024", (256, 256, 160), 23, 0),
    ],
)
def test_no_case_takes_more_than_estimated(tmp_path, protocol, shape, n_labels, n_maps):
    sizes = ",".join(map(str, shape))
    write = [str(BENCHMARKS / "cases.py"), protocol, str(tmp_path), "--form", "adverse"]
    subprocess.run([sys.executable, *write, f"--shape={sizes}"], check=True)
    run = [sys.executable, "-c", RUN, str(BENCHMARKS), protocol, str(tmp_path)]
    peak_gb = float(subprocess.run(run, check=True, capture_output=True).stdout)
    metrics = [use.name for use in load_protocol(protocol).metrics]
    estimated = case_bytes(math.prod(shape), metrics=metrics, n_labels=n_labels, n_maps=n_maps)
    assert 1e9 * peak_gb <= estimated + PROCESS_BYTES


@pytest.mark.parametrize(
    ("bytes_per_voxel", "allowed", "depth"),
    [(0.01, 1.2, 0), (0.01, 3, 1), (0.01, 100, 2), (3.5, 9, 0), (3.5, 15.1, 2), (7, 15, 0)],
)
def test_as_many_predictions_wait_as_memory_is_for(
    tmp_path, monkeypatch, bytes_per_voxel, allowed, depth
):
    """A mask takes a byte per voxel; a map 4 or 8, unless it was compressed well."""
    grid, protocol = Grid((10, 20, 50)), load_protocol("curvas-pdacvi-2025")
    folder = tmp_path / "method" / "case"
    folder.mkdir(parents=True)
    (folder / "probability.nii.gz").write_bytes(bytes(int(10_000 * bytes_per_voxel)))
    monkeypatch.setattr(loading, "READ_AHEAD_BYTES", int(10_000 * allowed))
    assert read_ahead(protocol, tmp_path, ["method", "absent"], "case", grid) == depth
