"""Predictions as Grand Challenge exports them, linked into segjury's layout.

`predictions.json` lists one job per case; its masks are in
`<job>/output/<relative path>/<some name>.mha`. Names and paths in it are a stranger's: none may
lead out of the folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segjury import images
from segjury.benchmark.case_links import check_empty
from segjury.benchmark.init.json_file import read_json
from segjury.benchmark.init.words import role_of
from segjury.benchmark.names import check_name, place_in
from segjury.errors import InputError, escaped
from segjury.protocols.patterns import MOST_FOLDERS
from segjury.runtime.paths import make_folder
from segjury.wording import listed

NAME = "predictions.json"
MASK = "segmentation"
MOST_BYTES = 1 << 26
MOST_JOBS = 100_000
MOST_NAMED = 5
ENDINGS = (*images.SUFFIXES, ".tiff", ".tif", ".dcm", ".zip")  # of images at their upload
FIX = "Export the predictions again"


@dataclass(frozen=True)
class _Output:
    """An image that a job put out: what it is, and its folder below that of the job."""

    slug: str
    folders: tuple[str, ...]


def exports_in(folder: Path) -> list[tuple[str, Path]]:
    """The exports in a folder by method: that folder itself, or those in it."""
    if images.is_file(folder / NAME):
        return [(folder.resolve().name, folder)]
    if not folder.is_dir():
        return []
    inside = sorted(p for p in folder.iterdir() if p.name[0] != "." and images.is_file(p / NAME))
    return [(path.name, path) for path in inside]


def link_grand_challenge(
    archive: Path,
    out: Path,
    *,
    method: str,
    socket: str = "",
    cases: Collection[str] | None = None,
) -> Path:
    """Link the predictions of an export as `out/<method>/<case>/segmentation.mha`.

    Parameters
    ----------
    archive
        The folder that has `predictions.json`.
    out, method
        The folder of all methods, and the name of this one, which must be new.
    socket
        The slug of the output that is the mask; needed where several may be.
    cases
        Names of the reference's cases, which those of images are compared with.

    Returns
    -------
    Path
        The folder of the method. A job that did not succeed, or whose output is not one image, is
        left out: its case is missing.

    """
    jobs = read_json(archive / NAME, most_bytes=MOST_BYTES)
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InputError(f"{NAME} is no list of jobs", FIX)
    if not jobs or len(jobs) > MOST_JOBS:
        raise InputError(f"{NAME} has {len(jobs)} jobs, expected 1 to {MOST_JOBS}", FIX)
    folder = place_in(out, method, "method")
    check_empty(folder)
    finished = [job for job in jobs if str(job.get("status", "Succeeded")).lower() == "succeeded"]
    outputs = [_outputs(job) for job in finished]
    mask = _mask_slug({each.slug for of_job in outputs for each in of_job}, socket)
    known = {name.casefold(): name for name in cases or ()}
    links: dict[tuple[str, str], Path] = {}
    jobs_of: dict[str, list[str]] = defaultdict(list)
    for job, of_job in zip(finished, outputs, strict=True):
        case = _case(job, known)
        place = place_in(archive, _text(job, "pk"), "job")
        jobs_of[case].append(place.name)
        for output in of_job:
            if file := _only_image(archive, place / "output", output):
                links[case, MASK if output.slug == mask else output.slug] = file
    if doubled := [case for case, of_case in sorted(jobs_of.items()) if len(of_case) > 1]:
        names = listed(doubled, most=MOST_NAMED)
        raise InputError(f"{NAME} has several jobs of {names}", FIX)
    if not any(stem == MASK for _, stem in links):
        raise InputError(f"{archive} has no masks of the output {mask}", FIX)
    for (case, stem), file in sorted(links.items()):
        make_folder(folder / case)
        (folder / case / f"{stem}{images.suffix(file.name)}").symlink_to(file)
    return folder


def _outputs(job: Mapping[str, Any]) -> list[_Output]:
    """The images that a job put out."""
    found = []
    for value in _values(job, "outputs"):
        socket = _socket(value)
        slug, path = _text(socket, "slug"), socket.get("relative_path")
        kind = str(socket.get("super_kind", "Image")).lower()
        if kind != "image":
            continue
        folders = _text(socket, "relative_path").split("/") if path else ["images", slug]
        if len(folders) > MOST_FOLDERS:
            raise InputError(f"{NAME}: {folders[0][:60]!a} is too deep", FIX)
        names = [check_name(each, "folder") for each in folders if each]
        found.append(_Output(check_name(slug, "output"), tuple(names)))
    return found


def _mask_slug(slugs: Collection[str], wanted: str) -> str:
    if wanted:
        if wanted not in slugs:
            names = listed(sorted(slugs), most=MOST_NAMED)
            raise InputError(f"no job has an output {wanted!a}", f"Give `socket` one of {names}")
        return wanted
    masks = sorted(slug for slug in slugs if role_of(slug) != "map")
    if len(masks) != 1:
        what = f"the masks may be any of {listed(masks)}" if masks else "no job put out a mask"
        raise InputError(what, "Say which output is the mask with `socket`")
    return masks[0]


def _case(job: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """The case of a job: the name that its image had at the upload."""
    names = []
    for value in _values(job, "inputs"):
        image = value.get("image")
        if isinstance(image, dict) and isinstance(image.get("name"), str):
            names.append(_without_ending(image["name"]))
    if not names:
        raise InputError(f"{NAME}: a job has no image among its inputs", FIX)
    for name in names:
        for each in (name, name.removesuffix("_0000")):
            if each.casefold() in known:
                return known[each.casefold()]
    return check_name(names[0].removesuffix("_0000"), "case")


def _without_ending(name: str) -> str:
    end = next((end for end in ENDINGS if name.lower().endswith(end)), "")
    return name[: len(name) - len(end)] if end else name


def _only_image(archive: Path, output: Path, of: _Output) -> Path | None:
    """The one image of an output, where it lies in the export; None where it is not one."""
    folder = output.joinpath(*of.folders)
    try:
        files = sorted(path for path in folder.iterdir() if images.suffix(path.name))
        if len(files) != 1:
            return None
        place = files[0].resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    if not place.is_relative_to(archive.resolve()):
        raise InputError(f"{escaped(files[0].name)} is a link that leaves {archive}", FIX)
    return place if place.is_file() else None


def _values(job: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    values = job.get(key)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputError(f"{NAME}: `{key}` of a job is no list", FIX)
    return values


def _socket(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What says which output a value is; older exports call it interface."""
    socket = value.get("socket", value.get("interface"))
    if not isinstance(socket, dict):
        raise InputError(f"{NAME}: an output has neither socket nor interface", FIX)
    return socket


def _text(of: Mapping[str, Any], key: str) -> str:
    value = of.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f"{NAME}: `{key}` is {str(value)[:40]!a}, expected a text", FIX)
    return value
