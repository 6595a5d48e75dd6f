from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm, rankdata, wasserstein_distance

from segjury.analysis.ranking import Ranking, Rules, leaderboard
from segjury.analysis.redrawn_raters import rater_scores
from segjury.analysis.sensitivity import sensitivity
from segjury.analysis.stability import rater_stability
from segjury.analysis.statistics.resampling import draws
from segjury.metrics import crps
from segjury.metrics.invasion import sample_distance, vi, vi_score
from segjury.results import Results
from tests.benchmark_files import evaluate_files, golden_pdacvi, write_prediction, write_reference

RATERS = ("rater 1", "rater 2", "rater 3", "rater 4")
LEVELS = ("p > 0.1", "p > 0.5", "p > 0.8")
VESSELS = ("PORTA", "SMV")
METHODS, CASES = ("A", "B", "C"), ("1", "2", "3")
ALL = (0, 1, 2, 3)
SOME_COUNTS = [(1, 1, 1, 1), (4, 0, 0, 0), (0, 2, 1, 1), (0, 3, 0, 1), (1, 0, 1, 2)]


class Benchmark:
    """Numbers per rater of some methods and cases; scores of any raters, one by one."""

    def __init__(self, seed=0, organs=("all",)):
        rng = np.random.default_rng(seed)
        self.organs = organs
        size = (len(METHODS), len(CASES))
        self.ece = rng.random((*size, len(organs), 4)) / 10
        self.volumes = 5 + rng.random((len(CASES), len(organs), 4)).round(2)
        self.predicted = 5 + rng.random((*size, len(organs))).round(2)
        self.volumes[0, 0] = 5.25  # the raters agree
        self.rater_angles = 10.0 * rng.integers(0, 19, (len(CASES), 2, 3, 4))
        self.angles = 10.0 * rng.integers(0, 19, (*size, 2, 3, 3))

    def score(self, m, c, metric, structure, drawn):
        """A score against the raters drawn, written out."""
        drawn = list(drawn)
        if metric == "mr_ece":
            return np.mean([ece[drawn].mean() for ece in self.ece[m, c]])
        if metric == "crps":
            pairs = zip(self.volumes[c], self.predicted[m, c], strict=True)
            return np.mean([crps(v[drawn], p, reading="corrected") for v, p in pairs])
        v = VESSELS.index(structure)
        return vi_score(self.rater_angles[c, v][:, drawn], self.angles[m, c, v])

    def scores(self, drawn=ALL, lost=(), reading="corrected", value=None):
        rows = []
        for metric, structures in (("mr_ece", ["all"]), ("crps", ["all"]), ("vi", VESSELS)):
            for structure in structures:
                for m, method in enumerate(METHODS):
                    for c, case in enumerate(CASES):
                        gone = (method, case) in lost
                        found = 99.0 if gone else self.score(m, c, metric, structure, drawn)
                        found = value(metric, found) if value else found
                        status = "missing" if gone else "ok"
                        rows.append((method, case, metric, structure, found, status))
        columns = ["method", "case", "metric", "structure", "value", "status"]
        return pd.DataFrame(rows, columns=columns).assign(reading=reading, cohort="")

    def details(self, lost=(), reading="corrected"):
        rows = []
        for m, method in enumerate(METHODS):
            for c, case in enumerate(CASES):
                if (method, case) in lost:
                    continue
                for o, organ in enumerate(self.organs):
                    for r, rater in enumerate(RATERS):
                        ece, volume = self.ece[m, c, o, r], self.volumes[c, o, r]
                        rows.append((method, case, "mr_ece", organ, "ece", rater, ece))
                        rows.append((method, case, "crps", organ, "volume_cm3", rater, volume))
                    volume = self.predicted[m, c, o]
                    rows.append((method, case, "crps", organ, "volume_cm3", "prediction", volume))
                for v, vessel in enumerate(VESSELS):
                    for axis in range(3):
                        both = (*self.rater_angles[c, v, axis], *self.angles[m, c, v, axis])
                        rows += [
                            (method, case, "vi", vessel, f"angle axis {axis}", item, angle)
                            for item, angle in zip((*RATERS, *LEVELS), both, strict=True)
                        ]
        columns = ["method", "case", "metric", "structure", "quantity", "item", "value"]
        return pd.DataFrame(rows, columns=columns).assign(reading=reading)

    def rater_scores(self, **options):
        panel = Rules().panel(self.scores(**options))
        options.pop("value", None)
        return rater_scores(panel, self.details(**options))


def written_out(counts):
    return [rater for rater, times in enumerate(counts) for _ in range(times)]


@pytest.mark.parametrize("counts", SOME_COUNTS)
@pytest.mark.parametrize("organs", [("all",), ("liver", "kidney", "spleen")])
def test_scores_of_any_raters_are_those_of_the_raters_written_out(counts, organs):
    benchmark = Benchmark(1, organs)
    found = benchmark.rater_scores()
    assert found.raters == RATERS
    assert found.keys == ("mr_ece", "crps", "vi PORTA", "vi SMV")
    expected = Rules().panel(benchmark.scores(written_out(counts)))
    np.testing.assert_allclose(
        found.with_counts(np.array(counts, float)).values, expected.values, atol=1e-12
    )


def test_all_raters_once_or_equally_often_give_the_table():
    found = Benchmark(2).rater_scores()
    for times in (1.0, 2.0):
        again = found.with_counts(np.full(4, times))
        np.testing.assert_allclose(again.values, found.panel.values, rtol=1e-12, atol=1e-12)


def test_the_volume_score_is_the_integral_it_stands_for():
    benchmark = Benchmark(3)
    values = benchmark.rater_scores().with_counts(np.array([0.0, 2.0, 1.0, 1.0])).values
    volumes, predicted = benchmark.volumes[1, 0, [1, 1, 2, 3]], benchmark.predicted[2, 1, 0]
    spread = norm(volumes.mean(), volumes.std())
    below = quad(lambda v: spread.cdf(v) ** 2, predicted - 20, predicted, limit=200)[0]
    above = quad(lambda v: spread.sf(v) ** 2, predicted, predicted + 20, limit=200)[0]
    assert values[1, 1, 2] == pytest.approx(below + above, abs=1e-7)


def test_the_distance_of_angles_is_scipys():
    benchmark = Benchmark(4)
    values = benchmark.rater_scores().with_counts(np.array([1.0, 3.0, 0.0, 0.0])).values
    for c in range(len(CASES)):
        for m in range(len(METHODS)):
            for v in range(2):
                raters = benchmark.rater_angles[c, v][:, [0, 1, 1, 1]]
                pairs = list(zip(raters, benchmark.angles[m, c, v], strict=True))
                expected = max(wasserstein_distance(a, b) for a, b in pairs)
                assert values[2 + v, c, m] == pytest.approx(expected)
                assert max(sample_distance(a, b) for a, b in pairs) == pytest.approx(expected)


def test_a_lost_prediction_keeps_its_value():
    benchmark, lost = Benchmark(5), [("B", "2"), ("C", "1")]
    found = benchmark.rater_scores(lost=lost)
    assert found.keys == ("mr_ece", "crps", "vi PORTA", "vi SMV")
    again = found.with_counts(np.array([0.0, 0.0, 4.0, 0.0])).values
    expected = Rules().panel(benchmark.scores([2], lost)).values
    np.testing.assert_allclose(again, expected, atol=1e-12)
    assert (again[:, 1, 1] == 99.0).all()
    assert (again[:, 0, 2] == 99.0).all()


def test_a_reading_whose_numbers_do_not_follow_keeps_its_raters():
    benchmark = Benchmark(6)
    found = benchmark.rater_scores(
        reading="released", value=lambda metric, v: v if metric == "mr_ece" else v * (1 + 1e-6)
    )
    assert found.keys == ("mr_ece",)
    again = found.with_counts(np.array([4.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(again.values[1:], found.panel.values[1:])
    np.testing.assert_allclose(again.values[0], benchmark.ece[:, :, 0, 0].T)


def test_a_case_that_does_not_count_stays_out():
    benchmark = Benchmark(7)
    table = benchmark.scores()
    table.loc[(table["case"] == "2") & (table["metric"] == "crps"), "value"] = np.nan
    found = rater_scores(Rules().panel(table), benchmark.details())
    assert "crps" in found.keys
    again = found.with_counts(np.array([1.0, 1.0, 2.0, 0.0]))
    assert np.isnan(again.values[1, 1]).all()
    np.testing.assert_array_equal(again.defined, found.panel.defined)


def test_without_numbers_of_two_raters_there_is_nothing_to_draw():
    benchmark = Benchmark(8)
    panel, details = Rules().panel(benchmark.scores()), benchmark.details()
    assert rater_scores(panel, None) is None
    assert rater_scores(panel, details[:0]) is None
    assert rater_scores(panel, details[details["item"] != "x"].assign(reading="other")) is None
    one = details[~details["item"].isin(RATERS[1:])]
    assert rater_scores(panel, one) is None
    assert rater_scores(panel, details.assign(value=details["value"] + 1)) is not None  # vi only
    assert rater_scores(panel, details.assign(value=details["value"] + 1)).keys == (
        "crps",
        "vi PORTA",
        "vi SMV",
    )  # distances do not change when all move alike


def test_other_tables_with_a_column_of_raters_are_means(tmp_path):
    rng = np.random.default_rng(9)
    rows = [(m, c, r, "dsc", rng.random()) for m in METHODS for c in CASES for r in ("x", "y", "z")]
    table = pd.DataFrame(rows, columns=["method", "case", "rater", "metric", "value"])
    path = tmp_path / "scores.csv"
    table.to_csv(path, index=False)
    results = Results.read(path)
    found = rater_scores(Rules().panel(results.scores), results.details)
    assert found.raters == ("rater x", "rater y", "rater z")
    again = found.with_counts(np.array([2.0, 0.0, 1.0])).values[0]
    wide = table.pivot(index="case", columns=["method", "rater"], values="value")
    for m, method in enumerate(METHODS):
        expected = (2 * wide[method]["x"] + wide[method]["z"]) / 3
        np.testing.assert_allclose(again[:, m], expected)


def test_resamples_of_cases_and_raters_are_those_of_a_loop():
    benchmark, samples = Benchmark(10), 40
    raters = benchmark.rater_scores()
    ranking = Ranking()
    found = rater_stability(
        raters, ranking, samples=samples, level=0.9, rng=np.random.default_rng(11)
    )
    rng = np.random.default_rng(11)
    cases, sets = draws(3, samples, rng).astype(int), draws(4, samples, rng).astype(int)
    ranks = []
    for drawn, counts in zip(cases, sets, strict=True):
        table = benchmark.scores(written_out(counts))
        parts = [table[table["case"] == c].assign(case=f"{c} {k}")
                 for c, times in zip(CASES, drawn, strict=True) for k in range(times)]  # fmt: skip
        board = leaderboard(pd.concat(parts), ranking=ranking)
        ranks.append(rankdata(board.mean_rank[list(METHODS)].round(10)))
    np.testing.assert_allclose(found.overall.mean, np.mean(ranks, axis=0))
    np.testing.assert_allclose(found.overall.sd, np.std(ranks, axis=0))
    np.testing.assert_allclose(found.overall.low, np.percentile(ranks, 5, axis=0))
    before = [
        [[(r[i] < r[j]) + (r[i] == r[j]) / 2 for j in range(3)] for i in range(3)] for r in ranks
    ]
    np.testing.assert_allclose(found.overall.ahead, np.mean(before, axis=0))
    assert found.raters == RATERS
    assert found.redrawn == raters.keys
    assert found.samples == samples


def test_leaving_out_a_rater_is_scoring_without_that_rater():
    benchmark = Benchmark(12)
    raters = benchmark.rater_scores()
    found = sensitivity(raters.panel, Ranking(), raters=raters).of_kind("without rater")
    assert [variant.choice for variant in found] == list(RATERS)
    for r, variant in enumerate(found):
        board = leaderboard(benchmark.scores([k for k in ALL if k != r]))
        np.testing.assert_allclose(variant.mean_rank, board.mean_rank[list(METHODS)])
        assert variant.places.tolist() == board.position[list(METHODS)].tolist()


# ---- of a run on images -------------------------------------------------------------------

IMAGES = [case for case in golden_pdacvi() if case.name == "00_typical"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raters")
    for case in IMAGES:
        write_reference(case, folder / "reference" / case.name)
        write_prediction(case, folder / "predictions" / "one" / case.name)
    out = evaluate_files("curvas-pdacvi-2025", folder)
    results = Results.read(out)
    return results.scores, results.details


@pytest.mark.parametrize("counts", [(1, 1, 1, 1, 1), (0, 1, 1, 1, 1), (2, 0, 0, 3, 0)])
def test_scores_of_any_raters_are_those_of_their_masks(run, counts):
    scores, details = run
    found = rater_scores(Rules().panel(scores, reading="corrected"), details)
    assert {"mr_ece", "crps", "vi PORTA", "vi SMA"} <= set(found.keys)
    assert not {"dsc", "thr_dsc"} & set(found.keys)
    panel = found.with_counts(np.array(counts, float))
    for case in IMAGES:
        at = panel.cases.index(case.name)
        masks = case.arrays["annotations"][written_out(counts)] == 1
        probability = case.arrays["probability"]
        for label, vessel in ((1, "PORTA"), (5, "SMA")):
            expected = vi(case.arrays["vessels"] == label, masks, probability)
            got = panel.values[panel.keys.index(f"vi {vessel}"), at, 0]
            assert got == pytest.approx(expected, abs=1e-9)
        voxel_cm3 = case.arrays["spacing"].prod() / 1000
        predicted = probability.astype(float).sum() * voxel_cm3
        expected = crps(masks.sum(axis=(1, 2, 3)) * voxel_cm3, predicted)
        got = panel.values[panel.keys.index("crps"), at, 0]
        assert got == pytest.approx(expected, rel=1e-6)


def test_what_the_released_code_measures_otherwise_keeps_its_values(run):
    scores, details = run
    found = rater_scores(Rules().panel(scores, reading="released"), details)
    assert "mr_ece" in found.keys
    assert not {"crps", "vi PORTA", "vi SMV"} & set(found.keys)
    again = found.with_counts(np.array([5.0, 0.0, 0.0, 0.0, 0.0]))
    for key, before, after in zip(again.keys, found.panel.values, again.values, strict=True):
        assert np.array_equal(before, after, equal_nan=True) == (key != "mr_ece")
