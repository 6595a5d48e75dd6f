"""Tables in parquet files, also of strangers."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from segjury.errors import InputError
from segjury.runtime.tables import read_cells


def test_cells_of_any_type(tmp_path):
    table = pa.table(
        {
            "text": pa.array(["a", None, "a"]),
            "category": pa.array(["x", "y", None]).dictionary_encode(),
            "whole": pa.array([1, None, 3]),
            "part": pa.array([0.5, None, 2.0]),
            "flag": pa.array([True, False, None]),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_cells(tmp_path / "t.parquet")
    assert found.fillna(-1).to_numpy().tolist() == [
        ["a", "x", "1", 0.5, "true"], ["", "y", "", -1, "false"], ["a", "", "3", 2.0, ""],
    ]  # fmt: skip


def test_a_table_of_several_pieces_and_one_without_rows(tmp_path):
    frame = pd.DataFrame({"a": [str(n) for n in range(40_000)], "b": range(40_000)})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7000)
    assert read_cells(tmp_path / "t.parquet")["a"].tolist() == frame["a"].tolist()
    frame[:0].to_parquet(tmp_path / "t.parquet")
    assert list(read_cells(tmp_path / "t.parquet").columns) == ["a", "b"]


SMALL_FILES = {
    "text": pa.array(["x" * 1000] * 100_000),
    "large text": pa.array(["x" * 1000] * 100_000, pa.large_string()),
    "bytes": pa.array([b"x" * 1000] * 100_000),
    "numbers": pa.array([7.5] * 10_000_000),
}


@pytest.mark.parametrize("column", SMALL_FILES.values(), ids=SMALL_FILES)
def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path, monkeypatch, column):
    monkeypatch.setattr("segjury.runtime.tables.MOST_BYTES", 50_000_000)
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"method": column}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="unpacks to over 47 MB"):
        read_cells(path)


READ_ALL = """
import sys; from pathlib import Path
from tests.runtime.test_tables import read_anyhow
for path in sorted(Path(sys.argv[1]).iterdir()): read_anyhow(path)
"""


def read_anyhow(path):
    with contextlib.suppress(InputError):
        read_cells(path)


def test_damaged_parquet_is_refused_and_nothing_else(tmp_path):
    frame = pd.DataFrame({"method": ["A", "B"] * 50, "value": [0.25, 0.5] * 50, "n": range(100)})
    frame.to_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    draw = random.Random(3)  # noqa: S311 - not for secrets
    for number in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / f"{number}.parquet").write_bytes(data)
    here = Path(__file__).parents[2]
    words = [sys.executable, "-W", "error", "-c", READ_ALL, tmp_path]  # a crash would end the tests
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
