"""A kind of figure: its name, what it is drawn of, and how to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from segjury.analysis.rater_agreement import rater_dice
from segjury.analysis.study import Study
from segjury.analysis.tables import ALL
from segjury.errors import InputError, did_you_mean
from segjury.report.figures.illustration import Illustration
from segjury.results.names import named_or_titled
from segjury.wording import plain

# What a figure is of: {"score": "dsc"}, {"case": "P001", "method": "A"}, nothing for the table
Subject = Mapping[str, str]

Section = Literal[
    "ranks", "tests", "choices", "spread", "relations", "cases", "raters", "ceiling", "maps"
]


@dataclass(frozen=True)
class Kind:
    """A kind of figure of a study.

    `draw`, `data` and `alt` take the study and the subject's parts as keywords: the figure, the
    table of all that is drawn in it, and the same in words. `subjects` lists of what the report
    draws it: nothing where the study cannot carry it. `takes` names the parts a subject may have.
    `help` says in one line how to read it.
    """

    name: str
    title: str
    help: str
    section: Section
    draw: Callable[..., Figure]
    data: Callable[..., pd.DataFrame]
    alt: Callable[..., str]
    subjects: Callable[[Study], Sequence[Subject]]
    takes: tuple[str, ...] = ()

    def illustrate(self, study: Study, subject: Subject | None = None) -> Illustration:
        """The figure with its words and its data."""
        of = dict(subject or {})
        unknown = [part for part in of if part not in self.takes]
        if unknown:
            taken = ", ".join(f"`{part}`" for part in self.takes) or "none of these"
            raise InputError(f"the figure {self.name} takes no `{unknown[0]}`", f"It takes {taken}")
        label = _label(study, of)
        return Illustration(
            figure=self.draw(study, **of),
            name=" ".join([self.name, *of.values()]),
            title=f"{self.title}: {label}" if label else self.title,
            caption=self.help,
            alt=self.alt(study, **of),
            data=self.data(study, **of),
            label=label,
        )

    def resolved(self, study: Study, of: Subject) -> Subject:
        """The subject by its names in the table; what a study cannot carry is refused."""
        known = self.subjects(study)
        if not known:
            raise InputError(
                f"the table cannot carry the figure {self.name}",
                "It has too few methods, cases or scores, or no column that the figure needs",
            )
        scores = [subject["score"] for subject in known if "score" in subject]
        needed = [
            name
            for name, part in signature(self.draw).parameters.items()
            if name in self.takes and part.default is Parameter.empty
        ]
        for part in (part for part in needed if part not in of):
            raise InputError(f"the figure {self.name} needs a `{part}`", _choice(scores))
        given = of.get("score", ALL)
        if not scores or given == ALL:
            return of
        titles = {key: study.title(key) for key in scores}
        meant = named_or_titled(given, titles)
        if meant is None:
            fix = did_you_mean(given, scores)
            raise InputError(f"the figure {self.name} has no score '{given}'", fix)
        return {**of, "score": meant}


def _choice(scores: Sequence[str]) -> str:
    return f"Use one of {', '.join(scores)}" if scores else "Say which"


def _label(study: Study, of: Subject) -> str:
    """What a subject is called."""
    parts = [study.title(text) if part == "score" else plain(text) for part, text in of.items()]
    return ", ".join(parts)


def nothing_else(_study: Study) -> list[Subject]:
    """One figure of the whole table."""
    return [{}]


def each_ranked_score(study: Study) -> list[Subject]:
    """A figure of each score that counts."""
    return [{"score": column.key} for column in study.ranked]


def whole_and_each_score(study: Study) -> list[Subject]:
    """A figure of the whole ranking, if several scores make it, and of each score that counts."""
    scores = each_ranked_score(study)
    return [{"score": ALL}, *scores] if len(scores) > 1 else scores


def resampled(study: Study) -> bool:
    """Whether there are cases and methods enough for resamples to say something."""
    return study.analysis.stability.informative and len(study.methods) > 1


def tested_scores(study: Study) -> list[Subject]:
    """A figure of each score that was tested."""
    scores = study.analysis.scores
    return [of for of in each_ranked_score(study) if scores[of["score"]].tests is not None]


def correlated_scores(study: Study) -> list[Subject]:
    """All scores, if there are several and rows enough."""
    return nothing_else(study) if study.analysis.correlations is not None else []


def each_rated_label(study: Study) -> list[Subject]:
    """One figure, or one for each of several labels; none where no Dice of raters is known."""
    labels = list(dict.fromkeys(rater_dice(study.cases, study.analysis.panel.cases)["label"]))
    return [{"structure": label} for label in labels] if len(labels) > 1 else [{}] * len(labels)
