"""The analysis of raters, on raters of known bias, skill and contact."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from segjury.arrays import Box, nonzero_voxels
from segjury.benchmark.case import ReferenceCase, Structure
from segjury.benchmark.phantoms.fields import smooth_noise
from segjury.benchmark.phantoms.raters import Rater, draw
from segjury.benchmark.phantoms.shapes import annular_sector, cylinder, sphere
from segjury.consensus import pack
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.metrics import nsd
from segjury.protocols import Protocol, load_protocol
from segjury.raters import RaterSettings, measure_raters, write_raters
from segjury.raters.case import measure_case
from segjury.raters.displacement import Boundary, boundary_mm
from segjury.raters.masks import without_rater
from segjury.raters.outliers import is_apart, outlier_tests
from segjury.raters.profiles import mean_and_limits, profiles
from segjury.raters.sentences import sentences
from segjury.raters.tables import (
    agreement_table,
    contact_table,
    measure_table,
    pair_table,
    split_table,
)

SHAPE = (38, 38, 26)
SPACING = (1.0, 1.0, 1.5)
CENTRE = (18.7, 19.1, 19.4)
GRID = Grid(SHAPE, SPACING)


def protocol(n_raters, *, labels=None, **more):
    metrics = [{"name": "dice"}]
    reference = {"raters": "annotation_{rater}", "n_raters": n_raters}
    reference |= {"labels": labels or {"lesion": 1}}
    form = {"name": "small", "title": "Small", "reference": reference, "metrics": metrics}
    return Protocol.model_validate(form | more)


def reference_of(masks, *, grid=GRID, structures=None, names=("lesion",)):
    packed = pack(np.asarray(masks, np.uint8), n_labels=len(names) + 1)
    return ReferenceCase(grid, packed, names, structures or {})


def measured(cases, n_raters):
    form = protocol(n_raters)
    return [
        measure_case(f"P{n}", reference_of(masks), form, ["corrected"])
        for n, masks in enumerate(cases)
    ]


def ball(radius_mm, *, shift_mm=0.0):
    x, y, z = CENTRE
    return sphere(SHAPE, SPACING, (x + shift_mm, y, z), radius_mm)


# ---- leaving a rater out ---------------------------------------------------------------------


@given(
    hnp.arrays(np.uint8, (3, 4, 3, 2), elements=st.integers(0, 2)),
    st.integers(0, 2),
)
@settings(max_examples=30)
def test_patterns_without_a_rater_are_those_of_the_others(masks, rater):
    left = pack(masks, n_labels=3).without(rater)
    others = pack(np.delete(masks, rater, axis=0), n_labels=3)
    np.testing.assert_array_equal(left.codes, others.codes)
    np.testing.assert_array_equal(left.counts, others.counts)


def test_only_a_rater_that_is_there_can_be_left_out():
    with pytest.raises(ValueError, match="expected one of 2"):
        pack(np.ones((2, 2, 2, 2), np.uint8)).without(2)
    with pytest.raises(ValueError, match="another left"):
        pack(np.ones((1, 2, 2, 2), np.uint8)).without(0)


# ---- bias ------------------------------------------------------------------------------------


def displacement(first, second):
    grids = Grid(first.shape, SPACING)
    return boundary_mm(*(Boundary.of(nonzero_voxels(mask), grids) for mask in (first, second)))


@pytest.mark.parametrize("larger_mm", [0.5, 2.0, 4.0])
def test_a_larger_sphere_is_displaced_by_its_radius(larger_mm):
    found = displacement(ball(10 + larger_mm), ball(10))
    assert found == pytest.approx(larger_mm, abs=0.1)
    assert displacement(ball(10), ball(10 + larger_mm)) == pytest.approx(-found)


def test_a_shifted_sphere_is_not_larger():
    here, there = ball(9), ball(9, shift_mm=4)
    assert displacement(here, there) == pytest.approx(0, abs=0.05)
    assert displacement(ball(10), there) > 0.5  # shifted and larger is larger


def test_a_mask_at_the_border_of_the_image_has_a_displacement():
    whole = np.ones((6, 6, 6), bool)
    inner = np.zeros_like(whole)
    inner[1:-1, 1:-1, 1:-1] = True
    assert displacement(whole, inner) > 0
    assert displacement(inner, whole) < 0
    assert math.isnan(displacement(whole, np.zeros_like(whole)))


def drawn_cases(raters, *, cases, ambiguity=0.4, seed=1):
    """What raters of known style draw of a sphere, another one in each case."""
    found = []
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        x, y, z = np.meshgrid(*(np.arange(n) for n in SHAPE), indexing="ij")
        far = np.sqrt(
            sum((i * s - c) ** 2 for i, s, c in zip((x, y, z), SPACING, CENTRE, strict=True))
        )
        phi = np.asarray(rng.uniform(7, 9) - far, np.float32)
        shared = smooth_noise(GRID, 14.0, rng)
        found.append(
            [draw(phi, GRID, r, ambiguity=ambiguity, shared=shared, rng=rng) for r in raters]
        )
    return found


BIASES_MM = (-2.0, -1.0, 0.0, 1.0, 2.0)


@pytest.fixture(scope="module")
def biased():
    # a rate that leaves no part out: a missed part is a bias of its own
    raters = [Rater(bias_mm=bias, error_mm=0.8, miss_rate=-0.2) for bias in BIASES_MM]
    return measured(drawn_cases(raters, cases=9), len(raters))


def test_bias_is_recovered_in_sign_and_order(biased):
    table = profiles(measure_table(biased)).table
    for column in ("boundary_bias_mm", "volume_bias_percent"):
        assert list(np.argsort(table[column])) == [0, 1, 2, 3, 4]
        assert (np.sign(table[column][[0, 1, 3, 4]]) == [-1, -1, 1, 1]).all()
        assert (table[f"{column}_p"][[0, 4]] < 0.05).all()
        assert table[f"{column}_p"][2] > 0.05
    # the mean of the others' biases is a quarter of the rater's own, with the other sign
    expected = np.array(BIASES_MM) * 5 / 4
    assert table["boundary_bias_mm"].to_numpy() == pytest.approx(expected, abs=0.5)
    inside = (table["boundary_bias_mm_low"] < expected) & (
        expected < table["boundary_bias_mm_high"]
    )
    assert inside.all()
    assert table["boundary_bias_mm"].sum() == pytest.approx(0, abs=1e-9)  # who is larger than whom


def test_volumes_of_concentric_spheres_have_the_bias_of_their_radii():
    (case,) = measured([[ball(8), ball(10), ball(12)]], 3)
    sizes = [ball(r).sum() for r in (8, 10, 12)]
    for k, row in enumerate(case.raters):
        others = np.mean(np.delete(sizes, k))
        assert row.volume_bias_percent == pytest.approx(100 * (sizes[k] / others - 1))
    assert [row.boundary_bias_mm for row in case.raters] == pytest.approx([-3, 0, 3], abs=0.1)


def test_without_bias_no_rater_is_told_to_have_any():
    cases = drawn_cases([Rater(bias_mm=0.5, error_mm=1.5)] * 4, cases=8, seed=4)
    table = profiles(measure_table(measured(cases, 4))).table
    assert (table["boundary_bias_mm_p"] > 0.05).all()
    assert not table["outlier"].any()


# ---- outliers --------------------------------------------------------------------------------


def test_the_outlier_is_found_and_nobody_else():
    good = [Rater(bias_mm=0, error_mm=1.0)] * 4
    junior = Rater(bias_mm=0.0, error_mm=7.0)
    cases = drawn_cases([*good[:2], junior, *good[2:]], cases=8, seed=2)
    found = profiles(measure_table(measured(cases, 5)))
    assert list(found.table["outlier"]) == [False, False, True, False, False]
    assert found.table["dice_deficit"][2] < -0.05
    assert found.table["outlier_correlation"][2] == -1
    assert found.table["dice"].idxmin() == 2


def test_the_test_for_outliers_is_scipys_with_holm():
    rng = np.random.default_rng(0)
    own, among = rng.uniform(0.3, 0.9, (12, 3)), rng.uniform(0.3, 0.9, (12, 3))
    own[:, 1] -= 0.2
    tests = outlier_tests(own, among, alpha=0.05)
    raw = [stats.wilcoxon(d, alternative="less", method="exact").pvalue for d in (own - among).T]
    first, second, third = sorted(raw)
    assert sorted(tests.p) == pytest.approx(
        [3 * first, max(3 * first, 2 * second), min(1, max(3 * first, 2 * second, third))]
    )
    assert tests.deficit == pytest.approx((own - among).mean(axis=0))


@pytest.mark.parametrize(("raters", "cases", "tested"), [(5, 6, False), (5, 7, True), (3, 6, True)])
def test_too_few_cases_have_no_test_and_say_so(raters, cases, tested):
    # the smallest p, all cases lower, is 1 / 2^cases, times the raters
    assert (raters / 2**cases < 0.05) == tested
    own = np.linspace(0.1, 0.4, cases)[:, None] * np.ones(raters)
    tests = outlier_tests(own, own + 0.2, alpha=0.05)
    assert bool(tests.why_not) != tested
    assert np.isnan(tests.p).all() != tested
    assert tests.deficit == pytest.approx(-0.2)
    if not tested:
        assert "7 cases, there are 6" in tests.why_not


def test_two_raters_have_no_outlier():
    own = np.full((20, 2), 0.5)
    assert "three raters" in outlier_tests(own, np.full((20, 2), np.nan), alpha=0.05).why_not


def test_a_lesion_drawn_elsewhere_is_apart():
    (case,) = measured([[ball(7), ball(7.5), ball(8), ball(4, shift_mm=-13)]], 4)
    table = measure_table([case])
    assert list(table["apart"]) == [False, False, False, True]
    assert not is_apart(0.05, 0.1)  # where nobody agrees, nobody is apart
    assert not is_apart(0.5, 0.9)


# ---- quality by STAPLE -----------------------------------------------------------------------


def test_sensitivity_and_specificity_lie_in_their_intervals():
    """Raters who err at each voxel by chance, as STAPLE assumes."""
    sensitivity = np.array([0.95, 0.9, 0.8, 0.65])
    specificity = np.array([0.995, 0.98, 0.99, 0.999])
    truth = ball(10)
    cases = []
    for seed in range(8):
        chance = np.random.default_rng([5, seed]).random((4, *SHAPE))
        hit, false = sensitivity[:, None, None, None], 1 - specificity[:, None, None, None]
        cases.append(chance < np.where(truth, hit, false))
    tables = profiles(_staple_only(cases)).table
    for name, true in (("sensitivity", sensitivity), ("specificity", specificity)):
        low, high = tables[f"{name}_low"].to_numpy(), tables[f"{name}_high"].to_numpy()
        assert ((low <= true) & (true <= high)).all(), name
        assert (high - low < 0.05).all()
        assert list(np.argsort(tables[name])) == list(np.argsort(true))


def _staple_only(cases):
    """The measures of cases whose surfaces, all specks, would take long."""
    from segjury.consensus import staple

    rows = []
    for n, masks in enumerate(cases):
        found = staple(pack(masks.astype(np.uint8)))
        rows += [
            {
                "case": f"P{n}",
                "label": "lesion",
                "rater": f"rater {k + 1}",
                "sensitivity": found.sensitivity[k],
                "specificity": found.specificity[k],
                **dict.fromkeys(("volume_cm3", "dice", "dice_among_others"), 0.5),
                **dict.fromkeys(("volume_bias_percent", "boundary_bias_mm"), 0.0),
                "apart": False,
            }
            for k in range(len(masks))
        ]
    return pd.DataFrame(rows)


def test_quality_is_that_of_itk():
    masks = drawn_cases([Rater(0, 1.5), Rater(1, 1.0), Rater(-1, 2.0)], cases=1, seed=3)[0]
    (case,) = measured([masks], 3)
    judge = sitk.STAPLEImageFilter()
    judge.Execute([sitk.GetImageFromArray(np.asarray(m, np.uint8)) for m in masks])
    assert [row.sensitivity for row in case.raters] == pytest.approx(judge.GetSensitivity())
    assert [row.specificity for row in case.raters] == pytest.approx(judge.GetSpecificity())


def test_one_case_has_no_interval():
    mean, low, high = mean_and_limits(np.array([0.5, np.nan]), RaterSettings(), (0, 1))
    assert mean == 0.5
    assert math.isnan(low)
    assert math.isnan(high)
    assert all(map(math.isnan, mean_and_limits(np.array([np.nan]), RaterSettings(), (0, 1))))


def test_the_interval_of_few_cases_is_students_within_bounds():
    values = np.array([0.8, 0.9, 1.0, 1.0])
    mean, low, high = mean_and_limits(values, RaterSettings(), (0, 1))
    expected = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (mean, low) == pytest.approx((values.mean(), expected[0]))
    assert expected[1] > 1
    assert high == 1


# ---- pairs -----------------------------------------------------------------------------------


def dice(a, b):
    return 2 * (a & b).sum() / (a.sum() + b.sum())


@pytest.fixture(scope="module")
def one_case():
    masks = drawn_cases([Rater(0, 2), Rater(1, 1), Rater(-1, 2), Rater(0, 3)], cases=1, seed=9)[0]
    form = protocol(4, metrics=[{"name": "nsd", "tolerance_mm": 1.0}])
    return masks, measure_case("P1", reference_of(masks), form, ["corrected"])


def value_of(case, first, second, measure, of=""):
    (found,) = [
        row.value
        for row in case.pairs
        if (row.first, row.second, row.measure, row.consensus_of) == (first, second, measure, of)
    ]
    return found


def test_pairs_of_raters_are_measured(one_case):
    masks, case = one_case
    a, b = np.asarray(masks[0]), np.asarray(masks[2])
    assert value_of(case, "rater 1", "rater 3", "dice") == pytest.approx(dice(a, b))
    expected = nsd(a, b, spacing_mm=SPACING, tolerance_mm=1.0)  # the protocol's tolerance
    assert value_of(case, "rater 1", "rater 3", "nsd") == pytest.approx(expected)
    cm3 = (int(a.sum()) - int(b.sum())) * 1.5 / 1000
    assert value_of(case, "rater 1", "rater 3", "volume_cm3") == pytest.approx(cm3)
    per_cent = 200 * (int(a.sum()) - int(b.sum())) / (int(a.sum()) + int(b.sum()))
    assert value_of(case, "rater 1", "rater 3", "volume_percent") == pytest.approx(per_cent)


def test_a_rater_is_compared_with_a_consensus_that_he_or_she_is_not_in(one_case):
    masks, case = one_case
    others = [np.asarray(m, np.uint8) for k, m in enumerate(masks) if k != 1]
    staple = sitk.STAPLE([sitk.GetImageFromArray(m) for m in others], 1.0)
    expected = {
        "staple": sitk.GetArrayFromImage(staple) > 0.5,
        "majority": np.sum(others, axis=0) > 1.5,
        "intersection": np.all(others, axis=0),
        "union": np.any(others, axis=0),
    }
    own = np.asarray(masks[1])
    for name, mask in expected.items():
        found = value_of(case, "rater 2", name, "dice", "others")
        assert found == pytest.approx(dice(own, mask)), name
    everyone = value_of(case, "intersection", "union", "dice", "all")
    assert everyone == pytest.approx(dice(np.all(masks, axis=0), np.any(masks, axis=0)))


def test_a_given_consensus_is_one_more_rater_and_no_part_of_the_others(one_case):
    masks, _ = one_case
    given_mask = pack(np.asarray([ball(9)], np.uint8))
    reference = ReferenceCase(GRID, reference_of(masks).patterns, ("lesion",), {}, given_mask)
    case = measure_case("P1", reference, protocol(4), ["corrected"])
    expected = dice(np.asarray(masks[0]), ball(9))
    assert value_of(case, "rater 1", "given", "dice", "all") == pytest.approx(expected)
    assert without_rater(reference, 0).given_consensus is None


def test_agreement_is_mean_sd_and_number_of_cases(biased):
    pairs = pair_table(biased)
    table = agreement_table(pairs, {"hard": ["P0", "P3"]})
    row = ("rater 1", "rater 4", "boundary_mm")
    values = [value_of(case, *row) for case in biased]
    for cohort, own in (("all", values), ("hard", [values[0], values[3]])):
        line = table[(table["cohort"] == cohort) & (table["measure"] == "boundary_mm")]
        line = line[(line["first"] == "rater 1") & (line["second"] == "rater 4")].iloc[0]
        assert line["mean"] == pytest.approx(np.mean(own))
        assert line["sd"] == pytest.approx(np.std(own, ddof=1))
        assert line["cases"] == len(own)


def test_several_labels_have_a_mean():
    first, second = np.asarray(ball(9), np.uint8), np.asarray(ball(10), np.uint8)
    first[:3, :3, :3], second[:3, :3, :2] = 2, 2
    form = protocol(2, labels={"lesion": 1, "cyst": 2})
    reference = reference_of([first, second], names=("lesion", "cyst"))
    case = measure_case("P1", reference, form, ["corrected"])
    table = measure_table([case]).set_index(["label", "rater"])
    lesion, cyst = dice(first == 1, second == 1), 2 * 18 / (27 + 18)
    assert table["dice"]["cyst", "rater 1"] == pytest.approx(cyst)
    assert table["dice"]["all", "rater 1"] == pytest.approx((lesion + cyst) / 2)
    pairs = pair_table([case])
    whole = pairs[(pairs["label"] == "all") & (pairs["first"] == "rater 1")].set_index("measure")
    assert whole["value"]["dice"] == pytest.approx((lesion + cyst) / 2)
    apart = (int((first > 0).sum()) - int((second > 0).sum())) * 1.5 / 1000
    assert whole["value"]["volume_cm3"] == pytest.approx(apart)


def test_volumes_of_agreement_are_counted():
    a, b, c = np.zeros((3, *SHAPE), bool)
    a[5:15, 5:15, 5:15] = True
    b[5:15, 5:15, 5:10] = True
    c[10:20, 5:15, 5:15] = True
    (case,) = measured([[a, b, c]], 3)
    (label,) = case.labels
    assert label.everyone_cm3 == pytest.approx(5 * 10 * 5 * 1.5 / 1000)
    assert label.anyone_cm3 == pytest.approx(1500 * 1.5 / 1000)
    assert label.dissensus_cm3 == pytest.approx(1250 * 1.5 / 1000)
    assert (label.lowest_dice, label.highest_dice) == pytest.approx(
        (2 * 250 / 1500, 2 * 500 / 1500)
    )


def test_an_empty_rater_costs_nothing_but_agreement():
    (case,) = measured([[ball(8), ball(8), np.zeros(SHAPE, bool)]], 3)
    empty = case.raters[2]
    assert (empty.dice, empty.volume_bias_percent) == (0, -100)
    assert math.isnan(empty.boundary_bias_mm)
    assert case.raters[0].boundary_bias_mm == 0
    assert value_of(case, "rater 1", "rater 3", "nsd") == 0


# ---- vessels ---------------------------------------------------------------------------------


def test_raters_on_different_sides_of_0_and_180_degrees_are_counted():
    shape, spacing, centre = (40, 40, 24), (1.0, 1.0, 1.0), (19.6, 20.3, 12.0)
    vessel = cylinder(shape, spacing, centre, (0, 0, 1), 6.0)
    structures = {"AORTA": Structure(vessel, Box.whole(shape), spacing), "SMA": None}

    def lesion(angle):
        return annular_sector(shape, spacing, centre, (0, 0, 1), 6, 10, angle, length_mm=12)

    nothing = np.zeros(shape, bool)
    nothing[1:4, 1:4, 1:4] = True  # a lesion far away
    drawn = {"P1": (nothing, 90), "P2": (90, 250), "P3": (60, 120), "P4": (nothing, 250)}
    grid = Grid(shape, spacing)
    cases = []
    for name, said in drawn.items():
        masks = [lesion(each) if isinstance(each, int) else each for each in said]
        reference = reference_of(masks, grid=grid, structures=structures)
        cases.append(measure_case(name, reference, protocol(2), ["corrected"]))
    table = contact_table(cases)
    rows = table[table["way"] == "anatomical"].set_index("case")
    assert list(rows["split_at_0"]) == [True, False, False, True]
    assert list(rows["split_at_180"]) == [False, True, False, True]
    assert rows["rater_2_deg"]["P2"] == pytest.approx(250, abs=15)
    assert (rows["touching"]["P1"], rows["over_180"]["P2"]) == (1, 1)
    splits = split_table(table).set_index(["way", "vessel"])
    for vessel_name in ("AORTA", "all"):
        line = splits.loc[("anatomical", vessel_name)]
        assert (line["cases"], line["share_at_0"], line["share_at_180"]) == (4, 0.5, 0.5)
    pairs = pair_table(cases)
    angles = pairs[(pairs["measure"] == "contact_angle") & (pairs["vessel"] == "AORTA")]
    apart = angles[angles["consensus_of"] == ""].set_index("case")["value"]
    expected = rows["rater_2_deg"] - rows["rater_1_deg"]
    assert apart.to_numpy() == pytest.approx(expected.to_numpy())


# ---- whole benchmarks ------------------------------------------------------------------------


def write_case(folder, masks):
    for k, mask in enumerate(masks):
        write_volume(
            folder / f"annotation_{k + 1}.nii.gz", Volume(np.asarray(mask, np.uint8), GRID)
        )


def test_one_rater_has_no_ceiling_and_is_told_so(tmp_path):
    write_case(tmp_path / "reference" / "P1", [ball(8)])
    study = measure_raters(protocol(1), reference=tmp_path / "reference")
    write_raters(study, tmp_path / "out")
    assert "no human ceiling" in (tmp_path / "out" / "raters.md").read_text()
    assert not (tmp_path / "out" / "ceiling.csv").exists()
    assert study.rater_cases["everyone_cm3"].iloc[0] == pytest.approx(ball(8).sum() * 1.5 / 1000)


def test_one_bad_case_does_not_stop_the_others(tmp_path):
    for name in ("P1", "P2", "P3"):
        write_case(tmp_path / name, [ball(8), ball(9)])
    (tmp_path / "P2" / "annotation_2.nii.gz").write_bytes(b"nothing")
    (tmp_path / "P3" / "annotation_1.nii.gz").unlink()
    study = measure_raters(protocol(2), reference=tmp_path)
    assert study.cases == 1
    assert [problem.split(":")[0] for problem in study.problems] == ["case P2", "case P3"]
    text = " ".join(sentences(study))
    assert "1 case." in text
    assert "too few for a test" in text


def test_a_folder_of_nothing_is_refused(tmp_path):
    (tmp_path / "P1").mkdir()
    with pytest.raises(InputError, match=r"no folder in .* has a annotation_1"):
        measure_raters(load_protocol("curvas-pdacvi-2025"), reference=tmp_path)
