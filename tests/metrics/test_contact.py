"""The anatomical contact angle against geometry: cylinders, tubes and rings of known extent."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage

from segjury.errors import InputError
from segjury.metrics.contact import (
    VesselSections,
    contact_angle,
    contact_angles,
    contact_class,
    section_angles,
    vessel_sections,
)

Bools = NDArray[np.bool_]
Triple = tuple[float, float, float]

ISOTROPIC: Triple = (1.0, 1.0, 1.0)
THICK_SLICES: Triple = (0.7, 0.7, 2.0)
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "xy": (1, 1, 0), "oblique": (-1, 2, 3)}


def positions(shape: tuple[int, int, int], spacing: Triple) -> NDArray[np.float64]:
    """Voxel centres in mm, the middle of the volume at 0."""
    axes = [(np.arange(n) - (n - 1) / 2) * s for n, s in zip(shape, spacing, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def cylindrical(
    where: NDArray[np.float64], axis: Any, through: Any = (0, 0, 0)
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Height along an axis, distance from it, angle around it in degrees (0 to 360)."""
    along = np.array(axis, float) / np.linalg.norm(axis)
    side = np.cross(along, np.eye(3)[np.abs(along).argmin()])
    side /= np.linalg.norm(side)
    offset = where - through
    x, y = offset @ side, offset @ np.cross(along, side)
    return offset @ along, np.hypot(x, y), np.degrees(np.arctan2(y, x)) % 360


def cylinder_and_sector(
    axis: Any,
    radius: float,
    spacing: Triple,
    sector: float,
    *,
    gap: float = 0.0,
    phase: float = 17.0,
    centre: Triple = (0.1, -0.2, 0.3),
) -> tuple[Bools, Bools]:
    """A straight vessel and a lesion around `sector` degrees of its middle third."""
    shape = tuple(int(np.ceil(6 * radius / s)) + 6 for s in spacing)
    height, distance, angle = cylindrical(positions(shape, spacing), axis, centre)  # type: ignore[arg-type]
    vessel = (distance <= radius) & (np.abs(height) <= 2.5 * radius)
    shell = (distance > radius + gap) & (distance <= 2 * radius + gap)
    return vessel, shell & ((angle - phase) % 360 < sector) & (np.abs(height) <= radius)


def tolerance(radius: float, spacing: Triple, axis: Any) -> float:
    """One voxel of arc (the longest voxel edge across the vessel) and one direction, in degrees."""
    across = np.sqrt(1 - (np.array(axis) / np.linalg.norm(axis)) ** 2)
    return float(np.degrees(max(across * spacing) / radius)) + 3.0


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
@pytest.mark.parametrize("spacing", [ISOTROPIC, THICK_SLICES], ids=["isotropic", "thick slices"])
@pytest.mark.parametrize("radius", [5.0, 8.0])
def test_a_sector_around_a_cylinder_is_read_in_degrees(
    axis: Any, spacing: Triple, radius: float
) -> None:
    vessel, _ = cylinder_and_sector(axis, radius, spacing, 0)
    sections = vessel_sections(vessel, spacing)
    truth = np.array([0, 45, 90, 180, 270, 360])
    lesions = [cylinder_and_sector(axis, radius, spacing, angle)[1] for angle in truth]
    measured = contact_angles(sections, np.stack(lesions))
    assert measured[0] == 0
    assert measured[-1] == 360
    assert np.abs(measured - truth).max() <= tolerance(radius, spacing, axis)


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_errors_average_out_over_positions_on_the_grid(axis: Any) -> None:
    generator = np.random.default_rng(7)
    errors = []
    for _ in range(8):
        vessel, lesion = cylinder_and_sector(
            axis,
            6.0,
            ISOTROPIC,
            180,
            phase=generator.uniform(0, 360),
            centre=tuple(generator.uniform(-0.5, 0.5, 3)),
        )
        errors.append(contact_angle(vessel, lesion, ISOTROPIC) - 180)
    assert abs(np.mean(errors)) <= 6  # six tenths of a voxel of arc at this radius


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_tangents_follow_the_axis_and_sections_cover_the_vessel(axis: Any) -> None:
    vessel, _ = cylinder_and_sector(axis, 6.0, THICK_SLICES, 0)
    sections = vessel_sections(vessel, THICK_SLICES)
    along = np.array(axis) / np.linalg.norm(axis)
    assert np.degrees(np.arccos(np.abs(sections.tangent @ along).min().clip(max=1))) < 10
    assert np.ptp(sections.centre_mm @ along) > 30 - 2 * 2.5  # of 30 mm, less the ends
    assert np.abs(np.median(sections.radius_mm, axis=1) - 6.0).max() < 0.7


def torus_arc() -> tuple[NDArray[np.float64], Bools, NDArray[np.float64], NDArray[np.float64]]:
    """Half a torus: bend, vessel (radius 6 on a bend of 24), distance and angle in the tube."""
    where = positions((72, 72, 34), ISOTROPIC)
    bend = np.degrees(np.arctan2(where[..., 1], where[..., 0]))
    outwards = np.hypot(where[..., 0], where[..., 1]) - 24
    distance = np.hypot(outwards, where[..., 2])
    vessel = (distance <= 6) & (np.abs(bend) <= 90)
    return bend, vessel, distance, np.degrees(np.arctan2(where[..., 2], outwards)) % 360


@pytest.mark.parametrize("phase", [0, 90, 200])
@pytest.mark.parametrize("sector", [90, 180, 270])
def test_a_curved_tube_is_read_like_a_straight_one(sector: float, phase: float) -> None:
    bend, vessel, distance, angle = torus_arc()
    ring = (distance > 6) & (distance <= 10) & ((angle - phase) % 360 < sector)
    measured = contact_angle(vessel, ring & (np.abs(bend - 20) <= 30), ISOTROPIC)
    assert measured == pytest.approx(sector, abs=12)


def fork() -> tuple[Bools, dict[str, tuple[Any, ...]]]:
    """A vessel that forks at the origin, and cylindrical coordinates about its three arms."""
    where = positions((70, 40, 90), ISOTROPIC)
    arms = {"trunk": (0, 0, -1), "left": (-0.6, 0, 0.8), "right": (0.6, 0, 0.8)}
    around = {name: cylindrical(where, axis) for name, axis in arms.items()}
    radius = {"trunk": 6.5, "left": 5.0, "right": 5.0}
    vessel = np.any(
        [(d <= radius[name]) & (h >= 0) & (h <= 38) for name, (h, d, _) in around.items()], axis=0
    )
    return vessel, around


@pytest.mark.parametrize(("arm", "radius"), [("trunk", 6.5), ("left", 5.0), ("right", 5.0)])
@pytest.mark.parametrize("sector", [90, 180, 360])
def test_contact_on_one_arm_of_a_fork_is_found_there(
    arm: str, radius: float, sector: float
) -> None:
    vessel, around = fork()
    height, distance, angle = around[arm]
    near = (distance > radius) & (distance <= radius + 4) & (np.abs(height - 28) <= 5)
    lesion = near & ((angle - 40) % 360 < sector) & ~vessel
    sections = vessel_sections(vessel, ISOTROPIC)
    assert contact_angles(sections, lesion)[0] == pytest.approx(sector, abs=13)
    where = sections.centre_mm[section_angles(sections, lesion)[0] > 30]
    origin = (np.array(vessel.shape) - 1) / 2
    axis = {"trunk": (0, 0, -1), "left": (-0.6, 0, 0.8), "right": (0.6, 0, 0.8)}[arm]
    height_there, off_axis, _ = cylindrical(where, axis, origin)
    assert off_axis.max() < 2
    assert (np.abs(height_there - 28) <= 8).all()


def test_a_thin_branch_of_a_thick_vessel_is_cut_too() -> None:
    where = positions((50, 70, 60), ISOTROPIC)
    _, from_trunk, _ = cylindrical(where, (0, 0, 1))
    height, from_branch, _ = cylindrical(where, (0, 1, 0.3))
    trunk = (from_trunk <= 9) & (np.abs(where[..., 2]) <= 25)
    vessel = trunk | ((from_branch <= 3) & (height >= 0) & (height <= 24))
    ring = (from_branch > 3) & (from_branch <= 6) & (np.abs(height - 19) <= 3) & ~vessel
    assert contact_angle(vessel, ring, ISOTROPIC) == 360
    assert contact_angle(trunk, ring, ISOTROPIC) == 0


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 2, 3)], ids=["z", "oblique"])
@pytest.mark.parametrize("flattening", [(9.0, 4.5), (10.0, 4.0)])
def test_half_of_a_flattened_vessel_is_180_from_either_side(
    axis: Any, flattening: tuple[float, float]
) -> None:
    height, distance, angle = cylindrical(positions((60, 60, 60), ISOTROPIC), axis)
    u, v = distance * np.cos(np.radians(angle)), distance * np.sin(np.radians(angle))
    vessel = ((u / flattening[0]) ** 2 + (v / flattening[1]) ** 2 <= 1) & (np.abs(height) < 26)
    around = ~vessel & (np.abs(height) < 9)
    sections = vessel_sections(vessel, ISOTROPIC)
    measured = contact_angles(sections, np.stack([around & (u > 0), around & (v > 0)]))
    assert measured == pytest.approx([180, 180], abs=10)


@pytest.mark.parametrize("spacing", [ISOTROPIC, (0.8, 0.8, 2.5)], ids=["isotropic", "thick slices"])
@pytest.mark.parametrize("seed", range(4))
def test_a_rough_wall_does_not_grow_branches(seed: int, spacing: Triple) -> None:
    shape = tuple(int(56 / s) for s in spacing)
    height, distance, angle = cylindrical(positions(shape, spacing), (1, 1, 4))  # type: ignore[arg-type]
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 1.2)
    vessel = (distance <= 6 + 0.9 * noise / noise.std()) & (np.abs(height) <= 22)
    lesion = ~vessel & (distance <= 13) & (angle < 180) & (np.abs(height) <= 9)
    sections = vessel_sections(vessel, spacing)
    assert sections.line.max() == 0
    assert contact_angles(sections, lesion)[0] == pytest.approx(180, abs=20)


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_a_lesion_two_voxels_away_does_not_touch(axis: Any) -> None:
    vessel, lesion = cylinder_and_sector(axis, 6.0, ISOTROPIC, 360, gap=2.0)
    assert lesion.any()
    assert contact_angle(vessel, lesion, ISOTROPIC) == 0


def square_and_slab(gap: int) -> tuple[Bools, Bools]:
    """A square vessel along z and a lesion as wide as one face: 90 degrees seen from the middle."""
    vessel = np.zeros((40, 31, 41), bool)
    vessel[5:20, 8:23, 3:38] = True
    lesion = np.zeros_like(vessel)
    lesion[20 + gap : 30, 8:23, 10:30] = True
    return vessel, lesion


def test_touching_by_face_is_contact_and_a_full_empty_voxel_is_not() -> None:
    assert contact_angle(*square_and_slab(0), ISOTROPIC) == pytest.approx(90, abs=6)
    assert contact_angle(*square_and_slab(1), ISOTROPIC) == 0


def test_a_lesion_that_covers_the_wall_is_in_contact() -> None:
    vessel, _ = square_and_slab(0)
    last_layer = np.zeros_like(vessel)
    last_layer[19, 8:23, 10:30] = True
    truth = 2 * np.degrees(np.arctan(7.5 / 6.5))  # the layer reaches one voxel around the corners
    assert contact_angle(vessel, last_layer, ISOTROPIC) == pytest.approx(truth, abs=6)


def test_reach_says_how_large_a_gap_still_counts() -> None:
    vessel, lesion = square_and_slab(1)
    sections = vessel_sections(vessel, ISOTROPIC, reach_voxels=2)
    assert contact_angles(sections, lesion)[0] == pytest.approx(90, abs=9)
    assert contact_angles(sections, square_and_slab(2)[1])[0] == 0


def test_a_vessel_cut_by_the_border_is_not_in_contact_there() -> None:
    radius = 10.0
    where = np.moveaxis(np.indices((30, 61, 50), float), 0, -1)
    distance = np.hypot(where[..., 0] + 0.5, where[..., 1] - 30)  # the border is the half's face
    centroid = 4 * radius / (3 * np.pi)
    truth = 360 - 2 * np.degrees(np.arctan(radius / centroid))
    measured = contact_angle(distance <= radius, distance > radius, ISOTROPIC)
    assert measured == pytest.approx(truth, abs=9)


@cache
def oblique_half() -> tuple[Bools, Bools]:
    return cylinder_and_sector((1, -2, 4), 6.0, THICK_SLICES, 135)


@pytest.mark.parametrize("flip", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_flips_leave_the_angle(flip: tuple[int, ...]) -> None:
    vessel, lesion = oblique_half()
    expected = contact_angle(vessel, lesion, THICK_SLICES)
    flipped = contact_angle(np.flip(vessel, flip), np.flip(lesion, flip), THICK_SLICES)
    assert flipped == pytest.approx(expected, abs=6)


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_axis_permutations_leave_the_angle(order: tuple[int, int, int]) -> None:
    vessel, lesion = oblique_half()
    expected = contact_angle(vessel, lesion, THICK_SLICES)
    spacing = (THICK_SLICES[order[0]], THICK_SLICES[order[1]], THICK_SLICES[order[2]])
    permuted = contact_angle(vessel.transpose(order), lesion.transpose(order), spacing)
    assert permuted == pytest.approx(expected, abs=6)


@pytest.mark.parametrize("factor", [0.001, 0.5, 10.0])
def test_the_unit_of_length_does_not_matter(factor: float) -> None:
    vessel, lesion = oblique_half()
    x, y, z = THICK_SLICES
    scaled = contact_angle(vessel, lesion, (x * factor, y * factor, z * factor))
    assert scaled == pytest.approx(contact_angle(vessel, lesion, THICK_SLICES), abs=1)


@cache
def sections_to_touch() -> VesselSections:
    return vessel_sections(cylinder_and_sector((1, 1, 3), 4.0, ISOTROPIC, 0)[0], ISOTROPIC)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["total", "arc"])
)
def test_growing_a_lesion_never_lowers_the_angle(
    seed: int, share: float, more: float, extent: Any
) -> None:
    sections = sections_to_touch()
    generator = np.random.default_rng(seed)
    small = generator.random(sections.shape) < share
    large = small | (generator.random(sections.shape) < more)
    before, after = contact_angles(sections, np.stack([small, large]), extent=extent)
    assert 0 <= before <= after <= 360


def test_packed_masks_equal_stacked_masks_in_either_memory_order() -> None:
    sections = sections_to_touch()
    stack = (
        np.random.default_rng(3).random((11, *sections.shape))
        < np.linspace(0, 1, 11)[:, None, None, None]
    )
    packed = sum(mask.astype(np.uint16) << k for k, mask in enumerate(stack))
    expected = [contact_angles(sections, mask)[0] for mask in stack]
    assert expected[0] == 0
    assert expected[-1] > expected[5] > expected[1]
    np.testing.assert_array_equal(contact_angles(sections, stack), expected)
    for array in (np.asfortranarray(packed), np.ascontiguousarray(packed)):
        np.testing.assert_array_equal(contact_angles(sections, array, n_masks=11), expected)


def test_two_opposite_quarters_are_180_in_total_and_90_in_one_arc() -> None:
    vessel, first = cylinder_and_sector((0, 0, 1), 8.0, ISOTROPIC, 90, phase=350)
    _, second = cylinder_and_sector((0, 0, 1), 8.0, ISOTROPIC, 90, phase=170)
    sections = vessel_sections(vessel, ISOTROPIC)
    both = first | second
    assert contact_angles(sections, both)[0] == pytest.approx(180, abs=12)
    assert contact_angles(sections, both, extent="arc")[0] == pytest.approx(90, abs=9)


def test_a_full_ring_is_one_arc_of_360() -> None:
    sections = sections_to_touch()
    everything = np.ones(sections.shape, bool)
    assert contact_angles(sections, everything, extent="arc")[0] == 360


def test_an_empty_vessel_is_undefined_and_an_empty_lesion_is_no_contact() -> None:
    vessel, lesion = oblique_half()
    nothing = np.zeros_like(vessel)
    assert np.isnan(contact_angle(nothing, lesion, THICK_SLICES))
    assert contact_angle(vessel, nothing, THICK_SLICES) == 0
    several = contact_angles(vessel_sections(nothing, THICK_SLICES), np.stack([lesion] * 3))
    assert np.isnan(several).tolist() == [True] * 3


def box(*sides: slice) -> Bools:
    mask = np.zeros((24, 24, 24), bool)
    mask[sides] = True
    return mask


@pytest.mark.parametrize(
    "vessel",
    [
        box(slice(9, 10), slice(9, 10), slice(9, 10)),
        box(slice(9, 10), slice(9, 10), slice(3, 20)),
        box(slice(4, 20), slice(4, 20), slice(9, 10)),
        box(slice(6, 17), slice(6, 17), slice(6, 17)),
        box(slice(3, 8), slice(3, 8), slice(3, 20))
        | box(slice(14, 19), slice(14, 19), slice(3, 20)),
    ],
    ids=["one voxel", "a line of voxels", "flat", "a cube", "two components"],
)
@pytest.mark.parametrize("spacing", [ISOTROPIC, (0.5, 0.5, 5.0)])
def test_odd_shapes_wrapped_all_around_are_encased(vessel: Bools, spacing: Triple) -> None:
    assert contact_angle(vessel, ~vessel, spacing) == 360
    assert contact_angle(vessel, np.zeros_like(vessel), spacing) == 0


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 7, 9), (12, 12, 12)])
def test_a_vessel_that_fills_the_volume_has_no_outside_to_touch(shape: Any) -> None:
    vessel = np.ones(shape, bool)
    assert contact_angle(vessel, np.zeros(shape, bool), ISOTROPIC) == 0
    assert contact_angle(vessel, vessel, ISOTROPIC) == 360  # the lesion covers the wall itself


def test_specks_are_not_vessel() -> None:
    vessel, _ = cylinder_and_sector((0, 0, 1), 5.0, ISOTROPIC, 0)
    lesion = np.zeros_like(vessel)
    lesion[:4, :4, :4] = True
    with_speck = vessel.copy()
    with_speck[2, 2, 2] = True
    assert contact_angle(with_speck, lesion, ISOTROPIC) == 0


def test_a_hole_inside_the_vessel_is_not_a_wall() -> None:
    vessel, lesion = cylinder_and_sector((0, 0, 1), 6.0, ISOTROPIC, 180)
    hollow = vessel.copy()
    middle = [n // 2 for n in vessel.shape]
    hollow[middle[0] - 2 : middle[0] + 2, middle[1] - 2 : middle[1] + 2, middle[2] - 4 :][
        ..., :8
    ] = 0
    assert hollow.sum() < vessel.sum()
    expected = contact_angle(vessel, lesion, ISOTROPIC)
    assert contact_angle(hollow, lesion, ISOTROPIC) == expected


@pytest.mark.parametrize(
    ("angle", "name"),
    [(0, "none"), (1, "abutment"), (180, "abutment"), (180.1, "encasement"), (360, "encasement")],
)
def test_angles_have_the_names_clinicians_use(angle: float, name: str) -> None:
    assert contact_class(angle) == name


def test_an_undefined_angle_has_no_name() -> None:
    assert contact_class(float("nan")) is None


def test_masks_that_do_not_fit_are_refused() -> None:
    sections = sections_to_touch()
    with pytest.raises(InputError, match="shape"):
        contact_angles(sections, np.zeros((3, 3, 3), bool))
    with pytest.raises(InputError, match="n_masks"):
        contact_angles(sections, np.zeros(sections.shape, np.uint8))
    with pytest.raises(InputError, match="type float64"):
        contact_angles(sections, np.zeros(sections.shape))
    with pytest.raises(InputError, match="positive"):
        vessel_sections(np.zeros((3, 3, 3), bool), (1.0, 0.0, 1.0))
    with pytest.raises(InputError, match="3-D"):
        vessel_sections(np.zeros((3, 3), bool), ISOTROPIC)


@pytest.mark.parametrize("seed", range(8))
def test_the_angle_does_not_depend_on_the_unit_of_length(seed: int) -> None:
    rng = np.random.default_rng(seed)
    course = np.cumsum(rng.normal(0, 0.5, (26, 2)), axis=0) + 11
    x, y = np.ogrid[:24, :24]
    slices = [(x - a) ** 2 + (y - b) ** 2 <= 2.5**2 for a, b in course]
    vessel = np.stack(slices, axis=2)
    lesion = rng.random(vessel.shape) < 0.2
    expected = contact_angle(vessel, lesion, (1.0, 1.0, 1.0))
    for unit in (0.001, 0.7, 0.8, 1.6, 3.0):
        assert contact_angle(vessel, lesion, (unit, unit, unit)) == expected
