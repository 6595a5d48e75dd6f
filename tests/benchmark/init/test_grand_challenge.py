"""Exports of Grand Challenge: what is linked, and what a stranger's list of jobs cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from segjury.benchmark.init import link_grand_challenge, propose
from segjury.errors import InputError
from segjury.scoring.evaluate import evaluate
from tests.benchmark.init.files import box, put, put_all, put_json

CASES = ("P001", "P002", "P003")
SLUG = "pdac-segmentation"


def value(slug, *, key="socket", path=None):
    about = {"slug": slug, "relative_path": path or f"images/{slug}", "super_kind": "Image"}
    return {key: about, "image": {"name": "irrelevant.mha", "pk": "1"}}


def job(name, pk, *slugs, key="socket", **more):
    inputs = [value("ct", key=key) | {"image": {"name": f"{name}_0000.nii.gz", "pk": "7"}}]
    return {
        "pk": pk,
        "inputs": inputs,
        "outputs": [value(slug, key=key) for slug in slugs or (SLUG,)],
        "status": "Succeeded",
        **more,
    }


def export(folder: Path, jobs) -> Path:
    """An export whose jobs have put out a mask for each image."""
    put_json(folder / "predictions.json", jobs)
    for k, each in enumerate(jobs):
        for output in each["outputs"]:
            slug = output.get("socket", output.get("interface"))["slug"]
            is_map = "confidence" in slug
            mask = (box(3 + k % 3) * 0.75).astype("f4") if is_map else box(3 + k % 3)
            put(folder / each["pk"] / "output" / "images" / slug / f"uuid{k}.mha", mask)
    return folder


def linked(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_symlink())


@pytest.mark.parametrize("key", ["socket", "interface"])
def test_masks_are_linked_by_the_names_that_images_had(tmp_path, key):
    jobs = [job(case, f"job-{k}", key=key) for k, case in enumerate(CASES)]
    archive = export(tmp_path / "export", jobs[::-1])
    link_grand_challenge(archive, tmp_path / "out", method="TeamA")
    assert linked(tmp_path / "out") == [f"TeamA/{case}/segmentation.mha" for case in CASES]
    place = tmp_path / "out" / "TeamA" / "P002" / "segmentation.mha"
    assert place.resolve().parent.parent.parent.parent.name == "job-1"


def test_an_export_is_scored_without_a_hand_edit(tmp_path):
    put_all(tmp_path / "labels", *(f"{case}_reader{r}" for case in CASES for r in "AB"))
    jobs = [job(case.lower(), f"j{k}", SLUG, "pdac-confidence") for k, case in enumerate(CASES)]
    export(tmp_path / "exports" / "TeamA", jobs)
    export(tmp_path / "exports" / "TeamB", jobs)
    with pytest.raises(InputError, match="is an export of Grand Challenge"):
        propose(tmp_path / "labels", tmp_path / "exports")
    made = propose(tmp_path / "labels", tmp_path / "exports", link=tmp_path / "links")
    assert made.follow_links
    assert made.protocol.prediction.probability == "pdac-confidence"
    scores = evaluate(
        made.protocol,
        reference=made.reference,
        predictions=made.predictions,
        follow_links=True,
    )
    assert set(scores["status"]) == {"ok"}
    assert set(scores["method"]) == {"TeamA", "TeamB"}
    assert set(scores["case"]) == set(CASES)


def test_a_job_that_failed_or_has_no_single_image_is_missing(tmp_path):
    jobs = [job(case, f"j{k}") for k, case in enumerate((*CASES, "P004"))]
    jobs[0]["status"] = "Failed"
    archive = export(tmp_path / "export", jobs)
    put(archive / "j1" / "output" / "images" / SLUG / "another.mha", box())
    (archive / "j2" / "output" / "images" / SLUG / "uuid2.mha").unlink()
    link_grand_challenge(archive, tmp_path / "out", method="A")
    assert linked(tmp_path / "out") == ["A/P004/segmentation.mha"]


def test_of_several_masks_one_is_named(tmp_path):
    archive = export(tmp_path / "export", [job("P001", "j", SLUG, "organ-segmentation")])
    with pytest.raises(InputError, match="masks may be any of organ-segmentation, pdac"):
        link_grand_challenge(archive, tmp_path / "out", method="A")
    with pytest.raises(InputError, match="no job has an output 'x'"):
        link_grand_challenge(archive, tmp_path / "out", method="A", socket="x")
    link_grand_challenge(archive, tmp_path / "out", method="A", socket=SLUG)
    assert linked(tmp_path / "out") == [
        "A/P001/organ-segmentation.mha",
        "A/P001/segmentation.mha",
    ]


def test_an_old_folder_is_not_mixed_with_a_new_one(tmp_path):
    archive = export(tmp_path / "export", [job("P001", "j")])
    link_grand_challenge(archive, tmp_path / "out", method="A")
    with pytest.raises(InputError, match="is there already"):
        link_grand_challenge(archive, tmp_path / "out", method="A")


# ---- hostile lists ---------------------------------------------------------------------------


def changed(key, new):
    return [job("P001", "j") | {key: new}]


HOSTILE = {
    "a job above": (changed("pk", "../secret"), "no name of a folder"),
    "a job anywhere": (changed("pk", "/etc"), "no name of a folder"),
    "a job without a name": (changed("pk", None), "expected a text"),
    "an output above": (
        changed("outputs", [value(SLUG, path="../../../secret")]),
        "no name of a folder",
    ),
    "an output in the root": (changed("outputs", [value("../x", path="a")]), "no name"),
    "an output far below": (changed("outputs", [value(SLUG, path="a/" * 99 + "b")]), "too deep"),
    "an output of nothing": (changed("outputs", [{"image": {}}]), "neither socket nor"),
    "outputs that are a number": (changed("outputs", 3), "is no list"),
    "a case above": ([job("../../x", "j")], "no name of a folder"),
    "a case that steers a terminal": ([job("P\x1b[31m", "j")], "cannot be shown"),
    "a case without a name": (changed("inputs", []), "no image among its inputs"),
    "a case twice": ([job("P001", "j"), job("P001", "k")], "several jobs of P001"),
    "no jobs": ([], "has 0 jobs"),
    "a table": ({"a": 1}, "no list of jobs"),
    "numbers": ([1, 2], "no list of jobs"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_list_is_refused_in_a_sentence(tmp_path, name):
    jobs, said = HOSTILE[name]
    put(tmp_path / "secret" / "x.mha", box())
    put(tmp_path / "export" / "j" / "output" / "images" / SLUG / "u.mha", box())
    put(tmp_path / "export" / "k" / "output" / "images" / SLUG / "u.mha", box())
    put_json(tmp_path / "export" / "predictions.json", jobs)
    with pytest.raises(InputError, match=said):
        link_grand_challenge(tmp_path / "export", tmp_path / "out", method="A")
    assert linked(tmp_path) == []


def test_a_link_that_leaves_the_export_is_refused(tmp_path):
    archive = export(tmp_path / "export", [job("P001", "j")])
    secret = put(tmp_path / "secret.mha", box())
    place = archive / "j" / "output" / "images" / SLUG / "uuid0.mha"
    place.unlink()
    place.symlink_to(secret)
    with pytest.raises(InputError, match="is a link that leaves"):
        link_grand_challenge(archive, tmp_path / "out", method="A")
    assert not (tmp_path / "out").exists()
