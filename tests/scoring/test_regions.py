"""Labels that overlap are scored as each alone; ignored voxels as if they were not there."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest

import segjury
from segjury.metrics import METRICS
from tests.small_panels import SPACING_MM, balls, protocol, put, soft, write_case

WHOLE, CORE = "kidney and mass", "mass"
REGIONS = {WHOLE: [1, 2], CORE: 2}
OF_MASKS = ["dsc", "nsd", "hd95", "assd", "dice", "specificity", "mi", "kappa", "cldice", "betti"]
OF_MASKS = [{"name": "nsd", "tolerance_mm": 1.0} if n == "nsd" else {"name": n} for n in OF_MASKS]
for use in OF_MASKS:
    if use["name"] in ("hd95", "assd"):
        use["worst"] = "image-diagonal"
    if use["name"] == "betti":
        use["worst"] = "empty-prediction"
OF_MAPS = [{"name": "thr_dsc"}, {"name": "mr_ece"}, {"name": "confidence"}]
OF_MAPS.append({"name": "crps", "worst": "empty-prediction"})


def nested_masks(seed, n):
    """Label maps: 1 around 2, each drawn by `n` raters."""
    outer, inner = balls(seed, n, radius=5), balls(seed + 50, n, radius=2.5)
    return np.where(inner, 2, outer.astype(np.uint8)) * (outer | inner)


def run(given, folder):
    places = {name: folder / name for name in ("reference", "predictions")}
    table = segjury.evaluate(given, **places)
    return table.set_index(["method", "metric", "structure", "reading"])["value"]


def test_labels_that_overlap_score_as_each_would_alone(tmp_path):
    metrics = [*OF_MASKS, *OF_MAPS]
    together = protocol(metrics, n_raters=3, labels=REGIONS)
    alone = {name: protocol(metrics, n_raters=3, labels={"it": 1}) for name in REGIONS}
    masks = nested_masks(3, 3)
    drawn = {m: nested_masks(k, 1)[0] for k, m in enumerate("AB", 20)}
    held = {WHOLE: lambda mask: mask > 0, CORE: lambda mask: mask == 2}
    maps = {m: {n: soft(held[n](mask), 7) for n in REGIONS} for m, mask in drawn.items()}
    raters = {str(k + 1): mask for k, mask in enumerate(masks)}
    write_case(tmp_path / "both", together, "P1", raters, {m: (drawn[m], maps[m]) for m in drawn})
    got = run(together, tmp_path / "both")
    for name, spec in alone.items():
        write_case(
            tmp_path / name,
            spec,
            "P1",
            {rater: held[name](mask) for rater, mask in raters.items()},
            {m: (held[name](drawn[m]), {"it": maps[m][name]}) for m in drawn},
        )
        expected = run(spec, tmp_path / name).xs("all", level="structure")
        of_label = got.xs(name, level="structure").loc[expected.index]
        assert of_label.notna().any()
        np.testing.assert_array_equal(of_label, expected)


def test_a_region_of_a_number_that_is_ignored_is_refused():
    with pytest.raises(ValueError, match="give two things the same number"):
        protocol(["dsc"], n_raters=1, labels=REGIONS, ignore=2)


def test_two_regions_of_the_same_numbers_are_refused():
    with pytest.raises(ValueError, match="the label a has the numbers of another one"):
        protocol(["dsc"], n_raters=1, labels={"a": [1, 2], "b": [2, 1]})


def test_top_label_calibration_is_refused_where_labels_overlap():
    with pytest.raises(ValueError, match="ece needs labels that do not overlap"):
        protocol(["ece"], n_raters=2, labels=REGIONS)


def test_a_number_of_no_region_is_refused(tmp_path):
    given = protocol(["dsc"], n_raters=1, labels={"a": [1, 2]})
    write_case(
        tmp_path, given, "P1", {"1": nested_masks(1, 1)[0]}, {"A": (nested_masks(1, 1)[0] * 3, {})}
    )
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    (problem,) = segjury.run(given, **places).problems
    assert "method A: segmentation.nii.gz has unknown labels 3, 6, expected 0, 1, 2" in problem


# ---- a channel for each label --------------------------------------------------------------


def put_channels(path, channels):
    """A NIfTI file with a fourth axis, where `put` would write a mask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    affine = np.diag([-SPACING_MM[0], -SPACING_MM[1], SPACING_MM[2], 1])
    kind = np.float32 if channels[0].dtype.kind == "f" else np.uint8
    nib.save(nib.Nifti1Image(np.stack(channels, axis=-1).astype(kind), affine), path)


def test_channels_are_the_labels_in_their_order(tmp_path):
    given = protocol([*OF_MASKS, *OF_MAPS], n_raters=3, labels=REGIONS)
    masks = nested_masks(3, 3)
    drawn = nested_masks(20, 1)[0]
    maps = {WHOLE: soft(drawn > 0, 7), CORE: soft(drawn == 2, 7)}
    raters = {str(k + 1): mask for k, mask in enumerate(masks)}
    write_case(tmp_path / "maps", given, "P1", raters, {"A": (drawn, maps)})
    write_case(tmp_path / "channels", given, "P1", {}, {})
    for name, mask in raters.items():
        path = tmp_path / "channels" / "reference" / "P1" / f"annotation_{name}.nii.gz"
        put_channels(path, [mask > 0, mask == 2])
    place = tmp_path / "channels" / "predictions" / "A" / "P1"
    put_channels(place / "segmentation.nii.gz", [drawn > 0, drawn == 2])
    put_channels(place / "probability.nii.gz", list(maps.values()))
    expected = run(given, tmp_path / "maps")
    assert run(given, tmp_path / "channels").equals(expected)
    places = {name: tmp_path / "channels" / name for name in ("reference", "predictions")}
    assert segjury.check(given, **places).errors == 0


def test_predicted_channels_that_do_not_lie_within_each_other_score_each_alone(tmp_path):
    given = protocol(OF_MASKS, n_raters=1, labels=REGIONS)
    alone = protocol(OF_MASKS, n_raters=1, labels={"it": 1})
    mask = nested_masks(3, 1)[0]
    outer, inner = balls(4, 1, radius=4)[0], np.roll(balls(5, 1, radius=3)[0], 4, axis=1)
    assert (inner & ~outer).any()
    write_case(tmp_path / "both", given, "P1", {"1": mask}, {})
    place = tmp_path / "both" / "predictions" / "A" / "P1"
    put_channels(place / "segmentation.nii.gz", [outer, inner])
    got = run(given, tmp_path / "both")
    for name, held, drawn in ((WHOLE, mask > 0, outer), (CORE, mask == 2, inner)):
        write_case(tmp_path / name, alone, "P1", {"1": held}, {"A": (drawn, {})})
        expected = run(alone, tmp_path / name).xs("all", level="structure")
        np.testing.assert_array_equal(got.xs(name, level="structure").loc[expected.index], expected)


def test_channels_that_overlap_in_more_ways_than_a_byte_can_number_fail_the_prediction(tmp_path):
    labels = {f"r{k}": [k, 10] for k in range(1, 10)}
    given = protocol(["dsc"], n_raters=1, labels=labels)
    mask = nested_masks(3, 1)[0]
    write_case(tmp_path, given, "P1", {"1": mask}, {})
    drawn = np.random.default_rng(1).random((9, *mask.shape)) < 0.5
    drawn[8] = False  # 255 sets of eight labels, and the protocol's two with the ninth
    put_channels(tmp_path / "predictions" / "A" / "P1" / "segmentation.nii.gz", list(drawn))
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    results = segjury.run(given, **places)
    assert set(results.scores["status"]) == {"failed"}
    assert set(results.scores["value"]) == {0.0}
    assert "more than 255 different ways" in results.problems[0]
    assert segjury.check(given, **places).errors == 1


def test_raters_channels_must_lie_within_each_other_as_the_numbers_do(tmp_path):
    given = protocol(["dsc"], n_raters=1, labels=REGIONS)
    drawn = nested_masks(1, 1)[0]
    write_case(tmp_path, given, "P1", {}, {"A": (drawn, {})})
    path = tmp_path / "reference" / "P1" / "annotation_1.nii.gz"
    put_channels(path, [drawn == 1, drawn == 2])
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    (problem,) = segjury.run(given, **places).problems
    assert "annotation_1.nii.gz has voxels in mass alone, which no number" in problem


def test_a_number_of_no_region_is_unknown_though_it_may_be_the_place_of_a_label(tmp_path):
    given = protocol(["dsc"], n_raters=1, labels={"a": [2, 3], "b": 3})
    drawn = nested_masks(1, 1)[0]
    good = np.where(drawn, drawn + 1, 0)
    write_case(tmp_path, given, "P1", {"1": good}, {"A": (good, {}), "B": (drawn, {})})
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    (problem,) = segjury.run(given, **places).problems
    assert "method B: segmentation.nii.gz has unknown labels 1, expected 0, 2, 3" in problem


# ---- ignored voxels ------------------------------------------------------------------------


def test_ignored_voxels_count_as_if_the_image_ended_before_them(tmp_path):
    metrics = [
        {"name": n} for n in ("dsc", "dice", "specificity", "accuracy", "mi", "kappa", "rand")
    ]
    metrics += [{"name": n} for n in ("thr_dsc", "confidence", "ece", "brier", "pooled_ece", "ace")]
    metrics += [{"name": n} for n in ("adaptive_ece", "classwise_ece", "aurc", "uncertainty_ncc")]
    metrics.append({"name": "mce", "region": "near", "padding_voxels": 30})
    metrics.append({"name": "nll", "worst": 1.0})
    metrics.append({"name": "boundary_ece", "band_mm": 1.0})
    metrics.append({"name": "crps", "worst": "empty-prediction"})
    metrics.append({"name": "mr_ece", "padding_voxels": 30})  # the whole image
    spec = {"n_raters": 3, "labels": {"it": 1}}
    with_it, without = protocol(metrics, **spec, ignore=9), protocol(metrics, **spec)
    cut = 9  # planes that are kept
    masks, drawn = balls(5, 3).astype(np.uint8), balls(6, 1)[0]
    map_ = soft(drawn, 3)
    marked = masks.copy()
    marked[0, :, :, cut:] = 9  # one rater leaves these out
    raters = {str(k + 1): mask for k, mask in enumerate(marked)}
    write_case(tmp_path / "whole", with_it, "P1", raters, {"A": (drawn, {"it": map_})})
    raters = {str(k + 1): mask[..., :cut] for k, mask in enumerate(masks)}
    cropped = {"A": (drawn[..., :cut], {"it": map_[..., :cut]})}
    write_case(tmp_path / "cropped", without, "P1", raters, cropped)
    got, expected = run(with_it, tmp_path / "whole"), run(without, tmp_path / "cropped")
    boxes = got.index.get_level_values("reading") != "corrected"
    boxes &= got.index.get_level_values("metric") == "mr_ece"  # their box ends elsewhere
    np.testing.assert_allclose(got[~boxes], expected[~boxes], rtol=1e-12)
    assert got.notna().all()


@pytest.mark.parametrize("metric", [name for name, m in METRICS.items() if m.needs_probability])
def test_a_map_of_a_case_that_is_ignored_as_a_whole_is_no_fault_of_ours(tmp_path, metric):
    use = {"name": metric} | ({} if METRICS[metric].worst is not None else {"worst": 9.0})
    structures = {"file": "vessels", "labels": {"aorta": 1}}
    more = {"structures": structures} if METRICS[metric].scope == "structure" else {}
    given = protocol([use], n_raters=2, ignore=9, **more)
    masks = balls(5, 2).astype(np.uint8)
    raters = {"1": np.full_like(masks[0], 9), "2": masks[1]}
    write_case(tmp_path, given, "P1", raters, {"A": (masks[0], {"foreground": soft(masks[0], 3)})})
    if more:
        put(tmp_path / "reference", "vessels", masks[0], case="P1")
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    assert segjury.run(given, **places).problems == ()


def test_what_is_predicted_where_all_is_ignored_costs_nothing(tmp_path):
    given = protocol(["dsc"], n_raters=1, ignore=2)
    mask = balls(1, 1)[0].astype(np.uint8)
    mask[:3] = 2
    drawn = mask == 1
    more = drawn.copy()
    more[:3] = True
    write_case(tmp_path, given, "P1", {"1": mask}, {"A": (drawn, {}), "B": (more, {})})
    assert (run(given, tmp_path) == 1.0).all()


# ---- panels with gaps ----------------------------------------------------------------------


def test_a_case_is_scored_against_the_raters_it_has(tmp_path):
    metrics = [{"name": "dsc"}, *OF_MAPS]
    names = ["A", "B", "C", "D"]
    whole = protocol(metrics, raters="{case}_{rater}", rater_names=names, min_raters=2)
    pair = protocol(metrics, raters="{case}_{rater}", rater_names=["B", "D"])
    masks = dict(zip(names, balls(2, 4), strict=True))
    drawn = balls(9, 1)[0]
    method = {"M": (drawn, {"foreground": soft(drawn, 1)})}
    for folder, spec in (("gaps", whole), ("pair", pair)):
        write_case(tmp_path / folder, spec, "P1", {n: masks[n] for n in "BD"}, method)
    assert run(whole, tmp_path / "gaps").equals(run(pair, tmp_path / "pair"))


def test_missing_raters_of_a_case_change_nothing_elsewhere(tmp_path):
    metrics = [{"name": "dsc"}, *OF_MAPS]
    names = ["A", "B", "C"]
    given = protocol(metrics, raters="{case}_{rater}", rater_names=names, min_raters=1)
    for number, case in enumerate(("P1", "P2", "P3")):
        drawn = balls(30 + number, 1)[0]
        masks = dict(zip(names, balls(number, 3), strict=True))
        method = {"M": (drawn, {"foreground": soft(drawn, 1)})}
        write_case(tmp_path, given, case, masks, method)
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    before = segjury.run(given, **places)
    (tmp_path / "reference" / "P2_B.nii.gz").unlink()
    after = segjury.run(given, **places)
    for name in ("scores", "details", "calibration"):
        old, new = getattr(before, name), getattr(after, name)
        kept = [table[table["case"] != "P2"].to_csv(index=False) for table in (old, new)]
        assert kept[0] == kept[1]
    assert not before.scores.equals(after.scores)


def test_a_tolerance_for_each_label_scores_it_as_that_tolerance_for_all(tmp_path):
    tolerances = {WHOLE: 1.0, CORE: 2.0}
    labels = {WHOLE: 1, CORE: 2}
    raters, drawn = {"1": nested_masks(4, 1)[0]}, (nested_masks(21, 1)[0], {})

    def scores(tolerance):
        spec = protocol([{"name": "nsd", "tolerance_mm": tolerance}], n_raters=1, labels=labels)
        write_case(tmp_path, spec, "P1", raters, {"A": drawn})
        return run(spec, tmp_path)["A", "nsd"].xs("corrected", level="reading")

    each = scores(tolerances)
    for label, tolerance in tolerances.items():
        assert each[label] == scores(tolerance)[label]
    assert scores(1.0)[CORE] < each[CORE] < 1  # so that they differ


def test_a_tolerance_for_each_label_names_every_label_and_no_other():
    with pytest.raises(ValueError, match="nsd: tolerance_mm has none for mass"):
        protocol([{"name": "nsd", "tolerance_mm": {WHOLE: 1.0}}], n_raters=1, labels=REGIONS)
    with pytest.raises(ValueError, match="nsd: tolerance_mm names cyst, which is no label here"):
        protocol([{"name": "nsd", "tolerance_mm": {"cyst": 1.0}}], n_raters=1, labels=REGIONS)


def test_tables_say_the_tolerance_of_each_label():
    tolerances = {WHOLE: 1.5, CORE: 1.0}
    (use,) = protocol(
        [{"name": "nsd", "tolerance_mm": tolerances}], n_raters=1, labels=REGIONS
    ).metrics
    said = "surfel, tolerance of kidney and mass 1.5 mm, mass 1 mm"
    assert use.remark("corrected") == said


def test_a_label_that_a_method_never_marks_is_told_once(tmp_path):
    given = protocol(["dsc"], n_raters=1, labels=REGIONS)
    for case in ("P1", "P2", "P3"):
        mask = nested_masks(7, 1)[0]
        drawn = np.minimum(mask, 1)
        write_case(tmp_path, given, case, {"1": mask}, {"A": (drawn, {}), "B": (mask, {})})
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    results = segjury.run(given, **places)
    assert results.run.doubts == ["method A: marks no mass in any of 3 cases that have it"]
    of_mass = results.scores[results.scores["structure"] == CORE].set_index("method")["value"]
    assert set(of_mass["A"]) == {0.0}
    assert set(of_mass["B"]) == {1.0}
