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


NAMES = {
    "method": (["rank", "S", "--methods", "Alfa"], "Did you mean 'Alpha'?"),
    "left out": (["rank", "S", "--exclude", "Alfa"], "Did you mean 'Alpha'?"),
    "baseline": (["analyze", "S", "--baseline", "Alfa"], "Did you mean 'Alpha'?"),
    "metric": (["rank", "S", "--metrics", "dcs"], "Did you mean 'dsc'?"),
    "direction": (["rank", "S", "--higher", "dcs"], "Did you mean 'dsc'?"),
    "reading": (["rank", "S", "--reading", "correct"], "Did you mean 'corrected'?"),
    "scheme": (["rank", "S", "--scheme", "test-the-rank"], "Did you mean 'test-then-rank'?"),
    "part": (["rank", "S", "--by", "cohrt"], "Did you mean 'cohort'?"),
    "failure": (["analyze", "S", "--failure", "dcs<0.5"], "Did you mean 'dsc'?"),
    "figure": (["figure", "boxs", "S", "--out", "f.svg"], "Did you mean 'boxes'?"),
    "figures": (["report", "S", "--figures", "blobb", "--out", "r.html"], "Did you mean 'blob'?"),
    "score": (["figure", "boxes", "S", "--score", "dcs", "--out", "f.svg"], "mean 'dsc'?"),
    "metric itself": (["metrics", "dcs"], "Did you mean 'dsc'?"),
    "protocol": (["protocols", "curvas-2042"], "Did you mean 'curvas-2024'?"),
    "phantom": (["phantom", "curvas-2042", "out"], "Did you mean 'curvas-2024'?"),
    "command": (["analyse", "S"], "Did you mean 'analyze'?"),
}


@pytest.mark.parametrize(("words", "question"), NAMES.values(), ids=NAMES)
def test_a_misspelt_name_gets_the_nearest_one(file, tmp_path, words, question):
    done = command(*(file if word == "S" else word for word in words), cwd=tmp_path)
    assert done.returncode == 2
    assert question in " ".join(done.stderr.split())


def test_a_score_may_be_given_by_its_title(file, tmp_path):
    for given in ("DSC", "Dice", "dice"):
        out = tmp_path / f"{given}.csv"
        done = command("figure", "boxes", file, "--score", given, "--out", out)
        assert done.returncode == 0, done.stderr
        assert out.read_bytes() == (tmp_path / "DSC.csv").read_bytes()
    done = command("rank", file, "--metrics", "Dice,mr-ece,vi", "--weights", "DICE=2")
    assert done.returncode == 0, done.stderr
    done = command("figure", "boxes", file, "--score", "VI, porta", "--out", tmp_path / "v.csv")
    assert done.returncode == 0, done.stderr


def test_a_cohort_gets_the_nearest_name(tmp_path):
    make_scores(cohort="high-complexity").to_csv(tmp_path / "s.csv", index=False)
    done = command("rank", tmp_path / "s.csv", "--cohort", "high complexity")
    assert done.returncode == 0, done.stderr
    done = command("rank", tmp_path / "s.csv", "--cohort", "hihg-complexity")
    assert "Did you mean 'high-complexity'?" in done.stderr
