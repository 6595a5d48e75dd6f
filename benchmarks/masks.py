"""Time and memory of the benchmarks of masks, SMILE-UHURA and AortaSeg24, at their true sizes.

    python benchmarks/masks.py [--repeat 3] [--part smile|aorta|scale]

One case and one method in one process, files included. SMILE's five metrics stand beside two
distance transforms of the whole volume by scipy, which programs that compute bAVD from images
need. The sizes of the last table have the same share of vessels: each voxel split in eight, up to
the 150 um volume. Timings are the best of several, taken in turns within one run: a busy machine
slows both alike, and what counts is the ratio.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

FIVE = ("dice", "jaccard", "volsim", "mi", "bavd")
SMILE_SHAPE = (480, 640, 163)
AORTA_SHAPE = (450, 450, 695)


def evaluation(protocol: str, folder: Path, metrics: tuple[str, ...], reading: str) -> object:
    """Score one method on one case, files included."""
    from segjury.case_task import CaseTask, evaluate_case
    from segjury.loading import case_names, method_names
    from segjury.protocols import load_protocol

    form = load_protocol(protocol)
    uses = tuple(use for use in form.metrics if use.name in metrics)
    form = form.model_copy(update={"metrics": uses})
    reference, predictions = folder / "reference", folder / "predictions"
    case, method = case_names(reference)[0], method_names(predictions)[-1]
    return evaluate_case(CaseTask(form, (reading,), reference, predictions, case, (method,)))


def transforms(folder: Path) -> None:
    """Two distance transforms of whole volumes, which are read beforehand."""
    from scipy import ndimage

    for mask in read_pair(folder):
        ndimage.distance_transform_edt(~mask)


def read_pair(folder: Path) -> list[np.ndarray]:
    """Reference and prediction as arrays."""
    from segjury.files import read_volume

    paths = sorted(folder.rglob("annotation_1.nii.gz")) + sorted(folder.rglob("segm*.nii.gz"))
    return [read_volume(path).array > 0 for path in paths]


def work(name: str, folder: Path) -> Callable[[], object]:
    """What is measured under a name."""
    return {
        "smile": lambda: evaluation("smile-uhura-2023", folder, FIVE, "released"),
        "smile corrected": lambda: evaluation(
            "smile-uhura-2023", folder, (*FIVE, "cldice", "betti", "small_recall"), "corrected"
        ),
        "transforms": lambda: transforms(folder),
        "aorta": lambda: evaluation("aortaseg-2024", folder, ("dsc", "nsd"), "corrected"),
    }[name]


def measure(names: list[str], folder: Path, repeat: int) -> None:
    """In a process of its own: print seconds and the peak memory in GB as JSON."""
    import segjury.judging  # noqa: F401 - imports are not what is measured

    best = dict.fromkeys(names, float("inf"))
    for _ in range(repeat):
        for name in names:
            start = time.perf_counter()
            work(name, folder)()
            best[name] = min(best[name], time.perf_counter() - start)
    print(json.dumps({"seconds": best, "gb": peak_gb()}))


def peak_gb() -> float:
    """Peak memory of this process since it began; what its parent had does not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1e6
    raise RuntimeError("this system does not tell the peak memory")


def measured(names: list[str], folder: Path, repeat: int) -> tuple[dict[str, float], float]:
    """`measure` in a fresh process, whose memory is then its own alone."""
    command = [sys.executable, __file__, "--work", *names, "--folder", str(folder)]
    command += ["--repeat", str(repeat)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["seconds"], found["gb"]


def make(protocol: str, folder: Path, shape: tuple[int, int, int], methods: int = 1) -> Path:
    """A synthetic case with the predictions of the last of some methods."""
    from segjury.phantoms import benchmark_writer

    benchmark_writer(protocol)(folder, cases=1, methods=methods, seed=0, shape=shape)
    *others, _ = sorted((folder / "predictions").iterdir())
    for path in others:
        shutil.rmtree(path)
    return folder


def resized(folder: Path, target: Path, factor: int) -> Path:
    """The case with each voxel split in `factor`³, or, below 1, every second voxel kept."""
    from segjury.files import read_volume, write_volume
    from segjury.volume import Grid, Volume

    for path in sorted(folder.rglob("*.nii.gz")):
        if path.name == "image.nii.gz":
            continue
        array = read_volume(path).array
        if factor > 1:
            for axis in range(3):
                array = array.repeat(factor, axis=axis)
        else:
            array = array[::2, ::2, ::2]
        array = np.asfortranarray(array)
        write_volume(target / path.relative_to(folder), Volume(array, Grid(array.shape)))
    return target


def print_smile(folder: Path, repeat: int) -> None:
    """SMILE's metrics beside two distance transforms."""
    masks = read_pair(folder)
    disagreement = np.logical_xor(*masks).sum() / masks[0].sum()
    print(f"SMILE-UHURA, {SMILE_SHAPE}, {100 * masks[0].mean():.1f} % vessels, ", end="")
    print(f"{100 * disagreement:.0f} % of that number differ")
    seconds, _ = measured(["smile", "transforms"], folder, repeat)
    _, memory = measured(["smile"], folder, 1)
    ratio = seconds["smile"] / seconds["transforms"]
    print(f"{'  five metrics, reading included':40}{seconds['smile']:10.2f} s{memory:8.2f} GB")
    print(f"{'  two distance transforms by scipy':40}{seconds['transforms']:10.2f} s")
    print(f"{'  ratio':40}{ratio:10.2f}")
    seconds, memory = measured(["smile corrected"], folder, 1)
    name = "  all metrics of the corrected reading"
    print(f"{name:40}{seconds['smile corrected']:10.2f} s{memory:8.2f} GB")


def print_aorta(folder: Path, repeat: int) -> None:
    """Dice and NSD of 23 classes."""
    seconds, memory = measured(["aorta"], folder, repeat)
    print(f"AortaSeg24, {AORTA_SHAPE}, 23 classes")
    print(f"{'  Dice and NSD, reading included':40}{seconds['aorta']:10.2f} s{memory:8.2f} GB")


def print_scale(name: str, sizes: dict[str, Path], title: str) -> None:
    """Time and memory over sizes, per million voxels."""
    print(f"{title:40}{'voxels':>12}{'time':>10}{'per Mvoxel':>14}{'memory':>11}{'per voxel':>12}")
    for size, folder in sizes.items():
        seconds, memory = measured([name], folder, 2)
        voxels = np.prod([int(n) for n in size.split("x")])
        line = f"{'  ' + size:40}{voxels / 1e6:10.1f} M{seconds[name]:8.2f} s"
        line += f"{1e9 * seconds[name] / voxels:11.1f} ms{memory:9.2f} GB"
        print(f"{line}{1e9 * memory / voxels:7.2f} byte")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--part", choices=["smile", "aorta", "scale"])
    parser.add_argument("--work", nargs="+")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.work:
        measure(options.work, options.folder, options.repeat)
        return
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        if options.part in (None, "smile", "scale"):
            smile = make("smile-uhura-2023", root / "smile", SMILE_SHAPE, 6)  # a threshold
        if options.part in (None, "aorta", "scale"):
            aorta = make("aortaseg-2024", root / "aorta", AORTA_SHAPE)
        if options.part in (None, "smile"):
            print_smile(smile, options.repeat)
        if options.part in (None, "aorta"):
            print_aorta(aorta, options.repeat)
        if options.part in (None, "scale"):
            sizes = {
                "240x320x82": resized(smile, root / "half", 0),
                "480x640x163": smile,
                "960x1280x326": resized(smile, root / "double", 2),
            }
            print_scale("smile", sizes, "SMILE-UHURA, five metrics")
            sizes = {
                "113x113x174": make("aortaseg-2024", root / "small", (113, 113, 174)),
                "225x225x348": make("aortaseg-2024", root / "middle", (225, 225, 348)),
                "450x450x695": aorta,
            }
            print_scale("aorta", sizes, "AortaSeg24, Dice and NSD")


if __name__ == "__main__":
    main()
