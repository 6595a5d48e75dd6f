"""The files of an analysis of ratings: JSON, CSV and LaTeX."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from segjury.analysis.as_json import plain
from segjury.analysis.statistics.icc import Icc
from segjury.analysis.tables import ALL
from segjury.raters.ratings.ratings import RatedMethod, RatingAgreement, RatingAnalysis, sentences
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import json_text, write_text
from segjury.wording import latex_table


def write_ratings(found: RatingAnalysis, folder: Path) -> None:
    """Write `ratings.json`, `ratings_icc.csv`, `ratings_methods.csv` and `ratings.tex`."""
    write_csv(agreement_table(found), folder / "ratings_icc.csv")
    write_csv(method_table(found), folder / "ratings_methods.csv")
    write_text(_latex(found), folder / "ratings.tex")
    write_text(json_text(_as_json(found), indent=1), folder / "ratings.json")


def agreement_table(found: RatingAnalysis) -> pd.DataFrame:
    """A row per question, part and coefficient; Krippendorff's alpha has only a value."""
    rows = []
    for agreement in found.agreements:
        about = _about(agreement)
        rows += [
            {**about, "coefficient": each.name, **_numbers(each)}
            for each in agreement.icc.coefficients
        ]
        rows.append({**about, "coefficient": "alpha", "value": agreement.alpha})
    return pd.DataFrame(rows).astype({"df1": "Int64", "df2": "Int64"})


def method_table(found: RatingAnalysis) -> pd.DataFrame:
    """A row per question, part and method, highest median first."""
    return pd.DataFrame(
        [
            {**_place(agreement), **_of_method(rated)}
            for agreement in found.agreements
            for rated in agreement.methods
        ]
    )


def _place(agreement: RatingAgreement) -> dict[str, Any]:
    column, part = agreement.part or (ALL, ALL)
    return {"question": agreement.question, "column": column, "part": part}


def _about(agreement: RatingAgreement) -> dict[str, Any]:
    counts = {"segmentations": agreement.segmentations, "raters": len(agreement.means)}
    return _place(agreement) | counts


def _numbers(each: Icc) -> dict[str, Any]:
    names = ("value", "low", "high", "f", "df1", "df2", "p")
    return {name: getattr(each, name) for name in names}


def _of_method(rated: RatedMethod) -> dict[str, Any]:
    names = ("method", "cases", "median", "iqr", "q1", "q3", "mean")
    return {name: getattr(rated, name) for name in names}


def _as_json(found: RatingAnalysis) -> Any:
    """What `json.dumps` takes; what is undefined or infinite is null."""
    return plain(
        {
            "agreements": [
                {
                    **_about(agreement),
                    "level": agreement.icc.level,
                    "icc": {each.name: _numbers(each) for each in agreement.icc.coefficients},
                    "alpha": agreement.alpha,
                    "summary": sentences(agreement),
                    "means": agreement.means,
                    "pairs": [asdict(pair) for pair in agreement.pairs],
                    "methods": [_of_method(rated) for rated in agreement.methods],
                }
                for agreement in found.agreements
            ],
            "notes": found.notes,
        }
    )


def _latex(found: RatingAnalysis) -> str:
    """Agreement of all questions and parts, then median ± interquartile range of the methods."""
    agreements = found.agreements
    lines = [
        [
            each.name,
            f"{mean.value:.2f}",
            f"{mean.low:.2f} to {mean.high:.2f}",
            f"{each.alpha:.2f}",
        ]
        for each in agreements
        for mean in [each.of_the_mean]
    ]
    cells = [
        {m.method: f"{m.median:.2f} ± {m.iqr:.2f}" for m in each.methods} for each in agreements
    ]
    methods = dict.fromkeys(name for column in cells for name in column)
    return "\n".join(
        [
            latex_table(
                ["question", "ICC(2,k)", f"{agreements[0].icc.level:.0%} interval", "alpha"],
                lines,
                caption="Agreement of the raters: reliability of their mean, and Krippendorff's "
                "ordinal alpha.",
                label="tab:rating-agreement",
            ),
            latex_table(
                ["method", *(each.name for each in agreements)],
                [[name, *(column.get(name, "-") for column in cells)] for name in methods],
                caption="Ratings averaged over the raters: median ± interquartile range over the "
                "cases.",
                label="tab:ratings",
                split=dict.fromkeys(range(1, len(agreements) + 1), " ± "),
            ),
        ]
    )
