"""Rules that leave cases out: each fires alone, and the log has every reason."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from segjury.benchmark.curate import curate, load_rules, write
from segjury.benchmark.curate.rules import KINDS
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import load_protocol
from tests.commands import segjury
from tests.places import DOCS

PROTOCOL = load_protocol("curvas-pdacvi-2025")
SHAPE = (9, 8, 7)
GRID = Grid(SHAPE, (1.0, 1.0, 2.0))  # a voxel is 2 mm3
USUAL = "annotation_{}.nii.gz"


def lesion(low=(3, 3, 3), high=(6, 6, 5)) -> np.ndarray:
    """A box of voxels, 18 of them unless told."""
    mask = np.zeros(SHAPE, np.uint8)
    mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = 1
    return mask


def vessels() -> np.ndarray:
    array = np.zeros(SHAPE, np.uint8)
    for label in range(1, 6):
        array[label, 1, 1:3] = label
    return array


def write_case(folder, *, raters=None, grids=None, structures=None, image=True) -> None:
    """A case of five equal raters; `raters` and `grids` are what differs, by number."""
    for k in range(1, 6):
        mask, grid = (raters or {}).get(k, lesion()), (grids or {}).get(k, GRID)
        write_volume(folder / USUAL.format(k), Volume(mask, grid))
    vessel_map = vessels() if structures is None else structures
    write_volume(folder / "annotation_vascular.nii.gz", Volume(vessel_map, GRID))
    if image:
        write_volume(folder / "image.nii.gz", Volume(np.zeros(SHAPE, np.int16), GRID))


def rules_of(tmp_path, text: str):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    return load_rules(path, PROTOCOL)


def excluded(tmp_path, text: str | None = None) -> list[tuple]:
    """The log of all cases in `tmp_path`/reference: case, rule, file, measured, limit."""
    rules = load_rules(None, PROTOCOL) if text is None else rules_of(tmp_path, text)
    done = curate(PROTOCOL, rules, reference=tmp_path / "reference")
    left_out = {e.case for e in done.exclusions}
    assert set(done.names) == set(done.cases) - left_out
    return [(e.case, e.rule, e.file, e.measured, e.limit) for e in done.exclusions]


@pytest.fixture
def reference(tmp_path):
    """A folder with one sound case."""
    write_case(tmp_path / "reference" / "sound")
    return tmp_path / "reference"


# ---- the paper's flow ----------------------------------------------------------------------


def test_125_cases_of_which_a_rater_found_nothing_in_16_give_109(tmp_path):
    reference, one = tmp_path / "reference", tmp_path / "one"
    write_case(one)
    empty = tmp_path / USUAL.format("empty")
    write_volume(empty, Volume(np.zeros(SHAPE, np.uint8), GRID))
    blind = {f"P{k:03d}": 1 + k % 5 for k in range(0, 125, 8)}  # the rater who found nothing
    assert len(blind) == 16
    for k in range(125):
        case = reference / f"P{k:03d}"
        case.mkdir(parents=True)
        for path in one.iterdir():
            (case / path.name).hardlink_to(path)
        if case.name in blind:
            file = case / USUAL.format(blind[case.name])
            file.unlink()
            file.hardlink_to(empty)
    (reference / "cases.csv").write_text(
        "case,sex\n" + "".join(f"P{k:03d},{'FM'[k % 2]}\n" for k in range(125))
    )
    out, link = tmp_path / "out", tmp_path / "kept"
    options = ["--out", out, "--reference", reference, "--link", link, "--jobs", 1]
    done = segjury("curate", PROTOCOL.name, *options)
    assert done.returncode == 0, done.stderr
    assert "125 cases, 16 excluded, 109 kept" in done.stdout
    log = pd.read_csv(out / "exclusions.csv")
    assert list(log) == ["case", "rule", "reason", "file", "measured", "limit"]
    assert dict(zip(log["case"], log["file"], strict=True)) == {
        case: USUAL.format(rater) for case, rater in blind.items()
    }
    assert set(log["rule"]) == {"empty-rater"}
    assert set(log["reason"]) == {"1 of 5 raters mark no PDAC"}
    assert (log["measured"] == 4).all()
    assert (log["limit"] == 5).all()
    kept = pd.read_csv(out / "cases.csv")
    assert len(kept) == 109
    assert not set(kept["case"]) & set(blind)
    assert set(kept["sex"]) == {"F", "M"}
    assert np.allclose(kept["volume_cm3"], 18 * 2 / 1000)
    assert (out / "cases_kept.txt").read_text().split() == list(kept["case"])
    assert {path.name for path in link.iterdir()} == {*kept["case"], "cases.csv"}
    about = json.loads((out / "curation.json").read_text())
    counts = about["counts"]
    assert (counts["cases"], counts["excluded"], counts["kept"]) == (125, 16, 109)
    assert counts["by_rule"]["empty-rater"] == {"left_out": 16, "break_it": 16}
    assert counts["by_rule"]["touches-border"] == {"left_out": 0, "break_it": 0}
    assert [rule["kind"] for rule in about["rules"]] == [*counts["by_rule"]]


def test_a_sound_case_is_kept_by_the_usual_rules(tmp_path, reference):
    assert reference.is_dir()
    assert excluded(tmp_path) == []


# ---- one rule at a time --------------------------------------------------------------------


def test_as_many_raters_as_said_must_mark_something(tmp_path, reference):
    nothing = np.zeros(SHAPE, np.uint8)
    write_case(reference / "one", raters={2: nothing})
    write_case(reference / "two", raters={2: nothing, 4: 2 * lesion()})  # 2 is the pancreas
    rule = '[[rules]]\nkind = "empty-rater"\n'
    both = f"{USUAL.format(2)};{USUAL.format(4)}"
    assert excluded(tmp_path, rule) == [
        ("one", "empty-rater", USUAL.format(2), 4, 5),
        ("two", "empty-rater", both, 3, 5),
    ]
    assert excluded(tmp_path, f"{rule}at_least = 4") == [("two", "empty-rater", both, 3, 4)]
    assert excluded(tmp_path, f"{rule}at_least = 3") == []


@pytest.mark.parametrize(
    ("face", "mask"),
    [
        ("x-low", lesion((0, 3, 3), (2, 6, 5))),
        ("x-high", lesion((7, 3, 3), (9, 6, 5))),
        ("y-low", lesion((3, 0, 3), (6, 6, 5))),
        ("y-high", lesion((3, 3, 3), (6, 8, 5))),
        ("z-low", lesion((3, 3, 0), (6, 6, 5))),
        ("z-high", lesion((3, 3, 3), (6, 6, 7))),
    ],
)
def test_a_mask_at_a_face_is_found_if_that_face_counts(tmp_path, reference, face, mask):
    write_case(reference / "cut", raters={3: mask})
    rule = '[[rules]]\nkind = "touches-border"\n'
    assert excluded(tmp_path, rule) == [("cut", "touches-border", USUAL.format(3), 0, 1)]
    assert excluded(tmp_path, f'{rule}faces = ["{face}"]') != []
    others = {"x-low", "x-high", "y-low", "y-high", "z-low", "z-high"} - {face}
    assert excluded(tmp_path, f"{rule}faces = {sorted(others)}") == []
    assert excluded(tmp_path, f'{rule}raters = "all"') == []


def test_a_margin_counts_free_layers(tmp_path, reference):
    write_case(reference / "near", raters=dict.fromkeys(range(1, 6), lesion((2, 3, 3), (6, 6, 5))))
    rule = '[[rules]]\nkind = "touches-border"\nfaces = ["x-low"]\n'
    assert excluded(tmp_path, f"{rule}margin_voxels = 2") == []
    found = excluded(tmp_path, f'{rule}margin_voxels = 3\nraters = "all"')
    expected = [("near", "touches-border", USUAL.format(k), 2, 3) for k in range(1, 6)]
    assert found == expected  # the sound case keeps three layers free


def test_a_slice_is_not_all_border(tmp_path):
    flat = Grid((9, 8, 1))
    for k in range(1, 6):
        path = tmp_path / "reference" / "slice" / USUAL.format(k)
        write_volume(path, Volume(lesion()[:, :, 3:4], flat))
    structures = tmp_path / "reference" / "slice" / "annotation_vascular.nii.gz"
    write_volume(structures, Volume(vessels()[:, :, 1:2], flat))
    assert excluded(tmp_path, '[[rules]]\nkind = "touches-border"') == []


TURNED = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("grid", "word"),
    [
        (replace(GRID, spacing_mm=(1.0, 1.0, 2.1)), "spacing"),
        (replace(GRID, origin_mm=(0.0, 5.0, 0.0)), "origin"),
        (replace(GRID, direction=TURNED), "direction"),
    ],
)
def test_a_grid_that_differs_is_found_if_that_property_counts(tmp_path, reference, grid, word):
    write_case(reference / "off", grids={4: grid})
    rule = '[[rules]]\nkind = "corrupt-geometry"\n'
    assert excluded(tmp_path, rule) == [("off", "corrupt-geometry", USUAL.format(4), None, None)]
    others = [name for name in ("spacing", "origin", "direction") if name != word]
    assert excluded(tmp_path, f"{rule}properties = {others}") == []


def test_small_differences_are_tolerated_as_said(tmp_path, reference):
    write_case(reference / "off", grids={4: replace(GRID, origin_mm=(0.0, 0.05, 0.0))})
    rule = '[[rules]]\nkind = "corrupt-geometry"\n'
    assert len(excluded(tmp_path, rule)) == 1  # the protocol's 0.01 mm
    assert excluded(tmp_path, f"{rule}tolerance_mm = 0.1") == []


def test_skewed_axes_and_odd_spacings_are_found_in_all_files_alike(tmp_path, reference):
    # NIfTI says any affine: the second axis leans by 3 in 10
    lean = 0.3 / np.hypot(1, 0.3)
    skewed = ((1.0, lean, 0.0), (0.0, float(np.sqrt(1 - lean**2)), 0.0), (0.0, 0.0, 1.0))
    grid = replace(GRID, direction=skewed)
    write_case(reference / "skewed", image=False)
    for path in (reference / "skewed").iterdir():
        sheared(path, grid)
    found = excluded(tmp_path, '[[rules]]\nkind = "corrupt-geometry"\n')
    assert {row[:2] for row in found} == {("skewed", "corrupt-geometry")}
    assert len(found) == 6
    lean = 8e-4  # which is read, but not by every rule
    slight = ((1.0, lean, 0.0), (0.0, float(np.sqrt(1 - lean**2)), 0.0), (0.0, 0.0, 1.0))
    for path in (reference / "skewed").iterdir():
        sheared(path, replace(GRID, direction=slight))
    strict = '[[rules]]\nkind = "corrupt-geometry"\ntolerance_direction = 1e-4\n'
    found = [row for row in excluded(tmp_path, strict) if row[0] == "skewed"]
    assert len(found) == 6
    assert all(row[3] == pytest.approx(lean, abs=1e-5) for row in found)
    few = excluded(tmp_path, '[[rules]]\nkind = "corrupt-geometry"\nmax_spacing_mm = 1.5\n')
    assert ("sound", "corrupt-geometry", "image.nii.gz", 2.0, 1.5) in few
    few = excluded(tmp_path, '[[rules]]\nkind = "corrupt-geometry"\nmin_spacing_mm = 1.5\n')
    assert ("sound", "corrupt-geometry", USUAL.format(1), 1.0, 1.5) in few


def sheared(path, grid: Grid) -> None:
    """Write a file again with a skewed sform, which only nibabel does."""
    import nibabel as nib

    affine = np.eye(4)
    affine[:3, :3] = np.array(grid.direction) * grid.spacing_mm
    affine[:2] *= -1
    image = nib.load(path)
    data = np.asarray(image.dataobj).astype(np.uint8)
    written = nib.Nifti1Image(data, affine)
    written.set_sform(affine, code=1)
    written.set_qform(None, code=0)
    nib.save(written, path)


def test_axes_in_another_order_are_no_difference(tmp_path, reference):
    turned = Grid((7, 9, 8), (2.0, 1.0, 1.0), direction=((0, 1, 0), (0, 0, 1), (1, 0, 0)))
    write_case(reference / "turned", grids={4: turned}, raters={4: lesion().transpose(2, 0, 1)})
    image = Volume(np.zeros(turned.shape, np.int16), turned)
    write_volume(reference / "turned" / "image.nii.gz", image)
    assert excluded(tmp_path, '[[rules]]\nkind = "corrupt-geometry"\n') == []


def test_an_image_of_another_shape_is_found(tmp_path, reference):
    write_case(reference / "odd")
    small = Volume(np.zeros((9, 8, 6), np.int16), Grid((9, 8, 6)))
    write_volume(reference / "odd" / "image.nii.gz", small)
    rule = '[[rules]]\nkind = "corrupt-geometry"\n'
    assert excluded(tmp_path, rule) == [("odd", "corrupt-geometry", "image.nii.gz", None, None)]


def test_volumes_out_of_bounds(tmp_path, reference):
    # the usual lesion has 18 voxels of 2 mm3: 0.036 cm3
    write_case(reference / "large", raters={1: lesion((1, 1, 1), (8, 7, 6))})  # 210: 0.42 cm3
    rule = '[[rules]]\nkind = "volume"\n'
    assert excluded(tmp_path, f"{rule}max_cm3 = 0.1128") == []  # the mean is exactly that
    (row,) = excluded(tmp_path, f"{rule}max_cm3 = 0.1")
    assert row[:3] == ("large", "volume", "")
    assert row[3] == pytest.approx((0.42 + 4 * 0.036) / 5)
    (row,) = excluded(tmp_path, f'{rule}max_cm3 = 0.2\nof = "any"')
    assert row[2] == USUAL.format(1)
    assert excluded(tmp_path, f'{rule}max_cm3 = 0.2\nof = "all"') == []
    found = excluded(tmp_path, f'{rule}min_cm3 = 0.05\nof = "all"')
    assert [row[0] for row in found] == ["sound"] * 5


def test_raters_who_agree_too_little(tmp_path, reference):
    # one of five is elsewhere: 6 of 10 pairs agree fully, 4 not at all
    write_case(reference / "apart", raters={5: lesion((1, 1, 1), (3, 3, 3))})
    rule = '[[rules]]\nkind = "agreement"\nmin_mean_pairwise_dsc = '
    assert excluded(tmp_path, f"{rule}0.6") == []
    (row,) = excluded(tmp_path, f"{rule}0.61")
    assert row[:2] == ("apart", "agreement")
    assert row[3] == pytest.approx(0.6)


def test_a_vessel_that_is_not_there(tmp_path, reference):
    without = vessels()
    without[without == 5] = 0
    write_case(reference / "no SMA", structures=without)
    rule = '[[rules]]\nkind = "missing-structure"\n'
    expected = [("no SMA", "missing-structure", "annotation_vascular.nii.gz", 0, 1)]
    assert excluded(tmp_path, rule) == expected
    assert excluded(tmp_path, f'{rule}structures = ["SMV", "CELIAC TRUNK"]') == []
    assert len(excluded(tmp_path, f"{rule}min_voxels = 3")) == 10  # all have two voxels or none


def test_a_file_that_was_asked_for(tmp_path, reference):
    write_case(reference / "blind", image=False)
    assert excluded(tmp_path, '[[rules]]\nkind = "missing-file"') == [
        ("blind", "missing-file", "image", None, None)
    ]
    assert excluded(tmp_path) == []  # pictures only


# ---- files that cannot be used -------------------------------------------------------------


def test_faults_of_files_are_exclusions_whatever_the_rules(tmp_path, reference):
    for name in ("cut short", "not there", "shape", "labels", "empty folder", "twice"):
        if name != "empty folder":
            write_case(reference / name)
    (reference / "empty folder").mkdir()
    content = (reference / "cut short" / USUAL.format(1)).read_bytes()
    (reference / "cut short" / USUAL.format(1)).write_bytes(content[:60])
    (reference / "not there" / "annotation_vascular.nii.gz").unlink()
    small = Volume(np.ones((3, 3, 3), np.uint8), Grid((3, 3, 3)))
    write_volume(reference / "shape" / USUAL.format(2), small)
    write_volume(reference / "labels" / USUAL.format(3), Volume(7 * lesion(), GRID))
    write_volume(reference / "twice" / "annotation_5.mha", Volume(lesion(), GRID))
    found = excluded(tmp_path, '[[rules]]\nkind = "agreement"\nmin_mean_pairwise_dsc = 0.1')
    rules = {(case, rule) for case, rule, *_ in found}
    assert rules == {
        ("cut short", "unreadable-file"),
        ("not there", "missing-file"),
        ("shape", "corrupt-geometry"),
        ("labels", "unreadable-file"),
        ("empty folder", "missing-file"),
        ("twice", "unreadable-file"),
    }
    assert len([row for row in found if row[0] == "empty folder"]) == 6  # one line per file


def test_a_case_that_breaks_several_rules_has_a_line_for_each(tmp_path, reference):
    nothing = np.zeros(SHAPE, np.uint8)
    write_case(
        reference / "bad",
        raters={1: nothing, 2: lesion((0, 3, 3), (2, 6, 5))},
        grids={3: replace(GRID, origin_mm=(9.0, 0.0, 0.0))},
    )
    rules = load_rules(None, PROTOCOL)
    done = curate(PROTOCOL, rules, reference=reference)
    assert [e.rule for e in done.exclusions] == [
        "empty-rater",
        "touches-border",
        "corrupt-geometry",
    ]
    assert done.flow == [
        ("empty-rater", 1, 1),
        ("touches-border", 0, 1),
        ("corrupt-geometry", 0, 1),
    ]
    write(done, tmp_path / "out")
    assert len(pd.read_csv(tmp_path / "out" / "exclusions.csv")) == 3


def test_nothing_left_is_written_too(tmp_path):
    (tmp_path / "reference" / "empty").mkdir(parents=True)
    done = curate(PROTOCOL, load_rules(None, PROTOCOL), reference=tmp_path / "reference")
    write(done, tmp_path / "out")
    assert done.names == []
    assert (tmp_path / "out" / "cases.csv").read_text() == "case\n"
    assert (tmp_path / "out" / "cases_kept.txt").read_text().strip() == ""


# ---- files of rules ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[rules]]\nkind = "empty-raters"', "rule 'empty-raters' is not known; known are empty-"),
        (
            '[[rules]]\nkind = "empty-rater"\natleast = 3',
            "line 3, rules[1].atleast: this key is not",
        ),
        (
            '[[rules]]\nkind = "empty-rater"\nat_least = 6',
            "at_least is 6, the protocol has 5 raters",
        ),
        ('[[rules]]\nkind = "volume"', "give min_cm3 or max_cm3"),
        ('[[rules]]\nkind = "touches-border"\nfaces = ["top"]', "got 'top'"),
        (
            '[[rules]]\nkind = "touches-border"\nmargin_voxels = 0',
            "(meaning: layers of voxels at a",
        ),
        ('[[rules]]\nkind = "volume"\nmin_cm3 = 1\nlabels = ["liver"]', "there is no label liver"),
        (
            '[[rules]]\nkind = "missing-structure"\nstructures = ["IVC"]',
            "structures are PORTA, SMV",
        ),
        ("rules = []", "at least 1 item"),
        ("[[rules", "not valid TOML"),
    ],
)
def test_a_wrong_rule_is_explained(tmp_path, text, said):
    with pytest.raises(InputError) as error:
        rules_of(tmp_path, text)
    assert said in str(error.value)
    assert "rules.toml" in str(error.value)


def test_rules_need_a_protocol_that_has_what_they_ask_for(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[rules]]\nkind = "agreement"\nmin_mean_pairwise_dsc = 0.3')
    with pytest.raises(InputError, match="the protocol has one rater"):
        load_rules(path, load_protocol("aortaseg-2024"))
    path.write_text('[[rules]]\nkind = "missing-structure"')
    with pytest.raises(InputError, match="the protocol's structures are none"):
        load_rules(path, load_protocol("aortaseg-2024"))


def test_the_usual_rules_are_printed_as_a_file_of_rules(tmp_path):
    printed = segjury("curate", "--print-rules").stdout
    assert rules_of(tmp_path, printed) == load_rules(None, PROTOCOL)
    assert [rule.kind for rule in load_rules(None, PROTOCOL)] == list(KINDS)[:3]


def test_the_page_has_every_rule_with_its_keys_and_an_example_that_can_be_read(tmp_path):
    page = (DOCS / "curation.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \|$", page, re.MULTILINE))
    for kind, rule in KINDS.items():
        assert set(re.findall(r"`(\w+)`", rows[kind])) == set(rule.model_fields) - {"kind"}
    (example,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(rules_of(tmp_path, example)) == 4
