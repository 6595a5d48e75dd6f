"""The human ceiling: what a rater would score, as tables, figures and a section of the report."""

from __future__ import annotations

import shutil

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from segjury import evaluate
from segjury.analysis import Settings
from segjury.analysis.ceiling import score_ceiling
from segjury.analysis.ranking import Rules
from segjury.analysis.study import Study
from segjury.benchmark.phantoms import benchmark_writer
from segjury.errors import InputError
from segjury.protocols import Protocol, load_protocol
from segjury.raters import measure_raters, write_raters
from segjury.report import make_report
from segjury.report.figures.raters import ceiling as ceiling_figure
from segjury.report.figures.raters.ceiling import ceiling
from segjury.report.figures.raters.pair_measures import agreement_matrices
from segjury.report.figures.raters.profiles import rater_profiles
from segjury.report.html import page
from segjury.report.markdown import markdown
from segjury.results.read import read_ceiling
from tests.commands import segjury
from tests.score_tables import ODD_NAMES, labelled, make_scores

ROW = ["method", "case", "metric", "structure", "reading"]
SHAPES = {"curvas-pdacvi-2025": (72, 64, 44), "curvas-2024": (56, 44, 36)}


@pytest.fixture(scope="module", params=SHAPES)
def benchmark(request, tmp_path_factory):
    """A protocol, and a small benchmark of two cases."""
    folder = tmp_path_factory.mktemp(request.param)
    write = benchmark_writer(request.param)
    write(folder, cases=2, methods=0, shape=SHAPES[request.param], seed=1)
    return load_protocol(request.param), folder


@pytest.fixture(scope="module")
def study(benchmark):
    form, folder = benchmark
    return measure_raters(form, reference=folder / "reference")


def hand_in(form, rater_file, folder):
    """Write a rater's mask as a method would: the labels, and maps of 0 and 1."""
    image = nib.load(rater_file)
    drawn, labels = np.asarray(image.dataobj), form.reference.labels
    folder.mkdir(parents=True)
    mask = np.where(np.isin(drawn, list(labels.values())), drawn, 0).astype(np.uint8)
    nib.save(nib.Nifti1Image(mask, image.affine), folder / "segmentation.nii.gz")
    for name, stem in form.probability_stems.items():
        values = (drawn == labels[name]).astype(np.float32)
        nib.save(nib.Nifti1Image(values, image.affine), folder / f"{stem}.nii.gz")


def assert_same_scores(found, expected):
    """The same rows, values and reasons."""
    ours, theirs = (table.set_index(ROW).sort_index() for table in (found, expected))
    assert list(ours.index) == list(theirs.index)
    assert len(ours) > 20
    np.testing.assert_allclose(ours["value"], theirs["value"], rtol=1e-12, atol=1e-12)
    for column in ("unit", "status", "detail", "cohort"):
        assert list(ours[column]) == list(theirs[column])


# ---- the ceiling is what evaluate gives ------------------------------------------------------


def test_against_all_raters_it_is_what_a_run_gives_the_masks(benchmark, study, tmp_path):
    form, folder = benchmark
    for case in (folder / "reference").iterdir():
        for k in range(form.reference.n_raters if case.is_dir() else 0):
            target = tmp_path / f"rater {k + 1}" / case.name
            hand_in(form, case / f"annotation_{k + 1}.nii.gz", target)
    run = evaluate(form, reference=folder / "reference", predictions=tmp_path)
    assert_same_scores(study.ceiling_all, run)


def test_against_the_others_it_is_what_a_run_without_the_rater_gives(benchmark, study, tmp_path):
    """The other raters alone as the reference, and the rater's mask as the only method."""
    form, folder = benchmark
    last = form.reference.n_raters  # so that the files of the others keep their numbers
    shutil.copytree(folder / "reference", tmp_path / "reference")
    for case in (tmp_path / "reference").iterdir():
        if case.is_dir():
            own = case / f"annotation_{last}.nii.gz"
            hand_in(form, own, tmp_path / "predictions" / f"rater {last}" / case.name)
            own.unlink()
    fewer = form.model_dump(mode="json")
    fewer["reference"]["n_raters"] = last - 1
    fewer["cohorts"] = []  # by all raters
    run = evaluate(
        Protocol.model_validate(fewer),
        reference=tmp_path / "reference",
        predictions=tmp_path / "predictions",
    )
    found = study.ceiling[study.ceiling["method"] == f"rater {last}"]
    groups = run.set_index("case")["cohort"].to_dict()
    assert_same_scores(found.assign(cohort=found["case"].map(groups)), run)


def test_against_himself_too_a_rater_scores_no_worse(study):
    """A rater in the reference gets a Dice no lower; what the ceiling leaves out."""
    both = [
        table[(table["metric"] == "dsc") & (table["reading"] == "corrected")]["value"].mean()
        for table in (study.ceiling, study.ceiling_all)
    ]
    assert both[0] < both[1]


def test_the_summary_is_the_mean_over_cases_then_raters(study):
    rows = study.ceiling[
        (study.ceiling["metric"] == "dsc")
        & (study.ceiling["structure"] == "all")
        & (study.ceiling["reading"] == "corrected")
    ]
    each = rows.groupby("method")["value"].mean()
    table = study.ceiling_summary
    line = table[
        (table["metric"] == "dsc")
        & (table["structure"] == "all")
        & (table["reading"] == "corrected")
    ].iloc[0]
    assert line["mean"] == pytest.approx(each.mean())
    assert (line["lowest"], line["highest"]) == pytest.approx((each.min(), each.max()))
    assert line["rater 2"] == pytest.approx(each["rater 2"])


# ---- files and figures -----------------------------------------------------------------------


def test_files_are_written_and_read_back(study, tmp_path):
    write_raters(study, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"pairs.csv", "agreement.csv", "raters.csv", "rater_cases.csv"} <= names
    assert {"ceiling.csv", "ceiling_all.csv", "raters.json", "raters.md"} <= names
    assert ("invasion.csv" in names) == (study.protocol.name == "curvas-pdacvi-2025")
    table = pd.read_csv(tmp_path / "raters.csv")
    assert table["sensitivity"].to_numpy() == pytest.approx(study.raters["sensitivity"].to_numpy())
    back = read_ceiling(tmp_path / "scores.csv", tmp_path)
    pd.testing.assert_frame_equal(back[ROW], study.ceiling[ROW])


def test_the_matrix_shows_the_means_and_turns_the_sign(study):
    table = study.agreement[study.agreement["measure"] == "boundary_mm"]
    (drawn,) = agreement_matrices(table[table["label"] == table["label"].iloc[0]])
    own = drawn.data
    (mesh,) = drawn.figure.findobj(lambda artist: artist.get_label() == "mean")
    matrix = np.ma.filled(mesh.get_array(), np.nan)
    first = own[(own["first"] == "rater 1") & (own["second"] == "rater 2")].iloc[0]
    assert matrix[0, 1] == pytest.approx(first["mean"])
    assert matrix[1, 0] == pytest.approx(-first["mean"])
    assert np.isnan(np.diag(matrix)).all()


def test_profiles_show_the_means_and_intervals(study):
    one = study.raters[study.raters["label"] == study.raters["label"].iloc[0]]
    bias, quality = rater_profiles(one, study.rater_measures, level=0.95)
    assert (bias.name, quality.name) == ("bias", "quality")
    (mean, *_) = bias.figure.axes[0].findobj(lambda a: a.get_label() == "mean rater 2")
    row = bias.data[bias.data["rater"] == "rater 2"].iloc[0]
    assert mean.get_xdata()[0] == pytest.approx(row["boundary_bias_mm"])


# ---- methods against raters ------------------------------------------------------------------


def frame(**columns):
    return pd.DataFrame(columns, index=["P1", "P2", "P3"])


def test_a_method_stands_better_among_or_worse_by_hand():
    methods = frame(A=[0.9, 0.9, 0.9], B=[0.6, 0.6, 0.9], C=[0.1, 0.2, 0.3])
    raters = pd.DataFrame({"rater 1": [0.5, 0.7, 0.6], "rater 2": [0.8, 0.8, 0.8]})
    raters.index = pd.Index(["P1", "P2", "P3"])
    found = score_ceiling(methods, raters, higher=True, aggregate="mean", settings=Settings())
    assert (found.lowest, found.highest, found.mean) == pytest.approx((0.6, 0.8, 0.7))
    assert [method.standing for method in found.methods] == ["better", "among", "worse"]
    assert [method.difference for method in found.methods] == pytest.approx([0.2, 0, -0.5])
    paired = np.array([0.1, 0.2, 0.3]) - [0.65, 0.75, 0.7]
    expected = stats.t.interval(0.95, 2, paired.mean(), stats.sem(paired))
    assert (found.methods[2].low, found.methods[2].high) == pytest.approx(expected)
    lower = score_ceiling(methods, raters, higher=False, aggregate="mean", settings=Settings())
    assert [method.standing for method in lower.methods] == ["worse", "among", "better"]


def test_only_cases_that_everybody_has_count_and_the_aggregate_is_the_rankings():
    methods = frame(A=[1.0, 2.0, 30.0])
    raters = pd.DataFrame({"rater 1": [1.0, 2.0, 3.0, 4.0]}, index=["P3", "P1", "P2", "P9"])
    raters.loc["P2"] = np.nan
    found = score_ceiling(methods, raters, higher=True, aggregate="median", settings=Settings())
    assert found.cases == 2
    assert found.methods[0].value == pytest.approx(15.5)  # of P1 and P3
    assert found.raters == {"rater 1": pytest.approx(1.5)}
    assert found.methods[0].low <= found.methods[0].difference <= found.methods[0].high
    assert (
        score_ceiling(methods, raters[3:], higher=True, aggregate="mean", settings=Settings())
        is None
    )


def test_a_raters_own_scores_handed_in_as_a_method_lie_on_the_ceiling():
    scores = make_scores(("Alpha", "rater 1"), 6, ("corrected",))
    made = scores[scores["method"] == "rater 1"]
    study = Study(scores, settings=Settings(samples=100), ceiling=made)
    for each in study.ceilings.values():
        (own,) = [method for method in each.methods if method.method == "rater 1"]
        assert own.standing == "among"
        assert own.difference == pytest.approx(0, abs=1e-12)
        assert own.value == pytest.approx(each.raters["rater 1"], rel=1e-12)
    assert set(study.ceilings) >= {"dsc", "vi SMA"}


@pytest.fixture(scope="module")
def odd():
    """Methods and raters with values by chance, and names that nobody should have."""
    scores = make_scores(ODD_NAMES[:3], 5, ("corrected",), ("dsc", "crps"))
    raters = make_scores(
        ("rater 1", "rater 2", "rater 3"), 5, ("corrected",), ("dsc", "crps"), seed=8
    )
    return Study(scores, Rules(), Settings(samples=100), ceiling=raters)


def test_the_figure_shows_band_and_marks(odd):
    figure = ceiling(odd)
    for score, each in odd.ceilings.items():
        marks = labelled(figure, score)
        for method in each.methods:
            assert marks[method.method].get_xdata()[0] == pytest.approx(method.value)
        band = labelled(figure, "band")[score]
        assert band.get_x() == pytest.approx(each.lowest)
        assert band.get_x() + band.get_width() == pytest.approx(each.highest)
    crps = figure.axes[1]
    assert crps.get_xlim()[0] > crps.get_xlim()[1]  # right is better
    data = ceiling_figure.ceiling_data(odd)
    assert set(data["standing"]) <= {"better", "among", "worse"}
    assert "raters" in ceiling_figure.ceiling_alt(odd)


def test_the_report_sets_methods_against_raters_and_escapes_names(odd):
    report = make_report(odd, kinds=("ceiling",), formats=("svg",))
    html, text = page(report), markdown(report)
    assert '<section id="ceiling">' in html
    assert 'href="#ceiling"' in html
    assert "<script>alert(1)" not in html
    assert "against the other 2, methods against all 3" in html
    assert "## Methods and raters" in text
    table = report.content.ceiling
    assert [row.column.key for row in table.rows] == list(odd.ceilings)
    for row in table.rows:
        assert row.cases == 5
        assert all(cell.words in html for cell in row.cells)


def test_without_a_ceiling_there_is_no_section():
    scores = make_scores(cases=3, readings=("corrected",), metrics=("dsc",))
    report = make_report(Study(scores, settings=Settings(samples=100)), kinds=(), formats=("svg",))
    assert 'id="ceiling"' not in page(report)
    assert report.content.ceiling is None


def test_a_folder_without_a_ceiling_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"of one rater it has no ceiling\.csv"):
        read_ceiling(tmp_path / "scores.csv", tmp_path)
    assert read_ceiling(tmp_path / "scores.csv") is None


# ---- as a person types it --------------------------------------------------------------------


def test_the_command_measures_what_it_can_and_names_what_it_cannot(tmp_path):
    write = benchmark_writer("curvas-pdacvi-2025")
    write(tmp_path, cases=2, methods=0, shape=(48, 44, 32), seed=3)
    (tmp_path / "reference" / "P002" / "annotation_3.nii.gz").write_bytes(b"nothing")
    arguments = ("--reference", tmp_path / "reference", "--out", tmp_path / "out", "--jobs", "1")
    done = segjury("raters", "curvas-pdacvi-2025", *arguments, "--reading", "corrected")
    assert done.returncode == 2, done.stderr
    assert "case P002: annotation_3" in done.stderr
    assert "1 of 2 cases measured" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Dice, mean ± SD" in done.stdout
    assert done.stdout.strip().endswith("raters.md")
    scores = pd.read_csv(tmp_path / "out" / "ceiling.csv")
    assert set(scores["reading"]) == {"corrected"}
    assert set(scores["case"]) == {"P001"}
    figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    measures = ("dice", "nsd", "boundary-mm", "volume-percent", "contact-angle")
    names = {*(f"agreement-{name}" for name in measures), "bias", "quality"}
    assert figures == {f"{name}.{form}" for name in names for form in ("svg", "png")}
