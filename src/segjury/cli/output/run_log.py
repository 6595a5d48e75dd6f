"""Telling how a run goes: a bar, lines in a log, JSON for other programs, or only what is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from segjury.cli.output.terminal import log, one_line, progress_bar, terminal, warn
from segjury.scoring.run import Progress

How = Literal["shown", "quiet", "json"]
SECONDS_BETWEEN_LINES = 60.0
MOST_PROBLEMS = 50  # listed in words; the table has all of them


@dataclass(frozen=True)
class Log:
    """What a run tells on standard error."""

    how: How

    def event(self, name: str, **about: Any) -> None:
        """One event as one line of JSON, for those who asked for it."""
        if self.how == "json":
            when = datetime.now(UTC).isoformat(timespec="milliseconds")
            log(json.dumps({"time": when, "event": name} | about))

    def warning(self, text: str) -> None:
        """Something to know that changes no score."""
        self.event("warning", message=text)
        if self.how == "shown":
            warn(text)

    def note(self, text: str) -> None:
        """What is taken for granted."""
        self.event("note", message=text)
        if self.how == "shown":
            log(f"note: {one_line(text)}")

    def problems(self, texts: Sequence[str]) -> None:
        """What is wrong, the first ones in full."""
        for text in texts if self.how == "json" else texts[:MOST_PROBLEMS]:
            self.event("problem", message=text)
            if self.how != "json":
                log(f"error: {one_line(text)}")
        if self.how != "json" and len(texts) > MOST_PROBLEMS:
            more = len(texts) - MOST_PROBLEMS
            log(f"error: and {more} more; scores.csv has them all")

    def end(self, exit_code: int, text: str = "", **about: Any) -> None:
        """The last word."""
        self.event("end", exit_code=exit_code, **about)
        if text and self.how == "shown":
            log(text)

    @contextmanager
    def cases(self, total: int) -> Iterator[Callable[[Progress], None]]:
        """Something to call after each case of a run."""
        if self.how == "json":
            yield lambda done: self.event("case", **vars(done))
        elif self.how == "quiet":
            yield lambda _done: None
        elif terminal(stderr=True).is_terminal:
            with progress_bar(unit="cases") as bar:
                task = bar.add_task("scoring", total=total)
                yield lambda done: bar.update(task, completed=done.done)
        else:
            yield _line_a_minute()


def _line_a_minute() -> Callable[[Progress], None]:
    """For the log of a batch job."""
    begun = told = time.monotonic()

    def tell(done: Progress) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= SECONDS_BETWEEN_LINES and done.done < done.of:
            told = now
            rate = done.done / (now - begun)
            left = (done.of - done.done) / rate / 60
            log(f"{done.done} of {done.of} cases, {rate:.3g} cases/s, about {left:.0f} min left")

    return tell
