"""Every example in the documentation runs, and every number it prints is right."""

from __future__ import annotations

import doctest
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segjury.metrics import METRICS, READINGS
from segjury.protocols import Protocol

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if path.exists()]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def python_blocks(text: str) -> Iterator[tuple[int, str]]:
    """The code of each Python block and the number of the line before it."""
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)), match.group(1)


def run_examples(text: str, name: str) -> str:
    """Run all blocks in one namespace; what doctest complains about, or nothing."""
    namespace: dict[str, Any] = {"__name__": name}
    complaints: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for line, code in python_blocks(text):
        if re.search(r"^>>> ", code, re.MULTILINE):
            session = doctest.DocTestParser().get_doctest(code, namespace, name, name, line)
            runner.run(session, out=complaints.append, clear_globs=False)
            namespace = session.globs
        else:
            exec(compile("\n" * line + code, name, "exec"), namespace)  # noqa: S102, our own text
    return "".join(complaints)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_examples_print_what_the_page_says(path):
    complaints = run_examples(path.read_text("utf-8"), path.name)
    assert not complaints, complaints


def test_a_wrong_number_is_found_with_its_line():
    blocks = (">>> a = 1\n", "b = a + 1\n", ">>> b\n{}\n")
    page = "\n".join(f"```python\n{block}```\n" for block in blocks)
    assert run_examples(page.format(2), "page") == ""
    assert 'File "page", line 10' in run_examples(page.format(3), "page")


def sections(text: str) -> dict[str, str]:
    """The text below each second-level heading."""
    _, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return {heading: body for heading, _, body in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_section_with_its_readings_and_an_example(name):
    page = sections((ROOT / "docs" / "metrics.md").read_text("utf-8"))
    found = [body for heading, body in page.items() if heading.endswith(f"(`{name}`)")]
    assert len(found) == 1, f"docs/metrics.md needs one section '## ... (`{name}`)'"
    assert f"| | {' | '.join(f'`{reading}`' for reading in READINGS)} |" in found[0]
    assert list(python_blocks(found[0]))
    assert re.search(f"{METRICS[name].direction} (scores are|is) better", found[0], re.IGNORECASE)


def test_the_small_protocol_of_the_page_is_one():
    page = (ROOT / "docs" / "protocols.md").read_text("utf-8")
    found = re.search(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found
    protocol = Protocol.model_validate(tomllib.loads(found.group(1)))
    assert protocol.reference.rater_stems == ["reader1", "reader2", "reader3"]


def test_links_within_a_page_lead_somewhere():
    for path in PAGES:
        text = path.read_text("utf-8")
        headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
        plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
        anchors = {heading.replace(" ", "-") for heading in plain}
        assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= anchors, path.name
