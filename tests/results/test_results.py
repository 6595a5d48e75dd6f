"""Results of some of the methods of a table."""

from __future__ import annotations

import pytest

import segjury
from segjury.errors import InputError
from segjury.results import Results
from tests.commands import segjury as command
from tests.score_tables import make_scores

METHODS = ("Alpha", "Beta", "Gamma", "Delta")


@pytest.fixture(scope="module")
def table():
    return make_scores(METHODS, cases=7)


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    table.to_csv(path, index=False)
    return path


def test_methods_are_chosen_and_left_out(table):
    assert set(Results.read(table, methods=["beta", "Alpha"]).scores["method"]) == {"Alpha", "Beta"}
    rest = Results.read(table, exclude=["Beta"])
    assert set(rest.scores["method"]) == {"Alpha", "Gamma", "Delta"}
    assert rest.left_out == ("Beta",)
    assert Results.read(table).left_out == ()


def test_what_lies_beside_the_scores_is_of_the_same_methods(table):
    raters = table.assign(rater="1")
    found = Results.read(raters, methods=["Gamma"], exclude=["Alpha"])
    assert set(found.details["method"]) == {"Gamma"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["Betta"]}, r"no method 'Betta'. Did you mean 'Beta'\? It has Alpha, Beta"),
        ({"exclude": ["x"]}, "no method 'x'. It has Alpha, Beta"),
        ({"exclude": list(METHODS)}, "no method is left"),
        ({"methods": "Beta"}, "`methods` is one text, 'Beta'. Give a list"),
    ],
)
def test_methods_that_cannot_be_chosen(table, options, message):
    with pytest.raises(InputError, match=message):
        Results.read(table, **options)


def test_a_leaderboard_of_some_methods_is_that_of_a_table_without_the_others(table):
    found = segjury.read(table).leaderboard(exclude=["Beta"], samples=50)
    alone = segjury.read(table[table["method"] != "Beta"]).leaderboard(samples=50)
    assert found.table.equals(alone.table)
    said = "3 of 4 methods shown, and ranked among each other; left out: Beta"
    assert found.notes[0] == said
    assert segjury.read(table).analyze(methods=METHODS[:2], samples=100).analysis.notes[0] == (
        "2 of 4 methods shown, and ranked among each other; left out: Gamma, Delta"
    )


@pytest.mark.parametrize("name", ["rank", "analyze", "report"])
def test_commands_say_what_they_leave_out(file, tmp_path, name):
    options = ("--out", tmp_path / "r.md", "--figures", "none") if name == "report" else ()
    done = command(name, file, "--methods", "alpha,Beta", "--bootstrap", 100, *options)
    assert done.returncode == 0, done.stderr
    said = done.stdout if name != "report" else (tmp_path / "r.md").read_text("utf-8")
    assert said.count("2 of 4 methods shown") >= 1
    assert "Gamma" in said.split("left out: ")[1].splitlines()[0]


def test_a_figure_of_some_methods(file, tmp_path):
    options = ("--exclude", "Beta", "--score", "DICE", "--out", tmp_path / "b.csv")
    done = command("figure", "boxes", file, *options)
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "b.csv").read_text()
    assert "Alpha" in drawn
    assert "Beta" not in drawn
