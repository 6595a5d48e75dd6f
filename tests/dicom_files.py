"""Small DICOM files: segmentations by highdicom, structure sets by pydicom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import highdicom as hd
import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.codedict import codes
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from segjury.images.grid import Grid

CT, RTSTRUCT = "1.2.840.10008.5.1.4.1.1.2", "1.2.840.10008.5.1.4.1.1.481.3"
STUDY, SERIES, FRAME = (generate_uid(entropy_srcs=[text]) for text in ("study", "series", "frame"))


def place_mm(grid: Grid, index: Sequence[float]) -> np.ndarray:
    """Where a voxel of a grid is."""
    steps = np.array(index) * grid.spacing_mm
    return np.array(grid.origin_mm) + (np.array(grid.direction) * steps).sum(axis=1)


def ct_slices(grid: Grid) -> list[Dataset]:
    """The images of a scan on a grid, without any content."""
    slices = []
    direction = np.array(grid.direction)
    for k in range(grid.shape[2]):
        image = Dataset()
        image.file_meta = FileMetaDataset()
        image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image.SOPClassUID, image.SOPInstanceUID = CT, generate_uid(entropy_srcs=[f"slice {k}"])
        image.StudyInstanceUID, image.SeriesInstanceUID = STUDY, SERIES
        image.FrameOfReferenceUID, image.Modality, image.InstanceNumber = FRAME, "CT", k + 1
        image.PatientID, image.PatientName = "nobody", "Nobody^No"
        image.PatientBirthDate = image.PatientSex = image.StudyID = image.AccessionNumber = ""
        image.StudyDate = image.StudyTime = image.ReferringPhysicianName = ""
        image.Columns, image.Rows = grid.shape[:2]
        image.PixelSpacing = [grid.spacing_mm[1], grid.spacing_mm[0]]
        image.SliceThickness = grid.spacing_mm[2]
        image.ImageOrientationPatient = [*direction[:, 0], *direction[:, 1]]
        image.ImagePositionPatient = [float(f"{x:.12g}") for x in place_mm(grid, (0, 0, k))]
        image.BitsAllocated, image.BitsStored, image.SamplesPerPixel = 16, 16, 1
        slices.append(image)
    return slices


def write_seg(
    path: Path,
    grid: Grid,
    masks: Mapping[str, np.ndarray],
    *,
    kind: str = "BINARY",
    keep_empty: bool = False,
    transfer_syntax_uid: str = ExplicitVRLittleEndian,
) -> None:
    """Segments 1, 2, ... by name, from masks with axes x, y, z on a grid."""
    descriptions = [
        hd.seg.SegmentDescription(
            segment_number=number,
            segment_label=name,
            segmented_property_category=codes.SCT.Organ,
            segmented_property_type=codes.SCT.Liver,
            algorithm_type=hd.seg.SegmentAlgorithmTypeValues.MANUAL,
        )
        for number, name in enumerate(masks, 1)
    ]
    stack = np.stack(list(masks.values()), axis=-1).transpose(2, 1, 0, 3)
    hd.seg.Segmentation(
        source_images=ct_slices(grid),
        pixel_array=stack.astype(np.uint8),
        segmentation_type=kind,
        segment_descriptions=descriptions,
        series_instance_uid=generate_uid(),
        series_number=2,
        sop_instance_uid=generate_uid(),
        instance_number=1,
        manufacturer="nobody",
        manufacturer_model_name="none",
        software_versions="0",
        device_serial_number="0",
        omit_empty_frames=not keep_empty,
        transfer_syntax_uid=transfer_syntax_uid,
    ).save_as(path)


def write_rtstruct(
    path: Path,
    structures: Mapping[str, Sequence[np.ndarray]],
    *,
    numbers: Sequence[int] | None = None,
    kind: str = "CLOSED_PLANAR",
) -> None:
    """Structures 1, 2, ... by name, of contours with points in mm."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.file_meta.MediaStorageSOPClassUID = RTSTRUCT
    dataset.SOPClassUID, dataset.SOPInstanceUID, dataset.Modality = RTSTRUCT, "1.2.3", "RTSTRUCT"
    dataset.file_meta.MediaStorageSOPInstanceUID = "1.2.3"
    dataset.StructureSetROISequence, dataset.ROIContourSequence = [], []
    for number, (name, contours) in zip(
        numbers or range(1, 1000), structures.items(), strict=False
    ):
        roi, drawn = Dataset(), Dataset()
        roi.ROINumber, roi.ROIName = number, name
        drawn.ReferencedROINumber, drawn.ContourSequence = number, []
        for points in contours:
            contour = Dataset()
            contour.ContourGeometricType, contour.NumberOfContourPoints = kind, len(points)
            contour.ContourData = [float(f"{x:.10g}") for x in np.ravel(points)]
            drawn.ContourSequence.append(contour)
        dataset.StructureSetROISequence.append(roi)
        dataset.ROIContourSequence.append(drawn)
    pydicom.dcmwrite(path, dataset, enforce_file_format=True)
