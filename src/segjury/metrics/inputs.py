"""What metrics take for a mask or a map: arrays, tensors and images; what is neither is refused.

Images are those of SimpleITK, nibabel and `segjury.images`. They bring their spacing, and two of
them must lie on one grid. Axes are x, y, z, as in the files. What has fewer axes gets one of size 1
behind: a mask or a map in 2D is one slice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Floats, Triple
from segjury.images.grid import Grid, at_right_angles, nifti_unit_exponent
from segjury.images.labels import LabelMap
from segjury.images.volume import Volume

MOST_NAMED = 5
SAME_PLACE_MM = 1e-3
RAS_TO_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


def as_array(given: Any, name: str) -> NDArray[Any]:
    """The numbers of an array, a tensor or an image; anything else is a `ValueError`."""
    if isinstance(given, Volume):
        array = given.array
    elif isinstance(given, LabelMap):
        array = np.zeros(given.grid.shape, given.labels.dtype, order="F")
        array.reshape(-1, order="F")[given.voxels] = given.labels
    elif _is_simpleitk(given):
        import SimpleITK as sitk

        array = sitk.GetArrayViewFromImage(given).T
    elif _is_nibabel(given):
        array = np.asanyarray(given.dataobj)
    elif hasattr(given, "detach"):  # a tensor of torch, on whatever device
        tensor = given.detach().cpu()
        array = np.asarray(tensor.float() if "bfloat" in str(tensor.dtype) else tensor)
    else:
        array = _plain_array(given, name)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds {_kind(array)}, expected numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values, expected numbers")
    return array


def as_mask(given: Any, name: str) -> Bools:
    """The voxels of a mask that are not 0; a map or several labels are refused."""
    return with_three_axes(_one_label(as_array(given, name), name))


def as_masks(reference: Any, prediction: Any) -> tuple[Bools, Bools]:
    """Two masks on one grid."""
    given = as_array(reference, "reference"), as_array(prediction, "prediction")
    first, second = as_mask(given[0], "reference"), as_mask(given[1], "prediction")
    if first.shape != second.shape:
        raise ValueError(f"prediction has shape {given[1].shape}, reference has {given[0].shape}")
    _check_place(reference=reference, prediction=prediction)
    return first, second


def as_raters(given: Any, **others: Any) -> Bools:
    """The masks of several raters, (raters, x, y, z), from one array or a list of masks.

    `others` are what the masks are compared with, by name: images among them must lie where
    those of the raters do.
    """
    return _several_masks(given, "rater", others)


def as_samples(given: Any) -> Bools:
    """The masks of several samples, (samples, x, y, z), from one array or a list of masks."""
    return _several_masks(given, "sample", {})


def _several_masks(given: Any, what: str, others: dict[str, Any]) -> Bools:
    if isinstance(given, list | tuple):
        if not given:
            raise ValueError(f"{what}s is an empty list, expected a mask for each {what}")
        masks = [as_mask(each, f"{what} {number}") for number, each in enumerate(given, 1)]
        shapes = {mask.shape for mask in masks}
        if len(shapes) > 1:
            raise ValueError(f"the {what}s have shapes {', '.join(map(str, sorted(shapes)))}")
        images = {f"{what} {number}": each for number, each in enumerate(given, 1)}
        _check_place(**images, **others)
        return np.stack(masks)
    array = as_array(given, f"{what}s")
    if array.ndim == 0 or not len(array):
        raise ValueError(f"{what}s has shape {array.shape}, expected a mask for each {what}")
    return np.stack([as_mask(mask, f"{what} {k}") for k, mask in enumerate(array, 1)])


def as_map(given: Any, name: str = "probability") -> NDArray[Any]:
    """A probability map; values outside of [0, 1] are refused."""
    array = as_array(given, name)
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        raise ValueError(f"{name} ranges from {array.min():g} to {array.max():g}, expected 0 to 1")
    return with_three_axes(array)


def with_three_axes(array: NDArray[Any]) -> NDArray[Any]:
    """An array of one or two axes with three."""
    return array[(..., *[None] * (3 - array.ndim))] if array.ndim else array


def spacing_of(*given: Any) -> Triple:
    """The voxel size in mm of the first image among what is given; 1 mm where none is."""
    for each in given:
        affine = _affine(each)
        if affine is not None:
            if not at_right_angles(affine[:3, :3]):
                raise ValueError("an image has axes that are not at right angles; resample it")
            x, y, z = np.sqrt((affine[:3, :3] ** 2).sum(axis=0)).tolist()
            return x, y, z
    return 1.0, 1.0, 1.0


def _plain_array(given: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:  # lists of lists of unequal lengths
        raise ValueError(f"{name} is no array: its rows differ in length") from None


def _kind(array: NDArray[Any]) -> str:
    """What an array of no numbers holds."""
    if array.dtype.kind == "O" and array.size:
        if any(each is None for each in array.flat):
            return "None"
        return f"objects ({type(array.flat[0]).__name__})"
    return {"U": "text", "S": "bytes", "O": "nothing", "c": "complex numbers"}.get(
        array.dtype.kind, str(array.dtype)
    )


def _one_label(array: NDArray[Any], name: str) -> Bools:
    if array.dtype == bool:
        return array
    marked = np.asarray(array != 0)
    labels = array[marked]
    if labels.size and (labels != labels[0]).any():
        seen = np.unique(labels)
        if (seen % 1 != 0).any():
            raise ValueError(f"{name} holds {seen[0]:g}, so it is no mask; cut it, as {name} > 0.5")
        more = ", ..." if seen.size > MOST_NAMED else ""
        labels_named = ", ".join(f"{label:g}" for label in seen[:MOST_NAMED]) + more
        choice = f"choose it, as {name} == {seen[0]:g}"
        raise ValueError(f"{name} has the labels {labels_named}, expected one; {choice}")
    return marked


def _check_place(**given: Any) -> None:
    """Refuse images that do not lie at the same place in space."""
    affines = {
        name: affine for name, each in given.items() if (affine := _affine(each)) is not None
    }
    for name, affine in affines.items():
        first = next(iter(affines))
        if not np.allclose(affine, affines[first], rtol=0, atol=SAME_PLACE_MM):
            raise ValueError(f"{name} and {first} differ in spacing, origin or direction")


def _affine(given: Any) -> Floats | None:
    """From voxels to LPS millimetres; None for what has no place in space."""
    if isinstance(given, Volume | LabelMap):
        return _grid_affine(given.grid)
    if _is_simpleitk(given):
        n = given.GetDimension()
        if n > 3:
            return None
        affine = np.eye(4)
        affine[:n, :n] = np.reshape(given.GetDirection(), (n, n)) * given.GetSpacing()
        affine[:n, 3] = given.GetOrigin()
        return affine
    if _is_nibabel(given):
        return np.asarray(RAS_TO_LPS @ given.affine) * _mm_of(given)
    return None


def _mm_of(image: Any) -> Floats:
    """What turns the affine of an image of nibabel to mm: NIfTI headers name a unit of length."""
    try:
        exponent = nifti_unit_exponent(int(image.header["xyzt_units"]))
    except (AttributeError, KeyError, TypeError, ValueError):  # another format
        exponent = 0
    return np.array([[10.0**exponent]] * 3 + [[1.0]])


def _grid_affine(grid: Grid) -> Floats:
    affine = np.eye(4)
    affine[:3, :3] = np.array(grid.direction) * grid.spacing_mm
    affine[:3, 3] = grid.origin_mm
    return affine


def _is_simpleitk(given: Any) -> bool:
    return type(given).__module__.startswith("SimpleITK") and hasattr(given, "GetSpacing")


def _is_nibabel(given: Any) -> bool:
    return hasattr(given, "dataobj") and hasattr(given, "affine")
