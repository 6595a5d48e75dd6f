"""The report in a real browser: what can be clicked works, and nothing leaves the page."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from segjury.analysis.ranking import leaderboard
from segjury.analysis.study import Study
from segjury.report import Report, make_report, write_report
from segjury.report.figures import Illustration
from segjury.report.pdf import browser as find_browser
from tests.score_tables import ODD_NAMES, make_scores

PROGRAM = find_browser()
REQUIRED = "CI" in os.environ  # there it is installed, so that its absence is a fault
pytestmark = pytest.mark.skipif(
    PROGRAM is None and not REQUIRED, reason="no Chromium to look at the page with"
)

METHODS = ("Alpha", "Beta", "Gamma 10", "Gamma 9", *ODD_NAMES[:3])
FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@dataclass
class Opened:
    """A page and what happened in it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    table = make_scores(METHODS, 7, metrics=("dsc", "crps"), cohort="high-complexity")
    lost = (table["method"] == ODD_NAMES[0]) & (table["case"] == "P003")
    table.loc[lost, "status"] = "failed"
    table.loc[lost, "detail"] = "<img src=x onerror=alert(1)>"
    return table


@pytest.fixture(scope="module")
def report(scores: pd.DataFrame) -> Report:
    picture = Illustration(Figure((2, 1)), "p", "P", "A picture.", "A picture.", "png", kind="P")
    return make_report(
        Study(scores), kinds=("blob", "boxes", "cd"), pictures=[picture], title=ODD_NAMES[0]
    )


@pytest.fixture(scope="module")
def path(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page alone, without the folder of figures that is written beside it."""
    written = write_report(report, tmp_path_factory.mktemp("written") / "report.html")
    alone = tmp_path_factory.mktemp("alone") / "report.html"
    return written.path.rename(alone)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    assert PROGRAM, "install Debian's chromium"
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=PROGRAM, args=FLAGS, chromium_sandbox=False)
        yield found
        found.close()


@pytest.fixture
def opened(chromium: Browser, path: Path) -> Iterator[Opened]:
    yield from _open(chromium, path, width=1280)


def _open(chromium: Browser, path: Path, *, width: int, script: bool = True) -> Iterator[Opened]:
    """Open the page; at the end nothing may have gone wrong or have been asked for."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, java_script_enabled=script
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    found = Opened(page)
    page.on(
        "console", lambda said: found.errors.append(said.text) if said.type == "error" else None
    )
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("dialog", lambda dialog: found.errors.append(dialog.message) or dialog.dismiss())
    page.on("request", lambda asked: found.requests.append(asked.url))
    page.goto(path.as_uri())
    yield found
    assert found.errors == []
    asked = [url for url in found.requests if not url.startswith(("data:", "blob:"))]
    assert asked == [path.as_uri()]
    context.close()


def column(page: Page, at: int) -> list[str]:
    """The cells of a column of the leaderboard that is shown, top to bottom."""
    cells = page.locator(f"#boards .board:visible tbody tr:visible > :nth-child({at + 1})")
    return [" ".join(text.split()) for text in cells.all_inner_texts()]


# ---- the leaderboard -----------------------------------------------------------------------


def test_columns_sort_up_and_down_by_number_and_by_name(
    opened: Opened, scores: pd.DataFrame
) -> None:
    page, board = opened.page, leaderboard(scores)
    assert column(page, 1) == list(board.position.index)
    head = page.locator("#boards .board:visible th", has_text="Dice").first
    head.get_by_role("button").click()
    means = scores[(scores["metric"] == "dsc") & (scores["reading"] == "corrected")]
    best_first = means.groupby("method")["value"].mean().sort_values(ascending=False)
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 1) == list(best_first.index)
    head.get_by_role("button").press("Enter")
    assert column(page, 1) == list(best_first.index)[::-1]
    page.locator("#boards .board:visible th.method").first.get_by_role("button").click()
    names = column(page, 1)
    assert names.index("Gamma 9") < names.index("Gamma 10")  # as people count


@pytest.mark.parametrize("reading", ["corrected", "published", "released"])
@pytest.mark.parametrize("part", [None, "high-complexity"])
def test_reading_and_cases_can_be_chosen(
    opened: Opened, scores: pd.DataFrame, reading: str, part: str | None
) -> None:
    page = opened.page
    page.locator("#choose-reading").select_option(reading)
    page.locator("#choose-part").select_option(f"cohort {part}" if part else "all cases")
    wanted = leaderboard(scores, reading=reading, cohort=part)
    assert page.locator("#boards .board:visible").count() == 1
    assert sorted(column(page, 1)) == sorted(wanted.position.index)
    means = [float(text) for text in column(page, 2)]
    assert means == pytest.approx(wanted.mean_rank.round(2).to_list(), abs=0.0051)


def test_methods_can_be_filtered_everywhere(opened: Opened) -> None:
    page = opened.page
    page.locator("#choose-methods").fill("gamma, ALPHA")
    assert set(column(page, 1)) == {"Alpha", "Gamma 9", "Gamma 10"}
    assert page.locator("#chosen").inner_text() == f"3 of {len(METHODS)} methods"
    assert page.locator("#gaps tr[data-method]:visible").count() == 0
    page.locator("#choose-methods").fill("")
    assert len(column(page, 1)) == len(METHODS)
    assert page.locator("#gaps tr[data-method]:visible").count() == 1


# ---- figures -------------------------------------------------------------------------------


def test_choosing_a_score_shows_it_in_every_kind_of_figure(opened: Opened) -> None:
    page = opened.page
    for name in ("blob", "boxes", "cd"):
        assert page.locator(f"#figure-{name} .drawn-figure:visible").count() == 1
    page.locator("#figure-boxes select").select_option("CRPS")
    for name in ("blob", "boxes", "cd"):
        shown = page.locator(f"#figure-{name} .drawn-figure:visible")
        assert shown.get_attribute("data-label") == "CRPS"
        assert page.locator(f"#figure-{name} select").input_value() == "CRPS"


def test_every_image_can_be_drawn(opened: Opened) -> None:
    sizes = opened.page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert len(sizes) > 6
    assert min(sizes) > 100


@pytest.mark.parametrize("form", ["SVG", "PNG", "PDF", "Data"])
def test_files_can_be_saved_from_the_page_alone(opened: Opened, report: Report, form: str) -> None:
    (group,) = [each for each in report.drawn.groups if each.name == "blob"]
    drawn = group.figures[0]
    links = opened.page.locator("#figure-blob .drawn-figure:visible .files")
    with opened.page.expect_download() as waiting:
        links.get_by_role("link", name=re.compile(f"^{form}")).click()
    saved = waiting.value
    ending = "csv" if form == "Data" else form.lower()
    assert saved.suggested_filename == f"{drawn.name}.{ending}"
    data = Path(saved.path()).read_bytes()
    if form == "PNG":  # painted by the browser
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000
    else:
        assert data == drawn.files[ending]
    if form == "Data":
        rows = list(csv.DictReader(data.decode().splitlines()))
        assert {row["method"] for row in rows} == set(METHODS)


@pytest.mark.parametrize("form", ["SVG", "PNG", "PDF"])
def test_pictures_can_be_saved_from_the_page_alone(
    opened: Opened, report: Report, form: str
) -> None:
    (group,) = [each for each in report.drawn.groups if each.section == "pictures"]
    drawn = group.figures[0]
    links = opened.page.locator(f"#figure-{group.name} .drawn-figure:visible .files")
    with opened.page.expect_download() as waiting:
        links.get_by_role("link", name=re.compile(f"^{form}")).click()
    data = Path(waiting.value.path()).read_bytes()
    if form == "PNG":
        assert data == drawn.files["png"]
    elif form == "SVG":
        (image,) = ElementTree.fromstring(data)  # noqa: S314  (made by our own page)
        assert image.get("href", "").startswith("data:image/png;base64,")
    else:
        places = re.findall(rb"^(\d{10}) 00000 n", data, re.MULTILINE)
        assert [data[int(at) :].split(b" ", 1)[0] for at in places] == [
            b"1",
            b"2",
            b"3",
            b"4",
            b"5",
        ]
        start = int(re.search(rb"startxref\n(\d+)", data).group(1))
        assert data[start:].startswith(b"xref")
        assert b"\xff\xd8\xff" in data


# ---- other screens -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [320, 390, 820, 1280])
def test_a_narrow_screen_does_not_overflow(chromium: Browser, path: Path, width: int) -> None:
    for opened in _open(chromium, path, width=width):
        wide = opened.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_wide_figures_stay_readable_and_can_be_seen_whole(
    chromium: Browser, path: Path, width: int
) -> None:
    for opened in _open(chromium, path, width=width):
        cards = opened.page.evaluate(
            """[...document.querySelectorAll(".wide .drawn-figure:not([hidden]) .card")].map(
                (card) => [card.querySelector("img").getBoundingClientRect().width,
                card.clientWidth, card.scrollWidth, getComputedStyle(card).overflowX])"""
        )
        assert cards
        for image, room, reach, overflow in cards:
            assert image >= 44 * 16
            assert overflow == "auto"
            assert image <= max(room, reach)


def test_without_script_everything_is_there(chromium: Browser, path: Path, report: Report) -> None:
    for opened in _open(chromium, path, width=1280, script=False):
        boards = opened.page.locator("#boards .board:visible").count()
        assert boards == len(report.content.boards) == 6
        figures = sum(len(group.figures) for group in report.drawn.groups)
        assert opened.page.locator(".drawn-figure:visible").count() == figures
        assert opened.page.locator(".filters:visible, .choose:visible").count() == 0


def test_hostile_names_are_text(opened: Opened) -> None:
    page = opened.page
    assert page.title() == ODD_NAMES[0]
    assert page.locator("h1").inner_text() == ODD_NAMES[0]
    assert page.evaluate("document.scripts.length") == 1
    assert "<img src=x onerror=alert(1)>" in page.locator("#gaps").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_have_their_ground(opened: Opened, scheme: str) -> None:
    opened.page.emulate_media(color_scheme=scheme)
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 600
    assert light == (scheme == "light")


def _mean_light(page: Page, selector: str) -> float:
    """How light a part of the page is, from 0 to 255."""
    shown = page.locator(selector).first.screenshot()
    return float(np.asarray(Image.open(io.BytesIO(shown)).convert("L")).mean())


@pytest.mark.parametrize("kind", ["vectors", "pixels"])
def test_figures_do_not_glare_on_a_dark_page(opened: Opened, kind: str) -> None:
    card = f".drawn-figure:visible .card:has(img.{kind})"
    light = _mean_light(opened.page, card)
    opened.page.emulate_media(color_scheme="dark")
    dark = _mean_light(opened.page, card)
    assert light > 230
    assert dark < (70 if kind == "vectors" else 205)


def test_marks_in_tables_and_figures_change_alike_in_the_dark(opened: Opened) -> None:
    opened.page.emulate_media(color_scheme="dark")
    look = "(element) => getComputedStyle(element).filter"
    marks = opened.page.locator(".mark").first.evaluate(look)
    assert marks == opened.page.locator("img.vectors").first.evaluate(look) != "none"


def test_paper_stays_light(opened: Opened) -> None:
    opened.page.emulate_media(color_scheme="dark", media="print")
    looks = opened.page.evaluate(
        "[...document.images].map((image) => getComputedStyle(image).filter)"
    )
    assert set(looks) == {"none"}


def test_files_saved_from_a_dark_page_stay_light(opened: Opened) -> None:
    opened.page.emulate_media(color_scheme="dark")
    links = opened.page.locator("#figure-blob .drawn-figure:visible .files")
    with opened.page.expect_download() as waiting:
        links.get_by_role("link", name=re.compile("^PNG")).click()
    pixels = np.asarray(Image.open(waiting.value.path()).convert("L"))
    assert pixels[2, 2] == 255


def test_the_keyboard_reaches_every_control(opened: Opened) -> None:
    page, seen = opened.page, []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"choose-reading", "choose-part", "choose-methods", "BUTTON"} <= set(seen)


# ---- paper ---------------------------------------------------------------------------------


def test_the_pdf_is_the_page_with_everything_shown(report: Report, tmp_path: Path) -> None:
    out = write_report(report, tmp_path / "report.pdf", "pdf").path
    data = out.read_bytes()
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 5
