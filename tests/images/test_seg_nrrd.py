"""Segmentations of 3D Slicer, written by hand as its documentation has them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import SimpleITK as sitk

from segjury import images
from segjury.errors import InputError
from segjury.images.grid import Grid

WHOLE = Grid((8, 7, 6), (0.5, 0.75, 2.0), (10.0, -20.0, 30.0))
START = (2, 1, 3)  # of what is stored in it
SHAPE = (4, 5, 2)
A, B, C = (np.zeros(SHAPE, bool) for _ in range(3))
A[0:3, 1:4] = True
B[2:4, 2:5, 1] = True
C[1, 2, 0] = True


def space(kinds="domain domain domain", directions="(0.5,0,0) (0,0.75,0) (0,0,2)"):
    origin = ",".join(
        str(o + s * n) for o, s, n in zip(WHOLE.origin_mm, WHOLE.spacing_mm, START, strict=True)
    )
    return (
        f"space: left-posterior-superior\nspace directions: {directions}\nkinds: {kinds}\n"
        f"space origin: ({origin})\n"
    )


def segments(*each, **others):
    """Notes of segments, each (name, value, layer), without what is None."""
    lines = []
    for k, said in enumerate(each):
        for key, value in zip(("Name", "LabelValue", "Layer"), said, strict=False):
            lines += [] if value is None else [f"Segment{k}_{key}:={value}"]
        lines += [f"Segment{k}_Extent:=0 1 0 1 0 1", f"Segment{k}_Tags:=a:b|c:d"]
    lines += ["Segmentation_ReferenceImageExtentOffset:=2 1 3"]
    lines += [f"Segmentation_{key}:={value}" for key, value in others.items()]
    return "\n".join(lines) + "\n"


def write(path, array, notes, *, layers=None, encoding="gzip"):
    """A file of one layer, or of several along the first or the last axis."""
    code = {"uint8": "unsigned char", "int16": "short", "float32": "float"}[array.dtype.name]
    where = space()
    if layers == "first":
        where = space("list domain domain domain", "none (0.5,0,0) (0,0.75,0) (0,0,2)")
    if layers == "last":
        where = space("domain domain domain list", "(0.5,0,0) (0,0.75,0) (0,0,2) none")
    sizes = " ".join(map(str, array.shape))
    head = (
        f"NRRD0004\n# comment\ntype: {code}\ndimension: {array.ndim}\nsizes: {sizes}\n{where}"
        f"endian: little\nencoding: {encoding}\n{notes}\n"
    )
    data = array.tobytes(order="F")
    path.write_bytes(head.encode() + (gzip.compress(data) if encoding == "gzip" else data))


def read(path, labels=(1, 2, 3, 4, 5), grid=WHOLE, **options):
    return images.read_mask(path, labels=labels, grid=grid, **options)


def assert_placed(found, masks):
    """Each mask where it belongs in the whole image, and no label but these."""
    assert found.grid == WHOLE
    for label, mask in masks.items():
        expected = np.zeros(WHOLE.shape, bool)
        expected[tuple(slice(a, a + n) for a, n in zip(START, SHAPE, strict=True))] = mask
        np.testing.assert_array_equal(found.dense(label), expected)
    assert found.present == {label for label, mask in masks.items() if mask.any()}


APART = np.where(B, 4, np.where(A, 2, 0))
OVERLAID = np.stack([np.where(A, 2, 0), np.where(B, 2, np.where(C, 5, 0))])
TWO_LAYERS = segments(("lumen", 2, 0), ("wall", 2, 1), ("clot", 5, 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
@pytest.mark.parametrize("encoding", ["raw", "gzip"])
def test_a_layer_of_segments_is_placed_into_the_image(tmp_path, dtype, encoding):
    notes = segments(("lumen", 2, 0), ("wall", 4, 0))
    write(tmp_path / "m.seg.nrrd", APART.astype(dtype), notes, encoding=encoding)
    found = read(tmp_path / "m.seg.nrrd")
    assert_placed(found, {2: A & ~B, 4: B})
    assert found.single().members is None


@pytest.mark.parametrize("layers", ["first", "last"])
def test_segments_in_layers_may_overlap(tmp_path, layers):
    array = OVERLAID if layers == "first" else np.moveaxis(OVERLAID, 0, -1)
    write(tmp_path / "m.seg.nrrd", array.astype(np.uint8), TWO_LAYERS, layers=layers)
    found = read(tmp_path / "m.seg.nrrd")  # the values 2, 2 and 5 tell no labels apart
    assert_placed(found, {1: A, 2: B, 3: C & ~B})
    with pytest.raises(InputError, match="voxels with several labels: 1, 2"):
        read(tmp_path / "m.seg.nrrd", overlap=False)


def test_many_layers_that_overlap_anyhow(tmp_path):
    rng = np.random.default_rng(0)
    masks = rng.random((13, *SHAPE)) < 0.05
    masks[:, 0] = False
    notes = segments(*((f"s{k}", 7, k) for k in range(13)))
    write(tmp_path / "m.seg.nrrd", 7 * masks.astype(np.int16), notes, layers="first")
    found = read(tmp_path / "m.seg.nrrd", labels=range(1, 14))
    assert_placed(found, dict(enumerate(masks, 1)))


def test_different_values_are_labels_whatever_their_layers(tmp_path):
    array = np.stack([np.where(A, 3, 0), np.where(B, 1, 0)]).astype(np.uint8)
    notes = segments(("lumen", 3, 0), ("wall", 1, 1))
    write(tmp_path / "m.seg.nrrd", array, notes, layers="first")
    assert_placed(read(tmp_path / "m.seg.nrrd"), {3: A, 1: B})


def test_names_are_labels_where_they_are_given(tmp_path):
    write(tmp_path / "m.seg.nrrd", OVERLAID.astype(np.uint8), TWO_LAYERS, layers="first")
    names = {"wall": 1, "lumen": 4, "clot": 5, "other": 2}
    assert_placed(read(tmp_path / "m.seg.nrrd", names=names), {4: A, 1: B, 5: C & ~B})
    with pytest.raises(InputError, match="two segments for label 1"):
        read(tmp_path / "m.seg.nrrd", names=dict.fromkeys(names, 1))
    with pytest.raises(InputError, match="marks in the segment 'clot', expected 1, 2"):
        read(tmp_path / "m.seg.nrrd", names={"wall": 1, "lumen": 4})


def test_older_files_have_a_layer_for_each_segment(tmp_path):
    array = np.stack([A, B, C]).astype(np.uint8)
    notes = segments(("lumen",), ("wall",), ("clot",))
    write(tmp_path / "m.seg.nrrd", array, notes, layers="first")
    assert_placed(read(tmp_path / "m.seg.nrrd"), {1: A, 2: B, 3: C})
    seen = sitk.GetArrayFromImage(sitk.ReadImage(tmp_path / "m.seg.nrrd"))  # z, y, x, layer
    np.testing.assert_array_equal(seen.T, array)


def test_what_fills_the_image_needs_no_place_and_a_first_rater_has_its_own(tmp_path):
    write(tmp_path / "m.seg.nrrd", APART.astype(np.uint8), segments(("a", 2, 0), ("b", 4, 0)))
    own = images.read_grid(tmp_path / "m.seg.nrrd")
    assert own == Grid(SHAPE, WHOLE.spacing_mm, (11.0, -19.25, 36.0))
    for grid in (own, None):
        found = read(tmp_path / "m.seg.nrrd", grid=grid)
        assert found.grid == own
        np.testing.assert_array_equal(found.dense(4), B)


def test_a_single_voxel_stands_for_an_empty_segmentation(tmp_path):
    write(tmp_path / "m.seg.nrrd", np.zeros((1, 1, 1), np.uint8), segments(("lumen", 2, 0)))
    assert_placed(read(tmp_path / "m.seg.nrrd"), {})


def test_the_order_of_axes_may_be_another(tmp_path):
    array = np.ascontiguousarray(APART.transpose(2, 0, 1)[::-1]).astype(np.uint8)
    write(tmp_path / "m.seg.nrrd", array, segments(("a", 2, 0), ("b", 4, 0)))
    content = (tmp_path / "m.seg.nrrd").read_bytes()
    content = content.replace(b"(0.5,0,0) (0,0.75,0) (0,0,2)", b"(0,0,-2) (0.5,0,0) (0,0.75,0)")
    (tmp_path / "m.seg.nrrd").write_bytes(content.replace(b"36.0)", b"38.0)"))
    found = read(tmp_path / "m.seg.nrrd")
    assert_placed(found, {2: A & ~B, 4: B})
    assert [doubt.kind for doubt in found.grid.doubts] == ["reoriented"]


def test_without_labels_a_single_layer_is_a_volume_as_any(tmp_path):
    write(tmp_path / "m.seg.nrrd", APART.astype(np.uint8), segments(("a", 2, 0), ("b", 4, 0)))
    np.testing.assert_array_equal(images.read_volume(tmp_path / "m.seg.nrrd").array, APART)
    write(tmp_path / "m.seg.nrrd", OVERLAID.astype(np.uint8), TWO_LAYERS, layers="first")
    with pytest.raises(InputError, match=r"several values per voxel|has shape"):
        images.read_volume(tmp_path / "m.seg.nrrd")


ONE = segments(("a", 2, 0), ("b", 4, 0))
BAD = {
    "no segments": (APART, "", "describes no segments"),
    "a value of none": (APART, segments(("a", 2, 0)), "the value 4 in layer 0, which"),
    "an unknown label": (APART, segments(("a", 2, 0), ("b", 9, 0), ("c", 4, 0)), None),
    "a label beyond": (np.where(B, 9, 0), segments(("b", 9, 0)), r"segment 'b' \(label 9\)"),
    "two alike": (APART, segments(("a", 2, 0), ("b", 2, 0)), "two segments with one value"),
    "a layer that is not there": (APART, segments(("a", 2, 1)), "as value 2 of layer 1"),
    "the background": (APART, segments(("a", 0, 0)), "as value 0 of layer 0"),
    "a word for a number": (APART, segments(("a", "two", 0)), "'Segment0_LabelValue' is 'two'"),
    "fractions": (APART, segments(("a", 2, 0), SourceRepresentation="Fractional labelmap"),
                  "holds a 'Fractional labelmap'"),
    "floats": (APART.astype(np.float32), ONE, "stored as float32"),
}  # fmt: skip


@pytest.mark.parametrize(("array", "notes", "message"), BAD.values(), ids=BAD)
def test_bad_segmentations_are_refused_in_words(tmp_path, array, notes, message):
    array = array if array.dtype == np.float32 else array.astype(np.uint8)
    write(tmp_path / "m.seg.nrrd", array, notes)
    if message is None:  # a segment that marks nothing may have any label
        assert read(tmp_path / "m.seg.nrrd").present == {2, 4}
        return
    with pytest.raises(InputError, match=rf"^m\.seg\.nrrd .*{message}"):
        read(tmp_path / "m.seg.nrrd")


def test_bad_layers_are_refused_in_words(tmp_path):
    write(tmp_path / "m.seg.nrrd", OVERLAID.astype(np.uint8) + 1, TWO_LAYERS, layers="first")
    with pytest.raises(InputError, match="the value 1 in layer 0, which is no segment"):
        read(tmp_path / "m.seg.nrrd")
    for old, new, message in (
        (b"list domain domain domain", b"domain list domain domain", "no list of layers first"),
        (b"sizes: 2", b"sizes: 9999", "has 9999 layers, at most 255"),
        (b"sizes: 2 4", b"sizes: 2 99999", "more than the file can hold"),
        (b"none (0.5", b"(1,2,3) (0.5", "expected 3 vectors"),
    ):
        write(tmp_path / "m.seg.nrrd", OVERLAID.astype(np.uint8), TWO_LAYERS, layers="first")
        content = (tmp_path / "m.seg.nrrd").read_bytes().replace(old, new)
        (tmp_path / "m.seg.nrrd").write_bytes(content)
        with pytest.raises(InputError, match=message):
            read(tmp_path / "m.seg.nrrd")


def test_what_lies_outside_the_image_is_refused(tmp_path):
    write(tmp_path / "m.seg.nrrd", APART.astype(np.uint8), ONE)
    with pytest.raises(InputError, match=r"reaches from voxel .* the reference has shape"):
        read(tmp_path / "m.seg.nrrd", grid=Grid((5, 7, 6), WHOLE.spacing_mm, WHOLE.origin_mm))


def test_the_longer_ending_counts(tmp_path):
    write(tmp_path / "m.seg.nrrd", APART.astype(np.uint8), ONE)
    assert images.suffix_of(tmp_path / "m.seg.nrrd") == ".seg.nrrd"
    assert images.find(tmp_path, "m") == tmp_path / "m.seg.nrrd"
    images.check_header(tmp_path / "m.seg.nrrd", expected_shape=WHOLE.shape)
