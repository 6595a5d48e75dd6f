"""What is fuzzed: each reader with valid files to start from, and a plain way to damage them.

A reader may refuse anything with an `InputError`; whatever else it raises is a bug.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from nibabel.nifti1 import Nifti1Header
from nibabel.nifti2 import Nifti2Header
from PIL import Image
from pydicom import dcmwrite
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from segjury import images
from segjury.benchmark.case_table import case_table
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.protocols import load_protocol
from segjury.raters.ratings.table import read_ratings
from segjury.results.read import read_calibration, read_cases, read_details, read_scores
from segjury.scoring.efficiency import read_efficiency

SHAPE = (5, 4, 3)
# on which a file of shape SHAPE may have to be put by the order of its axes
TURNED = Grid((3, 5, 4), (4.0, 2.0, 3.0), direction=((0, 1, 0), (0, 0, 1), (1, 0, 0)))
LARGER = Grid((9, 8, 7), (2.0, 3.0, 4.0), (-2.0, 0.0, -4.0))  # of which it may be a part
MASK = (np.arange(60).reshape(SHAPE) % 3 == 0).astype(np.uint8)
MAP = np.linspace(0, 1, 60, dtype=np.float32).reshape(SHAPE)
WORD = re.compile(rb"[\w.+-]+")
PARTS = re.compile(rb"[\w.+-]+|[^\w.+-]+")
ODD_WORDS = (
    *(
        b"",
        b"0",
        b"-1",
        b"1",
        b"0.5",
        b"1e-320",
        b"1e999",
        b"-inf",
        b"nan",
        b"99999999999999999999",
    ),
    *(
        b"true",
        b"[]",
        b"{}",
        b"''",
        b'"',
        b"=1+1",
        b"../x",
        b"/etc",
        b"\xc3\xa9",
        b"e\xcc\x81",
        b"\xff",
    ),
    *(b"\0", b"\r", b"\x1b[31m", b"a" * 300, b"1" * 300, b"all", b"released", b"corrected"),
)


@dataclass(frozen=True)
class Target:
    """The name of a file, all that reads it, and valid contents."""

    file: str
    readers: tuple[Callable[[Path], object], ...]
    seeds: tuple[bytes, ...]

    def run(self, content: bytes, folder: Path) -> None:
        """Read a content in every way; anything but an `InputError` is raised."""
        path = folder / self.file
        path.write_bytes(content)
        for read in self.readers:
            with contextlib.suppress(InputError):
                read(path)


def damaged(seeds: tuple[bytes, ...], rng: random.Random) -> bytes:
    """A valid content with a few bytes changed, cut out, repeated, or replaced by another's."""
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 6)):
        start = rng.randrange(len(content) + 1)
        stop = min(start + rng.choice((1, 2, 4, 8, 40)), len(content))
        other = rng.choice(seeds)
        at = rng.randrange(len(other) + 1)
        content[start:stop] = rng.choice(
            (
                rng.randbytes(stop - start),
                bytes(stop - start),
                b"\xff" * (stop - start),
                b"",
                bytes(content[start:stop]) * 3,
                other[at : at + stop - start],
                rng.choice((b"0", b"-1", b"99999999999", b"nan", b"1e999", b"\n", b"=", b'"')),
            )
        )
    return bytes(content)


def reworded(content: bytes, seeds: tuple[bytes, ...], rng: random.Random) -> bytes:
    """A content with a few of its words and numbers replaced by others.

    Most that comes of it still has its form, so that readers get further than to its refusal.
    """
    parts = PARTS.findall(content)
    places = [at for at, part in enumerate(parts) if WORD.match(part)]
    for at in rng.choices(places, k=rng.randint(1, 4)) if places else ():
        others = ODD_WORDS if rng.random() < 0.5 else WORD.findall(rng.choice(seeds))
        parts[at] = rng.choice(others)
    return b"".join(parts)


# ---- images --------------------------------------------------------------------------------

IMAGE_READERS: tuple[Callable[[Path], object], ...] = (
    images.read_grid,
    lambda path: images.read_mask(path, labels=(1, 2)),
    lambda path: images.read_mask(path, labels=(1,)),
    lambda path: images.read_probability(path, grid=Grid(SHAPE)),
    lambda path: images.read_probability(path, channel=2),
    lambda path: images.read_mask(path, labels=(1, 2), names={"a": 1, "b": 2}, grid=LARGER),
    lambda path: images.read_mask(path, labels=(1, 2), grid=TURNED),
)


def _nifti(array: np.ndarray, kind: type = Nifti1Header, **fields: object) -> bytes:
    header = kind()
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    header.set_sform(np.diag([2.0, 3.0, 4.0, 1.0]), code="scanner")
    header["vox_offset"] = header.sizeof_hdr + 4
    for name, value in fields.items():
        header[name] = value
    return bytes(header.binaryblock) + bytes(4) + array.tobytes(order="F")


NIFTI = (
    _nifti(MASK),
    _nifti(MAP),
    _nifti(MASK.astype(np.int16), scl_slope=0.5, scl_inter=1.0),
    _nifti(MASK.astype(np.float64), Nifti2Header),
    _nifti(MASK, sform_code=0, qform_code=1, quatern_b=1.0),
    _nifti(np.stack([MASK, MASK[::-1]], axis=-1)),
    _nifti(np.stack([MAP, 1 - MAP], axis=-1)[..., None, :]),
)


def _mha(kind: str, data: bytes, lines: str = "") -> bytes:
    head = (
        "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
        f"{lines}TransformMatrix = 0 1 0 -1 0 0 0 0 1\nOffset = 1 2 3\nElementSpacing = 2 3 4\n"
        f"DimSize = 5 4 3\nElementType = {kind}\nElementDataFile = LOCAL\n"
    )
    return head.encode() + data


PIXELS, VALUES = MASK.tobytes(order="F"), MAP.tobytes(order="F")
MHA = (
    _mha("MET_UCHAR", PIXELS),
    _mha("MET_FLOAT", VALUES),
    _mha("MET_UCHAR", zlib.compress(PIXELS), "CompressedData = True\nCompressedDataSize = 20\n"),
    _mha("MET_FLOAT", zlib.compress(VALUES), "CompressedData = True\n"),
)


def _nrrd(kind: str, data: bytes, encoding: str = "raw", space: str = "") -> bytes:
    head = (
        f"NRRD0004\n# comment\nkey:=value\ntype: {kind}\ndimension: 3\nsizes: 5 4 3\n"
        f"{space or 'spacings: 2 3 4'}\nkinds: domain domain domain\nendian: little\n"
        f"encoding: {encoding}\n\n"
    )
    return head.encode() + data


IN_SPACE = "space: RAS\nspace directions: (0,2,0) (-3,0,0) (0,0,4)\nspace origin: (1,2,3)"
NRRD = (
    _nrrd("uchar", PIXELS),
    _nrrd("float", VALUES, space=IN_SPACE),
    _nrrd("uint8", gzip.compress(PIXELS, mtime=0), "gzip", IN_SPACE),
    _nrrd("float", gzip.compress(VALUES, mtime=0), "gz"),
)


SEGMENTS = (
    "Segment0_Name:=a\nSegment0_LabelValue:=1\nSegment0_Layer:=0\nSegment0_Extent:=0 4 0 3 0 2\n"
    "Segment1_Name:=b\nSegment1_LabelValue:={}\nSegment1_Layer:={}\n"
    "Segmentation_ReferenceImageExtentOffset:=0 0 0"
)


def _layers(*masks: np.ndarray, value: int, first: bool = True) -> bytes:
    """A segmentation of 3D Slicer: one layer, or several along the first or the last axis."""
    several = len(masks) > 1
    array = np.stack(masks, axis=0 if first else -1) if several else masks[0]
    kinds, axes = ["domain"] * 3, ["(2,0,0)", "(0,3,0)", "(0,0,4)"]
    if several:
        kinds.insert(0 if first else 3, "list")
        axes.insert(0 if first else 3, "none")
    head = (
        f"NRRD0004\ntype: uchar\ndimension: {array.ndim}\nspace: LPS\n"
        f"sizes: {' '.join(map(str, array.shape))}\nkinds: {' '.join(kinds)}\n"
        f"space directions: {' '.join(axes)}\nspace origin: (0,0,0)\nencoding: raw\n"
        f"{SEGMENTS.format(value, len(masks) - 1)}\n\n"
    )
    return head.encode() + array.tobytes(order="F")


SEG_NRRD = (
    _layers(MASK + (MAP > 0.8), value=2),
    _layers(MASK, MASK[::-1], value=1),
    _layers(MASK, MASK[::-1], value=1, first=False),
)


def _picture(kind: str, *pages: np.ndarray, **options: object) -> bytes:
    first, *others = (Image.fromarray(np.ascontiguousarray(page.T)) for page in pages)
    stream = io.BytesIO()
    several = {"save_all": True, "append_images": others} if others else {}
    first.save(stream, kind, **several, **options)
    return stream.getvalue()


SLICES = tuple(MASK[:, :, k] for k in range(SHAPE[2]))
GREY = tuple((255 * MAP[:, :, k]).astype(np.uint8) for k in range(SHAPE[2]))
PNG = (
    _picture("PNG", SLICES[0]),
    _picture("PNG", SLICES[0] == 1),
    _picture("PNG", GREY[0].astype(np.uint16)),
)
TIFF = (
    _picture("TIFF", *SLICES),
    _picture("TIFF", *GREY, compression="tiff_lzw"),
    _picture("TIFF", *SLICES, compression="tiff_adobe_deflate"),
    _picture("TIFF", *(MAP[:, :, k] for k in range(SHAPE[2]))),
)


def _item(**elements: object) -> Dataset:
    item = Dataset()
    for name, value in elements.items():
        setattr(item, name, value)
    return item


def _dicom(kind: str, dataset: Dataset) -> bytes:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID, meta.MediaStorageSOPClassUID = ExplicitVRLittleEndian, kind
    meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID = "1.2.3"
    dataset.file_meta, dataset.SOPClassUID = meta, kind
    stream = io.BytesIO()
    dcmwrite(stream, dataset, enforce_file_format=True)
    return stream.getvalue()


def _seg(*masks: np.ndarray, bits: int) -> bytes:
    """A segmentation with a frame for each slice of each mask, or of a label map."""
    frames = [(n, k) for n in range(1, len(masks) + 1) for k in range(SHAPE[2])]
    pixels = np.concatenate([masks[n - 1][:, :, k].T.ravel() for n, k in frames])
    return _dicom(
        "1.2.840.10008.5.1.4.1.1.66.4",
        _item(
            SegmentationType="BINARY" if bits == 1 else "LABELMAP",
            Columns=SHAPE[0],
            Rows=SHAPE[1],
            NumberOfFrames=len(frames),
            BitsAllocated=bits,
            SegmentSequence=[_item(SegmentNumber=n, SegmentLabel=f"s{n}") for n in (1, 2)],
            SharedFunctionalGroupsSequence=[
                _item(
                    PlaneOrientationSequence=[_item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])],
                    PixelMeasuresSequence=[_item(PixelSpacing=[3, 2], SliceThickness=4)],
                )
            ],
            PerFrameFunctionalGroupsSequence=[
                _item(
                    SegmentIdentificationSequence=[_item(ReferencedSegmentNumber=n)],
                    PlanePositionSequence=[_item(ImagePositionPatient=[0, 0, 4 * k])],
                )
                for n, k in frames
            ],
            PixelData=(np.packbits(pixels, bitorder="little") if bits == 1 else pixels).tobytes(),
        ),
    )


def _structures(*contours: list[float]) -> bytes:
    drawn = [_item(ContourGeometricType="CLOSED_PLANAR", ContourData=points) for points in contours]
    return _dicom(
        "1.2.840.10008.5.1.4.1.1.481.3",
        _item(
            StructureSetROISequence=[_item(ROINumber=1, ROIName="a")],
            ROIContourSequence=[_item(ReferencedROINumber=1, ContourSequence=drawn)],
        ),
    )


DICOM = (
    _seg(MASK, MASK[::-1], bits=1),
    _seg(MASK, bits=8),
    _structures([1, 1, 0, 7, 1, 0, 7, 8, 0], [1, 1, 4, 7, 1, 4, 7, 8, 4, 1, 8, 4]),
)


# ---- archives ------------------------------------------------------------------------------


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _archive(content: bytes, way: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", way) as archive:
        archive.writestr(zipfile.ZipInfo("probabilities.npy"), content, way)
    return stream.getvalue()


def _read_archive(path: Path) -> None:
    """The bytes as they are or, where they are no archive, as the array in a sound one."""
    content = path.read_bytes()
    if not content.startswith(b"PK"):
        path.write_bytes(_archive(content))
    images.read_nnunet_probability(path, 1, grid=Grid(SHAPE))


PROBABILITIES = np.stack([1 - MAP.T, MAP.T])
NPZ = (
    _archive(_npy(PROBABILITIES)),
    _archive(_npy(PROBABILITIES.astype(np.float16)), zipfile.ZIP_STORED),
    _npy(PROBABILITIES),
)


# ---- text ----------------------------------------------------------------------------------

TOML = tuple(
    file.read_bytes()
    for file in resources.files("segjury.protocols").iterdir()
    if file.name.endswith(".toml")
)
PROTOCOL = load_protocol("smile-uhura-2023")
SCORES = (
    b"method,case,metric,structure,reading,value,unit,status,detail,cohort\n"
    b"A,1,dsc,all,corrected,0.5,,ok,,\nA,2,dsc,all,corrected,,,missing,no prediction,\n"
    b'B,1,dsc,all,corrected,0.25,,ok,"a ""note""",x;y\nB,2,dsc,all,corrected,1e-3,,ok,,\n',
    b"method;case;rater;dsc;hd95_mm;vi_porta;sex\nA;1;r1;0.5;3;1;f\nA;1;r2;0.25;4;2;f\n",
    b"method,case,rater,question,value\nA,1,r1,q,3\nA,1,r2,q,0\nB,1,r1,q,\nB,1,r2,q,2.5\n",
    b"case\tA\tB\n1\t0.5\t0.25\n2\t0.1\t\n",
    b"\xef\xbb\xbfmethod,time_s,memory_gb_s\r\nA,12.5,100\r\nB,3,7\r\n",
)
CASES = (
    b"case,sex,cohort,volume_mm3\n1,f,small,12.5\n2,m,,7\n",
    b"method,case,metric,structure,reading,bin_low,bin_high,voxels,confidence,hits_1,hits_2\n"
    b"A,1,ece,all,corrected,0,0.1,5,0.25,1,2\n",
    b'"case",age\n"1",007\n2,\n',
)


def _workbook(packing: int) -> bytes:
    """A workbook with one small table."""
    link = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    words = "".join(map(cell.format, ("method", "case", "metric", "value")))
    row = f"{cell.format('A')}<c><v>1</v></c>" + '<c t="s"><v>0</v></c><c><f>1</f><v>0.5</v></c>'
    files = {
        "xl/workbook.xml": f'<workbook {link}><sheet name="S" r:id="r1"/></workbook>',
        "xl/_rels/workbook.xml.rels": '<R><Relationship Id="r1" Target="sheet.xml"/></R>',
        "xl/sharedStrings.xml": "<sst><si><t>dsc</t></si></sst>",
        "xl/sheet.xml": f"<worksheet><row>{words}</row><row>{row}</row></worksheet>",
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", packing) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, packing)
    return data.getvalue()


WORKBOOKS = tuple(map(_workbook, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def _as(name: str, read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Read a content as the file `name` that stands beside a table."""

    def read_beside(path: Path) -> None:
        other = path.with_name(name)
        path.replace(other)
        try:
            read(path.parent)
        finally:
            other.replace(path)

    return read_beside


IMAGES = {
    ".nii.gz": tuple(gzip.compress(content, mtime=0) for content in NIFTI),
    ".nii": NIFTI,
    ".mha": MHA,
    ".nrrd": NRRD,
    ".seg.nrrd": SEG_NRRD,
    ".png": PNG,
    ".tif": TIFF,
    ".tiff": TIFF[:2],
    ".dcm": DICOM,
}
TARGETS = {
    # a format without seeds is an error here
    **{s.strip("."): Target(f"v{s}", IMAGE_READERS, IMAGES[s]) for s in images.SUFFIXES},
    "npz": Target("v.npz", (_read_archive,), NPZ),
    "toml": Target("p.toml", (load_protocol,), TOML),
    "scores": Target(
        "s.csv",
        (
            read_scores,
            lambda path: read_scores(path, matrix="dsc"),
            lambda path: read_efficiency(path, ["A", "B"], ["1", "2"]),
            read_ratings,
            lambda path: read_ratings(path, raters=["A", "B"]),
        ),
        SCORES,
    ),
    "xlsx": Target("s.xlsx", (read_scores,), WORKBOOKS),
    "cases": Target(
        "c.csv",
        (
            lambda path: case_table(PROTOCOL, path.parent, ["1", "2"], path),
            _as("cases.csv", read_cases),
            _as("calibration.csv", read_calibration),
            _as("details.csv", read_details),
        ),
        CASES,
    ),
}
