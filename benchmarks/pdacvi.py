"""Time and memory of scoring a real-sized PDACVI case, beside just reading its files.

    python benchmarks/pdacvi.py [--shape 512,512,160] [--methods 3] [--repeat 5]

One case, five raters, all readings, one process (`evaluate` reads ahead in two threads). Timings
are the best of several, taken in turns within one run after a first round that is not counted: so
start-up is left out, and a busy machine slows both alike. What counts is the ratio.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROTOCOL = "curvas-pdacvi-2025"


def measure(folder: Path, repeat: int, what: str) -> None:
    """In a process of its own: print seconds and peak memory of one kind of work as JSON."""
    from segjury import files
    from segjury.case_task import CaseTask, evaluate_case
    from segjury.judging import score
    from segjury.loading import load_prediction, load_reference, prediction_files
    from segjury.metrics import READINGS
    from segjury.protocols import load_protocol

    protocol = load_protocol(PROTOCOL)
    reference, predictions = folder / "reference", folder / "predictions"
    case = next(path.name for path in sorted(reference.iterdir()))
    methods = tuple(sorted(path.name for path in predictions.iterdir()))
    form = protocol.reference

    def read() -> None:
        for stem in form.rater_stems:
            files.read_mask(files.find(reference / case, stem), labels=[1, 2])
        vessels = files.find(reference / case, form.structures.file)
        files.read_mask(vessels, labels=form.structures.labels.values())
        for method in methods:
            found = prediction_files(protocol, predictions / method, case)
            files.read_mask(found.mask, labels=[1])
            for probability in found.probabilities.values():
                files.read_probability(probability)

    ranked = tuple(use for use in protocol.metrics if use.ranked)

    def evaluate() -> None:
        evaluate_case(CaseTask(protocol, READINGS, reference, predictions, case, methods))

    def evaluate_ranked() -> None:
        form = protocol.model_copy(update={"metrics": ranked})
        evaluate_case(CaseTask(form, READINGS, reference, predictions, case, methods))

    def scoring() -> Callable[[], None]:
        prepared = load_reference(protocol, reference / case)
        prediction = load_prediction(protocol, predictions / methods[0], case, prepared.grid)
        score(prepared, prediction, protocol)  # what is computed once per case is done here
        return lambda: score(prepared, prediction, protocol)

    evaluate()  # start-up (imports, file cache) is not what is measured
    if what == "memory":
        print(json.dumps(peak_bytes()))
        return
    work = {"read": read, "evaluate": evaluate, "ranked": evaluate_ranked, "score": scoring()}
    best = {name: (float("inf"), float("inf")) for name in work}
    for _ in range(repeat):
        for name, function in work.items():
            start, cpu = time.perf_counter(), time.process_time()
            function()
            took = time.perf_counter() - start, time.process_time() - cpu
            best[name] = min(best[name], took)
    print(json.dumps(best))


def peak_bytes() -> int:
    """Peak memory of this process since it began; what its parent had does not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell the peak memory")


def make_case(folder: Path, shape: tuple[int, ...], methods: int) -> None:
    """A synthetic case, masks stored as bytes and maps that are 0 far from the lesion."""
    from segjury.phantoms import benchmark_writer

    benchmark_writer(PROTOCOL)(folder, cases=1, methods=methods, seed=0, shape=shape)


def make_heavier(folder: Path, target: Path) -> None:
    """The same case with masks stored as float64 and noise all over the maps."""
    import numpy as np

    from segjury.files import read_volume, write_volume
    from segjury.volume import Volume

    rng = np.random.default_rng(0)
    for path in sorted(folder.rglob("*.nii.gz")):
        if path.name == "image.nii.gz":
            continue
        volume = read_volume(path)
        array = volume.array.astype(np.float64)
        if path.name.startswith("probability"):
            noise = rng.random(array.shape, dtype=np.float32) * np.float32(1e-4)
            array = np.clip(volume.array + noise, 0, 1)
        write_volume(target / path.relative_to(folder), Volume(array, volume.grid))


def child(*arguments: str) -> str:
    """What this program prints in a fresh process, whose memory is then its own alone."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def help_seconds() -> float:
    """Shortest time of several calls of `segjury --help`."""

    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "segjury", "--help"], check=True, capture_output=True)
        return time.perf_counter() - start

    return min(once() for _ in range(5))


def print_case(title: str, folder: Path, repeat: int) -> None:
    """Measure one case and print its lines."""
    common = ("--folder", str(folder), "--repeat", str(repeat))
    seconds = json.loads(child("--work", "time", *common))
    memory = json.loads(child("--work", "memory", *common))
    print(f"{title:40}{'by the clock':>14}{'of processors':>16}{'ratio':>9}")
    for name, key in (
        ("  reading the files, one by one", "read"),
        ("  evaluate, reading included", "evaluate"),
        ("  the same without the contact angle", "ranked"),
    ):
        clock, processors = seconds[key]
        ratio = clock / seconds["read"][0]
        print(f"{name:40}{clock:12.2f} s{processors:14.2f} s{ratio:9.2f}")
    print(f"{'  scoring one more method, once read':40}{seconds['score'][0]:12.2f} s")
    print(f"{'  peak memory':40}{memory / 1e9:12.2f} GB")


def main() -> None:
    """Make the cases, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="512,512,160")
    parser.add_argument("--methods", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep or reuse the synthetic cases here")
    parser.add_argument(
        "--work", choices=["case", "heavier", "time", "memory"], help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    shape = tuple(int(size) for size in options.shape.split(","))
    if options.work == "case":
        make_case(options.folder, shape, options.methods)
    elif options.work == "heavier":
        make_heavier(options.folder, options.folder.with_name("heavier"))
    elif options.work:
        measure(options.folder, options.repeat, options.work)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.folder or Path(temporary)) / "usual"
            if not folder.is_dir():
                size = ("--shape", options.shape, "--methods", str(options.methods))
                child("--work", "case", "--folder", str(folder), *size)
                child("--work", "heavier", "--folder", str(folder))
            print(f"one case of {options.shape} voxels, five raters, all readings, one process")
            print_case("byte masks, sparse maps", folder, options.repeat)
            print_case(
                "float64 masks, dense noisy maps", folder.with_name("heavier"), options.repeat
            )
            print(f"{'segjury --help':40}{help_seconds():12.2f} s")


if __name__ == "__main__":
    main()
