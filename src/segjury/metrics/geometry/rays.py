"""Rays through a mask: from the middle of a vessel outwards, to where they leave it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segjury.arrays import Bools, Floats, Ints
from segjury.metrics.geometry import steady

STEPS_PER_VOXEL = 2
STEP_VOXELS = 0.999 / STEPS_PER_VOXEL  # a hair less, so that no sample falls between two voxels


@dataclass(frozen=True)
class Rays:
    """Rays in voxel coordinates: sample k of section s, direction d is start[s] + k step[s, d]."""

    start: Floats  # (S, 1, 3)
    step: Floats  # (S, D, 3)


def rays_across(centre_mm: Floats, tangent: Floats, spacing: Floats, directions: int) -> Rays:
    """Rays in the planes perpendicular to the tangents, at equal angular steps."""
    axis = np.eye(3)[np.abs(tangent).argmin(axis=1)]
    first = unit_vectors(np.cross(tangent, axis))
    second = np.cross(tangent, first)
    cosine, sine = (part[:, None] for part in steady.directions(directions))
    return rays_along(centre_mm, cosine * first[:, None] + sine * second[:, None], spacing)


def rays_along(centre_mm: Floats, direction: Floats, spacing: Floats) -> Rays:
    """Rays from the centres in given directions, with steps of about half a voxel."""
    step = direction / spacing
    step *= STEP_VOXELS / np.abs(step).max(axis=-1, keepdims=True)
    return Rays((centre_mm / spacing)[:, None], step)


def march(mask: Bools, rays: Rays) -> Ints:
    """Number of the last sample of each ray before it first leaves the mask."""
    voxels = mask.ravel()
    wide, high = mask.shape[1] * mask.shape[2], mask.shape[2]
    step = rays.step.reshape(-1, 3).T.copy()
    # Half a voxel on, so that cutting off the decimals finds the nearest voxel.
    place = np.broadcast_to(rays.start + 0.5, rays.step.shape).reshape(-1, 3).T + step
    last = np.zeros(step.shape[1], np.int64)
    alive = np.arange(len(last))
    while alive.size:
        x, y, z = place.astype(np.int64)
        inside = np.flatnonzero(voxels[x * wide + y * high + z])
        alive = alive[inside]
        step = step.take(inside, axis=1)
        place = place.take(inside, axis=1) + step
        last[alive] += 1
    return last.reshape(rays.step.shape[:2])


def unit_vectors(vectors: Floats) -> Floats:
    """The vectors at length 1; one without a direction becomes the z axis, so that all have one."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1), [0.0, 0.0, 1.0])
