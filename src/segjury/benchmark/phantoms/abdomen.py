"""The vessels around the pancreas and the gland itself, as courses that both CURVAS phantoms share.

Coordinates are millimetres in patient space: x to the patient's left, y to the back, z to the head;
the origin is near the confluence of the portal vein.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segjury.arrays import Triple
from segjury.benchmark.phantoms.fields import Points, curve

VESSELS = {"PORTA": 1, "SMV": 2, "AORTA": 3, "CELIAC TRUNK": 4, "SMA": 5}

CAVA: tuple[list[Triple], list[float]] = (
    [(-22, 24, 190), (-24, 22, 60), (-21, 24, 0), (-18, 27, -80), (-16, 30, -170)],
    [14, 13, 11.5, 11, 10.5],
)
SPLENIC_VEIN: tuple[list[Triple], list[float]] = (
    [(-8, -9, 8), (10, -13, 14), (36, -8, 20), (62, 10, 28), (90, 28, 42)],
    [4.5, 4.2, 4.0, 3.8, 3.2],
)
LIVER_VEINS: tuple[tuple[list[Triple], list[float]], ...] = (
    ([(-46, -12, 49), (-72, -4, 56), (-102, 8, 60)], [5, 4, 2.5]),
    ([(-46, -12, 49), (-58, -34, 62), (-50, -58, 72)], [4, 3.5, 2.5]),
    ([(-24, 16, 118), (-55, 0, 96), (-98, -22, 72)], [5, 4, 2.5]),
)

_COURSES: dict[str, tuple[list[Triple], list[float]]] = {
    "PORTA": (
        [(-7, -9, 3), (-11, -8, 11), (-19, -7, 24), (-33, -9, 39), (-48, -12, 50)],
        [6.0, 6.5, 6.5, 6.5, 6.0],
    ),
    "SMV": (
        [(-13, -14, -95), (-10, -13, -55), (-7, -12, -25), (-6, -10, -8), (-7, -9, 3)],
        [4.5, 5.0, 5.5, 5.8, 6.0],
    ),
    "AORTA": (
        [(15, 23, 190), (13, 21, 80), (11, 20, 0), (9, 21, -80), (6, 25, -170)],
        [10.5, 10.0, 9.5, 9.0, 8.5],
    ),
    "CELIAC TRUNK": (
        [(12, 18, 29), (11, 7, 31), (9, -2, 32), (6, -8, 31)],
        [4.0, 3.9, 3.7, 3.5],
    ),
    "SMA": (
        [(11, 18, 13), (10, 8, 10), (9, 0, 2), (8, -6, -12), (6, -9, -45), (0, -12, -95)],
        [4.2, 4.0, 4.0, 3.8, 3.5, 3.2],
    ),
}

_PANCREAS: tuple[list[Triple], list[float]] = (
    [
        (-12, 0, -36),
        (-28, -5, -20),
        (-27, -15, -3),
        (-9, -23, 6),
        (14, -26, 13),
        (40, -18, 20),
        (65, 0, 27),
        (86, 18, 35),
    ],
    [8.0, 14.0, 13.5, 8.5, 9.5, 9.5, 10.0, 8.0],
)


@dataclass(frozen=True)
class Anatomy:
    """Courses of one patient: control points bent a little, each with its radii."""

    vessels: dict[str, tuple[Points, Points]]
    pancreas: tuple[Points, Points]


def make_anatomy(rng: np.random.Generator) -> Anatomy:
    """One patient: calibres vary by some 8 %, control points by a millimetre or two."""
    joint = rng.normal(0, 1.0, 3)  # porta and SMV meet at one point
    vessels = {}
    for name, (control, radii) in _COURSES.items():
        points = np.asarray(control, float)
        moved = points + rng.normal(0, 0.8, points.shape)
        if name == "PORTA":
            moved[0] = points[0] + joint
        if name == "SMV":
            moved[-1] = points[-1] + joint
        vessels[name] = curve(moved, np.asarray(radii) * rng.uniform(0.92, 1.08))
    control, radii = _PANCREAS
    moved = np.asarray(control) + rng.normal(0, 2.0, (len(control), 3))
    return Anatomy(vessels, curve(moved, np.asarray(radii) * rng.uniform(0.85, 1.1)))
