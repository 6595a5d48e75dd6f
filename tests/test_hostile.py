"""Bad input of many kinds: it costs its own rows, says why, and touches nobody else's."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import struct
import zipfile
import zlib
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from segjury.benchmark.folders import method_names, prediction_files, unknown_cases
from segjury.benchmark.loading import load_prediction
from segjury.benchmark.names import doubtful
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import load_protocol
from segjury.scoring.run import score_benchmark

SHAPE = (6, 5, 4)
GRID = Grid(SHAPE, (1.0, 1.0, 2.0))
MASK = np.zeros(SHAPE, np.uint8)
MASK[1:4, 1:4, 1:3] = 1
PIXELS = MASK.tobytes(order="F")
MAP = (MASK * 0.75 + 0.125).astype(np.float32)
PROTOCOL = """
name = "tiny"
title = "One label, one rater"
[reference]
raters = "annotation_{rater}"
n_raters = 1
labels = { vessel = 1 }
[prediction]
mask = "segmentation"
probability = "probability"
[[metrics]]
name = "dsc"
[[metrics]]
name = "ece"
"""
CASES, BAD, GOOD = ("one", "two"), "Bad", "Good"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Two cases and two methods."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "tiny.toml").write_text(PROTOCOL)
    (folder / "outside").mkdir()
    for case in CASES:
        write_volume(folder / "reference" / case / "annotation_1.nii.gz", Volume(MASK, GRID))
        for method in (BAD, GOOD):
            place = folder / "predictions" / method / case
            write_volume(place / "segmentation.nii.gz", Volume(MASK, GRID))
            write_volume(place / "probability.nii.gz", Volume(MAP, GRID))
    return folder


def evaluated(folder):
    scores = score_benchmark(
        folder / "tiny.toml",
        reference=folder / "reference",
        predictions=folder / "predictions",
        readings=("corrected",),
    ).scores
    return scores.set_index(["method", "case"])


@pytest.fixture(scope="module")
def undisturbed(prepared):
    scores = evaluated(prepared)
    assert set(scores["status"]) == {"ok"}
    return scores


@pytest.fixture
def bench(prepared, tmp_path):
    return Path(shutil.copytree(prepared, tmp_path / "bench"))


# ---- bad files -----------------------------------------------------------------------------


def nifti(array=MASK, **fields):
    header = nib.Nifti1Header()
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    header.set_sform(np.diag([-1.0, -1.0, 2.0, 1.0]), code="scanner")
    header["vox_offset"] = 352
    for name, value in fields.items():
        header[name] = value
    return header.binaryblock + bytes(4) + array.tobytes(order="F")


def sized(*sizes):
    return nifti(dim=[len(sizes), *sizes, *[1] * (7 - len(sizes))])


def mha(lines="", kind="MET_UCHAR", sizes="6 5 4", data=PIXELS):
    head = f"NDims = 3\nElementSpacing = 1 1 2\n{lines}DimSize = {sizes}\nElementType = {kind}\n"
    return head.encode() + b"ElementDataFile = LOCAL\n" + data


def nrrd(lines="", kind="uchar", sizes="6 5 4", encoding="raw", data=PIXELS):
    head = f"NRRD0004\ntype: {kind}\ndimension: 3\nsizes: {sizes}\nencoding: {encoding}\n"
    return f"{head}{lines}spacings: 1 1 2\n\n".encode() + data


LAYER = "Segment0_Layer:=0\n"


def png(width, height, name=b"tEXt", content=b""):
    """The header of a PNG, and another chunk."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (name, content)]
    parts = [
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
        for name, content in (*chunks, (b"IEND", b""))
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def tiff(*, width=6, following=0):
    """A page of 6 x 5 pixels, and the place of the next."""
    tags = {256: width, 257: 5, 258: 8, 259: 1, 262: 1, 273: 200, 277: 1, 278: 5, 279: 30}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    start = b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + struct.pack("<I", following)
    return start.ljust(200, b"\0") + bytes(30)


NESTED = b"\x08\x00\x15\x11SQ\0\0\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff"


def dicom(syntax, content=b""):
    """A file of DICOM with a transfer syntax and some content."""
    element = b"\x02\0\x10\0UI" + struct.pack("<H", len(syntax)) + syntax
    length = b"\x02\0\0\0UL\x04\0" + struct.pack("<I", len(element))
    return bytes(128) + b"DICM" + length + element + content


def bomb(head, megabytes=64):
    """Much more than the header claims, in a small file."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [squeeze.compress(head)]
    pieces += [squeeze.compress(bytes(1 << 20)) for _ in range(megabytes)]
    return b"".join([*pieces, squeeze.flush()])


def gzip_of(content, *, name=b"", comment=b""):
    """A member of a gzip file with more in its header than Python writes."""
    flags = 8 * bool(name) + 16 * bool(comment)
    head = bytes([0x1F, 0x8B, 8, flags, 0, 0, 0, 0, 0, 255])
    texts = b"".join(text + b"\0" for text in (name, comment) if text)
    return head + texts + gzip.compress(content, mtime=0)[10:]


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(content, *, name="probabilities.npy", way=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", way) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def patched(content, magic, offset, value):
    """An archive with a lie at some place behind a magic word."""
    changed = bytearray(content)
    start = changed.rindex(magic) + offset
    changed[start : start + len(value)] = value
    return bytes(changed)


class Surprise:
    def __reduce__(self):
        return os.system, ("touch was-here",)


CLASSES = np.ascontiguousarray(np.stack([1 - MAP.T, MAP.T]))
NPZ = npz(npy(CLASSES))
HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 5, 6), }"


def npy_claiming(header, length=None):
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", length or len(header)) + header + bytes(960)


PICKLED = npz(npy(np.array([Surprise()], dtype=object)))

# the file that stands for the good one, its content, and what is said of it
FILES = {
    "empty file": ("segmentation.nii.gz", b"", "empty file"),
    "text as gzip": ("segmentation.nii.gz", b"hello", "not a gzip file"),
    "gzip of text": ("segmentation.nii.gz", gzip.compress(b"hello" * 99), "not a NIfTI file"),
    "cut gzip": ("segmentation.nii.gz", gzip.compress(nifti())[:-20], "cut short"),
    "wrong gzip checksum": (
        "segmentation.nii.gz", gzip.compress(nifti())[:-8] + bytes(8), "cannot be read",
    ),
    "gzip bomb behind the data": (
        "segmentation.nii.gz", bomb(nifti(MASK * 9)), "unknown label 9",
    ),
    "gzip bomb as a header": (
        "segmentation.nii.gz", bomb(nifti(vox_offset=1e9)), "before its data|past",
    ),
    "gzip of many members": (
        "segmentation.nii.gz", gzip.compress(b"") * 5000 + gzip.compress(b"x"), "cut short",
    ),
    "gzip with an endless name": (
        "segmentation.nii.gz", gzip_of(nifti(), name=b"n" * (1 << 20)), "gzip header that is too",
    ),
    "gzip with an endless comment in a later member": (
        "segmentation.nii.gz",
        gzip_of(nifti()[:400]) + gzip_of(nifti()[400:], comment=b"c" * (1 << 20)),
        "gzip header that is too long",
    ),
    "NRRD with an endless name in its gzip data": (
        "segmentation.nrrd",
        nrrd(encoding="gzip", data=gzip_of(PIXELS, name=b"n" * (1 << 20))),
        "gzip header that is too long",
    ),
    "raw bytes as NIfTI": ("segmentation.nii", bytes(500), "not a NIfTI file"),
    "NIfTI without data": ("segmentation.nii", nifti()[:352], "cut short"),
    "NIfTI with its data elsewhere": ("segmentation.nii", nifti(magic=b"ni1"), "another file"),
    "NIfTI with data in its header": ("segmentation.nii", nifti(vox_offset=0), "into its header"),
    "NIfTI with data past its end": ("segmentation.nii", nifti(vox_offset=9e9), "past its end"),
    "NIfTI of an unknown type": ("segmentation.nii", nifti(datatype=77), "broken NIfTI header"),
    "NIfTI of colours": ("segmentation.nii", nifti(datatype=128), "voxels of type"),
    "negative size": ("segmentation.nii", sized(-6, 5, 4), "has shape"),
    "size 0": ("segmentation.nii", sized(0, 5, 4), "has shape"),
    "no axes": ("segmentation.nii", sized(), "has 0 axes"),
    "huge size": ("segmentation.nii", sized(30000, 30000, 30000), "the reference has"),
    "seven axes": ("segmentation.nii", sized(6, 5, 4, 1, 2, 1, 1), "has shape"),
    "another shape": ("segmentation.nii", nifti(MASK[:5]), "the reference has"),
    "NaN orientation": (
        "segmentation.nii", nifti(srow_x=[np.nan, 0, 0, 0]), "broken orientation",
    ),
    "flat orientation": ("segmentation.nii", nifti(srow_x=[0, 0, 0, 0]), "broken orientation"),
    "infinite scaling": (
        "segmentation.nii", nifti(scl_slope=1, scl_inter=np.inf), "broken NIfTI header",
    ),
    "overflowing scaling": (
        "segmentation.nii", nifti(MASK * 1e300, scl_slope=1e38), "not whole numbers",
    ),
    "NaN in a mask": ("segmentation.nii", nifti(MASK * np.nan), "not whole numbers"),
    "unknown label": ("segmentation.nii", nifti(MASK * 255), "unknown label 255"),
    "fractions in a mask": ("segmentation.nii", nifti(MASK * 0.5), "not whole numbers"),
    "text as MHA": ("segmentation.mha", b"hello", "not an MHA file"),
    "MHA with its data elsewhere": (
        "segmentation.mha", mha().replace(b"LOCAL", b"../../../secret"), "another file",
    ),
    "MHA with a huge size": ("segmentation.mha", mha(sizes="6 5 99999999999"), "the reference has"),
    "MHA of vectors": ("segmentation.mha", mha("ElementNumberOfChannels = 3\n"), "is '3'"),
    "MHA with an endless header": (
        "segmentation.mha", b"A = " + b"b" * (2 << 20), "header of more than",
    ),
    "MHA with broken zlib data": (
        "segmentation.mha", mha("CompressedData = True\n", data=bytes(99)), "cannot be read",
    ),
    "MHA with cut zlib data": (
        "segmentation.mha",
        mha("CompressedData = True\n", data=zlib.compress(MASK.tobytes())[:-8]),
        "cut short",
    ),
    "MHA that speaks to the terminal": (
        "segmentation.mha", mha(kind="\x1b[2J\x07"), r"'\\x1b\[2J\\x07'",
    ),
    "text as NRRD": ("segmentation.nrrd", b"hello", "not an NRRD file"),
    "NRRD with its data elsewhere": (
        "segmentation.nrrd", nrrd("data file: /etc/passwd\n"), "another file",
    ),
    "NRRD with a size 0": ("segmentation.nrrd", nrrd(sizes="6 0 4"), "has shape"),
    "NRRD in bzip2": ("segmentation.nrrd", nrrd(encoding="bzip2"), "encoded as 'bzip2'"),
    "NRRD of colours": (
        "segmentation.nrrd", nrrd("kinds: RGB-color domain domain\n"), "several values",
    ),
    "NRRD without byte order": ("segmentation.nrrd", nrrd(kind="short"), "no line 'endian'"),
    "NIfTI with as many channels as a byte counts": (
        "segmentation.nii", sized(6, 5, 4, 255), "has shape .* 255 channels, but the labels go up",
    ),
    "NIfTI with its axes swapped, without a place": (
        "segmentation.nii", nifti(np.ascontiguousarray(MASK.T)), "the reference has",
    ),
    "NRRD that calls itself a segmentation": (
        "segmentation.seg.nrrd", nrrd(), "describes no segments",
    ),
    "segmentation of another value": (
        "segmentation.seg.nrrd", nrrd("Segment0_LabelValue:=7\n" + LAYER), "value 1 in layer 0",
    ),
    "segmentation with a value of no number": (
        "segmentation.seg.nrrd", nrrd("Segment0_LabelValue:=\x1b\n" + LAYER), r"is '\\x1b'",
    ),
    "segmentation beyond the image": (
        "segmentation.seg.nrrd",
        nrrd("Segment0_LabelValue:=1\n" + LAYER, sizes="4 5 6"), "reaches from voxel",
    ),
    "segmentation in more layers than a byte counts": (
        "segmentation.seg.nrrd",
        nrrd("kinds: list domain domain domain\n", sizes="256 6 5 4").replace(b": 3", b": 4"),
        "has 256 layers",
    ),
    "text as PNG": ("segmentation.png", b"hello", "not a PNG file"),
    "PNG of a size that none has": (
        "segmentation.png", png(2**31 - 1, 2**31 - 1), "claims 2147483647 x",
    ),
    "PNG bomb in a comment": (
        "segmentation.png", png(6, 5, b"zTXt", b"a\0\0" + zlib.compress(bytes(64 << 20))),
        "cannot be read|has shape",
    ),
    "text as TIFF": ("segmentation.tif", b"hello", "not a TIFF file"),
    "TIFF that leads in a circle": (
        "segmentation.tif", tiff(following=8), "has shape|cannot be read",
    ),
    "TIFF of a size that none has": ("segmentation.tif", tiff(width=2**31), "claims 2147483648 x"),
    "text as DICOM": ("segmentation.dcm", b"hello", "not a DICOM file"),
    "DICOM that is deflated": (
        "segmentation.dcm", dicom(b"1.2.840.10008.1.2.1.99"), "stored as 'Deflated Explicit",
    ),
    "DICOM without anything": (
        "segmentation.dcm", dicom(b"1.2.840.10008.1.2.1\0"), "has no SOPClassUID",
    ),
    "DICOM of sequences in sequences": (
        "segmentation.dcm", dicom(b"1.2.840.10008.1.2.1\0", NESTED * 5000),
        "has no SOPClassUID|cannot be read",
    ),
    "NaN in a map": ("probability.nii", nifti(MAP * np.nan), "has NaN"),
    "percent in a map": ("probability.nii", nifti(MAP * 100), "expected probabilities"),
    "infinite map": ("probability.nii", nifti(MAP * np.inf), "expected probabilities"),
    "objects in an npz": ("npz", PICKLED, "stored as 'objects'"),
    "no such array in an npz": ("npz", npz(npy(CLASSES), name="softmax.npy"), "no array"),
    "npz of one class": ("npz", npz(npy(CLASSES[:1])), "at least 2 classes"),
    "npz of another shape": ("npz", npz(npy(CLASSES[:, 1:])), "of shape"),
    "npz of integers": ("npz", npz(npy(CLASSES.astype(int))), "stored as '<i8'"),
    "npz in Fortran order": ("npz", npz(npy(np.asfortranarray(CLASSES))), "Fortran order"),
    "npz that is none": ("npz", b"PK\x03\x04 but not really", "cannot be read"),
    "npz in bzip2": ("npz", npz(npy(CLASSES), way=zipfile.ZIP_BZIP2), "compressed in way 12"),
    "encrypted npz": ("npz", patched(NPZ, b"PK\x01\x02", 8, b"\x01"), "encrypted"),
    "npz with a wrong checksum": ("npz", patched(NPZ, b"PK\x01\x02", 16, bytes(4)), "checksum"),
    "npz without what it lists": (
        "npz", patched(NPZ, b"PK\x01\x02", 42, b"\x09"), "points to nothing",
    ),
    "npz that points out of itself": (
        "npz", patched(NPZ, b"PK\x01\x02", 42, b"\xff\xff\xff\x7f"), "points to nothing",
    ),
    "npz with an endless directory": (
        "npz", patched(NPZ, b"PK\x05\x06", 12, b"\xff\xff\xff\x7f"), "cannot be read",
    ),
    "npz with less than it claims": (
        "npz", npz(npy_claiming(HEADER)[:-500], way=zipfile.ZIP_STORED), "more than the file",
    ),
    "npz with a huge array header": (
        "npz", npz(npy_claiming(HEADER, 0xFFFFFFFF)), "header of 4294967295 bytes",
    ),
    "npz with an array header of code": (
        "npz", npz(npy_claiming(b"os.system('touch was-here')")), "broken array header",
    ),
    "npz with a negative size": (
        "npz", npz(npy_claiming(HEADER.replace(b"(2,", b"(-2,"))), "broken array header",
    ),
}  # fmt: skip


def put(bench, name, content):
    """A file in the place of the good one; an `npz` in nnU-Net's layout."""
    method, case = bench / "predictions" / BAD, CASES[0]
    if name == "npz":
        shutil.move(method / case / "segmentation.nii.gz", method / f"{case}.nii.gz")
        shutil.rmtree(method / case)
        (method / f"{case}.npz").write_bytes(content)
        return
    for old in (method / case).glob(f"{name.partition('.')[0]}.*"):
        old.unlink()
    (method / case / name).write_bytes(content)


def assert_only_bad_suffers(bench, undisturbed, status, message):
    scores = evaluated(bench)
    bad = scores.loc[(BAD, CASES[0])]
    assert set(bad["status"]) == {status}
    assert bad["detail"].str.contains(message, regex=True).all(), bad["detail"].iloc[0]
    assert not bad["detail"].str.contains(r"internal error|[\x00-\x1f]", regex=True).any()
    rest = scores.drop((BAD, CASES[0])).to_csv()
    assert rest == undisturbed.drop((BAD, CASES[0])).to_csv()
    assert not list(Path().glob("was-here"))


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_file_costs_its_own_rows(bench, undisturbed, kind):
    name, content, message = FILES[kind]
    put(bench, name, content)
    assert_only_bad_suffers(bench, undisturbed, "failed", message)


# ---- bad folders and links -----------------------------------------------------------------


def in_place_of(path, outside):
    """A link to a place outside, with what stood there."""
    shutil.move(path, outside / path.name)
    path.symlink_to(outside / path.name)


def link_file(case, outside):
    in_place_of(case / "segmentation.nii.gz", outside)


def link_map(case, outside):
    in_place_of(case / "probability.nii.gz", outside)


def link_case(case, outside):
    in_place_of(case, outside)


def link_to_reference(case, outside):
    (case / "segmentation.nii.gz").unlink()
    truth = outside.parent / "reference" / case.name / "annotation_1.nii.gz"
    (case / "segmentation.nii.gz").symlink_to(os.path.relpath(truth, case))


def link_by_a_link(case, outside):
    link_file(case, outside)
    (case.parent / "stop").symlink_to(outside)
    (case / "segmentation.nii.gz").unlink()
    (case / "segmentation.nii.gz").symlink_to("../stop/segmentation.nii.gz")


def link_nnunet_archive(case, outside):
    shutil.move(case / "segmentation.nii.gz", case.with_name(f"{case.name}.nii.gz"))
    shutil.rmtree(case)
    (outside / "p.npz").write_bytes(NPZ)
    case.with_name(f"{case.name}.npz").symlink_to(outside / "p.npz")


def link_to_another_method(case, _):
    shutil.rmtree(case)
    case.symlink_to(Path("..") / GOOD / CASES[0])


def loop_of_files(case, _):
    (case / "segmentation.nii.gz").unlink()
    (case / "segmentation.nii.gz").symlink_to("segmentation.nii.gz")


def loop_of_folders(case, _):
    shutil.rmtree(case)
    case.symlink_to(case.with_name("other"))
    case.with_name("other").symlink_to(case)


def dangling(case, outside):
    (case / "segmentation.nii.gz").unlink()
    (case / "segmentation.nii.gz").symlink_to(outside / "gone")


def device(case, _):
    (case / "segmentation.nii.gz").unlink()
    (case / "segmentation.nii.gz").symlink_to("/dev/zero")


def folder_as_file(case, _):
    (case / "segmentation.nii.gz").unlink()
    (case / "segmentation.nii.gz").mkdir()


def pipe(case, _):
    (case / "segmentation.nii.gz").unlink()
    os.mkfifo(case / "segmentation.nii.gz")


def two_masks(case, _):
    shutil.copy(case / "segmentation.nii.gz", case / "segmentation.mha")


def file_as_case(case, _):
    shutil.rmtree(case)
    case.write_text("not a folder")


OUT = "a link that leaves the folder of the method"
PLACES = {
    link_file: ("failed", OUT),
    link_map: ("failed", OUT),
    link_case: ("failed", OUT),
    link_to_reference: ("failed", OUT),
    link_by_a_link: ("failed", OUT),
    link_nnunet_archive: ("failed", OUT),
    link_to_another_method: ("failed", OUT),
    loop_of_files: ("failed", "leads to no file"),
    loop_of_folders: ("failed", "leads to no folder"),
    dangling: ("failed", "leads to no file"),
    device: ("failed", "leads to no file"),
    folder_as_file: ("failed", "segmentation.nii.gz is no file"),
    pipe: ("failed", "segmentation.nii.gz is no file"),
    two_masks: ("failed", "Keep one of them"),
    file_as_case: ("missing", "no prediction"),
}


@pytest.mark.parametrize("damage", PLACES, ids=lambda damage: damage.__name__)
def test_a_bad_place_costs_its_own_rows(bench, undisturbed, damage):
    damage(bench / "predictions" / BAD / CASES[0], bench / "outside")
    assert_only_bad_suffers(bench, undisturbed, *PLACES[damage])


def test_a_linked_method_is_refused_and_not_looked_into(bench, undisturbed):
    in_place_of(bench / "predictions" / BAD, bench / "outside")
    (bench / "outside" / BAD / "private").mkdir()
    scores = evaluated(bench)
    assert set(scores.loc[BAD]["status"]) == {"failed"}
    assert scores.loc[BAD]["detail"].str.contains(OUT).all()
    assert scores.loc[[GOOD]].to_csv() == undisturbed.loc[[GOOD]].to_csv()
    tiny = load_protocol(bench / "tiny.toml")
    assert unknown_cases(tiny, CASES, bench / "predictions", [BAD, GOOD]) == {}


@pytest.mark.parametrize("damage", [link_file, link_map, link_case, link_by_a_link])
def test_links_are_followed_where_that_is_asked_for(bench, damage):
    method, protocol = bench / "predictions" / BAD, load_protocol(bench / "tiny.toml")
    damage(method / CASES[0], bench / "outside")
    found = load_prediction(protocol, method, CASES[0], GRID, follow_links=True)
    np.testing.assert_array_equal(found.marks.voxels, np.flatnonzero(MASK.ravel(order="F")))
    with pytest.raises(InputError, match=OUT):
        load_prediction(protocol, method, CASES[0], GRID)


def test_links_inside_and_a_linked_folder_of_predictions_are_fine(bench, undisturbed):
    case = bench / "predictions" / BAD / CASES[0]
    case.rename(case.with_name(".kept"))
    case.symlink_to(".kept")
    in_place_of(bench / "predictions", bench / "outside")
    assert evaluated(bench).to_csv() == undisturbed.to_csv()


def test_reference_files_may_be_links(bench, undisturbed):
    in_place_of(bench / "reference" / CASES[0] / "annotation_1.nii.gz", bench / "outside")
    in_place_of(bench / "reference" / CASES[1], bench / "outside")
    assert evaluated(bench).to_csv() == undisturbed.to_csv()


# ---- bad names -----------------------------------------------------------------------------

NAMES = {
    "line end": ("Team\nB,one,dsc", r"'Team\\nB,one,dsc' has characters that cannot be shown"),
    "escape": ("\x1b[2JTeam", r"'\\x1b\[2JTeam'"),
    "no UTF-8": (os.fsdecode(b"Team\xff"), r"'Team\\udcff'"),
    "right to left": ("Team\u202eB", r"'Team\\u202eB'"),
    "no width": ("Team\u200b", r"'Team\\u200b'"),
    "line separator": ("Team\u2028B", r"'Team\\u2028B'"),
    "long": ("T" * 201, "more than 200 bytes"),
    "long in bytes": ("\u00e9" * 101, "more than 200 bytes"),
}


@pytest.mark.parametrize(("name", "message"), NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("of", ["predictions", "reference"])
def test_a_name_that_cannot_be_shown_is_refused(bench, name, message, of):
    (bench / of / name).mkdir()
    with pytest.raises(InputError, match=message) as raised:
        evaluated(bench)
    assert str(raised.value).isprintable()


ODD_BUT_FINE = ("=1+1", "<b>x", "a;b", 'a"b,c', "\u5c71\u7530", "M\u00fcller", "a b", "%s{0}")


def test_odd_names_are_kept_as_they_are(bench, undisturbed):
    for name in ODD_BUT_FINE:
        shutil.copytree(bench / "predictions" / GOOD, bench / "predictions" / name)
    scores = evaluated(bench)
    assert set(scores.index.get_level_values("method")) == {BAD, GOOD, *ODD_BUT_FINE}
    for name in ODD_BUT_FINE:
        assert scores.loc[name].to_csv() == undisturbed.loc[GOOD].to_csv()


@pytest.mark.parametrize(
    "name", ["..", "../outside", "/etc", "Bad/../Good", "Good\0", "Good\n", "G" * 5000, "\udcff"]
)
def test_methods_are_only_those_of_the_folder(bench, name):
    with pytest.raises(InputError, match="has no method") as raised:
        score_benchmark(
            bench / "tiny.toml",
            reference=bench / "reference",
            predictions=bench / "predictions",
            methods=[name],
        )
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("TeamA", "teama"),
        ("TeamA", "Te\u0430mA"),  # a Cyrillic letter
        ("TeamA", "TEAM\u0391"),  # a Greek letter
        ("TeamA", "Team\uff21"),  # full width
        ("M\u00fcller", "Mu\u0308ller"),  # one letter, or two signs
        ("file", "\ufb01le"),  # a ligature
        ("stra\u00dfe", "STRASSE"),
        ("TeamA", "TeamA "),
    ],
)
def test_names_that_look_alike_are_told(first, second):
    (warning,) = doubtful([first, "Other", second], "method")
    assert warning == f"methods {first!a} and {second!a} look alike"


def test_names_that_differ_are_not(bench):
    assert doubtful(method_names(bench / "predictions"), "method") == []
    assert doubtful(["Team1", "Team2", "TeamI", "Teaml"], "method") == []


def test_names_that_a_spreadsheet_would_compute_are_told():
    (warning,) = doubtful(["=1+1", "Team=1"], "method")
    assert warning == "method '=1+1' is a formula for a spreadsheet that opens the tables"


def test_files_of_a_prediction_are_checked_for_links_too(bench):
    link_map(bench / "predictions" / BAD / CASES[0], bench / "outside")
    protocol = load_protocol(bench / "tiny.toml")
    with pytest.raises(InputError, match=OUT):
        prediction_files(protocol, bench / "predictions" / BAD, CASES[0])
