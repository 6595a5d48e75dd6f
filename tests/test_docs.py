"""Every example in the documentation runs, every number it prints is right, nothing is left out."""

from __future__ import annotations

import doctest
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from segjury import metrics
from segjury.metrics import METRICS, READINGS
from segjury.protocols import METRIC_USES, Protocol, builtin_names, load_protocol
from segjury.report.publish import known_kinds
from segjury.wording import listed
from tests.places import ROOT
from tests.small_benchmarks import rater_stems

DOCS = ROOT / "docs"
PAGES = [path for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if path.exists()]
GOLDEN = ROOT / "tests" / "golden" / "curvas24"
METRIC_PAGES = [
    DOCS / f"{name}.md" for name in ("metrics", "masks", "probability-scores", "samples", "lesions")
]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

each_metric = pytest.mark.parametrize("name", METRICS)
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)


# ---- examples ------------------------------------------------------------------------------


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


@each_page
def test_examples_print_what_the_page_says(path):
    complaints = run_examples(path.read_text("utf-8"), path.name)
    assert not complaints, complaints


def test_a_wrong_number_is_found_with_its_line():
    blocks = (">>> a = 1\n", "b = a + 1\n", ">>> b\n{}\n")
    page = "\n".join(f"```python\n{block}```\n" for block in blocks)
    assert run_examples(page.format(2), "page") == ""
    assert 'File "page", line 10' in run_examples(page.format(3), "page")


# ---- metrics -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """A heading, the text below it, and that of the second-level heading it belongs to."""

    page: Path
    heading: str
    text: str
    family: str

    @property
    def link(self) -> str:
        """Where the index finds it."""
        place = "" if self.page.name == "metrics.md" else self.page.name
        return f"[{self.page.stem}]({place}#{anchor(self.heading)})"


def sections(path: Path) -> list[Section]:
    """The sections of a page; a third-level one belongs to the family of a second-level one."""
    found = []
    for part in re.split(r"^(?=## )", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        for piece in re.split(r"^(?=###? )", part, flags=re.MULTILINE)[1:]:
            heading, _, text = piece.partition("\n")
            found.append(Section(path, heading.lstrip("# "), text, part))
    return found


def section_of(name: str) -> Section:
    """The one section of a metric."""
    every = [section for path in METRIC_PAGES for section in sections(path)]
    found = [section for section in every if section.heading.endswith(f"(`{name}`)")]
    assert len(found) == 1, f"{name} needs one section '... (`{name}`)' on one page"
    return found[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text."""
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r" ?\| ?", line)] for line in lines]


def has_readings(name: str) -> bool:
    """Whether a metric's readings may differ: by its function, or by how protocols use it."""
    if "reading" in inspect.signature(getattr(metrics, name, len)).parameters:
        return True
    use = METRIC_USES[name].model_validate({"name": name})
    if len(use.readings) == 1:  # the page says which; nothing can differ
        return False
    return use.readings != READINGS or len({use.remark(reading) for reading in READINGS}) > 1


@each_metric
def test_every_metric_has_a_section_with_its_direction_and_an_example(name):
    section = section_of(name)
    prose = " ".join(section.text.split())
    assert re.search(f"{METRICS[name].direction} (scores are|is) better", prose, re.IGNORECASE)
    assert re.search(r"^\*.*\*", section.text, re.MULTILINE | re.DOTALL), "what does it ask?"
    code = "\n".join(code for _, code in python_blocks(section.family))
    assert re.search(rf"\b{name}\b", code), "neither the section nor its family has an example"


@pytest.mark.parametrize("name", list(filter(has_readings, METRICS)))
def test_a_metric_with_readings_has_a_table_of_them(name):
    header = f"| | {' | '.join(f'`{reading}`' for reading in READINGS)} |"
    assert header in section_of(name).text


def index_row(name: str) -> list[str]:
    """What the index must say of a metric."""
    metric = METRICS[name]
    low, high = metric.bounds
    bounds = f"{low:g} upwards" if high == float("inf") else f"{low:g} to {high:g}"
    users = [p for p in builtin_names() if name in {u.name for u in load_protocol(p).metrics}]
    return [
        f"`{name}`",
        metric.title,
        section_of(name).link,
        metric.direction,
        bounds,
        metric.unit or "none",
        ", ".join(f"`{user}`" for user in users) or "none",
    ]


def test_the_index_lists_all_metrics_as_they_declare_themselves():
    index = next(s for s in sections(DOCS / "metrics.md") if s.heading == "All metrics")
    expected = [index_row(name) for name in METRICS]
    wanted = "\n".join(f"| {' | '.join(row)} |" for row in expected)
    assert rows(index.text)[1:] == expected, f"the index should be\n{wanted}"
    assert METRIC_USES.keys() == METRICS.keys()  # as the page says
    assert [name for name in METRICS if not hasattr(metrics, name)] == ["time_s"]


# ---- protocols -----------------------------------------------------------------------------


def test_the_small_protocols_of_the_page_are_some():
    page = (DOCS / "protocols.md").read_text("utf-8")
    found = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    several, one = (Protocol.model_validate(tomllib.loads(text)) for text in found)
    assert rater_stems(several) == ["reader1", "reader2", "reader3"]
    assert several.probability_stems == {"lesion": "probability"}
    assert rater_stems(one) == ["segmentation"]
    assert one.probability_stems == {}


def key_rows() -> dict[str, str]:
    """What the table of keys says of each key."""
    keys = next(s for s in sections(DOCS / "protocols.md") if s.heading == "Keys")
    return {
        key: " | ".join(row[1:])
        for row in rows(keys.text)[1:]
        for key in row[0].strip("`").split("`, `")
    }


def keys_of(model: type[BaseModel], prefix: str = "") -> set[str]:
    """The dotted keys of a protocol file, down to those that have a value."""
    found = set()
    for name, field in model.model_fields.items():
        parts = (field.annotation, *get_args(field.annotation))
        table = next((p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)), None)
        if name == "metrics":
            found |= {f"metrics.{key}" for use in METRIC_USES.values() for key in use.model_fields}
            found.add("metrics.python")  # in place of a name
        elif table is None:
            found.add(prefix + name)
        else:
            found |= keys_of(table, f"{prefix}{name}.")
    return found


def test_the_table_of_keys_has_all_keys_of_the_form_and_no_others():
    assert key_rows().keys() == keys_of(Protocol)


@pytest.mark.parametrize("name", METRIC_USES)
def test_the_table_of_keys_says_which_metrics_have_an_option_and_its_choices(name):
    base = METRIC_USES["dice"].model_fields
    table = key_rows()
    for option, field in METRIC_USES[name].model_fields.items():
        if option in base:
            continue
        said = table[f"metrics.{option}"]
        assert f"`{name}`" in said, option
        choices = [choice for choice in get_args(field.annotation) if isinstance(choice, str)]
        assert all(f"`{choice}`" in said for choice in choices), option


def test_the_page_says_which_metrics_need_a_worst_value():
    page = (DOCS / "protocols.md").read_text("utf-8")
    said = re.search(r"no limit needs `worst`:(.*?)\.$", page, re.MULTILINE | re.DOTALL)
    assert said
    needed = {
        name
        for name, use in METRIC_USES.items()
        if METRICS[name].worst is None and use.model_fields["worst"].default is None
    }
    assert set(re.findall(r"`(\w+)`", said.group(1))) == needed


@pytest.mark.parametrize("protocol", builtin_names())
def test_every_built_in_protocol_has_a_page_that_names_its_metrics_and_labels(protocol):
    page = (DOCS / f"{protocol}.md").read_text("utf-8")
    form = load_protocol(protocol)
    table = [cell for row in rows(page) for cell in row]
    for use in form.metrics:
        assert any(cell.startswith(f"[`{use.name}`](") for cell in table), use.name
    prose = " ".join(page.split())
    for name, numbers in form.reference.numbers.items():
        label = listed(numbers, last=" and ")
        assert re.search(rf"\b({name}( is)? {label}|{label} {name})\b", prose), name
    for source in form.sources:
        assert source.url in page
    assert f"segjury phantom {protocol} " in page
    assert f"]({protocol}.md)" in (DOCS / "protocols.md").read_text("utf-8")


def test_the_page_of_curvas_2024_prints_what_the_released_program_did():
    page = (DOCS / "curvas-2024.md").read_text("utf-8")
    printed = [row for row in rows(page) if (GOLDEN / f"{row[0].strip('`')}.json").is_file()]
    assert len(printed) == 4
    for case, organ, released, corrected in printed:
        known = json.loads((GOLDEN / f"{case.strip('`')}.json").read_text())
        short = {"pancreas": "panc", "kidney": "kidn", "liver": "livr"}[organ]
        assert released == f"{known['dsc_released_code'][short]:.4f}"
        assert corrected == f"{known['dsc_volumetric'][short]:.4f}"


# ---- figures -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", known_kinds())
def test_the_gallery_shows_every_figure_and_how_to_read_it(name):
    page = (DOCS / "gallery.md").read_text("utf-8")
    assert (DOCS / "gallery" / f"{name}.png").is_file()
    (part,) = [part for part in page.split("\n### ") if f"(`{name}`)\n" in part]
    assert known_kinds()[name][1] in part
    assert f'<img src="gallery/{name}.png"' in part
    assert f"segjury figure {name} demo/scores.csv" in part
    alt = re.search(r'alt="([^"]*)"', part)
    assert alt
    assert len(alt.group(1)) > 30


# ---- links ---------------------------------------------------------------------------------


def anchor(heading: str) -> str:
    """The name of a heading in links, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    """The names of all headings of a page."""
    text = FENCED.sub("", path.read_text("utf-8"))
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@each_page
def test_links_within_and_between_pages_lead_somewhere(path):
    links = re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", path.read_text("utf-8")))
    for link in links:
        if re.match(r"https?://", link):
            continue
        file, _, place = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not place or place in anchors(target), link
