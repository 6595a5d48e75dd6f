from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from segjury.analysis import Settings, analyze, ranked_tables
from segjury.analysis.as_json import as_json
from segjury.analysis.files import write_analysis
from segjury.analysis.ranking import Ranking, Rules
from segjury.analysis.sentences import summary
from segjury.analysis.tables import tables
from segjury.analysis.tests import score_tests
from segjury.errors import InputError
from segjury.results.read import read_scores
from segjury.wording import latex_table
from tests.analysis.test_ranking import PUBLISHED, long_table
from tests.commands import segjury

MATRIX = PUBLISHED / "smile_uhura_ranks_dice.csv"
BASELINES = ("Baseline DS6", "Baseline UNet MSS")
FEW = Settings(samples=200)


def random_table(methods=4, cases=12, metrics=("dsc", "crps"), seed=0, **columns):
    rng = np.random.default_rng(seed)
    rows = [
        (f"M{m}", f"c{c}", metric, rng.normal(m / 4, 1))
        for m in range(methods)
        for c in range(cases)
        for metric in metrics
    ]
    return long_table(rows, **columns)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The analysis of the published rank matrix, by the program."""
    out = tmp_path_factory.mktemp("analysis")
    arguments = ["--matrix", "dice", "--lower", "dice", "--out", out]
    arguments += [option for name in BASELINES for option in ("--baseline", name)]
    done = segjury("analyze", MATRIX, *arguments)
    assert done.returncode == 0, done.stderr
    return out, done


def test_the_published_tests_come_out_at_printed_precision(published):
    found = json.loads((published[0] / "analysis.json").read_text())["metrics"]["dice"]
    printed = pd.read_csv(PUBLISHED / "smile_uhura_friedman.csv").set_index("metric").loc["Dice"]
    assert f"{found['friedman']['chi2']:.2f}" == f"{printed['chi2']:.2f}"
    assert f"{found['friedman']['p']:.2e}" == f"{printed['p']:.2e}"
    assert found["friedman"]["df"] == printed["df"]
    pairs = pd.read_csv(PUBLISHED / "smile_uhura_conover_pairs.csv", dtype=str)
    pairs = pairs[pairs["metric"] == "Dice"]
    adjusted = {frozenset((row["a"], row["b"])): row["p"] for row in found["conover_holm"]}
    assert len(adjusted) == 18 * 17 // 2
    assert sum(p < 0.05 for p in adjusted.values()) == len(pairs) == 76
    for row in pairs.itertuples():
        p = adjusted[frozenset((row.method_a, row.method_b))]
        assert (f"{p:.2e}" if "e" in row.p_holm else f"{p:.4f}") == row.p_holm


def test_baselines_are_compared_with_the_sixteen_others(published):
    found = json.loads((published[0] / "analysis.json").read_text())["metrics"]["dice"]
    matrix = pd.read_csv(MATRIX).set_index("subject")
    assert set(found["baselines"]) == set(BASELINES)
    for base, pairs in found["baselines"].items():
        assert {pair["a"] for pair in pairs} == set(matrix.columns) - set(BASELINES)
        assert min(pair["p"] for pair in pairs) == 16 * 2 / 2**11  # printed as 0.016
        for pair in pairs:
            difference = (matrix[pair["a"]] - matrix[base]).median()
            assert pair["direction"] == ("better" if difference < 0 else "worse")
    best = next(p for p in found["baselines"]["Baseline UNet MSS"] if p["a"] == "LSGroup")
    assert best["significant"]
    assert best["rank_biserial"] == 1


def test_cliques_follow_the_pairwise_decisions(published):
    found = json.loads((published[0] / "analysis.json").read_text())["metrics"]["dice"]
    differ = {frozenset((r["a"], r["b"])) for r in found["conover_holm"] if r["p"] < 0.05}
    order = sorted(found["mean_ranks"], key=found["mean_ranks"].get)
    expected = []
    for i in range(18):
        for j in range(18, i + 1, -1):
            inside = order[i:j]
            pairs = {frozenset((a, b)) for a in inside for b in inside if a != b}
            if not pairs & differ:
                if not any(set(inside) <= set(other) for other in expected):
                    expected.append(inside)
                break
    assert found["cliques"] == expected


def test_the_terminal_says_what_the_tests_allow(published):
    text = published[1].stdout
    assert "chi2 127.70, p 5.2e-19; 76 of 153 pairs differ (Conover, Holm)" in text
    assert "better: LSGroup (median difference -7 [-11, -2], p 0.016)" in text
    assert "here lower is taken as better" in published[1].stderr


def test_every_table_is_written(published):
    names = {path.name for path in published[0].iterdir()}
    assert {"analysis.json", "analysis.tex", "summary.md", "analysis_pairs.csv"} <= names
    pairs = pd.read_csv(published[0] / "analysis_pairs.csv")
    assert len(pairs) == 2 * 153 + 2 * 16
    shares = pd.read_csv(published[0] / "analysis_rank_frequencies.csv")
    sums = shares.groupby(["drawn", "score", "method"])["share"].sum()
    np.testing.assert_allclose(sums, 1)


def test_the_form_of_the_analysis():
    found = as_json(analyze(random_table(), Rules(), FEW))
    json.dumps(found, allow_nan=False)
    keys = {"friedman", "conover_holm", "wilcoxon_holm", "cliques", "baselines", "bootstrap"}
    for metric in ("dsc", "crps"):
        assert keys <= set(found["metrics"][metric])
        assert set(found["metrics"][metric]["friedman"]) == {"chi2", "df", "p"}
        assert len(found["metrics"][metric]["wilcoxon_holm"]) == 6
        ranks = found["metrics"][metric]["bootstrap"]["ranks"]
        assert all(abs(sum(each["frequencies"]) - 1) < 1e-12 for each in ranks.values())
    board = found["ranking"]["leaderboard"]
    assert [row["mean_rank"] for row in board] == sorted(row["mean_rank"] for row in board)


def test_four_cases_cannot_be_significant_and_it_is_said():
    said = " ".join(summary(analyze(random_table(cases=4), Rules(), FEW)))
    assert "With 4 cases the smallest possible p of a signed-rank test is 0.12" in said


def test_one_case_and_one_method_say_so():
    one = analyze(random_table(cases=1), Rules(), FEW)
    assert one.scores["dsc"].tests is None
    assert any("One case cannot say" in sentence for sentence in summary(one))
    alone = analyze(random_table(methods=1), Rules(), FEW)
    assert summary(alone)[0] == "M0 is the only method, with 2 scores and 12 cases."
    json.dumps(as_json(alone), allow_nan=False)


def test_parts_of_the_cases_get_every_table():
    table = random_table()
    table["dataset"] = np.where(table["case"].isin(["c0", "c1", "c2", "c3"]), "open", "secret")
    found = analyze(table, Rules(), FEW, by=["dataset"])
    assert {name: len(part.panel.cases) for name, part in found.groups["dataset"].items()} == {
        "open": 4,
        "secret": 8,
    }
    alone = analyze(table[table["dataset"] == "open"], Rules(), FEW)
    assert as_json(found)["groups"]["dataset"]["open"]["metrics"] == as_json(alone)["metrics"]
    values = tables(found)["values"]
    assert set(zip(values["column"], values["part"], strict=True)) == {
        ("all", "all"),
        ("dataset", "open"),
        ("dataset", "secret"),
    }
    with pytest.raises(InputError, match=r"no column 'sex'.*cohort, dataset"):
        analyze(table, Rules(), FEW, by=["sex"])


def test_an_unknown_baseline_is_refused():
    with pytest.raises(InputError, match="no method nnU-Net"):
        analyze(random_table(), Rules(), Settings(baselines=("nnU-Net",)))


def test_the_same_seed_gives_the_same_analysis():
    one, two = (as_json(analyze(random_table(), Rules(), FEW)) for _ in range(2))
    assert one == two
    other = as_json(analyze(random_table(), Rules(), Settings(samples=200, seed=1)))
    assert other["ranking"]["bootstrap"] != one["ranking"]["bootstrap"]
    assert other["metrics"]["dsc"]["friedman"] == one["metrics"]["dsc"]["friedman"]


def test_intervals_of_means_stay_within_what_a_metric_can_be():
    rows = [(m, str(c), "crps", float(c == 0)) for m in "AB" for c in range(8)]
    found = analyze(long_table(rows), Rules(), FEW).scores["crps"].means
    assert (found.low == 0).all()
    assert "t" in found.method.lower()


def test_names_that_latex_would_take_for_commands(tmp_path):
    table = random_table().replace({"M0": r"\input{x} 50% & $a_b$ <i>"})
    write_analysis(analyze(table, Rules(), FEW), tmp_path)
    text = (tmp_path / "analysis.tex").read_text()
    assert r"\textbackslash{}input\{x\} 50\% \& \$a\_b\$ \textless{}i\textgreater{}" in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert all(len(re.findall(r"(?<!\\)&", line)) >= 2 for line in lines)


BAD = {
    "other names": ("team,patient,measure,score\nA,1,dsc,0.5\n", [], "--columns"),
    "no direction": ("method,case,metric,value\nA,1,x,1\nB,1,x,2\n", [], "--higher NAME"),
    "twice": ("method,case,metric,value\nA,1,dsc,1\nA,1,dsc,1\nB,1,dsc,1\n", [], "two rows"),
    "missing": ("method,case,metric,value\nA,1,dsc,1\nA,2,dsc,1\nB,1,dsc,1\n", [], "--missing"),
    "matrix": ("subject,A,B\n1,0.5,0.6\n2,0.4,0.5\n", [], "--matrix"),
    "policy": ("method,case,metric,value\nA,1,dsc,1\n", ["--missing", "skip"], "Use one of"),
    "quantile": ("method,case,metric,value\nA,1,dsc,1\n", ["--aggregate", "2"], "0 to 1"),
    "weight": ("method,case,metric,value\nA,1,dsc,1\n", ["--weights", "dsc=-1"], "above 0"),
    "weighed": ("method,case,metric,value\nA,1,dsc,1\n", ["--weights", "nsd=1"], "It has dsc"),
    "cohort": ("method,case,metric,value\nA,1,dsc,1\n", ["--cohort", "hard"], "no cohorts"),
    "by": ("method,case,metric,value\nA,1,dsc,1\n", ["--by", "sex"], "no column 'sex'"),
}


@pytest.mark.parametrize("command", ["rank", "analyze"])
@pytest.mark.parametrize(("text", "options", "message"), BAD.values(), ids=BAD)
def test_nothing_is_guessed(tmp_path, command, text, options, message):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    done = segjury(command, path, *options)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_stated_policies_are_followed_and_noted(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("team,case,metric,value\nA,1,dsc,.9\nA,2,dsc,.9\nB,1,dsc,.8\nC,1,dsc,1\n")
    done = segjury("rank", path, "--columns", "method=team", "--missing", "worst")
    assert done.returncode == 0
    assert "values that were missing count as the worst (dsc 0): B in 1 of 2 cases" in done.stdout
    done = segjury("rank", path, "--columns", "method=team", "--missing", "exclude")
    assert "left out for all methods, as some have no value of dsc: 2" in done.stdout


def test_the_leaderboard_is_written_in_three_forms(tmp_path):
    table = random_table(metrics=("dsc",))
    table[["method", "case", "metric", "value"]].to_csv(tmp_path / "s.csv", index=False)
    done = segjury("rank", tmp_path / "s.csv", "--scheme", "test-then-rank", "--out", tmp_path)
    assert done.returncode == 0
    board = pd.read_csv(tmp_path / "leaderboard.csv")
    found = json.loads((tmp_path / "leaderboard.json").read_text())
    assert [row["method"] for row in found["leaderboard"]] == board["method"].tolist()
    assert found["ranking"]["scheme"] == "test-then-rank"
    assert all(abs(sum(r["bootstrap"]["frequencies"]) - 1) < 1e-12 for r in found["leaderboard"])
    assert (tmp_path / "leaderboard.tex").read_text().count(r"\\") == len(board) + 1


def test_a_cohort_may_be_a_condition_on_the_cases(tmp_path):
    random_table().to_csv(tmp_path / "scores.csv", index=False)
    cases = pd.DataFrame({"case": [f"c{c}" for c in range(12)]})
    cases["mean_pairwise_dsc"] = np.linspace(0, 1.1, 12)
    cases.to_csv(tmp_path / "cases.csv", index=False)
    done = segjury("rank", tmp_path, "--cohort", "mean_pairwise_dsc<=0.3", "--bootstrap", "0")
    assert "cohort mean_pairwise_dsc<=0.3: 4 cases" in done.stdout


def test_human_agreement_gives_the_papers_failure_rule():
    table = random_table()
    cases = pd.DataFrame({"case": [f"c{c}" for c in range(12)]})
    human = np.random.default_rng(3).uniform(0, 1, (12, 3))
    cases[["dsc_1_2", "dsc_1_3", "dsc_2_3"]] = human
    cases[["rater_1_cm3", "rater_2_cm3", "rater_3_cm3"]] = human + 1
    found = analyze(table, Rules(), FEW, cases=cases)
    rule = next(rule for rule in found.failures.rules if rule.metric == "dsc")
    assert rule.limit == pytest.approx(np.percentile(human, 5))
    values = table[table["metric"] == "dsc"]
    assert found.failures.failed[0].sum() == (values["value"] < rule.limit).sum()
    assert found.raters[0].icc is not None


def test_too_few_cases_are_told_apart_by_nothing(tmp_path):
    found = analyze(random_table(cases=5), Rules(), FEW)
    assert "5 cases are too few for resamples to show how sure that order is." in summary(found)
    assert all(row["group"] is None for row in as_json(found)["ranking"]["leaderboard"])
    write_analysis(found, tmp_path / "out")
    ranks = (tmp_path / "out" / "analysis.tex").read_text().split(r"\end{table}")[0]
    assert "interval" not in ranks
    random_table(cases=5).to_csv(tmp_path / "s.csv", index=False)
    done = segjury("rank", tmp_path / "s.csv")
    assert "too few for resamples" in done.stdout
    assert "interval" not in done.stdout


def test_values_that_a_metric_cannot_have_are_warned_of():
    done = segjury("rank", MATRIX, "--matrix", "dice", "--bootstrap", "0")
    assert "dice goes from 0 to 1, but here from 1 to 18; higher is taken as better" in done.stderr


def test_capitals_of_a_known_metric_do_not_matter(tmp_path):
    table = random_table(metrics=("Dice", "HD95"))
    board = Rules().leaderboard(table)
    assert list(board.values.columns) == ["Dice", "HD95"]
    means = table.groupby(["metric", "method"])["value"].mean()
    assert board.ranks["Dice"].idxmin() == means["Dice"].idxmax()
    assert board.ranks["HD95"].idxmin() == means["HD95"].idxmin()
    table.to_csv(tmp_path / "s.csv", index=False)
    done = segjury("rank", tmp_path / "s.csv", "--metrics", "dice", "--lower", "speed")
    assert "the table has no metric speed. It has Dice, HD95." in done.stderr


def test_cases_that_count_for_nothing_are_not_drawn():
    table = random_table()
    table.loc[(table["case"] == "c3") & (table["method"] == "M1"), "value"] = np.nan
    found = analyze(table, Rules(ranking=Ranking(missing="exclude")), FEW)
    assert len(found.panel.cases) == 11
    assert "over 2 scores and 11 cases" in summary(found)[0]


def test_a_shared_first_place_is_said_to_be_shared():
    rows = [(m, str(c), "dsc", (c % 5 + (m == "C")) / 10) for m in "ABC" for c in range(8)]
    rows = [(m, c, metric, -v if m == "C" else v) for m, c, metric, v in rows]
    said = summary(analyze(long_table(rows), Rules(), FEW))
    assert said[0].startswith("A and B share the first place")
    assert "the first place goes to none of these 2 in 0 %." in said[1]


def test_leaving_out_a_case_that_breaks_a_tie_changes_the_first_place():
    values = {"A": [0.9, 0.1, 0.5, 0.5, 0.5, 0.5], "B": [0.1, 0.9, 0.5, 0.5, 0.5, 0.5]}
    rows = [(m, f"c{c}", "dsc", v) for m, cases in values.items() for c, v in enumerate(cases)]
    said = summary(analyze(long_table(rows), Rules(), FEW))
    assert "Leaving out one case changes the first place for 2 of 6: c0 and c1." in said


def test_a_cohort_may_be_a_word_in_a_column(tmp_path):
    table = random_table()
    table["dataset"] = np.where(table["case"] < "c5", "open", "secret")
    table.to_csv(tmp_path / "s.csv", index=False)
    done = segjury("rank", tmp_path / "s.csv", "--cohort", "dataset=open", "--bootstrap", "0")
    assert "cohort dataset=open: 7 cases" in done.stdout
    done = segjury("rank", tmp_path / "s.csv", "--cohort", "open")
    assert "--cohort dataset=open" in done.stderr


def test_a_matrix_is_a_table_of_one_metric():
    table = read_scores(MATRIX, matrix="dice")
    assert len(table) == 11 * 18
    assert set(table["metric"]) == {"dice"}


def long_csv(path, rows, columns="method,case,metric,value"):
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_one_huge_score_does_not_hide_the_other_differences():
    rng = np.random.default_rng(0)
    first = rng.uniform(1, 2, 12)
    second = first + rng.uniform(0.01, 0.1, 12)
    first[0] = second[0] = 1e12  # what some write where there is no distance
    rows = [("A", str(c), "hd95", v) for c, v in enumerate(first)]
    rows += [("B", str(c), "hd95", v) for c, v in enumerate(second)]
    (pair,) = analyze(long_table(rows), Rules(), FEW).scores["hd95"].tests.wilcoxon
    assert pair.p == pytest.approx(scipy.stats.wilcoxon(first[1:], second[1:]).pvalue)


def test_a_rival_that_is_not_next_to_the_first_is_named():
    rng = np.random.default_rng(1)
    scores = {"A": rng.normal(0.80, 0.005, 20), "B": rng.normal(0.70, 0.005, 20)}
    scores["C"] = 0.65 + 0.8 * (-1.0) ** np.arange(20)
    rows = [(m, str(c), "dsc", v) for m, cases in scores.items() for c, v in enumerate(cases)]
    found = analyze(long_table(rows), Rules(), FEW)
    ahead = found.stability.overall.ahead
    assert found.board.position["B"] == 2
    assert ahead[found.panel.methods.index("C"), 0] > 0.05
    assert "The resamples do not settle the order of A with C." in summary(found)


def test_thirty_methods_that_are_told_apart():
    rows = [(f"M{m:02}", str(c), "dsc", 1 - m / 50 + c / 1e4) for m in range(30) for c in range(8)]
    said = summary(analyze(long_table(rows), Rules(), FEW))
    assert "The resamples settle the first place, pair by pair at 95 %." in said


@pytest.mark.parametrize("name", ["position", "mean_rank", "method", "rank_x"])
def test_a_metric_cannot_take_a_column_of_the_leaderboard(tmp_path, name):
    rows = [(m, "1", metric, 1) for m in "AB" for metric in ("x", name)]
    path = long_csv(tmp_path / "s.csv", rows)
    options = ["--higher", f"x,{name}", "--out", tmp_path]
    done = segjury("rank", path, *options)
    assert done.returncode == 2
    assert "two columns called" in done.stderr


def test_metrics_may_be_called_as_our_columns_in_an_analysis(tmp_path):
    names = ("method", "case", "all", "mean", "score")
    rules = Rules(directions=dict.fromkeys(names, "higher"))
    write_analysis(analyze(random_table(metrics=names), rules, FEW), tmp_path)
    found = pd.read_csv(tmp_path / "analysis_signatures.csv")
    assert [f"signature {name}" for name in names] == found.columns[-5:].tolist()


def test_two_scores_of_one_name_are_refused():
    table = random_table(metrics=("vi",)).assign(structure="PORTA")
    other = random_table(metrics=("vi PORTA",))
    with pytest.raises(InputError, match="two scores are called 'vi PORTA'"):
        analyze(pd.concat([table, other]), Rules(directions={"vi PORTA": "lower"}), FEW)


def test_parts_that_a_file_name_cannot_tell_apart(tmp_path):
    rows = [
        (m, c, "dsc", 0.5, g) for m in "AB" for c, g in zip("123", ("a/b", "a b", ""), strict=True)
    ]
    path = long_csv(tmp_path / "s.csv", rows, "method,case,metric,value,site")
    done = segjury("rank", path, "--by", "site", "--out", tmp_path)
    assert done.returncode == 0
    assert len(list(tmp_path.glob("leaderboard_site_*.csv"))) == 2
    assert "note: 1 case of 3 in no site" in done.stdout


def test_a_method_without_any_score_in_a_part_is_ranked_there():
    rows = [(m, str(c), "dsc", 0.5 + c / 100) for m in "ABC" for c in range(8)]
    table = long_table(rows)
    table["site"] = np.where(table["case"] < "4", "x", "y")
    table = table[~((table["method"] == "C") & (table["site"] == "y"))]
    rules = Rules(ranking=Ranking(missing="worst"))
    _whole, _x, y = ranked_tables(table, rules, by=["site"], samples=0)
    assert y.board.position["C"] == 3
    assert "C in 4 of 4 cases" in y.notes[0]
    found = analyze(table, rules, Settings(samples=100, baselines=("C",)), by=["site"])
    assert found.groups["site"]["y"].scores["dsc"].tests.baselines


def test_every_method_may_be_a_baseline(tmp_path):
    random_table(methods=2).to_csv(tmp_path / "s.csv", index=False)
    done = segjury("analyze", tmp_path / "s.csv", "--baseline", "M0", "--baseline", "M1")
    assert done.returncode == 0, done.stderr


def test_a_metric_without_any_value_has_no_worst():
    table = random_table(metrics=("dsc", "nsd"))
    table.loc[table["metric"] == "nsd", "value"] = np.nan
    table.loc[0, "value"] = np.nan
    board = Rules(ranking=Ranking(missing="worst")).leaderboard(table)
    assert list(board.values.columns) == ["dsc"]


def test_a_gap_in_another_reading_does_not_stop_this_one():
    table = random_table(metrics=("dsc",), reading="corrected")
    other = table.assign(reading="released")[1:]
    (ranked_table,) = ranked_tables(pd.concat([table, other]), Rules(), samples=0)
    assert ranked_table.others == ()
    assert "reading released is not ranked: method M0 has no value" in ranked_table.notes[0]
    found = analyze(pd.concat([table, other]), Rules(), FEW)
    assert any("reading released is not ranked" in note for note in found.notes)


def test_conover_is_not_counted_where_friedman_finds_nothing(tmp_path):
    rng = np.random.default_rng(5)
    for _ in range(200):  # a table in which the post-hoc test finds what the omnibus test does not
        values = rng.normal(np.array([0.9, 0, 0, 0, 0]), 1, (8, 5))
        tests = score_tests(values, higher=True)
        if tests.friedman.p > 0.05 and (tests.conover[np.triu_indices(5, 1)] < 0.05).any():
            break
    assert len(tests.cliques) == 1
    frame = pd.DataFrame(values, columns=list("ABCDE"))
    frame.insert(0, "case", range(8))
    frame.to_csv(tmp_path / "m.csv", index=False)
    done = segjury("analyze", tmp_path / "m.csv", "--matrix", "x", "--higher", "x")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  x ")]
    assert line.split()[4] == "-"


def test_a_row_that_latex_would_take_for_an_option():
    text = latex_table(["method", "p"], [["[red]x[/]", "1"], ["*star", "2"]], caption="")
    assert "{}[red]x[/] & 1" in text
    assert "{}*star & 2" in text
