"""PNG and TIFF files: written by Pillow, tifffile and by hand, read as their writers mean them."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from segjury import images
from segjury.errors import InputError
from segjury.images.formats import raster
from segjury.images.grid import Grid

LABELS = np.array([[0, 1, 2, 0], [3, 1, 0, 0], [0, 0, 2, 2]], np.uint8)  # rows first
SUFFIXES = (".png", ".tif", ".tiff")


def chunk(name, content):
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def png(width, height, depth=8, kind=0, rows=None):
    """A PNG by hand: header, rows without a filter, end."""
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    data = b"" if rows is None else chunk(b"IDAT", zlib.compress(b"".join(rows)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + chunk(b"IEND", b"")


def bytes_of(pixels, kind="PNG", **options):
    stream = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(stream, kind, **options)
    return stream.getvalue()


def read_mask(path, labels=(1, 2, 3), **options):
    return images.read_mask(path, labels=labels, **options)


def assert_labels(found, rows):
    assert found.grid == Grid((rows.shape[1], rows.shape[0], 1))
    np.testing.assert_array_equal(
        found.marks.painted(rows.size).reshape(found.grid.shape, order="F")[:, :, 0].T, rows
    )


# ---- masks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_grey_values_are_labels_with_x_along_the_rows(tmp_path, suffix, dtype):
    Image.fromarray(LABELS.astype(dtype)).save(tmp_path / f"m{suffix}")
    assert_labels(read_mask(tmp_path / f"m{suffix}"), LABELS)
    assert images.read_grid(tmp_path / f"m{suffix}") == Grid((4, 3, 1))
    images.check_header(tmp_path / f"m{suffix}", expected_shape=(4, 3, 1))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_of_a_palette_the_index_counts_and_not_the_colour(tmp_path, suffix):
    image = Image.fromarray(LABELS)
    image.putpalette([9, 9, 9, 255, 0, 0, 0, 255, 0, 3, 3, 3])
    assert image.mode == "P"
    image.save(tmp_path / f"m{suffix}")
    assert_labels(read_mask(tmp_path / f"m{suffix}"), LABELS)


def test_a_palette_of_few_bits(tmp_path):
    rows = [b"\0" + bytes([0b00011000]), b"\0" + bytes([0b11010000]), b"\0" + bytes([0b00001010])]
    content = png(4, 3, 2, 3, rows)
    palette = chunk(b"PLTE", bytes([9, 9, 9, 255, 0, 0, 0, 255, 0, 3, 3, 3]))
    (tmp_path / "m.png").write_bytes(content[:33] + palette + content[33:])
    assert_labels(read_mask(tmp_path / "m.png"), LABELS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_bit_is_a_mask(tmp_path, suffix):
    Image.fromarray(LABELS > 1).save(tmp_path / f"m{suffix}")
    found = read_mask(tmp_path / f"m{suffix}", labels=[1])
    assert_labels(found, np.where(LABELS > 1, 1, 0))
    assert found.grid.doubts == ()


def test_an_interlaced_png_and_colours_that_are_grey(tmp_path):
    (tmp_path / "m.png").write_bytes(bytes_of(np.repeat(LABELS[..., None], 3, axis=2)))
    assert_labels(read_mask(tmp_path / "m.png"), LABELS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_white_is_the_only_label_and_that_is_told(tmp_path, suffix):
    Image.fromarray(np.where(LABELS > 1, 255, 0).astype(np.uint8)).save(tmp_path / f"m{suffix}")
    found = read_mask(tmp_path / f"m{suffix}", labels=[1])
    assert_labels(found, np.where(LABELS > 1, 1, 0))
    assert [doubt.kind for doubt in found.grid.doubts] == ["stored-as-255"]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (np.where(LABELS > 1, 255, LABELS), [1]),  # 1 and 255
        (np.where(LABELS > 1, 255, 0), [1, 2]),
        (np.where(LABELS > 1, 255, 0), [2]),
        (np.where(LABELS > 1, 254, 0), [1]),
    ],
)
def test_white_stands_for_no_other_label(tmp_path, rows, labels):
    Image.fromarray(rows.astype(np.uint8)).save(tmp_path / "m.png")
    with pytest.raises(InputError, match=r"unknown label 25[45]"):
        read_mask(tmp_path / "m.png", labels=labels)


def test_white_that_is_a_known_label_is_that_label(tmp_path):
    Image.fromarray(np.where(LABELS > 1, 255, 0).astype(np.uint8)).save(tmp_path / "m.png")
    found = read_mask(tmp_path / "m.png", labels=[255])
    assert (found.labels == 255).all()
    assert found.grid.doubts == ()


# ---- TIFF ----------------------------------------------------------------------------------

STACK = np.arange(5 * 3 * 4).reshape(5, 3, 4) % 4


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("dtype", ["u1", "<u2", ">u2", "f4", "i2", "i4"])
def test_pages_are_slices_as_tifffile_writes_them(tmp_path, dtype, compression):
    byteorder = ">" if dtype.startswith(">") else "<"
    tifffile.imwrite(
        tmp_path / "m.tif", STACK.astype(dtype), compression=compression, byteorder=byteorder,
        photometric="minisblack", metadata=None,
    )  # fmt: skip
    read = images.read_volume(tmp_path / "m.tif")
    np.testing.assert_array_equal(read.array, STACK.transpose(2, 1, 0))
    assert read.array.flags.f_contiguous
    assert read.grid == Grid((4, 3, 5))


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "packbits", "tiff_adobe_deflate"])
def test_pages_as_pillow_packs_them(tmp_path, compression):
    pages = [Image.fromarray(page.astype(np.uint8)) for page in STACK]
    pages[0].save(
        tmp_path / "m.tif", save_all=True, append_images=pages[1:], compression=compression
    )
    read = images.read_volume(tmp_path / "m.tif", grid=Grid((4, 3, 5)))
    np.testing.assert_array_equal(read.array, STACK.transpose(2, 1, 0))


def test_tiles_are_put_together(tmp_path):
    pixels = np.arange(70 * 50).reshape(70, 50) % 251
    tifffile.imwrite(tmp_path / "v.tif", pixels.astype(np.uint8), tile=(32, 16), metadata=None)
    np.testing.assert_array_equal(images.read_volume(tmp_path / "v.tif").array[..., 0], pixels.T)


# ---- probability maps ----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("dtype", "top"), [(np.uint8, 255), (np.uint16, 65535)])
def test_grey_values_are_probabilities_of_the_largest(tmp_path, suffix, dtype, top):
    rows = np.array([[0, top], [top // 5, 1]], dtype)
    Image.fromarray(rows).save(tmp_path / f"p{suffix}")
    read = images.read_probability(tmp_path / f"p{suffix}")
    expected = (rows.T / top).astype(np.float32)
    np.testing.assert_array_equal(read.array[..., 0], expected)
    assert read.array.dtype == np.float32


def test_floats_are_probabilities_as_they_are(tmp_path):
    rows = np.random.default_rng(0).random((3, 4), dtype=np.float32)
    tifffile.imwrite(tmp_path / "p.tif", rows, metadata=None)
    np.testing.assert_array_equal(images.read_probability(tmp_path / "p.tif").array[..., 0], rows.T)
    tifffile.imwrite(tmp_path / "p.tif", rows * 2, metadata=None)
    with pytest.raises(InputError, match="expected probabilities"):
        images.read_probability(tmp_path / "p.tif")


def test_a_mask_in_grey_values_is_no_map(tmp_path):
    Image.fromarray((LABELS > 1).astype(np.uint8)).save(tmp_path / "p.png")
    with pytest.raises(InputError, match="only the grey values 0 and 1"):
        images.read_probability(tmp_path / "p.png")
    Image.fromarray(LABELS > 1).save(tmp_path / "p.png")  # of one bit, where 1 is white
    np.testing.assert_array_equal(
        images.read_probability(tmp_path / "p.png").array[..., 0], LABELS.T > 1
    )
    Image.fromarray(LABELS * 0).save(tmp_path / "p.png")
    assert not images.read_probability(tmp_path / "p.png").array.any()


def test_large_integers_are_no_probabilities(tmp_path):
    tifffile.imwrite(tmp_path / "p.tif", LABELS.astype(np.int32), metadata=None)
    with pytest.raises(InputError, match="stored as int32"):
        images.read_probability(tmp_path / "p.tif")


# ---- what is refused -----------------------------------------------------------------------


def tiff(pixels=LABELS, **options):
    stream = io.BytesIO()
    tifffile.imwrite(stream, pixels, **{"metadata": None, **options})
    return stream.getvalue()


def pages(*each):
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream) as writer:
        for page in each:
            writer.write(page, metadata=None, contiguous=False)
    return stream.getvalue()


def tagged(content, tag, value):
    """A TIFF with another value of one of the tags of its first page."""
    changed = bytearray(content)
    (start,) = struct.unpack_from("<I", changed, 4)
    (count,) = struct.unpack_from("<H", changed, start)
    for k in range(count):
        entry = start + 2 + 12 * k
        if struct.unpack_from("<H", changed, entry)[0] == tag:
            kind = struct.unpack_from("<H", changed, entry + 2)[0]
            struct.pack_into("<H" if kind == 3 else "<I", changed, entry + 8, value)
            return bytes(changed)
    raise AssertionError(tag)


COLOURS = np.stack([LABELS, LABELS, LABELS + 1], axis=2)
GREY_AND_ALPHA = Image.fromarray(LABELS).convert("LA")
SQUARE = np.zeros((6, 6), np.uint8)
THREE = np.zeros((3, 6, 6), np.uint8)
NOISE = np.random.default_rng(0).integers(0, 4, (90, 90), np.uint8)
BAD = {
    "colours.png": (bytes_of(COLOURS), "has colours"),
    "colours.tif": (bytes_of(COLOURS, "TIFF"), "has colours"),
    "alpha.png": (bytes_of(GREY_AND_ALPHA), "alpha channel"),
    "rgba.png": (bytes_of(GREY_AND_ALPHA.convert("RGBA")), "alpha channel"),
    "rgba.tif": (bytes_of(GREY_AND_ALPHA.convert("RGBA"), "TIFF"), "alpha channel|values of"),
    "cmyk.tif": (bytes_of(Image.new("CMYK", (4, 3)), "TIFF"), "'PhotometricInterpretation' is 5"),
    "two-bits.png": (png(4, 1, 2, 0, [b"\0\x18"]), "has 2 bits per value"),
    "deep-colours.png": (png(1, 1, 16, 2, [b"\0" + bytes(6)]), "has 16 bits per value"),
    "moving.png": (
        bytes_of(Image.fromarray(LABELS), save_all=True, append_images=[Image.new("L", (4, 3), 9)]),
        "moving picture",
    ),
    "huge.png": (png(100_000, 100_000), "claims 100000 x 100000 pixels"),
    "empty.png": (png(0, 5), "claims 0 x 5 pixels"),
    "no-data.png": (png(4, 3), "cannot be read|cut short"),
    "cut.png": (bytes_of(NOISE)[:900], "cut|cannot"),
    "cut-header.png": (png(4, 3)[:20], "cannot be read|cut short"),
    "text.png": (b"this is not an image", "not a PNG file"),
    "gif.png": (bytes_of(LABELS, "GIF"), "not a PNG file"),
    "text.tif": (b"this is not an image", "not a TIFF file"),
    "png.tif": (bytes_of(LABELS), "not a TIFF file"),
    "jpeg.tif": (bytes_of(LABELS, "TIFF", compression="jpeg"), "compressed in way 7"),
    "fax.tif": (bytes_of(LABELS > 1, "TIFF", compression="group4"), "compressed in way 4"),
    "white-is-0.tif": (tiff(photometric="miniswhite"), "'PhotometricInterpretation' is 0"),
    "doubles.tif": (tiff(LABELS.astype(np.float64)), "values of 64 bits|cannot be read"),
    "signed-bytes.tif": (tiff(LABELS.astype(np.int8)), "values of 8 bits"),
    "turned.tif": (tiff(extratags=[(274, 3, 1, 6, True)]), "rows in another order"),
    "sizes.tif": (pages(SQUARE, SQUARE[:5]), "pages of different sizes"),
    "kinds.tif": (pages(SQUARE, SQUARE.astype(np.uint16)), "pages of different sizes or kinds"),
    "hyperstack.tif": (tiff(THREE, imagej=True, truncate=True), "hides further pages"),
    "huge.tif": (tagged(tagged(tiff(SQUARE), 256, 60000), 257, 60000), "claims 60000 x 60000"),
    "lying.tif": (tagged(tiff(SQUARE), 257, 6000), "cut short|cannot be read"),
    "few-rows.tif": (tagged(tiff(SQUARE), 278, 3), "cut short"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_pictures_are_refused_in_words(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^{name} .*({message})"):
        read_mask(tmp_path / name)


def test_another_size_is_refused_before_pixels_are_decoded(tmp_path):
    (tmp_path / "m.png").write_bytes(png(4, 3))
    with pytest.raises(InputError, match=r"has shape \(4, 3, 1\), the reference has \(3, 4, 1\)"):
        read_mask(tmp_path / "m.png", grid=Grid((3, 4, 1)))


def test_endless_pages_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(raster, "MOST_PAGES", 4)
    (tmp_path / "m.tif").write_bytes(pages(*[SQUARE] * 5))
    with pytest.raises(InputError, match="more than 4 pages"):
        images.read_grid(tmp_path / "m.tif")
    (tmp_path / "m.tif").write_bytes(pages(*[SQUARE] * 7))
    with pytest.raises(InputError, match="more than 6 pages"):
        read_mask(tmp_path / "m.tif", grid=Grid((6, 6, 3)))


def test_a_picture_far_longer_than_it_says_is_refused(tmp_path):
    with (tmp_path / "m.png").open("wb") as file:
        file.write(bytes_of(LABELS))
        file.truncate(1 << 32)
    with pytest.raises(InputError, match="its header needs"):
        read_mask(tmp_path / "m.png")


def test_nothing_is_written_as_a_picture(tmp_path):
    with pytest.raises(InputError, match=r"m\.png cannot be written. Use one of \.nii\.gz"):
        images.write_volume(tmp_path / "m.png", images.read_volume)
