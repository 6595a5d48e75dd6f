"""How the numbers came about, in sentences that a paper can quote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from segjury.analysis.stability import FEWEST_CASES
from segjury.analysis.study import Study
from segjury.protocols.ranking import Ranking, in_words
from segjury.report.provenance import ProtocolSummary, Provenance
from segjury.report.summary import count
from segjury.results.columns import WHOLE
from segjury.wording import listed, plain

RANKING = "Ranking"
READINGS = {
    "released": "the numbers that the organisers' released program prints, its quirks included",
    "published": "the formulas of the paper or the challenge page, taken literally",
    "corrected": "the same intention without the known defects",
}
SCHEMES = {
    "mean-of-metric-ranks": "The case values of each score became one value (their {aggregate}), "
    "methods were ranked by it, and the order is that of the mean of these ranks.",
    "aggregate-then-rank": "The case values of each score became one value (their {aggregate}), "
    "methods were ranked by it, and the order is that of the mean of these ranks.",
    "rank-then-aggregate": "Methods were ranked on each case and score, a prediction that "
    "was not scored last; the {aggregate} over the cases is the rank in a score, and the order is "
    "that of the mean of these, each weighted by the number of its cases.",
    "test-then-rank": "Methods were ranked by how many others they beat in a one-sided Wilcoxon "
    "test at {alpha:g}, Holm over all ordered pairs, and the order is that of the mean rank.",
}
TIES = {
    "average": "Equal values share the mean of their ranks.",
    "min": "Equal values share the best of their ranks.",
    "max": "Equal values share the worst of their ranks.",
    "dense": "Equal values share a rank, and no rank is left out after them.",
}
MISSING = {
    "error": "A value that some methods have and others lack is not accepted.",
    "exclude": "A case on which some method lacks a value was left out of that score for all.",
    "worst": "A value that a method lacks counts as the worst of the score.",
}
POLICY = {
    ("missing", "worst"): "A missing prediction gets the worst value of every score "
    "that is defined for the case.",
    ("failed", "worst"): "So does one that cannot be read or does not fit the reference.",
    ("over_limit", "worst"): "So does one whose scoring takes more than {limits}.",
    ("over_limit", "exclude"): "One whose scoring takes more than {limits} has no value.",
    ("missing_map", "score-mask"): "Of a prediction without its probability map the mask is "
    "scored; what looks at the map gets the worst value.",
    ("missing_map", "missing"): "A prediction without its probability map counts as missing.",
}
UNDEFINED = {"worst": "counts as the worst, if it has one", "exclude": "is left out for that case"}


@dataclass(frozen=True)
class Paragraph:
    """A part of the methods section."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The paragraph in one line."""
        return " ".join(self.sentences)


def methods_section(
    study: Study, protocol: ProtocolSummary, origin: Provenance, *, version: str, table_hash: str
) -> tuple[Paragraph, ...]:
    """What was done, part by part, from the settings that were used."""
    sections = {
        "Scoring": _scoring(study, protocol, origin, version, table_hash),
        "Readings": _readings(study),
        "Cases that cannot be scored": (
            *policy_sentences(protocol, origin),
            *_class_means(study),
        ),
        RANKING: _ranking(study.rules.ranking),
        "Uncertainty": _uncertainty(study),
        "Tests": _tests(study),
        "Hard cases and failures": _cases(study),
    }
    made = (Paragraph(title, tuple(map(plain, said))) for title, said in sections.items())
    return tuple(paragraph for paragraph in made if paragraph.sentences)


def citation(title: str, origin: Provenance, *, version: str, table_hash: str) -> str:
    """A line that identifies this report."""
    parts = [f"{title}: benchmark report", f"segjury {version}" if version else "segjury"]
    parts += [f"scores of {origin.started[:10]}"] if origin.started else []
    parts += [f"table SHA-256 {table_hash[:16]}"] if table_hash else []
    return plain(f"{'; '.join(parts)}.")


def _scoring(
    study: Study, protocol: ProtocolSummary, origin: Provenance, version: str, table_hash: str
) -> Iterator[str]:
    cases, methods = len(study.analysis.panel.cases), len(study.methods)
    what = f"{count(methods, 'method')} on {count(cases, 'case')}"
    if protocol.name:
        yield (
            f"Scores are those of {what}, computed with segjury {origin.version or version} "
            f"under the protocol {_named(protocol)}."
        )
    else:
        yield f"Scores of {what} were given as a table; how they were computed is not recorded."
    yield from protocol.on_files
    yield from (f"{sentence}." for sentence in study.on_table)
    if protocol.hash:
        yield f"The protocol file has the SHA-256 {protocol.hash}."
    if table_hash:
        yield f"The table of scores has the SHA-256 {table_hash}."


def _named(protocol: ProtocolSummary) -> str:
    title = protocol.title.rstrip(".")
    return protocol.name if title in ("", protocol.name) else f"{protocol.name} ({title})"


def _readings(study: Study) -> Iterator[str]:
    if study.reading == "given":
        return
    readings = set(study.scores["reading"])
    if readings == {"corrected"}:
        yield "All scores are in the corrected reading, segjury's own definition of each metric."
    else:
        yield (
            "A reading is one definition of the protocol's scores: "
            + "; ".join(f"{name}, {words}" for name, words in READINGS.items())
            + "."
        )
        yield f"Figures and tests are of the {study.reading} reading."
    for reading, remarks in study.rules.remarks.items():
        if remarks:
            yield f"In the {reading} reading: {'; '.join(remarks)}."


def policy_sentences(protocol: ProtocolSummary, origin: Provenance) -> Iterator[str]:
    """What it costs not to have a score, as the protocol says."""
    for name, value in protocol.policy:
        if (name, value) in POLICY and (name != "over_limit" or origin.limits):
            yield POLICY[name, value].format(limits=origin.limits)
    said = dict(protocol.policy)
    undefined = said.get("undefined")
    if undefined in UNDEFINED:
        others = [name for name, value in protocol.undefined if value != undefined]
        other = "left out" if undefined == "worst" else "taken as the worst"
        rest = f" (but not {listed(others, last=' and ')}: {other})" if others else ""
        yield f"A score that is not defined for a case {UNDEFINED[undefined]}{rest}."
    absent = "A class that the reference of a case lacks is"
    if said.get("empty_reference") == "exclude":
        worst = undefined == "worst"
        free = "the same for all methods" if worst else "false positives cost nothing"
        yield f"{absent} not defined there, whatever was predicted: {free}."
    elif said.get("empty_reference") == "score":
        yield (
            f"{absent} scored where the metric allows it: an empty prediction is perfect, and "
            "false positives get what the metric gives them, or its worst. Scores that need the "
            "class in the reference are not defined there."
        )


def _class_means(study: Study) -> Iterator[str]:
    """What a class that is not defined does to the mean over the classes of a case."""
    rows = study.scores
    of_class = set(rows[rows["structure"] != WHOLE]["metric"])
    if study.reading == "given" or of_class.isdisjoint(rows[rows["structure"] == WHOLE]["metric"]):
        return
    mean = "The score of a case over several classes is the mean of those that are defined"
    if "released" in set(rows["reading"]):
        mean += "; in the released reading it is not defined unless all of them are"
    yield f"{mean}."


def _ranking(ranking: Ranking) -> Iterator[str]:
    yield SCHEMES[ranking.scheme].format(aggregate=in_words(ranking.aggregate), alpha=ranking.alpha)
    yield TIES[ranking.ties]
    yield f"Values that agree in {ranking.digits} significant digits are equal."
    yield MISSING[ranking.missing]
    if ranking.weights:
        weights = ", ".join(f"{name} {weight:g}" for name, weight in ranking.weights.items())
        yield f"Ranks were weighted: {weights}; 1 for the others."


def _uncertainty(study: Study) -> Iterator[str]:
    settings, analysis = study.settings, study.analysis
    level = f"{100 * settings.level:g} %"
    if len(study.methods) < 2:
        return
    if not analysis.stability.informative:
        yield f"The order was not resampled: that takes at least {FEWEST_CASES} cases."
        return
    yield (
        f"Cases were drawn with replacement {settings.samples} times (seed {settings.seed}) and "
        f"ranked by the same rules; intervals of ranks hold the middle {level}."
    )
    yield (
        "Methods share a letter where neither is before the other in "
        f"{100 - (100 - 100 * settings.level) / 2:g} % of the resamples, pair by pair, without "
        "correction for their number."
    )
    if analysis.with_raters is not None:
        names = ", ".join(analysis.with_raters.redrawn)
        how = "anew on each case drawn" if analysis.with_raters.within_cases else ""
        yield f"Raters were drawn too, {how or 'once per resample for all cases'}, for {names}."


def _tests(study: Study) -> Iterator[str]:
    settings = study.settings
    if not any(score.tests for score in study.analysis.scores.values()):
        return
    yield (
        f"Each score was tested by itself at {settings.alpha:g}: Friedman's test with tie "
        "correction, then Conover's test of all pairs with Holm's correction; and Wilcoxon's "
        "signed-rank test of all pairs, differences of zero discarded, exact up to 50 "
        "differences, with Holm's correction over the pairs."
    )
    yield (
        "Bars of critical-difference diagrams join the largest runs of methods of which no pair "
        "differs in Conover's test; where Friedman's test finds nothing, all methods are one. No "
        "two methods are said to differ where an exact test of as many cases could not find it."
    )
    if settings.baselines:
        yield f"Baselines named beforehand: {', '.join(settings.baselines)}."


def _cases(study: Study) -> Iterator[str]:
    if len(study.analysis.panel.cases) < 2:
        return
    yield (
        "A signature is a score minus its mean over cases and methods, divided by its standard "
        "deviation, positive for better; a case is hard for a method where the mean over the "
        "scores is -1 or less."
    )
    rules = study.analysis.failures.rules
    if rules:
        yield "Failures: " + "; ".join(f"{rule.text} ({rule.why})" for rule in rules) + "."
