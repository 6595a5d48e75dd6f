"""Tables and records that cost far more to read than they take on a disk."""

from __future__ import annotations

import codecs
import os

import pytest

from segjury.errors import InputError
from segjury.results.run import Run
from segjury.runtime.csv_text import read_text

HUGE = 15 << 30


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_table_that_ends_in_zeros_is_refused_where_they_begin(tmp_path, monkeypatch, encoding):
    path = tmp_path / "scores.csv"
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    path.write_bytes(mark + "case,method\n1,A\n".encode(encoding))
    os.truncate(path, HUGE)
    monkeypatch.setattr("pathlib.Path.read_bytes", pytest.fail)
    with pytest.raises(InputError, match=r"scores\.csv is not text \(line 3 has a NUL\)"):
        read_text(path)


def test_a_record_of_a_run_that_is_too_long_is_none(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    path.write_text("{}")
    os.truncate(path, HUGE)
    monkeypatch.setattr("pathlib.Path.read_text", pytest.fail)
    assert Run.read(tmp_path) is None
