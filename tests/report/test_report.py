"""The report is parsed back: every number must be the table's, and nothing else may run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from segjury.analysis import Settings, analyze
from segjury.analysis.ranking import Ranking, Rules, leaderboard
from segjury.analysis.study import Study, completed
from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.report import Report, make_report, write_report
from segjury.report.drawing import draw_all
from segjury.report.figures import Illustration
from segjury.report.figures.catalogue import KINDS
from segjury.report.gaps import gaps
from segjury.report.markdown import markdown
from segjury.report.publish import publish
from segjury.report.summary import summary
from segjury.results import Run
from segjury.results.read import read_scores
from tests.score_tables import ODD_NAMES, make_scores

VOID = {"meta", "link", "img", "br", "path", "input"}
RUN = {
    "segjury": "9.9.9",
    "protocol": {
        "name": "curvas-pdacvi-2025",
        "title": "A benchmark & its <title>",
        "hash": "sha256:abc123",
        "text": 'name = "</script><script>alert(2)</script>"\n',
        "definition": {
            "sources": [
                {"title": "The paper", "url": "https://example.org/paper"},
                "A page, https://example.org/page",
                {"title": "A trap", "url": "javascript:alert(3)"},
            ],
            "policy": {"missing": "worst"},
        },
    },
    "versions": {"numpy": "2.0", "python": "3.11"},
    "machine": {"cores": 2, "hostname": "secret-host"},
    "started": "2026-05-04T10:11:12+00:00",
    "seconds": 12.34,
}


@dataclass
class Node:
    """An element of a parsed page."""

    tag: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag: str, css: str = "") -> list[Node]:
        return [n for n in self.walk() if n.tag == tag and (not css or css in n.classes)]

    def one(self, tag: str, css: str = "") -> Node:
        (found,) = self.all(tag, css)
        return found

    @property
    def classes(self) -> list[str]:
        return self.attrs.get("class", "").split()

    @property
    def text(self) -> str:
        """Text as it is seen: without what is for screen readers only."""
        if "unseen" in self.classes:
            return ""
        return "".join(c if isinstance(c, str) else c.text for c in self.children).strip()


class Page(HTMLParser):
    """A strict reader: every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("page")
        self._open = [self.root]
        self.feed(text)
        assert [node.tag for node in self._open] == ["page"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def parse(path: Path) -> Node:
    return Page(path.read_text(encoding="utf-8")).root


def boards(page: Node) -> dict[str, Node]:
    """Leaderboards by their caption."""
    return {table.one("caption").text: table for table in page.all("table", "board")}


def body(table: Node) -> list[list[Node]]:
    return [
        [cell for cell in row.children if isinstance(cell, Node)]
        for row in table.one("tbody").all("tr")
    ]


def as_number(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-"))


def section(page: Node, name: str) -> Node:
    (found,) = [node for node in page.all("section") if node.attrs.get("id") == name]
    return found


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    table = make_scores(cohort="high-complexity", metrics=("dsc", "mr_ece", "crps", "vi"))
    keep = (table["metric"] != "vi") | table["structure"].isin(["SMA", "CELIAC TRUNK"])
    table = table[keep].reset_index(drop=True)
    same = (table["metric"] == "dsc") & (table["reading"] != "corrected")
    table.loc[same, "value"] = (
        table[(table["metric"] == "dsc") & (table["reading"] == "corrected")]["value"].to_list() * 2
    )
    lost = (table["method"] == "Beta") & (table["case"] == "P003") & (table["metric"] != "dsc")
    table.loc[lost, "status"] = "failed"
    table.loc[lost, "detail"] = "probability.nii.gz <is> cut short."
    return table


@pytest.fixture(scope="module")
def report(scores: pd.DataFrame) -> Report:
    picture = Illustration(
        Figure(figsize=(1, 1)), "case P001", "Case P001", "A <case>.", "It.", "png"
    )
    return make_report(
        Study(completed(scores), run=Run.model_validate(RUN)),
        pictures=[picture],
        kinds=("boxes",),
        table_hash="0123456789abcdef" * 4,
        commands=["segjury report 'a & b.csv'"],
    )


@pytest.fixture(scope="module")
def written(report: Report, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return write_report(report, tmp_path_factory.mktemp("report") / "deep" / "report.html").paths


@pytest.fixture(scope="module")
def page(written: tuple[Path, ...]) -> Node:
    return parse(written[0])


def write(
    table: pd.DataFrame,
    out: Path,
    rules: Rules | None = None,
    run: object = None,
    **options: object,
) -> Path:
    """Write the page of a table without figures; most of a report's time goes into them."""
    study = Study(completed(table), rules or Rules(), run=Run.model_validate(run or {}))
    made = make_report(study, **{"kinds": (), **options})  # type: ignore[arg-type]
    return write_report(made, out).path


# ---- numbers -------------------------------------------------------------------------------


def test_every_leaderboard_number_is_the_tables(scores: pd.DataFrame, page: Node) -> None:
    rows = scores[scores["reading"] == "corrected"]
    wanted = {"dsc": 3, "mr_ece": 4, "crps": 3, "vi SMA": 1, "vi CELIAC TRUNK": 1}
    key = np.where(
        rows["structure"] == "all", rows["metric"], rows["metric"] + " " + rows["structure"]
    )
    means = rows.groupby(["method", key])["value"].mean().unstack()
    ranks = means.rank().assign(dsc=means["dsc"].rank(ascending=False))
    (table,) = [board for name, board in boards(page).items() if "corrected reading: mean" in name]
    columns = list(dict.fromkeys(key))
    seen = body(table)
    assert len(seen) == 3
    for place, method, mean_rank, sd_rank, *cells in seen:
        name = method.text
        own = ranks.loc[name, columns]
        assert as_number(mean_rank.text) == pytest.approx(own.mean(), abs=0.005)
        assert as_number(sd_rank.text) == pytest.approx(own.std(ddof=0), abs=0.005)
        better = (ranks[columns].mean(axis=1) < own.mean() - 1e-9).sum()
        assert int(place.text) == better + 1
        for column, cell in zip(columns, cells, strict=True):
            shown = cell.one("span", "value").text
            assert shown == f"{means.loc[name, column]:.{wanted[column]}f}"
            assert float(cell.attrs["data-sort"]) == pytest.approx(means.loc[name, column])
            assert as_number(cell.one("span", "rank").text) == ranks.loc[name, column]
            assert ("first" in cell.classes) == (ranks.loc[name, column] == 1)


def test_headings_stand_over_their_columns(page: Node) -> None:
    table = next(iter(boards(page).values()))
    heads = [th for th in table.one("thead").all("th") if "data-column" in th.attrs]
    assert [int(th.attrs["data-column"]) for th in heads] == list(range(9))
    assert [th.text for th in heads[-2:]] == ["CELIAC TRUNK", "SMA"]
    assert "cm³" in heads[6].text
    assert heads[4].attrs["data-first"] == "descending"


def test_other_readings_are_shown_and_marked_just_where_ranks_differ(
    scores: pd.DataFrame, page: Node
) -> None:
    first = leaderboard(scores, reading="corrected")
    for reading in ("published", "released"):
        other = leaderboard(scores, reading=reading)
        (table,) = [b for name, b in boards(page).items() if f"{reading} reading: mean" in name]
        for place, method, _, _, *cells in body(table):
            name = method.text
            assert _marked(place) == (other.position[name] != first.position[name])
            for key, cell in zip(other.ranks.columns, cells, strict=True):
                now, before = other.ranks.loc[name, key], first.ranks.loc[name, key]
                assert _marked(cell) == (now != before)
                assert ("better" in cell.classes) == (now < before)
                arrow = f"{before:g}→{now:g}" if now != before else f"{now:g}"
                assert cell.one("span", "rank").text == arrow
            assert not _marked(cells[0])  # dsc is the same in all readings
    places = page.one("table", "compare")
    assert [th.text for th in places.one("thead").all("th")][1:] == [
        "corrected",
        "published",
        "released",
    ]
    for method, *cells in body(places):
        assert int(cells[0].one("span", "position").text) == first.position[method.text]
        assert not _marked(cells[0])


def _marked(cell: Node) -> bool:
    return bool({"better", "worse"} & set(cell.classes))


def test_the_cohort_has_its_leaderboard(scores: pd.DataFrame, page: Node) -> None:
    (table,) = [
        board
        for name, board in boards(page).items()
        if "corrected reading, cohort high-complexity: mean over 2 of 5 cases" in name
    ]
    own = leaderboard(scores, cohort="high-complexity")
    assert [row[1].text for row in body(table)] == list(own.position.index)
    assert body(table)[0][4].one("span", "value").text == f"{own.values['dsc'].iloc[0]:.3f}"


def test_what_was_not_scored_is_listed_with_its_reason(page: Node) -> None:
    (row,) = body(section(page, "gaps").one("table"))
    status, method, case, what, readings, counts_as, reason = (cell.text for cell in row)
    assert (status, method, case) == ("failed", "Beta", "P003")
    assert what == "MR-ECE; CRPS; VI (CELIAC TRUNK, SMA)"
    assert set(readings.split(", ")) == {"corrected", "published", "released"}
    assert counts_as == "penalty"
    assert reason == "probability.nii.gz <is> cut short."


# ---- one page, complete and safe -----------------------------------------------------------


def test_what_all_methods_share_is_listed_once() -> None:
    rows = [
        ("A", "1", "nsd", f"class {k}", "undefined", "the reference has no such class")
        for k in range(7)
    ]
    rows += [("B", *row[1:]) for row in rows]
    rows += [
        ("A", "2", "dsc", "all", "missing", "no prediction"),
        ("B", "2", "dsc", "all", "ok", ""),
    ]
    columns = ["method", "case", "metric", "structure", "status", "detail"]
    table = pd.DataFrame(rows, columns=columns).assign(reading="corrected", value=0.0)
    found = gaps(table)
    assert [(gap.method, gap.case, gap.scores) for gap in found] == [
        ("A", "2", "Dice"),
        ("all methods", "1", "NSD (7 structures)"),
    ]


def test_nothing_is_loaded_from_elsewhere(written: tuple[Path, ...], page: Node) -> None:
    for node in page.walk():
        assert not {"srcset", "style", "onclick", "onload", "action"} & set(node.attrs)
        source = node.attrs.get("src", "data:")
        assert source.startswith("data:")
        target = node.attrs.get("href", "#")
        assert target.startswith(("#", "data:,", "figures/")) or node.tag == "a"
        if target.startswith("figures/"):
            assert (written[0].parent / target).is_file()
    style = page.one("style").text
    assert "url(" not in style
    assert "@import" not in style
    assert [link.attrs["rel"] for link in page.all("link")] == ["icon"]


def test_only_our_script_and_style_may_run(page: Node) -> None:
    (policy,) = [m for m in page.all("meta") if "http-equiv" in m.attrs]
    for tag in ("script", "style"):
        (text,) = page.one(tag).children
        digest = base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy.attrs["content"]
    assert policy.attrs["content"].startswith("default-src 'none'; img-src data:;")


def test_the_protocol_is_told_and_only_web_addresses_are_links(page: Node) -> None:
    told = section(page, "methods")
    assert [a.attrs["href"] for a in told.all("a")] == [
        "https://example.org/paper",
        "https://example.org/page",
    ]
    assert "A trap" in told.text
    assert "sha256:abc123" in told.text
    assert told.one("pre").text == RUN["protocol"]["text"].strip()  # type: ignore[index]
    defined = {row[0].one("code").text: row for row in body(told.one("table"))}
    assert list(defined) == ["dsc", "mr_ece", "crps", "vi"]
    assert defined["vi"][1].text == METRICS["vi"].summary
    assert defined["dsc"][2].text == "higher"
    assert defined["crps"][4].text == "cm³"


def test_the_origin_repeats_the_run_without_naming_the_computer(page: Node) -> None:
    told = section(page, "origin").text
    assert "segjury report 'a & b.csv'" in told
    assert "segjury 9.9.9" in told
    assert "numpy" in told
    assert "12.3 s" in told
    assert "secret-host" not in page.text


def test_figures_are_written_and_described(written: tuple[Path, ...], page: Node) -> None:
    names = {path.name for path in written[1:]}
    stems = ["boxes-dsc", "boxes-mr-ece", "boxes-crps", "boxes-vi-sma", "boxes-vi-celiac-trunk"]
    files = {f"{s}.{f}" for s in [*stems, "case-p001"] for f in ("svg", "png", "pdf")}
    assert names == files | {f"{s}.csv" for s in stems}
    assert all(path.is_file() for path in written)
    images = page.all("img")
    assert len(images) == 6
    assert all(image.attrs["alt"] for image in images)
    assert "Medians: " in images[0].attrs["alt"]
    assert images[-1].attrs["src"].startswith("data:image/png;base64,")
    first = unquote_to_bytes(images[0].attrs["src"].removeprefix("data:image/svg+xml,"))
    assert first == (written[0].parent / "figures" / "boxes-dsc.svg").read_bytes()


def test_the_page_carries_its_files_itself(written: tuple[Path, ...], page: Node) -> None:
    folder = written[0].parent / "figures"
    first = page.all("figure")[0]
    links = {link.attrs["data-format"]: link.attrs for link in first.all("a")}
    assert list(links) == ["svg", "png", "pdf", "csv"]
    assert {link["download"] for link in links.values()} == {f"boxes-dsc.{f}" for f in links}
    start, _, pdf = links["pdf"]["href"].partition(";base64,")
    assert start == "data:application/pdf"
    assert base64.b64decode(pdf) == (folder / "boxes-dsc.pdf").read_bytes()
    data = gzip.decompress(base64.b64decode(links["csv"]["data-packed"]))
    assert data == (folder / "boxes-dsc.csv").read_bytes()


def test_the_methods_are_told_as_they_were_used(scores: pd.DataFrame, page: Node) -> None:
    told = section(page, "methods").text
    assert "three methods on five cases" in told
    assert "curvas-pdacvi-2025" in told
    assert "0123456789abcdef" * 4 in told
    assert "their mean), methods were ranked by it" in told
    assert "not resampled: that takes at least 6 cases" in told
    assert "tested by itself at 0.05" in told
    more = Ranking(scheme="rank-then-aggregate", ties="min", weights={"dsc": 2.0})
    study = Study(scores, Rules(ranking=more), Settings(alpha=0.01, baselines=("Beta",)))
    made = make_report(study, kinds=())
    said = {paragraph.title: paragraph.text for paragraph in made.methods}
    assert "ranked on each case and score" in said["Ranking"]
    assert "share the best of their ranks" in said["Ranking"]
    assert "weighted: dsc 2; 1 for the others" in said["Ranking"]
    assert "at 0.01" in said["Tests"]
    assert "Baselines named beforehand: Beta." in said["Tests"]
    assert "not recorded" in said["Scoring"]


def test_certainty_stands_beside_the_places(tmp_path: Path) -> None:
    table = make_scores(cases=8, metrics=("dsc", "crps"), readings=("corrected",))
    found = analyze(table, Rules())
    page = parse(write(table, tmp_path / "r.html"))
    (board,) = boards(page).values()
    ranks = found.stability.overall
    for row in body(board):
        m = found.panel.methods.index(row[1].text)
        assert row[4].text == f"{ranks.low[m]:.3g} to {ranks.high[m]:.3g}"
        assert row[5].text == ranks.groups[m]
    told = page.one("section", "summary").text
    assert f"goes to others in {100 * ranks.first_wrong:.3g} %" in told


def test_each_part_of_the_cases_has_one_leaderboard() -> None:
    table = make_scores(cases=6, metrics=("dsc",), readings=("corrected",), cohort="easy")
    table["site"] = np.where(table["case"].isin(["P000", "P001"]), "north", "south")
    table["one"] = "same"
    table = pd.concat([table.assign(case=table["case"] + suffix) for suffix in "abc"])
    table["code"] = table["case"]  # as many values as cases: no groups
    made = make_report(Study(table.reset_index(drop=True)), kinds=())
    assert made.content.parts == ("all cases", "cohort easy", "site south")
    assert [board.part for board in made.content.boards] == list(made.content.parts)
    assert "over 6 of 18 cases" in made.content.boards[1].caption


# ---- figures -------------------------------------------------------------------------------


def test_figures_are_the_same_from_one_process_and_from_two() -> None:
    study = Study(make_scores(cases=7))
    one, two = (draw_all(study, kinds=("blob", "boxes"), formats=("svg",), jobs=j) for j in (1, 2))
    assert one == two
    assert [group.name for group in one.groups] == ["blob", "boxes"]
    assert len(one.groups[0].figures) == 10
    assert len(one.groups[1].figures) == 9


def test_a_narrow_figure_without_a_neighbour_has_its_row_for_itself(tmp_path: Path) -> None:
    table = make_scores(tuple("ABCDEF"), cases=7, readings=("given",), metrics=("dsc",))
    kinds = ("cd", "significance", "pvalues", "boxes", "podium")  # two and one, then one and a wide
    page = parse(write(table, tmp_path / "r.html", kinds=kinds))
    alone = [node.attrs["id"] for node in page.all("div", "alone")]
    assert alone == ["figure-pvalues", "figure-boxes"]


def test_a_figure_that_fails_costs_nothing_but_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_study: Study, **_of: str) -> Figure:
        raise ZeroDivisionError("a\nfault")

    broken = replace(KINDS["blob"], draw=fail)
    monkeypatch.setitem(KINDS, "blob", broken)
    study = Study(make_scores(cases=7, metrics=("dsc",)))
    drawn = draw_all(study, kinds=("blob", "boxes"), formats=("svg",))
    assert [group.name for group in drawn.groups] == ["boxes"]
    (problem,) = drawn.problems
    assert problem.startswith("the figure blob dsc could not be drawn")
    assert problem.endswith("ZeroDivisionError: a fault")


# ---- other forms ---------------------------------------------------------------------------


def cells(text: str) -> list[list[str]]:
    """The rows of the tables in a Markdown text, unescaped."""
    rows = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [
        [html.unescape(re.sub(r"\\(.)", r"\1", cell)) for cell in re.split(r" (?<!\\)\| ", row)]
        for row in rows
    ]


def test_markdown_says_the_same_as_the_page(report: Report, page: Node, tmp_path: Path) -> None:
    out, *figures = write_report(report, tmp_path / "report.md", "markdown").paths
    text = out.read_text("utf-8")
    found = cells(text)
    for row in body(boards(page)[report.content.main.caption]):
        place, method, mean, sd, *scores = (cell.text for cell in row)
        values = [f"{c.one('span', 'value').text} ({c.one('span', 'rank').text})" for c in row[4:]]
        assert [place, method, mean, sd, *values] in found
        assert len(scores) == len(values)
    images = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert len(images) == 6
    assert {tmp_path / name for name in images} <= set(figures)
    assert html.unescape(text.replace("\\", "")).count("probability.nii.gz <is> cut short.") == 1


def test_markdown_shows_hostile_names_as_text() -> None:
    table = make_scores(("<b>|x|</b>", "*a* [b](c)"), 2, ("corrected",), ("dsc",))
    text = markdown(make_report(table, kinds=()))
    assert "<b>" not in text
    shown = {row[1] for row in cells(text) if len(row) == 5}
    assert {"<b>|x|</b>", "*a* [b](c)"} <= shown


def test_a_pdf_without_a_browser_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGJURY_BROWSER", "no such program")
    drawn: list[int] = []
    table = make_scores(("A", "B"), 4, ("corrected",), ("dsc",))
    table.to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(InputError, match=r"as HTML, open it in any browser and print"):
        publish(
            Study(table, path=tmp_path),
            tmp_path / "new" / "report.pdf",
            file_format="pdf",
            progress=lambda done, _of: drawn.append(done),
        )
    assert not drawn
    assert not (tmp_path / "new").exists()


def test_a_browser_that_cannot_print_is_told_of(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGJURY_BROWSER", "false")
    with pytest.raises(InputError, match="could not print the report"):
        write_report(report, tmp_path / "new" / "report.pdf", "pdf")
    assert not (tmp_path / "new").exists()


def test_the_page_can_be_used_without_sight_or_mouse(page: Node) -> None:
    assert page.one("html").attrs["lang"] == "en"
    assert len(page.all("h1")) == 1
    ids = [node.attrs["id"] for node in page.walk() if "id" in node.attrs]
    assert len(ids) == len(set(ids))
    for table in page.all("table"):
        assert table.one("caption").text
        assert all(th.attrs.get("scope") for th in table.all("th"))
    for area in page.all("div", "scroll"):
        assert area.attrs["tabindex"] == "0"
        assert area.attrs["aria-labelledby"] in ids
    for link in page.all("a"):
        assert not link.attrs["href"].startswith("#") or link.attrs["href"][1:] in ids


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_contrast_in_light_and_dark(page: Node) -> None:
    style = page.one("style").text
    themes = re.findall(r":root \{(.*?)\}", style, re.S)
    assert len(themes) == 3  # light, dark, print
    pairs = [("ink", "paper"), ("muted", "paper"), ("muted", "soft"), ("accent", "paper")]
    pairs += [("accent-ink", "accent"), ("better-ink", "better"), ("worse-ink", "worse")]
    pairs += [("worse-ink", "paper"), ("ink", "better"), ("ink", "worse")]
    for theme in themes:
        raw = dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", theme))
        colours = {
            k: v if len(v) == 7 else "#" + "".join(2 * c for c in v[1:]) for k, v in raw.items()
        }
        for front, back in pairs:
            dark, light = sorted((_luminance(colours[front]), _luminance(colours[back])))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (front, back)


def test_the_same_table_gives_the_same_page(tmp_path: Path) -> None:
    table = make_scores(("A", "B"), 2, ("corrected",), ("dsc",))
    one, two = (
        write(table, tmp_path / name / "r.html", kinds=("boxes",)) for name in ("one", "two")
    )
    assert one.read_bytes() == two.read_bytes()


# ---- odd and small tables ------------------------------------------------------------------


def test_names_from_outside_are_text_and_nothing_else(tmp_path: Path) -> None:
    table = make_scores(ODD_NAMES, 2, ("corrected", "released"), ("dsc",), ODD_NAMES[0])
    table["case"] = table["case"].replace("P000", "</td>")
    lost = table["case"] == "</td>"
    table.loc[lost, "status"] = "<i>"
    table.loc[lost, "detail"] = "<img src=x onerror=alert(1)>"
    table["unit"] = "<b>$\\frac$"
    out = write(table, tmp_path / "r.html", run=RUN, title="<script>alert(4)</script>")
    text = out.read_text(encoding="utf-8")
    page = parse(out)
    assert len(page.all("script")) == 1
    assert text.count("<script") == 1
    assert not page.all("b") + page.all("i")
    assert {row[2].text for row in body(section(page, "gaps").one("table"))} == {"</td>"}
    assert "<img src=x onerror=alert(1)>" in section(page, "gaps").text
    assert page.one("h1").text == "<script>alert(4)</script>"
    shown = {row[1].text for row in body(next(iter(boards(page).values())))}
    assert ODD_NAMES[0] in shown
    assert "$x_1$ & $" in shown


def test_one_method_one_case_one_reading(tmp_path: Path) -> None:
    out = write(
        make_scores(("Only",), 1, ("corrected",), ("dsc",)), tmp_path / "r.html", kinds=None
    )
    page = parse(out)
    assert page.one("section", "summary").all("p")[0].text == (
        "Only is the only method, scored on one case."
    )
    assert [node.attrs.get("id") for node in page.all("section")] == [
        None, "leaderboard", "spread", "gaps", "methods", "origin",
    ]  # fmt: skip
    assert "every method has every score" in section(page, "gaps").text


def test_a_table_of_another_tool(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text(
        "method,case,metric,value\nA,1,speed,10\nA,2,speed,30\nB,1,speed,40\nB,2,speed,60\n"
    )
    rules = Rules(directions={"speed": "lower"})
    out = write(read_scores(tmp_path / "other.csv"), tmp_path / "r.html", rules)
    page = parse(out)
    rows = body(next(iter(boards(page).values())))
    assert [row[1].text for row in rows] == ["A", "B"]
    assert [row[4].one("span", "value").text for row in rows] == ["20.00", "50.00"]
    assert page.one("section", "summary").all("p")[0].text == (
        "A leads: mean rank 1.00 over one ranked score and two cases, ahead of B at 2.00."
    )
    assert "reading" not in page.one("header").text


def test_a_table_of_one_value_per_method(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("method,dsc_percent,vi_sma\nA,60.5,20\nB,70.25,30\n")
    page = parse(write(read_scores(tmp_path / "wide.csv"), tmp_path / "r.html", kinds=None))
    cells = {row[1].text: row for row in body(next(iter(boards(page).values())))}
    assert [c.one("span", "value").text for c in cells["B"][4:]] == ["70.25", "30.0"]
    assert cells["A"][0].text == cells["B"][0].text == "1"
    assert page.one("section", "summary").all("p")[0].text == (
        "A and B share the first place: mean rank 1.50 over two ranked scores."
    )
    assert "one value per method" in section(page, "spread").text


def test_a_table_with_the_fewest_columns_needs_no_reader(tmp_path: Path) -> None:
    bare = make_scores(("A", "B"), 2, ("x",), ("dsc",))[["method", "case", "metric", "value"]]
    assert write_report(make_report(bare, kinds=()), tmp_path / "r.html").path.is_file()


def test_figures_of_like_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    panels = [Illustration(Figure((1, 1)), n, n, "", n) for n in ("a b", "a-b", "A B")]
    table = make_scores(("A", "B"), 2, ("corrected",), ("dsc",))
    made = make_report(table, pictures=panels, kinds=())
    written = write_report(made, tmp_path / "r.html").paths
    assert len(written) == len(set(written)) == 1 + 3 * 3


# ---- the summary ---------------------------------------------------------------------------


def _board(values: dict[str, float], reading: str = "corrected") -> object:
    table = make_scores(tuple(values), 1, (reading,), ("dsc",))
    return leaderboard(table.assign(value=table["method"].map(values)))


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"A": 0.8, "B": 0.6, "C": 0.1}, "The order is the same under both readings."),
        (
            {"A": 0.8, "B": 0.1, "C": 0.2},
            "The order depends on the reading: under released, A still leads and 2 of 3 methods "
            "change position.",
        ),
        (
            {"A": 0.1, "B": 0.6, "C": 0.05},
            "The order depends on the reading: under released, B leads instead and 2 of 3 methods "
            "change position.",
        ),
        (
            {"A": 0.6, "B": 0.6, "C": 0.1},
            "The order depends on the reading: under released, A and B share the first place and "
            "1 of 3 methods changes position.",
        ),
    ],
)
def test_the_summary_says_whether_readings_agree(other: dict[str, float], sentence: str) -> None:
    main = _board({"A": 0.9, "B": 0.5, "C": 0.2})
    first, second = summary(main, [_board(other, "released")], {}, 1)
    assert first == (
        "A leads under the corrected reading: mean rank 1.00 over one ranked score and one case, "
        "ahead of B at 2.00."
    )
    assert second == sentence


def test_the_summary_says_whether_a_cohort_changes_the_order() -> None:
    main = _board({"A": 0.9, "B": 0.5, "C": 0.2})
    hard = _board({"A": 0.1, "B": 0.2, "C": 0.3})
    cohorts = {"cohort hard": (hard, 3), "group easy": (main, 4)}
    assert summary(main, [], cohorts, 10)[1:] == [
        "In cohort hard (3 of 10 cases) the order changes: C leads instead and 2 of 3 methods "
        "change position.",
        "In group easy (4 of 10 cases) the order is the same.",
    ]
