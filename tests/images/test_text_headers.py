"""MHA and NRRD against SimpleITK, which knows both formats by heart."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from segjury import images
from segjury.errors import InputError

CODES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
lengths = st.floats(1e-3, 1e3, allow_subnormal=False)
places = st.floats(-1e4, 1e4).map(lambda place: round(place, 9))  # ITK makes 0 of 1e-309
angles = st.floats(0, 6).map(lambda angle: round(angle, 9))


def assert_read_as_simpleitk_does(path):
    image = sitk.ReadImage(str(path))
    n = image.GetDimension()
    read = images.read_volume(path)
    stored = sitk.GetArrayFromImage(image).T
    assert read.array.dtype == stored.dtype
    np.testing.assert_array_equal(read.array, stored.reshape(read.array.shape))
    np.testing.assert_allclose(read.grid.spacing_mm[:n], image.GetSpacing()[:3], rtol=1e-14)
    np.testing.assert_allclose(read.grid.origin_mm[:n], image.GetOrigin()[:3], rtol=1e-14)
    direction = np.eye(3)
    m = min(n, 3)
    direction[:m, :m] = np.reshape(image.GetDirection(), (n, n))[:m, :m]
    np.testing.assert_allclose(read.grid.direction, direction, atol=1e-14)
    assert images.read_grid(path) == read.grid
    inside = np.zeros(read.array.size, bool)
    for start, stop in read.spans:
        inside[start:stop] = True
    assert not read.array.ravel(order="F")[~inside].any()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    array=st.sampled_from(CODES).flatmap(
        lambda code: hnp.arrays(code, hnp.array_shapes(min_dims=2, max_dims=3, max_side=6))
    ),
    suffix=st.sampled_from([".mha", ".nrrd"]),
    compress=st.booleans(),
    spacing=st.tuples(lengths, lengths, lengths),
    origin=st.tuples(places, places, places),
    turns=st.tuples(angles, angles, angles),
)
def test_any_image_is_read_as_simpleitk_reads_it(
    tmp_path, array, suffix, compress, spacing, origin, turns
):
    image = sitk.GetImageFromArray(array)
    n = array.ndim
    image.SetSpacing(spacing[:n])
    image.SetOrigin(origin[:n])
    if n == 3:
        image.SetDirection(Rotation.from_euler("xyz", turns).as_matrix().ravel())
    else:
        c, s = np.cos(turns[0]), np.sin(turns[0])
        image.SetDirection((c, -s, s, c))
    path = tmp_path / f"v{suffix}"
    sitk.WriteImage(image, str(path), useCompression=compress)
    assert_read_as_simpleitk_does(path)


@pytest.mark.parametrize("suffix", [".mha", ".nrrd"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_volume_of_several_pieces(tmp_path, suffix, compress):
    values = np.random.default_rng(0).random((40, 100, 100), dtype=np.float32)
    values[10:30] = 0
    path = tmp_path / f"v{suffix}"
    sitk.WriteImage(sitk.GetImageFromArray(values), str(path), useCompression=compress)
    assert_read_as_simpleitk_does(path)


# ---- MHA -----------------------------------------------------------------------------------

DATA = np.arange(96, dtype=np.uint8).tobytes()


def mha(lines="", *, kind="MET_UCHAR", n=3, sizes="3 2 2", data=DATA, file="LOCAL"):
    head = f"ObjectType = Image\nNDims = {n}\n{lines}DimSize = {sizes}\nElementType = {kind}\n"
    return f"{head}ElementDataFile = {file}\n".encode() + data


AXES = "0 1 0 -1 0 0 0 0 1"
LIKE_ITK_MHA = {
    "matrix": mha(f"TransformMatrix = {AXES}\nOffset = 1 2 3\nElementSpacing = 2 3 4\n"),
    "rotation": mha(f"Rotation = {AXES}\nPosition = 1 2 3\nElementSize = 2 3 4\n"),
    "orientation": mha(f"Orientation = {AXES}\nOrigin = 1 2 3\n"),
    "two axes": mha("TransformMatrix = 0 1 -1 0\nOffset = 1 2\n", n=2, sizes="3 4"),
    "four axes": mha("Offset = 1 2 3 4\nElementSpacing = 2 3 4 5\n", n=4, sizes="3 2 2 1"),
    "long": mha(kind="MET_LONG"),
    "ulong": mha(kind="MET_ULONG"),
    "big endian": mha("BinaryDataByteOrderMSB = True\n", kind="MET_SHORT"),
    "big endian elements": mha("ElementByteOrderMSB = True\n", kind="MET_FLOAT"),
    "comment": mha("Comment = DimSize = 7 7 7\n"),
    "carriage returns": mha(data=b"").replace(b"\n", b"\r\n") + DATA,
    "small letters": mha(file="local"),
    "millimetres": mha("DistanceUnits = mm\n"),
    "rounded axes": mha("TransformMatrix = 0.707 0.707 0 -0.707 0.707 0 0 0 1\n"),
}


@pytest.mark.parametrize("content", LIKE_ITK_MHA.values(), ids=LIKE_ITK_MHA)
def test_mha_of_any_dialect_is_read_as_simpleitk_reads_it(tmp_path, content):
    (tmp_path / "v.mha").write_bytes(content)
    assert_read_as_simpleitk_does(tmp_path / "v.mha")


def test_data_behind_what_the_header_claims_are_left(tmp_path):
    content = mha("CompressedData = True\n", data=zlib.compress(DATA * 99))
    (tmp_path / "v.mha").write_bytes(content)
    read = images.read_volume(tmp_path / "v.mha").array
    np.testing.assert_array_equal(read.ravel(order="F"), np.arange(12))


def flipped(content, place):
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


PACKED = mha("CompressedData = True\n", data=zlib.compress(DATA[:12]))
BAD_MHA = {
    "elsewhere": (mha(file="v.raw"), "another file"),
    "list": (mha(file="LIST"), "another file"),
    "text": (mha("BinaryData = False\n"), "as text"),
    "channels": (mha("ElementNumberOfChannels = 3\n"), "'ElementNumberOfChannels' is '3'"),
    "array type": (mha(kind="MET_FLOAT_ARRAY"), "of type 'MET_FLOAT_ARRAY'"),
    "no type": (mha().replace(b"ElementType", b"Elementtype"), "no line 'ElementType'"),
    "no size": (mha().replace(b"DimSize", b"Dimsize"), "no line 'DimSize'"),
    "scaled": (mha("ElementToIntensityFunctionSlope = 2\n"), "Slope' is '2'"),
    "data at the end": (mha("HeaderSize = -1\n"), "'HeaderSize' is '-1'"),
    "two sizes": (mha("DimSize = 2 2 2\n"), "two lines 'DimSize'"),
    "two places": (mha("Offset = 1 2 3\nOrigin = 4 5 6\n"), "different things in 'Offset' and"),
    "two orders": (
        mha("BinaryDataByteOrderMSB = True\nElementByteOrderMSB = False\n"),
        "different things",
    ),
    "odd flag": (mha("CompressedData = perhaps\n"), "expected True or False"),
    "fewer sizes": (mha(sizes="3 2"), "expected 3 numbers"),
    "negative size": (mha(sizes="-3 2 2"), r"has shape \(-3, 2, 2\)"),
    "huge size": (mha(sizes="99999 99999 99999"), "more than"),
    "huger size": (mha(sizes=f"{'9' * 400} 2 2"), "expected 3 numbers"),
    "lying size": (mha(sizes="300 200 200"), "more than the file can hold"),
    "axes": (mha(n=99), "has 99 axes"),
    "spacing 0": (mha("ElementSpacing = 0 1 1\n"), "broken orientation"),
    "negative spacing": (mha("ElementSpacing = -1 1 1\n"), "broken orientation"),
    "NaN spacing": (mha("ElementSpacing = nan 1 1\n"), "broken orientation"),
    "infinite origin": (mha("Offset = 1e999 0 0\n"), "broken orientation"),
    "endless number": (mha(f"Offset = {'1' * 900_000}x 0 0\n"), "expected 3 numbers"),
    "words": (mha("Offset = a b c\n"), "'a b c', expected 3 numbers"),
    "flat axes": (mha(f"TransformMatrix = {'0 ' * 9}\n"), "broken orientation"),
    "long axes": (mha("TransformMatrix = 2 0 0 0 2 0 0 0 2\n"), "axes of lengths 2, 2, 2"),
    "shear": (mha("TransformMatrix = 1 0 0 0.6 0.8 0 0 0 1\n"), "not at right angles"),
    "micrometres": (mha("DistanceUnits = um\n"), "lengths in 'um'"),
    "endless line": (b"A = " + b"b" * (1 << 21), "a header of more than"),
    "endless header": (b"".join(b"A%d = b\n" % i for i in range(1 << 17)), "a header of more than"),
    "no end": (b"ObjectType = Image\nNDims = 3\n", "not an MHA file"),
    "cut": (PACKED[:-6], "cut short"),
    "checksum": (flipped(PACKED, -1), "cannot be read"),
    "not zlib": (mha("CompressedData = True\n", data=bytes(100)), "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD_MHA.values(), ids=BAD_MHA)
def test_bad_mha_is_refused_in_words(tmp_path, content, message):
    (tmp_path / "v.mha").write_bytes(content)
    with pytest.raises(InputError, match=message):
        images.read_volume(tmp_path / "v.mha")


# ---- NRRD ----------------------------------------------------------------------------------


def nrrd(lines="", *, kind="uchar", n=3, sizes="3 2 2", encoding="raw", data=DATA):
    head = f"NRRD0004\ntype: {kind}\ndimension: {n}\nsizes: {sizes}\nencoding: {encoding}\n"
    return f"{head}{lines}\n".encode() + data


IN_SPACE = "space directions: (0,2,0) (-3,0,0) (0,0,4)\nspace origin: (1,2,3)\n"
IN_TIME = "space directions: (0,2,0,0) (-3,0,0,0) (0,0,4,0) (0,0,0,1)\nspace origin: (1,2,3,4)\n"
SPACES = (
    *("left-posterior-superior", "right-anterior-superior", "left-anterior-superior"),
    *("LPS", "RAS", "las", "scanner-xyz", "3D-right-handed", "3D-left-handed"),
)
LIKE_ITK_NRRD = {
    **{space: nrrd(f"space: {space}\n{IN_SPACE}") for space in SPACES},
    "time": nrrd(f"space dimension: 4\n{IN_TIME}", n=4, sizes="3 2 2 1"),
    "space dimension": nrrd(f"space dimension: 3\n{IN_SPACE}"),
    "two axes": nrrd(
        "space dimension: 2\nspace directions: (0,2) (-3,0)\nspace origin: (1,2)\n",
        n=2, sizes="3 2",
    ),
    "spacings": nrrd("spacings: 2 3 4\n"),
    "unknown spacing": nrrd("spacings: NaN 3 4\n"),
    "millimetres": nrrd('spacings: 2 3 4\nunits: "mm" "" "mm"\n'),
    "no place": nrrd(),
    "no directions": nrrd("space: RAS\n"),
    "spaced vectors": nrrd("space: LPS\nspace directions: ( 1, 0, 0 ) (0,2 ,0)  (0,0,4)\n"),
    "big endian": nrrd("endian: big\n", kind="unsigned short"),
    "kinds": nrrd("kinds: space domain ???\n"),
    "field names without spaces": nrrd(f"space: RAS\n{IN_SPACE}".replace("space ", "Space")),
    "notes": nrrd("# type: short\ntype:=short\nspace:=nowhere\n"),
    "carriage returns": nrrd(data=b"").replace(b"\n", b"\r\n") + DATA,
    "old": nrrd().replace(b"NRRD0004", b"NRRD00.01"),
    "gzip members": nrrd(encoding="gz", data=gzip.compress(DATA[:5]) + gzip.compress(DATA[5:])),
}  # fmt: skip


@pytest.mark.parametrize("content", LIKE_ITK_NRRD.values(), ids=LIKE_ITK_NRRD)
def test_nrrd_of_any_dialect_is_read_as_simpleitk_reads_it(tmp_path, content):
    (tmp_path / "v.nrrd").write_bytes(content)
    assert_read_as_simpleitk_does(tmp_path / "v.nrrd")


@pytest.mark.parametrize(
    "name",
    [
        "uint8_t",
        "int8",
        "short int",
        "uint16",
        "signed int",
        "uint",
        "int64",
        "ulonglong",
        "double",
    ],
)
def test_types_of_nrrd_by_their_many_names(tmp_path, name):
    (tmp_path / "v.nrrd").write_bytes(nrrd("endian: little\n", kind=name))
    assert_read_as_simpleitk_does(tmp_path / "v.nrrd")


SMALL = nrrd(encoding="gzip", data=gzip.compress(DATA[:12], mtime=0))
BAD_NRRD = {
    "elsewhere": (nrrd("data file: v.raw\n"), "another file"),
    "elsewhere, oddly": (nrrd("DataFile: LIST\n"), "another file"),
    "hex": (nrrd(encoding="hex"), "encoded as 'hex'"),
    "bzip2": (nrrd(encoding="bzip2"), "encoded as 'bzip2'"),
    "text": (nrrd(encoding="ascii"), "encoded as 'ascii'"),
    "block": (nrrd(kind="block"), "of type 'block'"),
    "colours": (nrrd("kinds: RGB-color domain domain\n"), "several values"),
    "vectors": (nrrd("kinds: vector domain domain domain\n", n=4, sizes="3 2 2 1"), "several"),
    "four axes": (nrrd(n=4, sizes="1 3 2 2"), r"has shape \(1, 3, 2, 2\)"),
    "axes": (nrrd(n=99), "has 99 axes"),
    "no byte order": (nrrd(kind="short"), "no line 'endian'"),
    "odd byte order": (nrrd("endian: middle\n", kind="short"), "'endian' is 'middle'"),
    "line skip": (nrrd("line skip: 1\n"), "a line 'lineskip'"),
    "byte skip": (nrrd("byte skip: -1\n"), "a line 'byteskip'"),
    "axis mins": (nrrd("axis mins: 1 2 3\n"), "a line 'axismins'"),
    "space": (nrrd(f"space: outer\n{IN_SPACE}"), "in the space 'outer'"),
    "space and time": (nrrd(f"space: RAST\n{IN_TIME}", n=4, sizes="3 2 2 1"), "space 'rast'"),
    "directions without space": (nrrd(IN_SPACE), "no line 'spacedimension'"),
    "spacings in a space": (nrrd("space: LPS\nspacings: 1 2 3\n"), "only spacings"),
    "slice in space": (
        nrrd("space: LPS\nspace directions: (1,0,0) (0,1,0)\n", n=2, sizes="3 2"),
        "2 axes in a space of 3",
    ),
    "one vector": (nrrd("space: LPS\nspace directions: (1,0,0)\n"), "expected 3 vectors"),
    "no vector": (nrrd("space: LPS\nspace directions: none (0,1,0) (0,0,1)\n"), "3 vectors"),
    "short vectors": (nrrd("space: LPS\nspace directions: (1) (1) (1)\n"), "3 numbers"),
    "flat axes": (
        nrrd("space: LPS\nspace directions: (0,0,0) (0,1,0) (0,0,1)\n"),
        "broken orientation",
    ),
    "shear": (nrrd("space: LPS\nspace directions: (1,1,0) (1,0,0) (0,0,4)\n"), "right angles"),
    "micrometres": (nrrd('spacings: 1 1 1\nunits: "um" "um" "um"\n'), "lengths in 'um'"),
    "centimetres in space": (
        nrrd(f'space: LPS\n{IN_SPACE}space units: "mm" "mm" "cm"\n'), "lengths in 'cm'",
    ),
    "negative spacing": (nrrd("spacings: -1 1 1\n"), "has spacings '-1 1 1'"),
    "infinite spacing": (nrrd("spacings: 1e999 1 1\n"), "broken orientation"),
    "negative size": (nrrd(sizes="3 -2 2"), r"has shape \(3, -2, 2\)"),
    "huge size": (nrrd(sizes="99999 99999 99999"), "more than"),
    "lying size": (nrrd(sizes="300 200 200"), "more than the file can hold"),
    "two sizes": (nrrd("Sizes: 2 2 2\n"), "two lines 'sizes'"),
    "odd line": (nrrd("no colon\n"), "a line 'no colon'"),
    "no data": (b"NRRD0004\ntype: uchar\n", "no data behind"),
    "later": (nrrd().replace(b"NRRD0004", b"NRRD0009"), "not an NRRD file"),
    "endless line": (b"NRRD0004\n#" + b"b" * (1 << 21), "a header of more than"),
    "cut": (SMALL[:-10], "cut short"),
    "checksum": (flipped(SMALL, -6), "cannot be read"),
    "not gzip": (nrrd(encoding="gzip"), "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD_NRRD.values(), ids=BAD_NRRD)
def test_bad_nrrd_is_refused_in_words(tmp_path, content, message):
    (tmp_path / "v.nrrd").write_bytes(content)
    with pytest.raises(InputError, match=message):
        images.read_volume(tmp_path / "v.nrrd")
