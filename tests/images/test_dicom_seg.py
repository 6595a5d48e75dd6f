"""DICOM segmentations as highdicom writes them."""

from __future__ import annotations

import highdicom as hd
import numpy as np
import pydicom
import pytest
from pydicom.uid import RLELossless

from segjury import images
from segjury.errors import InputError
from segjury.images.grid import Grid
from tests.dicom_files import CT, ct_slices, write_rtstruct, write_seg

TURN = ((0.8, -0.6, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 1.0))
GRIDS = {
    "straight": Grid((7, 5, 6), (0.5, 0.75, 2.0), (10.0, -20.0, 30.0)),
    "oblique": Grid((7, 5, 6), (0.5, 0.75, 2.0), (10.0, -20.0, 30.0), TURN),
    "sagittal": Grid((7, 5, 6), (0.5, 0.75, 2.0), direction=((0, 0, 1), (1, 0, 0), (0, 1, 0))),
}
GRID = GRIDS["straight"]
A, B, C = (np.zeros(GRID.shape, bool) for _ in range(3))
A[1:5, 1:4, 1:4] = True
B[3:6, 2:5, 2:5] = True
C[2, 2, [1, 4]] = True
MASKS = {"lumen": A, "wall": B, "clot": C}


def read(path, grid=GRID, labels=(1, 2, 3), **options):
    return images.read_mask(path, labels=labels, grid=grid, **options)


def assert_masks(found, *masks):
    for label, mask in enumerate(masks, 1):
        np.testing.assert_array_equal(found.dense(label), mask)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("keep_empty", [True, False], ids=["all slices", "marked slices"])
def test_segments_are_what_was_drawn_where_it_was_drawn(tmp_path, grid, keep_empty):
    write_seg(tmp_path / "m.dcm", grid, MASKS, keep_empty=keep_empty)
    found = read(tmp_path / "m.dcm", grid)
    assert_masks(found, A, B, C)
    assert found.grid == grid
    assert found.grid.doubts == ()
    assert found.members is not None
    assert frozenset({1, 2}) in found.members


def test_highdicom_reads_the_same(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, MASKS, keep_empty=True)
    seen = hd.seg.segread(tmp_path / "m.dcm").get_volume()
    found = read(tmp_path / "m.dcm")
    for label in (1, 2, 3):
        # axes slice, row, column; the slices of highdicom may come from the other end
        theirs = seen.array[..., label - 1].transpose(2, 1, 0)
        if seen.affine[2, 0] < 0:
            theirs = theirs[..., ::-1]
        np.testing.assert_array_equal(found.dense(label), theirs > 0)


def test_segments_that_do_not_overlap_may_be_a_label_map(tmp_path):
    masks = {"lumen": A & ~B, "wall": B & ~C, "clot": C}
    masks["lumen"] &= ~C
    write_seg(tmp_path / "m.dcm", GRID, masks, kind="LABELMAP")
    assert_masks(read(tmp_path / "m.dcm"), *masks.values())
    assert read(tmp_path / "m.dcm", overlap=False).members is None


def test_names_are_labels_where_they_are_given(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, MASKS)
    names = {"clot": 1, "lumen": 2, "wall": 3}
    assert_masks(read(tmp_path / "m.dcm", names=names), C, A, B)
    with pytest.raises(InputError, match=r"marks in segment 1 \('lumen'\), expected 1, 2, 3"):
        read(tmp_path / "m.dcm", names={"clot": 1})
    with pytest.raises(InputError, match=r"marks in segment 3 \('clot'\), expected 1, 2"):
        read(tmp_path / "m.dcm", labels=(1, 2))


def test_the_axes_of_the_reference_may_be_in_another_order(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, MASKS)
    x, y, z = GRID.origin_mm
    flipped = Grid(
        (6, 7, 5), (2.0, 0.5, 0.75), (x, y, z + 10.0), ((0, 1, 0), (0, 0, 1), (-1, 0, 0))
    )
    found = read(tmp_path / "m.dcm", flipped)
    assert_masks(found, *(mask.transpose(2, 0, 1)[::-1] for mask in (A, B, C)))
    assert [doubt.kind for doubt in found.grid.doubts] == ["reoriented"]


def test_without_a_reference_the_grid_is_from_the_first_slice_to_the_last(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, {"lumen": A, "wall": B})
    own = Grid((7, 5, 4), GRID.spacing_mm, (10.0, -20.0, 32.0))
    assert images.read_grid(tmp_path / "m.dcm") == own
    found = read(tmp_path / "m.dcm", None)
    assert found.grid == own
    np.testing.assert_array_equal(found.dense(2), B[..., 1:5])


def test_a_marked_slice_alone(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, {"lumen": C & (np.arange(6) == 4)})
    assert_masks(read(tmp_path / "m.dcm"), C & (np.arange(6) == 4))
    # two slices, 4 and 6 mm apart from the reference's others, are its slices 1 and 4
    write_seg(tmp_path / "m.dcm", GRID, {"lumen": C})
    assert_masks(read(tmp_path / "m.dcm"), C)


# ---- what is refused -----------------------------------------------------------------------


def changed(path, change):
    """Write a segmentation again after a change of its elements."""
    write_seg(path, GRID, MASKS)
    dataset = pydicom.dcmread(path)
    change(dataset)
    dataset.save_as(path)


def frame(dataset, number=0):
    return dataset.PerFrameFunctionalGroupsSequence[number]


def shared(dataset):
    return dataset.SharedFunctionalGroupsSequence[0]


def move(dataset, number, place):
    frame(dataset, number).PlanePositionSequence[0].ImagePositionPatient = place


def fractional(dataset):
    dataset.SegmentationType = "FRACTIONAL"


def half(dataset):
    dataset.PixelData = dataset.PixelData[: len(dataset.PixelData) // 2 // 2 * 2]


def many_frames(dataset):
    dataset.NumberOfFrames = 10**6


def large(dataset):
    dataset.Rows = dataset.Columns = 60000


def fewer_groups(dataset):
    del dataset.PerFrameFunctionalGroupsSequence[-1]


def without_places(dataset):
    for group in dataset.PerFrameFunctionalGroupsSequence:
        del group.PlanePositionSequence


def without_segments(dataset):
    del dataset.SegmentSequence[0]


def same_numbers(dataset):
    dataset.SegmentSequence[1].SegmentNumber = 1


def twice(dataset):
    place = frame(dataset, 1).PlanePositionSequence[0].ImagePositionPatient
    move(dataset, 0, place)


def flat(dataset):
    shared(dataset).PlaneOrientationSequence[0].ImageOrientationPatient = [1, 0, 0, 1, 0, 0]


def short_axes(dataset):
    shared(dataset).PlaneOrientationSequence[0].ImageOrientationPatient = [0.5, 0, 0, 0, 1, 0]


def no_spacing(dataset):
    shared(dataset).PixelMeasuresSequence[0].PixelSpacing = [0, 0]


BAD = {
    "fractional": (fractional, "of type 'FRACTIONAL'"),
    "too little data": (half, "cut short"),
    "too many frames": (many_frames, "1000000 frames, at most|cut short"),
    "large frames": (large, "cut short"),
    "too few descriptions": (fewer_groups, r"describes \d+ of \d+ frames"),
    "no places": (without_places, "no PlanePositionSequence"),
    "frames of an unknown segment": (without_segments, "segment 1, which it lacks"),
    "two segments with a number": (same_numbers, "two segments with one number"),
    "a slice twice": (twice, "slice of segment 1 twice"),
    "axes that span no plane": (flat, "broken orientation"),
    "axes that are no directions": (short_axes, "broken orientation"),
    "pixels without size": (no_spacing, "broken orientation"),
    "a frame between slices": (lambda d: move(d, 0, [10, -20, 32.7]), "no slices of one|between"),
    "a frame beside the others": (
        lambda d: move(d, 0, [10.5, -20, 32]),
        "no slices of one|reaches",
    ),
    "a frame far away": (lambda d: move(d, 0, [10, -20, 1e9]), "reaches"),
    "a place that is no number": (lambda d: move(d, 0, ["1e999", 0, 0]), "broken|cannot be"),
    "no pixels": (lambda d: delattr(d, "PixelData"), "no PixelData"),
    "an image": (lambda d: setattr(d, "SOPClassUID", CT), "modality 'SEG'"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of pydicom, as it writes what is damaged
@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_segmentations_are_refused_in_words(tmp_path, change, message):
    changed(tmp_path / "m.dcm", change)
    with pytest.raises(InputError, match=rf"^m\.dcm .*({message})"):
        read(tmp_path / "m.dcm")


def test_packed_pixels_are_refused(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, {"a": A}, kind="LABELMAP", transfer_syntax_uid=RLELossless)
    with pytest.raises(InputError, match=r"is stored as 'RLE Lossless'\. Store it as explicit"):
        read(tmp_path / "m.dcm")


def test_other_grids_than_the_references_are_refused(tmp_path):
    write_seg(tmp_path / "m.dcm", GRID, MASKS)
    for changes, message in (
        ({"shape": (7, 5, 3)}, "reaches from voxel"),
        ({"origin_mm": (10.2, -20.0, 30.0)}, "between the voxels"),
        ({"spacing_mm": (0.5, 0.8, 2.0)}, "has spacing"),
        ({"direction": TURN}, "other directions"),
    ):
        with pytest.raises(InputError, match=message):
            read(tmp_path / "m.dcm", Grid(**{**vars(GRID), **changes}))


def test_dicom_that_holds_no_masks_is_refused(tmp_path):
    (image, *_) = ct_slices(GRID)
    image.file_meta.MediaStorageSOPClassUID = image.SOPClassUID
    image.file_meta.MediaStorageSOPInstanceUID = image.SOPInstanceUID
    image.save_as(tmp_path / "ct.dcm", enforce_file_format=True)
    with pytest.raises(InputError, match="of modality 'CT', expected SEG or RTSTRUCT"):
        read(tmp_path / "ct.dcm")
    (tmp_path / "t.dcm").write_bytes(b"this is not DICOM" * 20)
    with pytest.raises(InputError, match="is not a DICOM file"):
        read(tmp_path / "t.dcm")
    write_seg(tmp_path / "m.dcm", GRID, MASKS)
    for reader in (images.read_volume, images.read_probability):
        with pytest.raises(InputError, match="holds masks, no image"):
            reader(tmp_path / "m.dcm")
    images.check_header(tmp_path / "m.dcm", expected_shape=GRID.shape)


def test_without_the_extra_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    import builtins

    real = builtins.__import__

    def without_pydicom(name, *rest, **options):
        if name.partition(".")[0] == "pydicom":
            raise ImportError(name)
        return real(name, *rest, **options)

    write_rtstruct(tmp_path / "m.dcm", {"a": []})
    monkeypatch.setattr(builtins, "__import__", without_pydicom)
    with pytest.raises(InputError) as error:
        read(tmp_path / "m.dcm")
    assert str(error.value) == "m.dcm is DICOM, which needs pydicom. pip install 'segjury[dicom]'."
