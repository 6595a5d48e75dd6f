from __future__ import annotations

import math

import pytest

from segjury.runtime import resources

V2, V1 = "0::/job/step\n", "9:cpu:/other\n5:memory:/job/step\n"


def group(folder, *, version, most, taken, cached=0):
    folder.mkdir(parents=True, exist_ok=True)
    limit, used, name = resources.NAMES["" if version == 2 else "memory"]
    (folder / limit).write_text(f"{most}\n")
    (folder / used).write_text(f"{taken}\n")
    (folder / "memory.stat").write_text(f"anon {taken - cached}\n{name} {cached}\n")


@pytest.mark.parametrize("version", [1, 2])
def test_the_tightest_limit_of_a_group_and_those_around_it_counts(tmp_path, version):
    top = tmp_path / ("" if version == 2 else "memory")
    group(top / "job/step", version=version, most=100, taken=30)
    group(top / "job", version=version, most=80, taken=60)
    assert resources.group_memory(V2 if version == 2 else V1, tmp_path) == 20


@pytest.mark.parametrize("version", [1, 2])
def test_cached_files_are_not_taken(tmp_path, version):
    top = tmp_path / ("" if version == 2 else "memory")
    group(top / "job/step", version=version, most=100, taken=95, cached=70)
    assert resources.group_memory(V2 if version == 2 else V1, tmp_path) == 75


def test_no_limit_is_no_limit(tmp_path):
    group(tmp_path / "job/step", version=2, most="max", taken=30)
    assert resources.group_memory(V2, tmp_path) == math.inf
    assert resources.group_memory("", tmp_path) == math.inf
    assert resources.group_memory("nonsense\n::", tmp_path) == math.inf


def test_more_than_the_limit_leaves_nothing(tmp_path):
    group(tmp_path / "job/step", version=2, most=100, taken=130)
    assert resources.group_memory(V2, tmp_path) == 0


@pytest.mark.parametrize(
    ("free", "n_tasks", "jobs"), [(10e9, 60, 4), (10e9, 3, 3), (5e9, 60, 2), (1e9, 60, 1)]
)
def test_a_process_is_not_started_without_its_share_of_memory(monkeypatch, free, n_tasks, jobs):
    monkeypatch.setattr(resources, "cores", lambda: 4)
    monkeypatch.setattr(resources, "free_memory", lambda: free)
    assert resources.default_jobs(n_tasks, bytes_each=2e9) == jobs


def test_this_machine_tells_what_it_has():
    assert resources.cores() >= 1
    assert resources.free_memory() > 0
