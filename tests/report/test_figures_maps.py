"""Calibration, volumes and contact with vessels: what a run writes, and what the figures show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.integrate import quad
from scipy.stats import norm, wasserstein_distance

from segjury.analysis import Settings
from segjury.analysis.study import Study
from segjury.errors import InputError
from segjury.report.figures.drawing.style import method_colours
from segjury.report.figures.maps import invasion, reliability, volume, volumes
from segjury.report.figures.saving.save import figure_bytes
from segjury.results import Results
from segjury.results.columns import BIN_COLUMNS
from segjury.results.read import read_calibration
from segjury.runtime.tables import write_csv
from segjury.scoring.run import score_benchmark
from tests.benchmark_files import golden_pdacvi, write_prediction, write_reference
from tests.score_tables import ODD_NAMES, VESSELS, labelled
from tests.test_golden_curvas24 import CASES as ORGAN_CASES

KINDS = (*reliability.KINDS, *volume.KINDS, *volumes.KINDS, *invasion.KINDS)
GOLDEN = [case for case in golden_pdacvi() if case.name in ("00_typical", "07_overconf")]
RATERS, LEVELS = [f"rater {k + 1}" for k in range(4)], ["p > 0.1", "p > 0.5", "p > 0.8"]


# ---- what a run writes ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Two golden cases, scored and written."""
    folder = tmp_path_factory.mktemp("maps")
    for case in GOLDEN:
        write_reference(case, folder / "reference" / case.name)
        write_prediction(case, folder / "predictions" / "one" / case.name)
    evaluated(folder, store=folder / "out" / "parts").write(folder / "out")
    return folder


def evaluated(folder, protocol="curvas-pdacvi-2025", **options):
    return score_benchmark(
        protocol, reference=folder / "reference", predictions=folder / "predictions", **options
    )


def read_study(folder):
    return Study.of(Results.read(folder))


def errors_from(bins):
    """The calibration error against each rater, from the rows of one prediction."""
    hits = bins.filter(regex=r"^hits_\d+$")
    return hits.sub(bins["confidence"], axis=0).abs().sum().to_numpy() / bins["voxels"].sum()


def test_the_errors_of_the_table_follow_from_the_bins(bench):
    study = read_study(bench / "out")
    assert set(study.calibration["reading"]) == {"corrected"}
    assert (study.calibration["voxels"] > 0).all()
    scores = study.scores[study.scores["reading"] == "corrected"]
    scores = scores[scores["metric"] == "mr_ece"].set_index(["method", "case"])["value"]
    details = study.details[study.details["reading"] == "corrected"]
    assert len(scores) == 2
    for (method, case), value in scores.items():
        own = study.calibration[study.calibration["case"] == case]
        found = errors_from(own[own["method"] == method])
        assert found.mean() == pytest.approx(value, abs=1e-9)
        parts = details[(details["case"] == case) & (details["quantity"] == "ece")]
        np.testing.assert_allclose(found, parts["value"], atol=1e-9)


def test_the_bins_hold_what_the_maps_say(bench):
    case = GOLDEN[0]
    bins = read_study(bench / "out").calibration
    bins = bins[bins["case"] == case.name].reset_index(drop=True)
    p, masks = case.arrays["probability"].astype(float), case.arrays["annotations"] == 1
    low, high = (end(np.argwhere(masks.any(axis=0)), axis=0) for end in (np.min, np.max))
    box = tuple(slice(max(a - 20, 0), b + 21) for a, b in zip(low, high, strict=True))
    p, masks = p[box].ravel(), masks[:, *box].reshape(len(masks), -1)
    confidence = np.maximum(p, 1 - p)
    for row in bins.to_dict("records"):
        last = row["bin_high"] == 1
        inside = (confidence >= row["bin_low"]) & ((confidence < row["bin_high"]) | last)
        assert row["voxels"] == inside.sum()
        assert row["confidence"] == pytest.approx(confidence[inside].sum())
        for k, mask in enumerate(masks):
            assert row[f"hits_{k + 1}"] == ((p > 0.5) == mask)[inside].sum()
    assert bins["voxels"].sum() == p.size


def test_several_labels_and_one_error_of_the_whole_case(tmp_path):
    ORGAN_CASES[0].write(tmp_path)
    found = evaluated(tmp_path, "curvas-2024", readings=["released", "published"])
    assert set(found.calibration["metric"]) == {"ece"}
    assert set(found.calibration["structure"]) == {"all"}
    assert set(found.calibration["reading"]) == {"published"}
    table = found.scores.set_index(["metric", "reading"])["value"]
    error = errors_from(found.calibration).mean()
    assert error == pytest.approx(table["ece", "published"], abs=1e-9)


def test_the_released_reading_has_a_bin_for_confidence_one(bench):
    found = evaluated(bench, readings=["released"])
    last = found.calibration[found.calibration["bin_low"] == 1]
    assert len(last) == 2
    assert (last["confidence"] == last["voxels"]).all()
    values = found.scores[found.scores["metric"] == "mr_ece"].set_index("case")["value"]
    for case, own in found.calibration.groupby("case"):
        assert errors_from(own).mean() == pytest.approx(values[case], abs=1e-9)


def test_a_resumed_run_writes_the_same_bytes(bench, tmp_path):
    parts = bench / "out" / "parts"
    before = {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    evaluated(bench, store=parts).write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in parts.iterdir()} == before
    written = (tmp_path / "calibration.csv").read_bytes()
    assert written == (bench / "out" / "calibration.csv").read_bytes()


def test_parts_of_an_older_form_are_computed_again(bench, tmp_path):
    store = tmp_path / "parts"
    store.mkdir()
    for path in (bench / "out" / "parts").iterdir():
        content = json.loads(path.read_text())
        del content["result"]["bins"]
        (store / path.name).write_text(json.dumps(content))
    evaluated(bench, store=store).write(tmp_path)
    written = (tmp_path / "calibration.csv").read_bytes()
    assert written == (bench / "out" / "calibration.csv").read_bytes()


def test_no_calibration_metric_no_bins(tmp_path):
    write_csv(pd.DataFrame(columns=[*BIN_COLUMNS, "hits_1"]), tmp_path / "calibration.csv")
    assert len(read_calibration(tmp_path)) == 0
    assert read_calibration(tmp_path / "nowhere" / "scores.csv") is None


@pytest.mark.parametrize(
    ("columns", "cell", "message"),
    [
        (BIN_COLUMNS, "1", "no column 'hits_1'"),
        (("method", "case"), "1", "no column 'metric'"),
        ((*BIN_COLUMNS, "hits_1"), "many", "bin_low 'many'"),
        ((*BIN_COLUMNS, "hits_1"), "nan", "bin_low 'nan'"),
    ],
)
def test_bad_bins_are_refused(tmp_path, columns, cell, message):
    text = f"{','.join(columns)}\n{','.join(cell for _ in columns)}\n"
    (tmp_path / "calibration.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_calibration(tmp_path)


# ---- tables to draw -------------------------------------------------------------------------


def gaussian_crps(raters, predicted):
    """The integral that the volume score stands for."""
    if np.ptp(raters) == 0:
        return abs(predicted - raters[0])
    spread = norm(np.mean(raters), np.std(raters))
    below = quad(lambda v: spread.cdf(v) ** 2, predicted - 60, predicted, limit=200)[0]
    return below + quad(lambda v: spread.sf(v) ** 2, predicted, predicted + 60, limit=200)[0]


class Table:
    """Volumes, angles and bins of some methods and cases, with their true scores."""

    def __init__(self, methods=("Alpha", "Beta", "Gamma"), cases=4, labels=("all",), seed=2):
        rng = np.random.default_rng(seed)
        self.methods, self.cases, self.labels = methods, [f"P{c:03d}" for c in range(cases)], labels
        size = (len(methods), cases)
        self.volumes = rng.uniform(3, 6, (cases, len(labels), 4))
        self.predicted = rng.uniform(2, 7, (*size, len(labels)))
        self.rater_angles = 10.0 * rng.integers(0, 30, (cases, len(VESSELS), 3, 4))
        self.angles = 10.0 * rng.integers(0, 30, (*size, len(VESSELS), 3, 3))
        self.rater_angles[:, 3] = self.angles[:, :, 3] = 0.0  # nobody touches the fourth vessel
        self.bins = rng.integers(1, 400, (*size, 10))
        self.hits = (self.bins[..., None] * rng.uniform(0.4, 1.0, (*size, 10, 4))).astype(int)

    def score(self, m, c, metric, structure):
        if metric == "crps":
            own = (
                [self.labels.index(structure)]
                if structure in self.labels
                else range(len(self.labels))
            )
            return np.mean(
                [gaussian_crps(self.volumes[c, o], self.predicted[m, c, o]) for o in own]
            )
        v = VESSELS.index(structure)
        pairs = zip(self.rater_angles[c, v], self.angles[m, c, v], strict=True)
        return max(wasserstein_distance(a, b) for a, b in pairs)

    def study(self, *, true=True):
        structures = {"crps": [*self.labels, *(["all"] if "all" not in self.labels else [])]}
        structures["vi"] = list(VESSELS)
        rows = [
            (
                method,
                case,
                metric,
                structure,
                self.score(m, c, metric, structure) if true else m + c,
            )
            for m, method in enumerate(self.methods)
            for c, case in enumerate(self.cases)
            for metric, names in structures.items()
            for structure in names
        ]
        columns = ["method", "case", "metric", "structure", "value"]
        scores = pd.DataFrame(rows, columns=columns).assign(
            reading="corrected", unit="", status="ok", detail="", cohort=""
        )
        quick = Settings(samples=100)
        return Study(scores, settings=quick, details=self.details(), calibration=self.counts())

    def details(self):
        rows = []
        for m, method in enumerate(self.methods):
            for c, case in enumerate(self.cases):
                for o, label in enumerate(self.labels):
                    items = dict(zip(RATERS, self.volumes[c, o], strict=True))
                    items["prediction"] = self.predicted[m, c, o]
                    about = (method, case, "crps", label, "volume_cm3")
                    rows += [(*about, *item) for item in items.items()]
                for v, vessel in enumerate(VESSELS):
                    for axis in range(3):
                        both = (*self.rater_angles[c, v, axis], *self.angles[m, c, v, axis])
                        about = (method, case, "vi", vessel, f"angle axis {axis}")
                        items = zip((*RATERS, *LEVELS), both, strict=True)
                        rows += [(*about, *item) for item in items]
        columns = ["method", "case", "metric", "structure", "quantity", "item", "value"]
        return pd.DataFrame(rows, columns=columns).assign(reading="corrected")

    def counts(self):
        rows = []
        for m, method in enumerate(self.methods):
            for c, case in enumerate(self.cases):
                for b, n in enumerate(self.bins[m, c]):
                    low, high = 0.5 + b / 20, 0.5 + (b + 1) / 20
                    about = (method, case, "mr_ece", "all", "corrected", low, high)
                    rows.append((*about, n, n * (low + 0.02), *self.hits[m, c, b]))
        columns = [*BIN_COLUMNS, *(f"hits_{k + 1}" for k in range(4))]
        return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="module")
def table():
    return Table()


@pytest.fixture(scope="module")
def study(table):
    return table.study()


# ---- reliability ----------------------------------------------------------------------------


def test_curves_are_accuracy_against_confidence_over_all_cases(table, study):
    figure = reliability.reliability(study)
    for m, method in enumerate(table.methods):
        voxels, hits = table.bins[m].sum(axis=0), table.hits[m].sum(axis=0)
        confidence = np.arange(10) / 20 + 0.52
        for k in range(4):
            line = labelled(figure, "rater")[f"{k + 1} {method}"]
            np.testing.assert_allclose(line.get_xdata(), confidence)
            np.testing.assert_allclose(line.get_ydata(), hits[:, k] / voxels)
        mean = labelled(figure, "mean")[method]
        np.testing.assert_allclose(mean.get_ydata(), hits.mean(axis=1) / voxels)
        assert mean.get_linewidth() > 2 * line.get_linewidth()
        assert mean.get_color() == method_colours(study.all_methods)[method]
        bars = labelled(figure, "share")[method].get_data()
        np.testing.assert_allclose(10.0**bars.values, voxels / voxels.sum())
        gaps = np.abs(hits - (voxels * confidence)[:, None]).sum(axis=0) / voxels.sum()
        assert labelled(figure, "ece")[method].get_text() == f"ECE {gaps.mean():.4f}"
        assert f"{method} {gaps.mean():.4f}" in reliability.reliability_alt(study)


def test_the_error_of_one_case_is_the_tables(bench):
    study = read_study(bench / "out")
    rows = study.scores[
        (study.scores["metric"] == "mr_ece") & (study.scores["case"] == "00_typical")
    ]
    value = rows[rows["reading"] == "corrected"]["value"].iloc[0]
    one = replace(study, scores=study.scores[study.scores["case"] == "00_typical"])
    data = reliability.reliability_data(one)
    assert data[data["rater"] == "mean"]["ece"].iloc[0] == pytest.approx(value, abs=1e-9)


def test_one_method_is_drawn_large_with_the_error_against_each_rater(study):
    figure = reliability.reliability(study, "Beta")
    assert len(figure.axes) == 2
    assert set(labelled(figure, "mean")) == {"Beta"}
    data = reliability.reliability_data(study, "Beta").drop_duplicates("rater")
    written = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert written == [
        f"{'' if rater == 'mean' else 'rater '}{rater}, ECE {error:.4f}"
        for rater, error in zip(data["rater"], data["ece"], strict=True)
    ]
    with pytest.raises(InputError, match="no maps of the method 'Nobody'"):
        reliability.reliability(study, "Nobody")


def test_methods_without_maps_have_no_diagram(study):
    some = study.calibration[study.calibration["method"] != "Beta"]
    figure = reliability.reliability(replace(study, calibration=some))
    assert set(labelled(figure, "mean")) == {"Alpha", "Gamma"}
    nothing = replace(study, calibration=some[:0])
    assert reliability.reliability_subjects(nothing) == []


# ---- the volume score -----------------------------------------------------------------------


def area(collection):
    """Area inside the outline of a filled curve, by the shoelace formula."""
    (path,) = collection.get_paths()
    x, y = path.vertices.T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


def test_the_filled_area_is_the_score_in_the_table(table, study):
    values = study.scores.set_index(["method", "case", "metric", "structure"])["value"]
    for case in table.cases[:2]:
        figure = volume.volume(study, case)
        areas, numbers = labelled(figure, "area"), labelled(figure, "crps")
        for method in table.methods:
            value = values[method, case, "crps", "all"]
            assert area(areas[method]) == pytest.approx(value, rel=1e-3)
            assert numbers[method].get_text() == f"{value:.3f}"


def test_the_filled_area_is_the_score_of_a_run(bench):
    study = read_study(bench / "out")
    values = study.scores[study.scores["reading"] == "corrected"]
    values = values[values["metric"] == "crps"].set_index("case")["value"]
    for case, value in values.items():
        figure = volume.volume(study, case, "one")
        assert area(labelled(figure, "area")["one"]) == pytest.approx(value, rel=1e-3)


def test_curves_and_steps_are_those_of_the_raters_and_the_prediction(table, study):
    figure = volume.volume(study, "P002", "Beta")
    raters, predicted = table.volumes[2, 0], table.predicted[1, 2, 0]
    spread = norm(raters.mean(), raters.std())
    lines = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    x, y = lines["density"].get_data()
    np.testing.assert_allclose(y, spread.pdf(x), atol=1e-12)
    x, y = lines["distribution"].get_data()
    np.testing.assert_allclose(y, spread.cdf(x), atol=1e-12)
    np.testing.assert_allclose(sorted(lines["rater volumes"].get_xdata()), sorted(raters))
    step = lines["step Beta"].get_xydata()
    assert step[1:4, 0] == pytest.approx([predicted] * 3)
    assert step[:, 1].tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert f"{raters.std():.1f}" in volume.volume_alt(study, "P002", "Beta")


def test_raters_who_agree_make_a_step():
    table = Table(cases=2)
    table.volumes[1] = 5.0
    table.predicted[:, 1, 0] = [7.0, 4.5, 5.0]
    figure = volume.volume(table.study(true=False), "P001")
    areas = [area(labelled(figure, "area")[method]) for method in table.methods]
    assert areas == pytest.approx([2.0, 0.5, 0.0])


def test_a_far_prediction_is_cut_off_at_the_edge_and_said():
    table = Table(methods=("A", "B", "C", "D"), cases=2)
    table.predicted[3, 0, 0] = 400.0
    study = table.study(true=False)
    figure = volume.volume(study, "P000")
    assert labelled(figure, "beyond")["D"].get_text() == "400.0 →"
    assert "D" not in labelled(figure, "prediction")
    assert figure.axes[0].get_xlim()[1] < 100
    alone = volume.volume(study, "P000", "D")
    assert alone.axes[0].get_xlim()[1] > 400


def test_a_missing_prediction_keeps_its_row(study):
    details = study.details
    gone = (details["method"] == "Beta") & (details["case"] == "P001")
    figure = volume.volume(replace(study, details=details[~gone]), "P001")
    assert set(labelled(figure, "area")) == {"Alpha", "Gamma"}
    value = study.scores.set_index(["method", "case", "metric"])["value"]["Beta", "P001", "crps"]
    assert labelled(figure, "crps")["Beta"].get_text() == f"{value:.3f}"


def test_the_typical_case_and_the_one_of_widest_spread_are_drawn(table, study):
    means = [np.mean([table.score(m, c, "crps", "all") for m in range(3)]) for c in range(4)]
    typical = table.cases[np.argsort(means)[1]]  # the lower of two in the middle
    widest = table.cases[table.volumes[:, 0].std(axis=1).argmax()]
    wanted = [{"case": case} for case in dict.fromkeys([typical, widest])]
    assert volume.volume_subjects(study) == wanted
    data = volume.volume_data(study)
    assert set(data["case"]) == {typical}
    with pytest.raises(InputError, match="no volumes of case 'P999'"):
        volume.volume(study, "P999")
    with pytest.raises(InputError, match="no method 'Nobody'"):
        volume.volume(study, "P001", "Nobody")


def test_labels_have_pictures_of_their_own():
    table = Table(labels=("liver", "kidney"))
    study = table.study(true=False)
    assert {subject["structure"] for subject in volume.volume_subjects(study)} == {
        "liver",
        "kidney",
    }
    figure = volume.volume(study, "P001", structure="kidney")
    expected = gaussian_crps(table.volumes[1, 1], table.predicted[0, 1, 1])
    assert area(labelled(figure, "area")["Alpha"]) == pytest.approx(expected, rel=1e-3)
    assert volumes.volumes_subjects(study) == [{"structure": "liver"}, {"structure": "kidney"}]
    with pytest.raises(InputError, match="no volumes of 'spleen'"):
        volumes.volumes(study, "spleen")


# ---- volumes --------------------------------------------------------------------------------


def test_differences_ranges_bias_and_limits(table, study):
    figure = volumes.volumes(study)
    mean = table.volumes[:, 0].mean(axis=1)
    for m, method in enumerate(table.methods):
        difference = 100 * (table.predicted[m, :, 0] - mean) / mean
        points = labelled(figure, "cases")[method].get_xydata()
        np.testing.assert_allclose(points, np.stack([mean, difference], axis=1))
        assert labelled(figure, "bias")[method].get_ydata()[0] == pytest.approx(difference.mean())
        reach = 1.96 * difference.std(ddof=1)
        for end, sign in (("lower", -1), ("upper", 1)):
            line = labelled(figure, end)[method]
            assert line.get_ydata()[0] == pytest.approx(difference.mean() + sign * reach)
        ranges = np.array(labelled(figure, "raters")[method].get_segments())[:, :, 1]
        expected = [table.volumes[:, 0].min(axis=1), table.volumes[:, 0].max(axis=1)]
        np.testing.assert_allclose(ranges, 100 * (np.stack(expected, 1) / mean[:, None] - 1))
        inside = (table.predicted[m, :, 0] >= expected[0]) & (
            table.predicted[m, :, 0] <= expected[1]
        )
        assert f"({inside.sum()} of 4)" in volumes.volumes_alt(study)


def test_what_is_far_off_is_hollow_at_the_edge():
    table = Table(methods=("A", "B"), cases=30)
    table.predicted[1, 0, 0] = 400.0
    figure = volumes.volumes(table.study(true=False))
    hollow = labelled(figure, "beyond")
    assert set(hollow) == {"B"}
    assert to_hex(hollow["B"].get_markerfacecolor()) == "#ffffff"
    assert len(labelled(figure, "cases")["B"].get_xdata()) == 29
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_methods_keep_their_order_however_the_details_are_stored(study):
    stored = replace(study, details=study.details.astype({"method": "category"}))
    assert list(volumes.volumes_data(stored)["method"].unique()) == list(study.methods)
    assert list(study.methods) != sorted(study.methods)


def test_the_mean_is_written_where_no_case_is():
    table = Table(cases=6)
    words = labelled(volumes.volumes(table.study(true=False)), "mean")
    for method, text in words.items():
        axes, (x, y) = text.axes, text.get_position()
        cases = labelled(axes.get_figure(), "cases")[method].get_xydata()
        places = (axes.transScale + axes.transLimits).transform(cases)
        beside = np.abs(places - [[x, y]]) < (0.4, 0.1)
        assert not beside.all(axis=1).any()


def test_volumes_of_many_sizes_are_on_a_logarithmic_axis():
    table = Table(cases=6)
    assert volumes.volumes(table.study(true=False)).axes[0].get_xscale() == "linear"
    table.volumes *= 10.0 ** np.arange(-2, 4)[:, None, None]
    assert volumes.volumes(table.study(true=False)).axes[0].get_xscale() == "log"


# ---- contact with vessels -------------------------------------------------------------------


def deciding(table, m, c, v):
    """The plane whose angles are farthest apart."""
    pairs = zip(table.rater_angles[c, v], table.angles[m, c, v], strict=True)
    return int(np.argmax([wasserstein_distance(a, b) for a, b in pairs]))


def test_rings_show_the_angles_of_the_plane_that_decides(table, study):
    figure = invasion.invasion(study, "P001", "Beta")
    drawn, scores = labelled(figure, "raters"), labelled(figure, "vi")
    for v, vessel in enumerate(VESSELS):
        if vessel == "CELIAC TRUNK":
            assert vessel not in drawn
            continue
        plane = deciding(table, 1, 1, v)
        raters, predicted = table.rater_angles[1, v, plane], table.angles[1, 1, v, plane]
        for side, angles in (("raters", raters), ("prediction", predicted)):
            marks = labelled(figure, side)[vessel]
            np.testing.assert_allclose(np.rad2deg(marks.get_xdata()), angles)
            arc = labelled(figure, f"{side} mean")[vessel].get_xdata()
            assert np.rad2deg([arc[0], arc[-1]]) == pytest.approx([0, angles.mean()])
        inner = labelled(figure, "prediction")[vessel].get_ydata().max()
        assert drawn[vessel].get_ydata().min() > inner
        assert scores[vessel].get_text() == f"{wasserstein_distance(raters, predicted):.1f}°"
        axes = scores[vessel].axes
        assert f"axis {plane}" in [text.get_text() for text in axes.texts]
        assert any(np.allclose(line.get_xdata(), np.pi) for line in axes.lines)
    assert "CELIAC TRUNK" in figure.get_supxlabel()


def test_rows_show_every_method(table, study):
    figure = invasion.invasion(study, "P002")
    data = invasion.invasion_data(study, "P002")
    order = list(study.methods)
    for v, vessel in enumerate(VESSELS):
        if vessel == "CELIAC TRUNK":
            continue
        for side, above in (("raters", True), ("prediction", False)):
            points = labelled(figure, side)[vessel].get_offsets()
            for m, method in enumerate(table.methods):
                plane = deciding(table, m, 2, v)
                source = table.rater_angles[2, v] if above else table.angles[m, 2, v]
                row = order.index(method)
                own = points[np.abs(points[:, 1] - row) < 0.5]
                np.testing.assert_allclose(sorted(own[:, 0]), sorted(source[plane]))
                assert ((own[:, 1] < row) == above).all()
                text = labelled(figure, "vi")[f"{vessel} {method}"].get_text()
                assert text == f"{table.score(m, 2, 'vi', vessel):.1f}"
    assert len(data) == 3 * 5 * (4 + 3)
    np.testing.assert_allclose(data["distance"], data["score"])


def test_the_other_readings_show_the_plane_of_largest_distance(bench):
    study = replace(read_study(bench / "out"), reading_asked="released")
    data = invasion.invasion_data(study, "00_typical")
    table = study.scores.set_index(["case", "metric", "structure", "reading"])["value"]
    for vessel, own in data.groupby("structure"):
        score = table["00_typical", "vi", vessel, "released"]
        assert own["score"].iloc[0] == pytest.approx(score)
        assert own["distance"].iloc[0] >= score - 1e-9  # the score is the mean over the planes


def test_a_missing_prediction_has_its_score_alone(study):
    details = study.details
    gone = (details["method"] == "Beta") & (details["case"] == "P001")
    missing = replace(study, details=details[~gone])
    figure = invasion.invasion(missing, "P001")
    row = missing.methods.index("Beta")
    points = labelled(figure, "prediction")["SMA"].get_offsets()
    assert not (np.abs(points[:, 1] - row) < 0.5).any()
    assert "SMA Beta" in labelled(figure, "vi")
    with pytest.raises(InputError, match="Beta has no prediction of case P001"):
        invasion.invasion(missing, "P001", "Beta")


def test_the_typical_and_the_most_disputed_case_are_drawn():
    table = Table(cases=5)
    table.rater_angles[4] = 0.0  # no contact: cannot be typical
    table.rater_angles[1, 2, 1] = [0.0, 0.0, 360.0, 360.0]
    study = table.study()
    means = [
        np.mean([table.score(m, c, "vi", vessel) for m in range(3) for vessel in VESSELS])
        for c in range(4)
    ]
    typical = table.cases[np.argsort(means)[1]]
    cases = list(dict.fromkeys([typical, "P001"]))
    first = study.methods[0]
    wanted = [{"case": c} for c in cases] + [{"case": c, "method": first} for c in cases]
    assert invasion.invasion_subjects(study) == wanted


# ---- all ------------------------------------------------------------------------------------


def test_what_a_study_cannot_carry_is_not_drawn(study):
    bare = Study(study.scores)
    assert [list(kind.subjects(bare)) for kind in KINDS] == [[]] * len(KINDS)
    one = Table(cases=1).study(true=False)
    drawn = {kind.name for kind in KINDS if kind.subjects(one)}
    assert drawn == {"reliability", "volume", "invasion"}
    for draw in (reliability.reliability, volume.volume, volumes.volumes, invasion.invasion):
        with pytest.raises(InputError, match="table"):
            draw(bare)


@cache
def study_of_many(methods, cases):
    names = [f"{m:02d} {ODD_NAMES[2][:20]}" for m in range(methods)]
    return Table(tuple(names), cases).study(true=False)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("methods", "cases"), [(1, 2), (20, 8)])
def test_any_number_of_methods_with_words_of_bounded_length(kind, methods, cases):
    study = study_of_many(methods, cases)
    for subject in kind.subjects(study)[::2]:
        picture = kind.illustrate(study, subject)
        assert len(picture.alt) < 1600
        assert len(picture.data)
        assert len(figure_bytes(picture.figure, "svg")) < 500_000
    assert len(kind.help) <= 200


@cache
def odd_study():
    return Table(ODD_NAMES, 2).study(true=False)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_odd_names_are_drawn_as_they_are(kind):
    study = odd_study()
    svg, again = (figure_bytes(kind.illustrate(study).figure, "svg").decode() for _ in range(2))
    assert svg == again
    assert "<script" not in svg
    drawn = re.sub(r"\s+", "", re.sub(r"<[^>]*>", "", svg))
    for name in ("$x_1$&amp;$", "名前", "$$", "tabandbell"):
        assert name in drawn
