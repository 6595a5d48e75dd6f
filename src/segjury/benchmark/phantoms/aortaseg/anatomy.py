"""The aorta from root to groin: centreline, branches and the borders of its zones.

Coordinates are millimetres in patient space: x to the patient's left, y to the back, z to the head;
the origin is in the midline, a little above the coeliac trunk. Zones follow the SVS/STS
classification as AortaSeg words it: zones 0 to 2 end behind the innominate, left carotid and left
subclavian artery, zone 3 is the next 20 mm, zone 4 ends at the sixth thoracic vertebra, zones 6 and
7 begin at the coeliac trunk and the SMA, zone 8 holds both renal arteries, zone 9 ends at the
bifurcation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segjury.arrays import Triple
from segjury.benchmark.phantoms.fields import Points, curve

LABELS = {
    "Zone 0": 1,
    "Innominate": 2,
    "Zone 1": 3,
    "Left Common Carotid": 4,
    "Zone 2": 5,
    "Left Subclavian": 6,
    "Zone 3": 7,
    "Zone 4": 8,
    "Zone 5": 9,
    "Zone 6": 10,
    "Celiac": 11,
    "Zone 7": 12,
    "SMA": 13,
    "Zone 8": 14,
    "Right Renal": 15,
    "Left Renal": 16,
    "Zone 9": 17,
    "Zone 10 R": 18,
    "Zone 10 L": 19,
    "Right Internal Iliac": 20,
    "Left Internal Iliac": 21,
    "Zone 11 R": 22,
    "Zone 11 L": 23,
}
ZONES = tuple(f"Zone {number}" for number in range(10))  # along the aorta; 10 and 11 are iliac
OCCLUDABLE = (
    "Celiac",
    "Right Renal",
    "Left Renal",
    "Right Internal Iliac",
    "Left Internal Iliac",
)

T6_MM = 150.0  # height of the lower edge of the sixth thoracic vertebra
ZONE_3_MM = 20.0

_OSTIUM_EDGE_MM = 2.0  # from the wall of a branch to the zone border beside it
_AWAY_FROM_SPINE = np.array([0.6, -0.8, 0.0])

_AORTA: tuple[list[Triple], list[float]] = (
    [
        (2, -14, 138),
        (-14, -26, 160),
        (-19, -27, 188),
        (-12, -17, 214),
        (5, 0, 225),
        (21, 20, 220),
        (29, 36, 197),
        (30, 43, 160),
        (26, 43, 100),
        (18, 36, 40),
        (10, 28, -15),
        (6, 24, -70),
        (4, 23, -115),
        (3, 24, -150),
    ],
    [16.5, 16.5, 16.5, 15.5, 14.5, 14.0, 13.5, 13.0, 13.0, 12.5, 12.0, 11.0, 10.5, 10.5],
)


@dataclass(frozen=True)
class _Branch:
    """A course from the wall of its parent: the way out to the wall, then offsets from there."""

    way: Triple
    offsets_mm: tuple[Triple, ...]
    radii_mm: tuple[float, float]  # at the ostium and at the end


_BRANCHES = {
    "Innominate": _Branch((-0.2, 0, 1), ((-6, -1, 14), (-14, 0, 30), (-22, 2, 44)), (6.2, 5.6)),
    "Left Common Carotid": _Branch((0, 0, 1), ((3, -2, 18), (7, -3, 42), (12, -2, 68)), (3.8, 3.3)),
    "Left Subclavian": _Branch(
        (0.2, 0, 1), ((5, 3, 16), (14, 8, 36), (30, 10, 50), (52, 6, 56)), (4.8, 4.2)
    ),
    "Celiac": _Branch((0, -1, 0), ((0, -12, 1), (-1, -26, -1)), (4.0, 3.6)),
    "SMA": _Branch(
        (0, -1, 0), ((0, -9, -5), (-1, -16, -22), (-3, -20, -55), (-8, -22, -85)), (4, 3)
    ),
    "Right Renal": _Branch((-1, -0.2, 0), ((-14, 5, -3), (-32, 15, -6), (-44, 20, -7)), (3.2, 2.8)),
    "Left Renal": _Branch((1, 0, 0), ((12, 5, -2), (28, 14, -4), (38, 18, -5)), (3.2, 2.8)),
}

# from the bifurcation of the aorta, and from those of the common iliacs; the right side, x mirrored
_COMMON_ILIAC: tuple[Triple, ...] = ((-1.5, 0, 4), (-12, 2, -18), (-24, 9, -48))
_INTERNAL_ILIAC: tuple[Triple, ...] = ((0, 0, 0), (-3, 13, -12), (-3, 24, -32), (2, 31, -52))
_EXTERNAL_ILIAC: tuple[Triple, ...] = (
    (0, 0, 0),
    (-12, -3, -22),
    (-30, -17, -56),
    (-44, -40, -92),
    (-50, -52, -115),
)


@dataclass(frozen=True)
class Course:
    """A centreline as a polyline, with a radius at each point."""

    points_mm: Points
    radii_mm: Points

    @property
    def arc_mm(self) -> Points:
        """Length of the line from its start to each point."""
        steps = np.linalg.norm(np.diff(self.points_mm, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    def at(self, arc_mm: float | Points) -> tuple[Points, Points]:
        """Points and radii at lengths along the line."""
        known = self.arc_mm
        points = [np.interp(arc_mm, known, axis) for axis in self.points_mm.T]
        return np.stack(points, axis=-1), np.asarray(np.interp(arc_mm, known, self.radii_mm))

    def tangent(self, arc_mm: float | Points) -> Points:
        """Unit vectors along the line."""
        ahead, _ = self.at(np.add(arc_mm, 2.0))
        behind, _ = self.at(np.subtract(arc_mm, 2.0))
        step = ahead - behind
        return np.asarray(step / np.linalg.norm(step, axis=-1, keepdims=True))


@dataclass(frozen=True)
class Flap:
    """The sheet between the lumina: from and to along the aorta, and how it turns round it.

    It crosses a section of radius R at `offset` · R from the centreline, on the side of the true
    lumen, which lies in the direction of the angle.
    """

    start_mm: float
    end_mm: float
    offset: float
    first_deg: float
    last_deg: float


@dataclass(frozen=True)
class Tree:
    """The arteries of one patient; `cuts_mm` are the lengths along the aorta where zones end."""

    aorta: Course
    cuts_mm: tuple[float, ...]
    branches: dict[str, Course]
    flap: Flap | None


def make_tree(rng: np.random.Generator, *, dissected: bool, absent: str | None) -> Tree:
    """One patient: stature, calibre, course and ostia vary; one branch may be occluded."""
    stature, calibre = rng.uniform(0.96, 1.03), rng.uniform(0.93, 1.07)
    control = np.asarray(_AORTA[0]) * stature + rng.normal(0, 1.2, (len(_AORTA[0]), 3))
    aorta = Course(*curve(control, np.asarray(_AORTA[1]) * calibre))
    ostia = _ostia(aorta, stature, rng)
    flap = None
    if dissected:
        aorta, ostia, flap = _dissect(aorta, ostia, rng)
    branches = {
        name: _leave(aorta, ostia[name], branch, calibre, rng) for name, branch in _BRANCHES.items()
    }
    branches |= _iliacs(aorta, calibre, rng)
    cuts = _cuts(aorta, ostia, branches, T6_MM * stature)
    kept = {name: course for name, course in branches.items() if name != absent}
    return Tree(aorta, cuts, kept, flap)


def _ostia(aorta: Course, stature: float, rng: np.random.Generator) -> dict[str, float]:
    """Lengths along the aorta at which the branches leave."""
    apex = float(aorta.arc_mm[np.argmax(aorta.points_mm[:, 2])])
    celiac = -15 * stature + rng.normal(0, 3)
    sma = celiac - rng.uniform(15, 19)
    upper = sma - rng.uniform(12, 16)
    lower = upper - rng.uniform(4, 9)
    renals = (upper, lower) if rng.random() < 0.5 else (lower, upper)
    heights = dict(
        zip(("Celiac", "SMA", "Right Renal", "Left Renal"), (celiac, sma, *renals), strict=True)
    )
    return {
        "Innominate": apex - rng.uniform(15, 18),
        "Left Common Carotid": apex + rng.uniform(-0.5, 2),
        "Left Subclavian": apex + rng.uniform(17, 20),
        **{name: arc_at_height(aorta, height) for name, height in heights.items()},
    }


def arc_at_height(aorta: Course, z_mm: float) -> float:
    """Length along the aorta at which its descending part reaches a height."""
    heights = aorta.points_mm[:, 2]
    apex = int(np.argmax(heights))
    return float(np.interp(-z_mm, -heights[apex:], aorta.arc_mm[apex:]))


def _dissect(
    aorta: Course, ostia: dict[str, float], rng: np.random.Generator
) -> tuple[Course, dict[str, float], Flap]:
    """The aorta widened from behind the left subclavian on, away from the spine, and its flap.

    Widening moves the centreline, so that lengths along it change a little; the ostia are moved to
    the same points.
    """
    arc = aorta.arc_mm
    start = ostia["Left Subclavian"] + 8
    end = rng.uniform(ostia["Celiac"] - 60, arc[-1] - 25)
    rise = np.clip((arc - start) / 25, 0, 1) * np.clip((end + 20 - arc) / 40, 0, 1)
    wider = aorta.radii_mm * rng.uniform(0.3, 0.5) * rise
    moved = aorta.points_mm + 0.7 * wider[:, None] * _AWAY_FROM_SPINE
    widened = Course(moved, aorta.radii_mm + wider)

    def on_widened(length_mm: float) -> float:
        return float(np.interp(length_mm, arc, widened.arc_mm))

    first = rng.uniform(0, 360)
    flap = Flap(
        start_mm=on_widened(start),
        end_mm=on_widened(end),
        offset=rng.uniform(0.05, 0.3),
        first_deg=first,
        last_deg=first + rng.uniform(60, 150),
    )
    return widened, {name: on_widened(length) for name, length in ostia.items()}, flap


def _leave(
    aorta: Course, ostium_mm: float, branch: _Branch, calibre: float, rng: np.random.Generator
) -> Course:
    """A branch from the centreline of the aorta straight out through its wall, then its own way."""
    centre, radius = aorta.at(ostium_mm)
    tangent = aorta.tangent(ostium_mm)
    way = np.asarray(branch.way) - (np.asarray(branch.way) @ tangent) * tangent
    wall = centre + radius * way / np.linalg.norm(way)
    outside = wall + _bent(((0, 0, 0), *branch.offsets_mm), rng)
    return _course(np.vstack([centre, outside]), branch.radii_mm, calibre)


def _iliacs(aorta: Course, calibre: float, rng: np.random.Generator) -> dict[str, Course]:
    courses = {}
    for side, name, mirror in (("R", "Right", 1.0), ("L", "Left", -1.0)):
        flip = np.array([mirror, 1.0, 1.0])
        common = aorta.points_mm[-1] + flip * _bent(_COMMON_ILIAC, rng)
        internal = common[-1] + flip * _bent(_INTERNAL_ILIAC, rng)
        external = common[-1] + flip * _bent(_EXTERNAL_ILIAC, rng)
        courses[f"Zone 10 {side}"] = _course(common, (6.2, 5.6), calibre)
        courses[f"{name} Internal Iliac"] = _course(internal, (3.8, 3.2), calibre)
        courses[f"Zone 11 {side}"] = _course(external, (4.8, 4.3), calibre)
    return courses


def _bent(offsets_mm: tuple[Triple, ...], rng: np.random.Generator) -> Points:
    """Offsets with everything but the start moved by some 5 % of its distance."""
    offsets = np.asarray(offsets_mm, float)
    away = np.linalg.norm(offsets - offsets[0], axis=1, keepdims=True)
    return np.asarray(offsets + rng.normal(0, 0.05, offsets.shape) * away)


def _course(control_mm: Points, radii_mm: tuple[float, float], calibre: float) -> Course:
    radii = calibre * np.linspace(*radii_mm, len(control_mm))
    return Course(*curve(control_mm, radii))


def _cuts(
    aorta: Course, ostia: dict[str, float], branches: dict[str, Course], t6_mm: float
) -> tuple[float, ...]:
    """Where zones 0 to 8 end, each border just beside the wall of the branch that defines it."""

    def before(name: str) -> float:
        return ostia[name] - float(branches[name].radii_mm[0]) - _OSTIUM_EDGE_MM

    def behind(name: str) -> float:
        return ostia[name] + float(branches[name].radii_mm[0]) + _OSTIUM_EDGE_MM

    subclavian = behind("Left Subclavian")
    renals = ("Right Renal", "Left Renal")
    return (
        behind("Innominate"),
        behind("Left Common Carotid"),
        subclavian,
        subclavian + ZONE_3_MM,
        arc_at_height(aorta, t6_mm),
        before("Celiac"),
        before("SMA"),
        min(before(name) for name in renals),
        max(behind(name) for name in renals),
    )
