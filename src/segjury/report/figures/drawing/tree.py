"""Trees of clusters: as a table, and drawn from the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from scipy.cluster import hierarchy

from segjury.arrays import Floats
from segjury.report.figures.drawing.style import INK, MUTED


def tree_table(linkage: Floats, names: Sequence[str]) -> pd.DataFrame:
    """A tree as a table, from scipy's linkage: a row per leaf, then a row per merger.

    `first` and `second` are the nodes that a merger joins at its `distance`; `place` is its
    height in the drawing, 0 for the leaf on top.
    """
    place = {int(leaf): float(y) for y, leaf in enumerate(hierarchy.leaves_list(linkage))}
    members = {n: [name] for n, name in enumerate(names)}
    rows: list[tuple[Any, ...]] = [(n, names[n], 1, None, None, 0.0, place[n]) for n in members]
    for node, (one, two, distance, _size) in enumerate(linkage.tolist(), len(names)):
        first, second = sorted((int(one), int(two)), key=place.__getitem__)
        place[node] = (place[first] + place[second]) / 2
        members[node] = members[first] + members[second]
        rows.append(
            (
                node,
                " + ".join(members[node]),
                len(members[node]),
                first,
                second,
                round(distance, 12),  # 1 - 1 may leave a last digit
                place[node],
            )
        )
    columns = ["node", "members", "size", "first", "second", "distance", "place"]
    return pd.DataFrame(rows, columns=columns).astype({"first": "Int64", "second": "Int64"})


def draw_tree(axes: Axes, data: pd.DataFrame, *, reach: float = 0.0) -> None:
    """A tree whose leaves are on the left, at whole numbers from the top; the axis has `reach`."""
    nodes = data.set_index("node")
    for node, merger in nodes.dropna(subset="first").iterrows():
        one, two = nodes.loc[merger["first"]], nodes.loc[merger["second"]]
        axes.plot(
            [one["distance"], merger["distance"], merger["distance"], two["distance"]],
            [one["place"], one["place"], two["place"], two["place"]],
            color=INK,
            linewidth=0.9,
            solid_joinstyle="miter",
            clip_on=False,
            label=f"merger {node}",
        )
    end = max(reach, 1.04 * float(data["distance"].max()))
    axes.set_xlim(0.0, end if end > 0 else 1.0)
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", length=2.5, labelcolor=MUTED)
