"""Stratified splits: exact, seeded, better than chance."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from segjury.benchmark.split import split
from segjury.benchmark.split.balance import MEASURES, measures
from segjury.benchmark.split.search import Task
from segjury.benchmark.split.sizes import composition, part_sizes, random_parts
from segjury.benchmark.split.tables import balance, markdown, table_one
from segjury.benchmark.split.variables import MISSING, variables_of
from segjury.errors import InputError
from tests.commands import segjury

PAPER = ["sex", "age_range", "manufacturer", "location", "volume_cm3"]
# counts of the 109 cases, from the percentages of the paper's table 1 in its three parts
MARGINS = {
    "sex": {"Female": 51, "Male": 58},
    "age_range": {"41-60": 23, "61-80": 68, "81-100": 18},
    "manufacturer": {"Siemens": 29, "Philips": 46, "GE": 9, "Canon": 1, "TOSHIBA": 24},
    "location": {"Head": 64, "Body": 30, "Tail": 15},
}


def like_the_paper(seed: int = 0) -> pd.DataFrame:
    """109 cases with the paper's margins, and volumes with a long tail that go with location."""
    rng = np.random.default_rng(seed)
    table = {"case": [f"P{k:03d}" for k in range(109)]}
    for name, levels in MARGINS.items():
        table[name] = rng.permutation(np.repeat(list(levels), list(levels.values()))).tolist()
    middle = {"Head": 3.3, "Body": 3.6, "Tail": 4.5}
    table["volume_cm3"] = [f"{np.exp(rng.normal(middle[x], 1)):.2f}" for x in table["location"]]
    return pd.DataFrame(table)


def visits(seed: int = 0) -> pd.DataFrame:
    """Patients with one to three cases each, sites that go with patients, missing cells."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(60), rng.integers(1, 4, 60))
    site = rng.choice(list("ABC"), 60, p=(0.5, 0.3, 0.2))[patient]
    grade = rng.choice(["1", "2", "3", ""], patient.size)
    size = [f"{x:.3f}" if x < 9 else "" for x in rng.gamma(2, 2, patient.size)]
    names = {"case": [f"c{k}" for k in range(patient.size)], "patient": patient.astype(str)}
    return pd.DataFrame(names | {"site": site, "grade": grade, "size": size})


# ---- laws ----------------------------------------------------------------------------------


@st.composite
def tables(draw):
    """A small table with groups, and sizes that some choice of groups has."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(5, 16))
    table = pd.DataFrame(
        {
            "case": [f"c{k:02d}" for k in rng.permutation(n)],
            "group": rng.integers(0, n - 1, n).astype(str),
            "word": rng.choice(["a", "b", "NA", ""], n),
            "code": rng.choice(["1", "2", "10"], n),
            "number": [f"{x:.2f}" if x > 0.3 else "" for x in rng.exponential(1, n)],
        }
    )
    parts = rng.integers(0, draw(st.integers(2, 4)), n)[table["group"].astype(int)]
    sizes = [int(size) for size in np.bincount(parts) if size]
    return table, sizes if len(sizes) > 1 else None


@given(tables(), st.booleans(), st.integers(0, 3))
@settings(max_examples=10, deadline=None)
def test_every_case_is_in_one_part_of_exact_size_whatever_the_order_of_rows(drawn, grouped, seed):
    table, sizes = drawn
    sizes = sizes or [2, len(table) - 2]
    options = {"by": ["word", "code", "number"], "seed": seed, "sizes": sizes}
    options |= {"group": "group"} if grouped and drawn[1] else {}
    found = split(table, **options, pairs=[("word", "number")])
    assert Counter(found.parts.tolist()) == dict(enumerate(sizes))
    part = dict(zip(table["case"], found.of_cases, strict=True))
    if "group" in options:
        together = table.assign(part=found.of_cases).groupby("group")["part"].nunique()
        assert (together == 1).all()
    shuffled = table.sample(frac=1, random_state=seed + 1)
    again = split(shuffled, **options, pairs=[("word", "number")])
    assert part == dict(zip(shuffled["case"], again.of_cases, strict=True))
    np.testing.assert_allclose(found.comparison.values, again.comparison.values, rtol=1e-9)


def all_splits(n: int, sizes: tuple[int, int, int]):
    for first in combinations(range(n), sizes[0]):
        rest = [k for k in range(n) if k not in first]
        for second in combinations(rest, sizes[1]):
            parts = np.full(n, 2)
            parts[list(first)], parts[list(second)] = 0, 1
            yield parts


@pytest.mark.parametrize("seed", range(4))
def test_on_a_tiny_table_no_split_is_better(seed):
    """At most 1 % above the best of all 2520 splits that are nowhere worse than the median."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "case": [f"c{k}" for k in range(9)],
            "a": rng.choice(["x", "y"], 9),
            "b": rng.choice(["u", "v", "w"], 9),
            "c": rng.normal(size=9).round(3).astype(str),
        }
    )
    found = split(table, sizes=(4, 2, 3), by=["a", "b", "c"])
    every = measures(found.task, np.array(list(all_splits(9, (4, 2, 3)))))
    middle = found.comparison.random_median
    sound = ~(every > middle).any(axis=(1, 2))
    assert sound.any()
    best = (every[sound, :, 0] / middle[:, 0]).sum(axis=1).min()
    assert (found.comparison.values <= middle).all()
    assert (found.comparison.values[:, 0] / middle[:, 0]).sum() <= 1.01 * best


# ---- balance -------------------------------------------------------------------------------


def worst_gap(cells: pd.Series, parts: np.ndarray) -> float:
    """Another measure of balance, for the tests: the largest gap of a mean or of percentages."""
    values = pd.to_numeric(cells, errors="coerce").to_numpy(float)
    if len(np.unique(values[~np.isnan(values)])) > 6:
        means = [np.nanmean(values[parts == part]) for part in np.unique(parts)]
        return max(means) - min(means)
    codes = pd.factorize(cells)[0]
    shares = np.array(
        [np.bincount(codes[parts == p], minlength=codes.max() + 1) for p in np.unique(parts)]
    )
    shares = shares / shares.sum(axis=1, keepdims=True)
    return float(np.ptp(shares, axis=0).sum())


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("table", "sizes", "by", "group"),
    [
        (like_the_paper(), (40, 5, 64), PAPER, None),
        (like_the_paper(1), (55, 54), PAPER, None),
        (visits(), (70, 12, 39), ["site", "grade", "size"], "patient"),
    ],
    ids=["paper", "halves", "groups"],
)
def test_every_variable_beats_the_median_of_random_splits(table, sizes, by, group, seed):
    assert sum(sizes) == len(table)
    found = split(table, sizes=sizes, by=by, group=group, seed=seed)
    assert found.notes == ()
    assert (found.comparison.values < found.comparison.random_median).all()
    assert (found.comparison.better_than > 50).all()
    # and by a measure that the search does not know, against random splits of our own
    rng = np.random.default_rng(99)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    for name in by:
        random = [worst_gap(table[name], rng.permutation(labels)) for _ in range(200)]
        assert worst_gap(table[name], found.parts) < np.median(random), name


def test_it_is_far_better_than_the_split_that_was_published():
    """The paper's parts, as its table 1 counts them, and ours of cases with the same margins."""
    published = {
        "sex": [[21, 4, 26], [19, 1, 38]],
        "age_range": [[9, 3, 11], [23, 2, 43], [8, 0, 10]],
        "manufacturer": [[10, 1, 18], [15, 4, 27], [1, 0, 8], [1, 0, 0], [13, 0, 11]],
        "location": [[26, 3, 35], [7, 1, 22], [7, 1, 7]],
    }
    table = like_the_paper()
    found = split(table, sizes=(40, 5, 64), by=PAPER)
    for name, counts in published.items():
        assert np.sum(counts, axis=0).tolist() == [40, 5, 64]
        assert np.sum(counts, axis=1).tolist() == list(MARGINS[name].values())
        ours = pd.crosstab(table[name], found.parts)
        statistic = stats.chi2_contingency(ours, correction=False).statistic
        assert statistic < stats.chi2_contingency(counts, correction=False).statistic


def test_the_imbalance_is_chi_square_and_the_sum_of_squares_between_parts():
    table = like_the_paper(3)
    values = table["volume_cm3"].astype(float)
    found = split(table, sizes=(40, 5, 64), by=PAPER)
    expected = []
    for variable in found.variables:
        counts = pd.crosstab(variable.codes, found.parts)
        degrees = 2 * (len(counts) - 1)
        statistic = stats.chi2_contingency(counts, correction=False).statistic
        expected.append(108 / 109 * statistic / degrees)
    means = values.groupby(found.parts).mean()
    between = (np.array([40, 5, 64]) * (means - values.mean()) ** 2).sum() / values.var(ddof=1)
    expected[-1] = (expected[-1] + between / 2) / 2  # F's numerator has 2 degrees of freedom
    np.testing.assert_allclose(found.comparison.values[:, 0], expected, rtol=1e-9)


def test_random_splits_have_imbalance_one_on_average():
    table = like_the_paper(2)
    task = Task(tuple(variables_of(table, PAPER)), np.arange(109), (40, 5, 64))
    rng = np.random.default_rng(0)
    drawn = random_parts(task.group_sizes, task.sizes, np.array([[40], [5], [64]]), 4000, rng)
    assert np.abs(task.imbalance(drawn).mean(axis=0) - 1).max() < 0.06
    assert {tuple(np.bincount(parts)) for parts in drawn} == {(40, 5, 64)}
    # without groups, each case is as likely to be in a part as the part is large
    assert np.abs((drawn == 0).mean(axis=0) - 40 / 109).max() < 0.04


def test_a_pair_balances_a_mean_within_categories():
    table = like_the_paper(4)
    options = {"sizes": (54, 55), "by": ["sex", "location", "volume_cm3"]}
    table["volume_cm3"] = table["volume_cm3"].astype(float)

    def gap(found):
        means = table.groupby(["location", found.parts])["volume_cm3"].mean().unstack()
        return ((means[0] - means[1]).abs() / table["volume_cm3"].std()).max()

    paired = [split(table, **options, seed=s, pairs=[("location", "volume_cm3")]) for s in range(2)]
    plain = [split(table, **options, seed=s) for s in range(2)]
    assert np.mean(list(map(gap, paired))) < np.mean(list(map(gap, plain))) / 2
    assert paired[0].variables[-1].name == "location x volume_cm3"


# ---- variables -----------------------------------------------------------------------------


def test_columns_are_told_apart_and_missing_cells_are_a_level():
    table = pd.DataFrame(
        {
            "few": list("12312312"),
            "code": [f"0{k}" for k in range(8)],
            "size": ["5", "1", "", "3", "7", "2", "9", "8"],
            "word": ["b", "", "a", "a", "10", "9", " a ", "b"],
        }
    )
    few, code, size, word = variables_of(table, list(table))
    assert few.kind == code.kind == word.kind == "categories"
    assert few.levels == ("1", "2", "3")
    assert word.levels == ("9", "10", "a", "b", MISSING)
    assert word.codes.tolist() == [3, 4, 2, 2, 1, 0, 2, 3]
    # quartiles that occur among 1 2 3 5 7 8 9: 2, 5, 8
    assert size.levels == ("up to 2", "2 to 5", "5 to 8", "above 8", MISSING)
    assert size.codes.tolist() == [1, 0, 4, 1, 2, 0, 3, 2]
    assert variables_of(table, ["few"], numeric=["few"], bins=2)[0].kind == "numbers"
    assert variables_of(table, ["size"], categorical=["size"])[0].kind == "categories"


@given(
    st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5, -3.0, 1e9, np.nan]), min_size=2),
    st.integers(1, 9),
)
@settings(max_examples=40, deadline=None)
def test_no_bin_is_empty_and_bins_are_in_order(values, bins):
    if np.isnan(values).all():
        return
    (found,) = variables_of(pd.DataFrame({"x": values}), ["x"], numeric=["x"], bins=bins)
    assert set(found.codes.tolist()) == set(range(len(found.levels)))
    known = ~np.isnan(values)
    order = np.argsort(np.array(values)[known], kind="stable")
    assert (np.diff(found.codes[known][order]) >= 0).all()
    assert np.isfinite(np.hstack([*found.blocks, np.zeros((len(values), 1))])).all()


def test_a_constant_column_is_balanced_by_any_split():
    table = pd.DataFrame({"case": list("abcd"), "same": "x", "sex": list("fmfm")})
    found = split(table, sizes=(2, 2), by=["same", "sex"])
    assert found.comparison.values[0].tolist() == [0, 0, 0]
    assert found.comparison.values[1].tolist() == [0, 0, 0]
    assert found.notes == ()


# ---- sizes and groups ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "cases", "sizes"),
    [
        ("40,5,64", 109, [40, 5, 64]),
        ("60%,40%", 10, [6, 4]),
        ("60%,40%", 109, [65, 44]),  # 65.4 and 43.6
        ("33.3%,33.3%,33.4%", 10, [3, 3, 4]),
        ("50%,50%", 3, [2, 1]),
    ],
)
def test_sizes(given, cases, sizes):
    assert part_sizes(given, cases) == sizes


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.integers(6, 300))
@settings(max_examples=50, deadline=None)
def test_percentages_add_up_and_are_within_one_of_their_share(weights, cases):
    from fractions import Fraction

    shares = [Fraction(100 * weight, sum(weights)) for weight in weights]
    try:
        sizes = part_sizes(",".join(f"{share}%" for share in shares), cases)
    except InputError:  # a share so small that its part is empty
        assert min(shares) * cases < 100
        return
    assert sum(sizes) == cases
    assert all(
        abs(size - share * cases / 100) < 1 for size, share in zip(sizes, shares, strict=True)
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "40,5,60",
            "`sizes` add up to 105, the table has 109 cases. Give sizes that add up to 109, ",
        ),
        (
            "40,5,65",
            "`sizes` add up to 110, the table has 109 cases. Give sizes that add up to 109.",
        ),
        ("40,0,69", "leaves a part empty"),
        ("40,x", "`sizes` is '40,x'"),
        ("60%,60%", "`sizes` is '60%,60%'"),
        ("nan%,40%", "`sizes` is 'nan%,40%'"),
        ("1/0%,40%", "`sizes` is '1/0%,40%'"),
    ],
)
def test_sizes_that_cannot_be(given, said):
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        part_sizes(given, 109)


def test_the_rest_is_a_part_of_its_own():
    assert part_sizes("40,5", 109, rest=True) == [40, 5, 64]
    assert part_sizes("40,69", 109, rest=True) == [40, 69]


def reachable(groups, sizes) -> bool:
    """By trying everything."""
    states = {tuple(sizes)}
    for group in groups:
        states = {
            (*left[:p], left[p] - group, *left[p + 1 :])
            for left in states
            for p in range(len(sizes))
            if left[p] >= group
        }
    return bool(states)


@given(st.lists(st.integers(1, 6), min_size=3, max_size=8), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_sizes_are_reached_exactly_when_groups_allow_it(groups, seed):
    total = sum(groups)
    rng = np.random.default_rng(seed)
    first, second = (
        sorted(rng.choice(np.arange(1, total), 2, replace=False)) if total > 2 else (1, 2)
    )
    sizes = [int(first), int(second - first), int(total - second)]
    sizes = [size for size in sizes if size]
    group_sizes = np.array(groups)
    if reachable(groups, sizes):
        made = composition(group_sizes, sizes)
        different, counts = np.unique(group_sizes, return_counts=True)
        assert (made @ different).tolist() == sizes
        assert made.sum(axis=0).tolist() == counts.tolist()
        drawn = random_parts(group_sizes, sizes, made, 20, rng)
        for parts in drawn:
            assert np.bincount(parts, group_sizes, len(sizes)).tolist() == sizes
        return
    with pytest.raises(InputError, match="The nearest sizes are ") as error:
        composition(group_sizes, sizes)
    nearest = [
        int(text) for text in error.value.fix.removeprefix("The nearest sizes are ").split(",")
    ]
    assert reachable(groups, nearest)
    apart = sum(abs(a - b) for a, b in zip(nearest, sizes, strict=True))
    others = (
        [p for p in permutations(range(1, total + 1), len(sizes)) if sum(p) == total]
        if total < 13
        else []
    )
    for other in others:
        if sum(abs(a - b) for a, b in zip(other, sizes, strict=True)) < apart:
            assert not reachable(groups, other)


def test_what_groups_make_worse_than_chance_is_said():
    # two large patients hold all of one site: the parts can only be entirely different
    table = pd.DataFrame(
        {
            "case": [f"c{k}" for k in range(8)],
            "patient": list("aaaabbbb"),
            "site": list("xxxxyyyy"),
            "size": [str(k) for k in range(8)],
        }
    )
    found = split(table, sizes=(4, 4), by=["site", "size"], group="patient")
    assert found.comparison.better_than.max() == 0
    assert found.comparison.values[0, 2] == np.inf


# ---- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": ["age"]}, "there is no column 'age'. There are case, sex, "),
        ({"by": ["sex", "sex"]}, "`by` names a column twice"),
        ({"by": []}, "nothing to balance"),
        ({"by": ["sex"], "sizes": (109,)}, "at least two sizes"),
        ({"by": ["sex"], "names": ["a", "a", "b"]}, "3 parts have the names a, a, b"),
        ({"by": ["sex"], "case_column": "id"}, "the table has no column 'id'"),
        ({"by": ["sex"], "group": "patient"}, "there is no column 'patient'"),
        ({"by": ["sex"], "numeric": ["sex"]}, "column 'sex' has the cell '"),
        ({"by": ["sex"], "numeric": ["location"]}, "'location' is not among the variables"),
        ({"by": ["sex"], "pairs": [("sex", "location")]}, "'location' is not among the variables"),
        ({"by": ["sex", "case"]}, "`by` names 'case', which differs in all cases"),
        ({"by": ["sex"], "names": ["a", "b", "all"]}, "and not 'all'"),
        ({"by": ["sex"], "pairs": [("sex", "sex")]}, "a pair names 'sex' twice"),
    ],
)
def test_bad_input_is_explained(options, said):
    with pytest.raises(InputError) as error:
        split(like_the_paper(), **({"sizes": (40, 5, 64)} | options))
    assert said in str(error.value)


def test_a_case_that_is_there_twice_is_refused():
    table = pd.DataFrame({"case": ["a", "b", "a"], "sex": list("fmf")})
    with pytest.raises(InputError, match="the table has case a twice"):
        split(table, sizes=(1, 2), by=["sex"])


# ---- tables --------------------------------------------------------------------------------


def test_the_balance_table_counts_what_is_there():
    table = like_the_paper(5)
    found = split(table, sizes=(40, 5, 64), by=PAPER, pairs=[("location", "volume_cm3")])
    rows = balance(found).set_index(["variable", "level", "part"])
    part = pd.Series(found.of_cases)
    volume = table["volume_cm3"].astype(float)
    tail = table["location"] == "Tail"
    assert rows.loc[("location", "Tail", "test"), "n"] == (tail & (part == "test")).sum()
    percent = rows.loc[("location", "Tail", "test"), "percent"]
    assert percent == pytest.approx(100 * (tail & (part == "test")).sum() / 64)
    of_train = rows.loc[("volume_cm3", np.nan, "train")]
    assert of_train["mean"] == pytest.approx(volume[part == "train"].mean())
    assert of_train["sd"] == pytest.approx(volume[part == "train"].std())
    assert of_train["median"] == pytest.approx(volume[part == "train"].median())
    whole = rows.loc[("volume_cm3", np.nan, "all")]
    gaps = [
        abs(a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2)
        for (_, a), (_, b) in combinations(volume.groupby(part), 2)
    ]
    assert whole["standardised_difference"] == pytest.approx(max(gaps))
    for measure in MEASURES:
        assert 50 < whole[f"{measure}_better_than_percent"] <= 100
    head, lines = table_one(found)
    assert head[2:6] == ["all (N=109)", "train (N=40)", "validation (N=5)", "test (N=64)"]
    (line,) = [line for line in lines if line[1] == "Tail (mean volume_cm3)"]
    mean = volume[tail & (part == "train")].mean()
    share = 100 * (tail & (part == "train")).sum() / 40
    assert line[3] == f"{share:.2f}% ({mean:.4g})"
    assert "| 58.72% " in markdown(found)  # 64 of 109 in the head


def test_the_command(tmp_path):
    table = like_the_paper().rename(columns={"case": "study"})
    table.to_csv(tmp_path / "cases.csv", index=False)
    for name in table["study"]:
        (tmp_path / "reference" / name).mkdir(parents=True)
    (tmp_path / "reference" / "cases.csv").write_text("case\n")
    options = ("--by", ",".join(PAPER), "--id", "study", "--out", "out/split.csv")
    done = segjury(
        "split", "cases.csv", "--sizes", "40,5", "--names", "train,tune", "--rest", "held back",
        *options, "--folders", "reference", "--to", "parts", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "held back (N=64)" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "split.csv", "split_balance.csv", "split_balance.md",
    }  # fmt: skip
    written = pd.read_csv(tmp_path / "out" / "split.csv", dtype=str)
    pd.testing.assert_frame_equal(written.drop(columns="split"), table.astype(str))
    assert Counter(written["split"]) == {"train": 40, "tune": 5, "held back": 64}
    for part, cases in written.groupby("split")["study"]:
        linked = {path.name for path in (tmp_path / "parts" / part).iterdir()}
        assert linked == {*cases, "cases.csv"}
    again = segjury("split", "out/split.csv", "--sizes", "50%,50%", *options, cwd=tmp_path)
    assert again.returncode == 2
    assert "has a column 'split' already" in again.stderr
