"""What the analysis of raters found, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from segjury.analysis.sentences import on_panel_sizes
from segjury.analysis.statistics.tests import smallest_p
from segjury.metrics import READINGS
from segjury.protocols.reference import WHOLE
from segjury.raters.profiles import BIASES
from segjury.raters.study import RaterStudy
from segjury.raters.tables import cohort_cases
from segjury.wording import listed, p_value, plural

MOST_NAMED = 8
ONE_RATER = (
    "There is one rater: nobody to compare with, no consensus to make, and no human ceiling."
)
ALONE = (
    "No case was marked by more than one rater: there is nobody to compare with, no consensus to "
    "make, and no human ceiling."
)
ANONYMOUS_PANEL = (
    "The panel is anonymous: rater 1 of one case may be another person than rater 1 of the next, "
    "so that who draws larger, how well a rater does, and who is an outlier cannot be said."
)


def sentences(study: RaterStudy) -> Iterator[str]:
    """All there is to say, the general before the particular."""
    if study.protocol.reference.is_complete:
        yield f"{plural(study.n_raters, 'rater')}, {plural(study.cases, 'case')}."
    else:
        yield f"{plural(study.n_raters, 'rater')}; {on_panel_sizes(study.marked_by)}."
    if study.n_raters == 1:
        yield ONE_RATER
        return
    if max(study.marked_by, default=study.n_raters) == 1:
        yield ALONE
        return
    if study.anonymous:
        yield ANONYMOUS_PANEL
    for label in labels(study):
        yield from _on_label(study, label)
    yield from _on_invasion(study)
    yield from _on_ceiling(study)


def labels(study: RaterStudy) -> list[str]:
    """The labels, and `all` where there are several."""
    return [str(label) for label in study.rater_measures["label"].unique()]


def _on_label(study: RaterStudy, label: str) -> Iterator[str]:
    several = len(labels(study)) > 1
    of = ("On all labels: " if label == WHOLE else f"On {label}: ") if several else ""
    found = [*_on_agreement(study, label), *_on_repeats(study, label), *_on_volumes(study, label)]
    if not study.anonymous:
        found += _on_bias(study, label)
    if label == WHOLE or not several:
        found += _on_cohorts(study, label)
    if study.anonymous:
        found += _on_apart(study, label)
    else:
        found += [*_on_quality(study, label), *_on_outliers(study, label)]
    for said in found:
        yield f"{of}{said}" if several else f"{said[:1].upper()}{said[1:]}"


def _on_agreement(study: RaterStudy, label: str) -> Iterator[str]:
    cases = _of_several(study, label)
    dice = cases["mean_dice"]
    yield (
        f"mean Dice of two raters {_spread(dice)} over the cases, Fleiss' kappa "
        f"{cases['fleiss_kappa'].mean():.2f}."
    )
    if not study.crossed and label in study.alpha:
        yield f"Krippendorff's alpha over the voxels of all cases is {study.alpha[label]:.2f}."
    pairs = study.agreement[
        (study.agreement["cohort"] == WHOLE)
        & (study.agreement["label"] == label)
        & (study.agreement["measure"] == "dice")
        & (study.agreement["consensus_of"] == "")
    ].sort_values("mean", kind="stable")
    if len(pairs) > 1 and not study.crossed:
        yield f"{_pair(pairs.iloc[-1], 'agree most')}, {_pair(pairs.iloc[0], 'least')}."
    elif len(pairs) > 1:
        least, most = pairs.iloc[0], pairs.iloc[-1]
        yield (
            f"{most['first']} and {most['second']} agree most ({most['mean']:.2f}), "
            f"{least['first']} and {least['second']} least ({least['mean']:.2f})."
        )


def _pair(row: pd.Series[Any], word: str) -> str:
    """Two raters, and how far they agree on how many cases."""
    cases = plural(int(row["cases"]), "case")
    return f"{row['first']} and {row['second']} {word} ({row['mean']:.2f}, {cases})"


def _of_several(study: RaterStudy, label: str) -> pd.DataFrame:
    """The agreement of the cases that several raters marked."""
    cases = study.rater_cases[study.rater_cases["label"] == label]
    return cases[cases["mean_dice"].notna()]


def _on_repeats(study: RaterStudy, label: str) -> Iterator[str]:
    if study.repeats.empty:
        return
    own = study.repeats[study.repeats["label"] == label]
    between = _of_several(study, label).set_index("case")["mean_dice"]
    names = [""] if study.anonymous else [str(name) for name in own["rater"].unique()]
    for rater in names:
        reads = own[own["rater"] == rater] if rater else own
        cases = list(dict.fromkeys(reads["case"]))
        others = between.reindex(cases).dropna()
        beside = f", between raters {others.mean():.2f} on the same" if len(others) else ""
        whose = f"{rater}'s" if rater else "the"
        yield (
            f"{whose} second reads agree with the first: mean Dice {reads['dice'].mean():.2f} "
            f"over {plural(len(cases), 'case')}{beside}."
        )


def _on_cohorts(study: RaterStudy, label: str) -> Iterator[str]:
    cases = _of_several(study, label)
    for cohort, names in cohort_cases(
        dict(zip(cases["case"], cases["cohort"], strict=True))
    ).items():
        inside = cases[cases["case"].isin(names)]["mean_dice"]
        yield f"cohort {cohort}, {plural(len(inside), 'case')}: mean Dice {_spread(inside)}."


def _on_volumes(study: RaterStudy, label: str) -> Iterator[str]:
    if label == WHOLE and study.protocol.reference.overlap:
        return  # their sum would count voxels twice
    cases = _of_several(study, label)
    yield (
        f"all raters mark {_volume(cases['everyone_cm3'])} of a case, at least one marks "
        f"{_volume(cases['anyone_cm3'])}: they differ on "
        f"{100 * cases['dissensus_share'].mean():.0f} % of what anyone marks."
    )


def _on_bias(study: RaterStudy, label: str) -> Iterator[str]:
    own, alpha = study.raters[study.raters["label"] == label], study.settings.alpha
    told = False
    for row in own.sort_values("boundary_bias_mm", ascending=False).to_dict("records"):
        if not (row["boundary_bias_mm_p"] < alpha or row["volume_bias_percent_p"] < alpha):
            continue
        told = True
        boundary, volume = (f"p {p_value(row[f'{name}_p'])}" for name in BIASES[::-1])
        yield (
            f"{row['rater']} draws {'larger' if row['boundary_bias_mm'] > 0 else 'smaller'} than "
            f"the others: boundary {_limits(row, 'boundary_bias_mm', '+.2f')} mm ({boundary}), "
            f"volume {_limits(row, 'volume_bias_percent', '+.0f')} % ({volume})."
        )
    cases = int(own["cases"].max())
    least = len(own) * smallest_p(cases)
    if not told and least >= alpha:
        most = f"no rater marked more than {plural(cases, 'case')}"
        yield (
            f"{plural(cases, 'case')} cannot show who draws larger: too few for a test."
            if study.protocol.reference.is_complete
            else f"nobody is tested for drawing larger: {most}, too few for a test."
        )
    elif not told:
        yield f"no rater is shown to draw larger or smaller than the others at {alpha:g}."


def _on_quality(study: RaterStudy, label: str) -> Iterator[str]:
    own = study.raters[study.raters["label"] == label].dropna(subset="sensitivity")
    if own.empty:
        return
    each = (
        f"{row['rater']} {_limits(row, 'sensitivity', '.2f')}" for row in own.to_dict("records")
    )
    yield f"sensitivity by STAPLE: {', '.join(each)}{_one_case(study)}."


def _one_case(study: RaterStudy) -> str:
    return "; one case has no interval" if study.cases == 1 else ""


def _on_outliers(study: RaterStudy, label: str) -> Iterator[str]:
    tests = study.outliers[label]
    own = study.raters[study.raters["label"] == label]
    if tests.why_not:
        yield f"no test for an outlier among the raters: {tests.why_not}."
    elif not own["outlier"].any():
        yield (
            "no rater is an outlier: none agrees less with the others than they do with each other "
            f"(one-sided Wilcoxon, Holm, lowest p {p_value(float(own['outlier_p'].min()))})."
        )
    of_rater = dict(zip(own["rater"], tests.of_rater, strict=False))
    untested = set(own[own["outlier_p"].isna()]["rater"]) if not tests.why_not else set()
    few = [f"{rater} ({n})" for rater, n in of_rater.items() if rater in untested]
    if few:
        yield f"too few cases for that test have {listed(few, most=MOST_NAMED)}."
    for row in own[own["outlier"]].to_dict("records"):
        cases = of_rater.get(row["rater"], tests.cases)
        yield (
            f"{row['rater']} is an outlier: mean Dice with the others {-row['dice_deficit']:.2f} "
            f"below that of their pairs (one-sided Wilcoxon over {cases} cases, Holm, "
            f"p {p_value(row['outlier_p'])}, rank-biserial {row['outlier_correlation']:.2f})."
        )
    yield from _on_apart(study, label)


def _on_apart(study: RaterStudy, label: str) -> Iterator[str]:
    measures = study.rater_measures
    apart = measures[(measures["label"] == label) & measures["apart"]]
    for rater, rows in apart.groupby("rater", sort=False):
        yield (
            f"{rater} marks something else than the others, who agree, in "
            f"{listed(rows['case'], most=MOST_NAMED)}."
        )


def _on_invasion(study: RaterStudy) -> Iterator[str]:
    for row in study.invasion_splits.to_dict("records"):
        if row["vessel"] == WHOLE:
            yield (
                f"Vessel contact, {row['way']}: raters fall on different sides of 0 degrees on "
                f"some vessel in {row['split_at_0']} of {plural(row['cases'], 'case')} "
                f"({100 * row['share_at_0']:.0f} %), of 180 degrees in {row['split_at_180']} "
                f"({100 * row['share_at_180']:.0f} %)."
            )


def _on_ceiling(study: RaterStudy) -> Iterator[str]:
    table = study.ceiling_summary
    present = [reading for reading in reversed(READINGS) if reading in set(table["reading"])]
    for row in table[table["reading"].isin(present[:1])].to_dict("records"):
        name = row["metric"] + ("" if row["structure"] == WHOLE else f" {row['structure']}")
        unit = f" {row['unit']}" if row["unit"] else ""
        yield (
            f"Human ceiling, {row['reading']} {name}: a rater against the others gets "
            f"{row['mean']:.4g}{unit} ({row['lowest']:.4g} to {row['highest']:.4g}; "
            f"{plural(row['cases'], 'case')})."
        )


def _volume(values: pd.Series[float]) -> str:
    mean = float(values.mean())
    return f"{mean:,.{0 if mean >= 100 else 1}f} cm³"


def _spread(values: pd.Series[float]) -> str:
    sd = values.std(ddof=1) if len(values) > 1 else math.nan
    return f"{values.mean():.2f}" + (f" ± {sd:.2f}" if math.isfinite(sd) else "")


def _limits(row: dict[Any, Any], name: str, number_format: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    interval = f" [{low:{number_format}}, {high:{number_format}}]" if math.isfinite(low) else ""
    return f"{row[name]:{number_format}}{interval}"
