"""Names as people type them: other capitals, titles, and misspelt ones."""

from __future__ import annotations

import pytest

from tests.commands import segjury as command
from tests.score_tables import make_scores


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    make_scores(("Alpha", "Beta", "Gamma"), cases=3).to_csv(path, index=False)
    return path


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
