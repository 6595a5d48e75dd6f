"""The phantom of any protocol: what a protocol says is in the files, and its scores are known."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

import segjury
from segjury.benchmark.check import check
from segjury.benchmark.layout import CaseFiles
from segjury.benchmark.phantoms import BENCHMARKS, SHAPES, benchmark_writer, write_phantom
from segjury.benchmark.phantoms.general.anatomy import LESION_METRICS, outer_numbers
from segjury.benchmark.phantoms.general.raters import STYLES, styles_of
from segjury.errors import InputError
from segjury.images import read_volume
from segjury.metrics import METRICS
from segjury.protocols import Protocol, builtin_names, load_protocol, protocol_text
from segjury.protocols.patterns import filled
from tests.commands import segjury as command

CASES = ("P001", "P002", "P003")
SLICE, VOLUME = (40, 40, 1), (48, 40, 12)
FIVE = {
    "qubiq-2021": SLICE,
    "lidc-idri": SLICE,
    "kits-2023": VOLUME,
    "brats-mets-2023": VOLUME,
    "mbh-seg-2025": VOLUME,
}
FLAT = """
name = "flat"
title = "Nested regions, files in folders of their kind, five readers of whom some mark a case"

[reference]
raters = "labels/{case}_reader-{rater}"
rater_names = ["ann", "ben", "cat", "dan", "eve", "ann2"]
repeats = { ann2 = "ann" }
min_raters = 3
labels = { whole = [1, 2, 4], core = [1, 4], enhancing = 4 }
other_labels = { skull = 9 }
ignore = 7
image = "images/{case}"

[prediction]
mask = "masks/{case}"
probability = "maps/{case}_{label}"
sample = "samples/{case}-{sample}"

[[metrics]]
name = "dsc"
readings = ["corrected"]

[[metrics]]
name = "thr_dsc"
readings = ["corrected"]
thresholds = [0.1, 0.45, 0.9]

[[metrics]]
name = "ged"

[[metrics]]
name = "time_s"

[cases]
file = "patients.csv"
columns = ["site"]
"""
PERFECT = {"ged": 0.0, "hd95": 0.0}  # others are shares, best at 1
BEST = ("dsc", "nsd", "thr_dsc", "hungarian_iou", "dice_max", "dice_match", "dice_soft", "pq")
PERFECT |= dict.fromkeys((*BEST, "lesion_f1"), 1.0)


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("protocols") / "flat.toml"
    path.write_text(FLAT)
    return path


@pytest.fixture(scope="module", params=[*FIVE, "flat"])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, flat: Path
) -> tuple[Protocol, Path]:
    name = request.param
    protocol = load_protocol(flat if name == "flat" else name)
    folder = tmp_path_factory.mktemp(name)
    shape = FIVE.get(name, VOLUME)
    benchmark_writer(flat if name == "flat" else name)(folder, cases=3, methods=3, shape=shape)
    return protocol, folder


@pytest.fixture(scope="module")
def scores(bench: tuple[Protocol, Path]) -> Any:
    protocol, folder = bench
    table = segjury.evaluate(
        protocol, reference=folder / "reference", predictions=folder / "predictions"
    )
    assert (table["status"] == "ok").all()
    return table.set_index(["method", "metric", "structure", "case"])["value"].sort_index()


def image(root: Path, pattern: str, case: str, **values: str) -> NDArray[Any]:
    return read_volume(root / f"{filled(pattern, case=case, **values)}.nii.gz").array


def raters_of(protocol: Protocol, folder: Path, case: str) -> dict[str, NDArray[Any]]:
    files = CaseFiles.of(protocol, folder / "reference", case)
    return {
        name: read_volume(place.find()).array
        for name, place in files.raters.items()
        if place.candidates
    }


def dice(a: NDArray[Any], b: NDArray[Any]) -> float:
    total = np.count_nonzero(a) + np.count_nonzero(b)
    return 2 * np.count_nonzero(a & b) / total if total else 1.0


# ---- from files to a leaderboard -----------------------------------------------------------


def test_a_phantom_has_no_error(bench: tuple[Protocol, Path]) -> None:
    protocol, folder = bench
    found = check(protocol, reference=folder / "reference", predictions=folder / "predictions")
    assert [str(problem) for problem in found.problems if problem.severity == "error"] == []
    assert (found.cases, found.methods) == (3, 3)


def test_the_consensus_is_perfect_and_first(bench: tuple[Protocol, Path], scores: Any) -> None:
    protocol, folder = bench
    looked_at = 0
    for use in protocol.metrics:
        if use.name in PERFECT:
            of_consensus = scores["Consensus", use.name]
            np.testing.assert_allclose(of_consensus, PERFECT[use.name], rtol=0, atol=1e-12)
            looked_at += 1
    assert looked_at >= 1
    results = segjury.run(
        protocol,
        reference=folder / "reference",
        predictions=folder / "predictions",
        out=folder / "results",
    )
    board = results.leaderboard().table
    assert board["method"].tolist()[0] == "Consensus"
    assert board["position"].tolist().count(1) == 1


def test_a_score_of_each_protocol_is_that_of_the_formula(
    bench: tuple[Protocol, Path], scores: Any
) -> None:
    protocol, folder = bench
    metric, structure, by_hand = BY_HAND[protocol.name]
    for case in CASES:
        for method in ("Calibrated", "Overconfident"):
            expected = by_hand(protocol, folder, method, case)
            got = scores[method, metric, structure, case]
            assert got == pytest.approx(expected, abs=1e-6), (method, case)


def thr_dsc_by_hand(protocol: Protocol, folder: Path, method: str, case: str) -> float:
    """Both means cut at 0.1, 0.2, ..., 0.9: seven raters, so that none lies at a cut."""
    raters = np.stack([mask == 1 for mask in raters_of(protocol, folder, case).values()])
    p = image(folder / "predictions" / method, "task01", case)
    return float(np.mean([dice(raters.mean(0) > t / 10, p > t / 10) for t in range(1, 10)]))


def iou_distance(a: NDArray[Any], b: NDArray[Any]) -> float:
    union = np.count_nonzero(a | b)
    return 1 - np.count_nonzero(a & b) / union if union else 0.0


def samples_of(protocol: Protocol, folder: Path, method: str, case: str) -> list[NDArray[Any]]:
    root, pattern = folder / "predictions" / method, protocol.prediction.sample
    pattern = pattern if "{sample}" in pattern else f"{pattern}_{{sample}}"
    return [image(root, pattern, case, sample=f"{k:02d}") for k in range(1, 9)]


def ged_by_hand(protocol: Protocol, folder: Path, method: str, case: str) -> float:
    raters = [mask == 1 for mask in raters_of(protocol, folder, case).values()]
    samples = [mask == 1 for mask in samples_of(protocol, folder, method, case)]

    def mean(first: list[NDArray[Any]], second: list[NDArray[Any]]) -> float:
        return float(np.mean([iou_distance(a, b) for a in first for b in second]))

    return 2 * mean(raters, samples) - mean(samples, samples) - mean(raters, raters)


def dice_of_masses(_protocol: Protocol, folder: Path, method: str, case: str) -> float:
    reference = image(folder / "reference", "segmentation", case)
    predicted = image(folder / "predictions" / method, "segmentation", case)
    return dice(np.isin(reference, (2, 3)), np.isin(predicted, (2, 3)))


def quality_of_tc(_protocol: Protocol, folder: Path, method: str, case: str) -> float:
    """Panoptic quality of lesions of TC: with an IoU above 0.5 no lesion matches two."""
    reference = np.isin(image(folder / "reference", "{case}/{case}-seg", case), (1, 3))
    predicted = np.isin(image(folder / "predictions" / method, "segmentation", case), (1, 3))
    everywhere = np.ones((3, 3, 3))
    lesions, found = (ndimage.label(mask, everywhere) for mask in (reference, predicted))
    overlaps = [
        1 - iou_distance(lesions[0] == a, found[0] == b)
        for a in range(1, lesions[1] + 1)
        for b in range(1, found[1] + 1)
    ]
    matched = [overlap for overlap in overlaps if overlap > 0.5]
    return 2 * sum(matched) / (lesions[1] + found[1])


def dice_max_of_ich(protocol: Protocol, folder: Path, method: str, case: str) -> float:
    raters = [mask == 2 for mask in raters_of(protocol, folder, case).values()]
    samples = [mask == 2 for mask in samples_of(protocol, folder, method, case)]
    return float(np.mean([max(dice(rater, sample) for sample in samples) for rater in raters]))


def ged_of_core(protocol: Protocol, folder: Path, method: str, case: str) -> float:
    """Without the voxels that a rater ignores."""
    raters = list(raters_of(protocol, folder, case).values())
    counted = ~np.any([mask == 7 for mask in raters], axis=0)
    marked = [np.isin(mask, (1, 4)) & counted for mask in raters]
    sampled = [
        np.isin(mask, (1, 4)) & counted for mask in samples_of(protocol, folder, method, case)
    ]

    def mean(first: list[NDArray[Any]], second: list[NDArray[Any]]) -> float:
        return float(np.mean([iou_distance(a, b) for a in first for b in second]))

    return 2 * mean(marked, sampled) - mean(sampled, sampled) - mean(marked, marked)


BY_HAND = {
    "qubiq-2021": ("thr_dsc", "all", thr_dsc_by_hand),
    "lidc-idri": ("ged", "all", ged_by_hand),
    "kits-2023": ("dsc", "masses", dice_of_masses),
    "brats-mets-2023": ("pq", "TC", quality_of_tc),
    "mbh-seg-2025": ("dice_max", "IPH", dice_max_of_ich),
    "flat": ("ged", "core", ged_of_core),
}


# ---- what is in the files ------------------------------------------------------------------


def test_raters_disagree_about_every_label(bench: tuple[Protocol, Path]) -> None:
    protocol, folder = bench
    spec = protocol.reference
    for numbers in spec.numbers.values():
        agreement = []
        for case in CASES:
            masks = [np.isin(m, numbers) for m in raters_of(protocol, folder, case).values()]
            assert any(mask.any() for mask in masks)
            agreement += [dice(masks[0], mask) for mask in masks[1:]]
        assert len(spec.panel) == 1 or 0.4 < np.mean(agreement) < 0.97


def test_only_some_of_an_incomplete_panel_mark_a_case(bench: tuple[Protocol, Path]) -> None:
    protocol, folder = bench
    spec = protocol.reference
    counts = [len(raters_of(protocol, folder, case)) for case in CASES]
    assert min(counts) >= spec.fewest
    assert max(counts) <= len(spec.panel)
    assert spec.is_complete or min(counts) < len(spec.panel)


def test_a_number_with_more_labels_lies_in_the_body_of_one_with_fewer(flat: Path) -> None:
    spec = load_protocol(flat).reference
    assert outer_numbers(spec) == {2: 0, 1: 2, 4: 1}
    spec = load_protocol("kits-2023").reference
    assert outer_numbers(spec) == {1: 0, 3: 1, 2: 3}  # tumour in mass in kidney
    spec = load_protocol("mbh-seg-2025").reference
    assert set(outer_numbers(spec).values()) == {0}  # side by side


@pytest.fixture(scope="module")
def flat_bench(flat: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flat-files")
    benchmark_writer(flat)(folder, cases=6, methods=1, shape=VOLUME)
    return folder


def test_files_lie_where_the_patterns_say(flat_bench: Path) -> None:
    there = {path.parent.relative_to(flat_bench).as_posix() for path in flat_bench.rglob("*.gz")}
    assert there == {
        *("reference/labels", "reference/images"),
        *(f"predictions/Consensus/{kind}" for kind in ("masks", "maps", "samples")),
    }


def test_a_second_read_is_nearly_the_first(flat: Path, flat_bench: Path) -> None:
    protocol, found = load_protocol(flat), 0
    for k in range(1, 7):
        files = CaseFiles.of(protocol, flat_bench / "reference", f"P{k:03d}")
        first, second = files.raters["ann"].candidates, files.repeats["ann2"].candidates
        assert bool(first) == bool(second)
        if first:
            a, b = (np.isin(read_volume(p[0]).array, (1, 2, 4)) for p in (first, second))
            # the first rater's file also has voxels that are ignored, which the second does not
            assert 0.85 < dice(a, b) < 1
            found += 1
    assert found


def test_the_first_rater_of_a_case_has_what_is_not_scored(flat: Path, flat_bench: Path) -> None:
    protocol = load_protocol(flat)
    for k in range(1, 7):
        first, *others = raters_of(protocol, flat_bench, f"P{k:03d}").values()
        assert {7, 9} <= set(np.unique(first))
        assert all(not np.isin(mask, (7, 9)).any() for mask in others)


def test_columns_of_the_table_of_cases_are_there(flat_bench: Path) -> None:
    with (flat_bench / "reference" / "patients.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["case"] for row in rows] == [f"P{k:03d}" for k in range(1, 7)]
    assert {row["site"] for row in rows} == {"A", "B", "C"}
    with (flat_bench / "efficiency.csv").open() as stream:
        assert all(float(row["time_s"]) > 0 for row in csv.DictReader(stream))


def test_lesions_differ_in_size_and_one_method_misses_the_small_ones(tmp_path: Path) -> None:
    benchmark_writer("brats-mets-2023")(tmp_path, cases=1, methods=6, shape=(64, 64, 32))
    everywhere = np.ones((3, 3, 3))
    reference = image(tmp_path / "reference", "{case}/{case}-seg", "P001")
    labels, count = ndimage.label(reference > 0, everywhere)
    sizes = np.sort(np.bincount(labels.ravel())[1:])
    assert count >= 4
    assert sizes[-1] > 20 * sizes[0]
    missing = image(tmp_path / "predictions" / "Missing", "segmentation", "P001")
    found = [(missing[labels == k] > 0).any() for k in range(1, count + 1)]
    of_size = dict(zip(np.bincount(labels.ravel())[1:].tolist(), found, strict=True))
    assert not of_size[sizes[0]]
    assert of_size[sizes[-1]]


def test_the_metrics_of_lesions_are_known() -> None:
    assert METRICS.keys() >= LESION_METRICS


def test_structures_touch_the_first_body_and_nobody_draws_in_them(tmp_path: Path) -> None:
    text = protocol_text("curvas-pdacvi-2025").replace("curvas-pdacvi-2025", "mine")
    (tmp_path / "mine.toml").write_text(text)
    folder = tmp_path / "bench"
    write_phantom(tmp_path / "mine.toml", folder, cases=1, methods=0, shape=(48, 48, 16))
    vessels = image(folder / "reference", "annotation_vascular", "P001")
    assert set(np.unique(vessels)) == {0, 1, 2, 3, 4, 5}
    near = ndimage.binary_dilation(vessels > 0)
    for mask in raters_of(load_protocol(tmp_path / "mine.toml"), folder, "P001").values():
        assert not (vessels[mask == 1] > 0).any()
        assert (near & (mask == 1)).any()


def test_anonymous_raters_are_somebody_else_in_the_next_case() -> None:
    spec = load_protocol("lidc-idri").reference
    orders = {tuple(styles_of(spec, np.random.default_rng(k)).values()) for k in range(6)}
    assert len(orders) > 1
    named = load_protocol("qubiq-2021").reference
    assert list(styles_of(named, np.random.default_rng(0)).values()) == list(STYLES)


# ---- writing -------------------------------------------------------------------------------


def written(folder: Path, **options: Any) -> dict[str, bytes]:
    benchmark_writer("mbh-seg-2025")(folder, shape=(36, 24, 8), **options)
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.gz")}


def test_same_seed_same_bytes_whatever_else_is_written(tmp_path: Path) -> None:
    both = written(tmp_path / "a", cases=2, methods=2)
    fewer = written(tmp_path / "b", cases=1, methods=1)
    other = written(tmp_path / "c", cases=1, methods=1, seed=1)
    assert fewer.items() <= both.items()
    assert all(other[name] != fewer[name] for name in fewer if name in other)


@pytest.mark.parametrize("protocol", sorted(set(builtin_names()) - set(BENCHMARKS)))
def test_protocols_without_anatomy_of_their_own_are_short(protocol: str) -> None:
    assert len(protocol_text(protocol).splitlines()) <= 60
    assert load_protocol(protocol).sources
    assert all(source.url for source in load_protocol(protocol).sources)


def test_images_of_one_slice_are_those_of_known_protocols() -> None:
    assert set(SHAPES) <= set(builtin_names()) - set(BENCHMARKS)


def test_a_shape_too_small_for_the_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too small for the labels of the protocol"):
        benchmark_writer("mbh-seg-2025")(tmp_path, cases=1, shape=(30, 30, 10))


def test_a_volume_may_have_one_slice(tmp_path: Path) -> None:
    benchmark_writer("kits-2023")(tmp_path, cases=1, methods=1, shape=(24, 24, 1))
    mask = image(tmp_path / "reference", "segmentation", "P001")
    assert mask.shape == (24, 24, 1)
    assert set(np.unique(mask)) == {0, 1, 2, 3}


def test_the_command_takes_a_file(tmp_path: Path, flat: Path) -> None:
    out = tmp_path / "out"
    done = command("phantom", flat, out, "--cases", 1, "--methods", 1, "--shape", "30,30,1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "predictions" / "Consensus" / "masks" / "P001.nii.gz").is_file()
