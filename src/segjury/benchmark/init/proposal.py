"""A protocol made from what lies in the folders of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from segjury.benchmark.init.choosing import Data, chosen_metrics
from segjury.benchmark.init.dataset_json import find_dataset, usable_name
from segjury.benchmark.init.grand_challenge import exports_in, link_grand_challenge
from segjury.benchmark.init.labels import Seen, dataset_title, find_labels, see_numbers
from segjury.benchmark.init.layouts import plural_counts, recognise
from segjury.benchmark.init.linking import link_reference
from segjury.benchmark.init.listing import list_files
from segjury.benchmark.init.predictions import (
    PredictionLayout,
    names_in,
    recognise_predictions,
)
from segjury.benchmark.init.writing import Facts, protocol_lines
from segjury.benchmark.layout import found_cases
from segjury.errors import InputError, PassingError, escaped
from segjury.images import is_picture
from segjury.protocols import Protocol
from segjury.protocols.load import SCHEMA
from segjury.runtime.paths import make_folder
from segjury.runtime.writing import write_text
from segjury.wording import listed, plural

MOST_NAMED = 8
USUAL_NAME = "protocol.toml"  # of the file, which says nothing of the benchmark
REFERENCE, PREDICTIONS = "reference", "predictions"  # folders of a whole benchmark


@dataclass(frozen=True)
class Proposal:
    """A protocol for a benchmark's files, and what was found in them.

    `text` is the file's content, `found` says in sentences what is where, `notes` what to look at.
    `reference` and `predictions` are the folders to give to `evaluate`; predictions that are links
    need `follow_links`.
    """

    text: str
    protocol: Protocol
    reference: Path
    predictions: Path | None
    found: tuple[str, ...]
    notes: tuple[str, ...] = ()
    follow_links: bool = False
    path: Path | None = None

    @property
    def assumed(self) -> str:
        """What a run without a protocol takes for granted, in one sentence."""
        reference = self.protocol.reference
        labels = listed(
            (
                f"{name} ({', '.join(map(str, numbers))})"
                for name, numbers in reference.numbers.items()
            ),
            most=MOST_NAMED,
        )
        metrics = listed(
            f"nsd at {use.options['tolerance_mm']:g} mm" if use.name == "nsd" else use.name
            for use in self.protocol.metrics
        )
        return escaped(
            f"no protocol given: {self.found[0]}; labels {labels}; metrics {metrics}. "
            f"Write it to a file with `segjury init {self.reference}`"
        )


def propose(
    folder: Path,
    predictions: Path | None = None,
    *,
    link: Path | None = None,
    socket: str = "",
    title: str = "",
) -> Proposal:
    """A protocol for what lies in a folder, and for predictions if these are given.

    Without a `title` it is called as `dataset.json` says, or as the folder.

    Grand Challenge's exports, and files in folders that no pattern describes, are linked into the
    folder `link`.
    """
    if predictions and predictions.resolve() == folder.resolve():
        raise InputError(f"{folder} is both reference and predictions", "Give two folders")
    listing = list_files(folder)
    exports = exports_in(predictions) if predictions else []
    beside = list_files(predictions) if predictions and not exports else None
    known = names_in(beside) if beside else ()
    if predictions and _is_inside(predictions, folder):
        listing = listing.without(predictions)
    layout = recognise(listing, known, is_nnunet=find_dataset(folder) is not None)
    if not layout.is_pattern:
        if link is None:
            example = next(iter(layout.masks)).relative_to(folder)
            raise InputError(
                f"no pattern describes the folders of {escaped(str(example))}",
                "Have `segjury init` make links in segjury's layout: give `link`, a new folder",
            )
        reference = link_reference(layout, link / "reference")
        layout = recognise(list_files(reference))
    links = False
    if predictions and exports:
        if link is None:
            raise InputError(
                f"{predictions} is an export of Grand Challenge",
                "Have `segjury init` make links in segjury's layout: give `link`, a new folder",
            )
        for method, export in exports:
            link_grand_challenge(
                export, link / "predictions", method=method, socket=socket, cases=layout.cases
            )
        predictions, links = link / "predictions", True
        beside = list_files(predictions)
    seen = see_numbers(layout.masks)
    labels = find_labels(folder, layout.masks, seen)
    made = recognise_predictions(beside, layout.cases, list(labels.numbers)) if beside else None
    predicted = _seen_in(made)
    called = labels.title or title or dataset_title(labels, folder)
    facts = Facts(called, layout, labels, seen, made, predicted)
    text = "\n".join(protocol_lines(facts, chosen_metrics(_data(facts)))) + "\n"
    protocol = SCHEMA.read(text, f"the protocol for {folder}")
    notes = _notes(facts, protocol)
    return Proposal(
        text, protocol, layout.folder, predictions, tuple(_found(facts)), tuple(notes), links
    )


def assume(reference: Path, predictions: Path | None) -> Proposal:
    """The protocol that is used where none is given."""
    try:
        return propose(reference, predictions)
    except PassingError:
        raise
    except InputError as error:
        raise error.about("no protocol is given, and none can be made from the files:") from None


def init(
    folder: str | Path,
    *,
    predictions: str | Path | None = None,
    out: str | Path | None = None,
    force: bool = False,
    link: str | Path | None = None,
    socket: str = "",
) -> Proposal:
    """Make a protocol from what lies in the folder of a reference.

    Parameters
    ----------
    folder
        The folder of the masks, or one above it that also has the images, or the folders
        `reference` and `predictions`.
    predictions
        The folder with one folder per method, that of one method, or exports of Grand Challenge.
    out, force
        A TOML file for the protocol; one that is there is kept unless `force`.
    link
        A new folder for links to files that lie as no protocol can say.
    socket
        The output of Grand Challenge's algorithms that is the mask, where there are several.

    Returns
    -------
    Proposal
        `.protocol`, its `.text`, and `.found` and `.notes`: what there is, and what to look at.

    """
    place = None if out is None else Path(out)
    if place is not None:
        _refuse_place(place, force=force)
    masks, given = Path(folder), Path(predictions) if predictions else None
    if given is None and (masks / REFERENCE).is_dir():
        masks, beside = masks / REFERENCE, masks / PREDICTIONS
        given = beside if beside.is_dir() else None
    made = propose(
        masks,
        given,
        link=Path(link) if link else None,
        socket=socket,
        title=usable_name(place.stem) if place and place.name != USUAL_NAME else "",
    )
    if place is None:
        return made
    make_folder(place.parent)
    _refuse_place(place, force=force)
    write_text(made.text, place)
    return replace(made, path=place)


def _refuse_place(place: Path, *, force: bool) -> None:
    if place.suffix != ".toml":
        raise InputError(f"`out` is {place}", "Give the name of a .toml file")
    if place.is_dir():
        raise InputError(f"{place} is a folder", "Give the name of a new .toml file")
    if not force and (place.exists() or place.is_symlink()):
        raise InputError(f"{place} is there already", "Give `out` another name, or say `force`")


def _is_inside(folder: Path, of: Path) -> bool:
    return folder.resolve().is_relative_to(of.resolve())


def _seen_in(made: PredictionLayout | None) -> Seen | None:
    if made is None:
        return None
    masks = [path for method in made.methods for path in made.masks[method]]
    try:
        return see_numbers(masks)
    except InputError:  # which checking them tells
        return None


def _data(facts: Facts) -> Data:
    made = facts.predictions
    held = [n for numbers in facts.labels.numbers.values() for n in numbers]
    return Data(
        several_raters=len(facts.layout.raters) > 1,
        maps=made is not None and made.has_maps,
        samples=made is not None and made.has_samples,
        masks=made is None or not made.only_samples,
        overlap=len(set(held)) < len(held),
    )


# ---- in words ------------------------------------------------------------------------------


def _found(facts: Facts) -> list[str]:
    layout, made = facts.layout, facts.predictions
    said = f"{plural(len(layout.marks), 'case')} of {layout.kind} as {layout.pattern}"
    if layout.kind != "nnU-Net":
        said = f"{plural(len(layout.marks), 'case')}, {layout.kind}, as {layout.pattern}"
    lines = [said]
    if len(layout.raters) > 1:
        names = listed(layout.raters, most=MOST_NAMED)
        lines.append(f"{len(layout.raters)} raters: {names}")
        if len(layout.counts) > 1:
            lines.append(plural_counts(layout.counts))
    labels = (f"{name} ({', '.join(map(str, n))})" for name, n in facts.labels.numbers.items())
    source = facts.labels.source or "numbers alone"
    lines.append(f"labels {listed(labels, most=MOST_NAMED)}: {source}")
    lines += [f"images as {layout.image}"] if layout.image else []
    lines += [f"a consensus as {layout.consensus}"] if layout.consensus else []
    if made:
        names = listed(made.methods, most=MOST_NAMED)
        masks = "no masks" if made.only_samples else f"masks as {made.mask}"
        lines.append(f"{plural(len(made.masks), 'method')}: {names}, {masks}")
        if made.with_maps:
            maps = made.probability or "nnU-Net's archives"
            lines.append(f"probability maps of {plural(len(made.with_maps), 'method')} as {maps}")
        if made.with_samples:
            lines.append(f"samples of {plural(len(made.with_samples), 'method')} as {made.sample}")
    return [escaped(line) for line in lines]


def _notes(facts: Facts, protocol: Protocol) -> list[str]:
    notes, layout, made = [], facts.layout, facts.predictions
    cases = found_cases(protocol, layout.folder)
    if strange := [case for case in cases if case not in layout.marks]:
        names = listed(map(ascii, strange), most=MOST_NAMED)
        notes.append(f"{layout.folder} also has {names}, which count as cases: move them away")
    if facts.seen.problems:
        notes.append(facts.seen.problems[0])
    if facts.labels.others:
        numbers = listed(facts.labels.others, most=MOST_NAMED)
        notes.append(f"masks have labels that {facts.labels.source} does not name: {numbers}")
    if any(map(is_picture, layout.masks)):
        notes.append("pictures have no voxel size: a pixel counts as 1 mm, in tolerances too")
    if made and (absent := [case for case in layout.cases if case not in made.cases]):
        notes.append(f"nobody predicts {listed(absent, most=MOST_NAMED)}")
    if made and made.unused:
        names = listed(made.unused, most=MOST_NAMED)
        notes.append(f"predictions are read as {made.mask}, and not as {names}")
    if made and made.unplaced:
        notes.append("the probability maps do not name the labels, and are not used")
    return [escaped(note) for note in notes]
