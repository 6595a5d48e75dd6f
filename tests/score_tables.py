"""Tables of scores to draw and report, and the artists of a figure by their label."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

VESSELS = ("PORTA", "SMV", "AORTA", "CELIAC TRUNK", "SMA")
UNITS = {"crps": "cm3", "vi": "degrees"}
ODD_NAMES = (
    "<script>alert(1)</script>",
    "$x_1$ & $",
    "sixty characters of a name that somebody thought was needed!",
    "tab\tand\x07bell\u202e",
    "名前",
    "$$",
)


def make_scores(
    methods: tuple[str, ...] = ("Alpha", "Beta", "Gamma"),
    cases: int = 5,
    readings: tuple[str, ...] = ("released", "published", "corrected"),
    metrics: tuple[str, ...] = ("dsc", "thr_dsc", "mr_ece", "crps", "vi"),
    cohort: str = "",
    seed: int = 3,
) -> pd.DataFrame:
    """A table of the true shape with random values; the first two cases are in the cohort."""
    generator = np.random.default_rng(seed)
    scale = {"crps": 10.0, "vi": 90.0, "mr_ece": 0.1}
    rows = [
        {
            "method": method,
            "case": f"P{case:03d}",
            "metric": metric,
            "structure": structure,
            "reading": reading,
            "value": generator.uniform(0.05, 1) * scale.get(metric, 1.0),
            "unit": UNITS.get(metric, ""),
            "status": "ok",
            "detail": "",
            "cohort": cohort if case < 2 else "",
        }
        for reading in readings
        for method in methods
        for case in range(cases)
        for metric in metrics
        for structure in (VESSELS if metric == "vi" else ("all",))
    ]
    return pd.DataFrame(rows)


def labelled(figure: Figure, start: str) -> dict[str, object]:
    """Artists by label, those whose label begins with `start`, without it."""
    artists = figure.findobj(lambda artist: str(artist.get_label()).startswith(f"{start} "))
    return {str(artist.get_label())[len(start) + 1 :]: artist for artist in artists}
