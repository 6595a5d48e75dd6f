"""Tables in workbooks of spreadsheets, also of strangers."""

from __future__ import annotations

import struct
import zipfile

import pytest

from segjury.errors import InputError
from segjury.results.read import read_scores
from segjury.runtime.tables import read_cells
from tests.workbooks import rows_of, sheet, workbook, write_workbook

WORKBOOK = "segjury.runtime.workbook"
HEADER = ("method", "case", "metric", "value")


def cells(path):
    table = read_cells(path)
    return [list(table.columns), *table.to_numpy().tolist()]


def written(tmp_path, data):
    path = tmp_path / "s.xlsx"
    path.write_bytes(data)
    return path


def test_texts_and_numbers(tmp_path):
    rows = [HEADER, ("A & <b>", 7, "dsc", 0.1 + 0.2), ("B", 8, "dsc", None), ("C", 9, "dsc", "-")]
    path = write_workbook(tmp_path / "s.xlsx", rows)
    assert cells(path) == [
        [*HEADER],
        ["A & <b>", "7", "dsc", "0.30000000000000004"],
        ["B", "8", "dsc", ""],
        ["C", "9", "dsc", "-"],
    ]
    scores = read_scores(path)
    assert scores["value"].fillna(-1).tolist() == [0.1 + 0.2, -1, -1]


def test_shared_texts_are_whole_and_without_their_reading_aids(tmp_path):
    strings = (
        "<si><t>method</t></si><si><r><t>ca</t></r><r><rPr><b/></rPr><t>se</t></r></si>"
        '<si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si>'
        '<si><t xml:space="preserve"> x </t></si>'
    )
    rows = (
        '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
        '<row><c t="s"><v>2</v></c><c t="s"><v>3</v></c></row>'
    )
    path = written(tmp_path, workbook({"S": sheet(rows)}, strings=strings))
    assert cells(path) == [["method", "case"], ["東京", " x "]]


def test_empty_rows_and_columns_around_a_table(tmp_path):
    rows = (
        '<row r="3"><c r="C3" t="str"><v>a</v></c><c r="E3" t="str"><v>b</v></c></row>'
        '<row r="4"/><row r="5"><c r="C5"><v>1E-3</v></c><c r="D5"/></row>'
        '<row r="6"><c r="E6" t="b"><v>1</v></c></row><row r="9"><c r="A9" s="1"/></row>'
    )
    path = written(tmp_path, workbook({"S": sheet(rows), "Empty": sheet("")}))
    assert cells(path) == [["a", "b"], ["0.001", ""], ["", "TRUE"]]


def test_a_formula_has_the_value_it_was_saved_with(tmp_path):
    rows = '<row><c t="str"><v>x</v></c></row><row><c r="A2"><f>1+1</f>{}</c></row>'
    path = written(tmp_path, workbook({"S": sheet(rows.format("<v>2</v>"))}))
    assert cells(path) == [["x"], ["2"]]
    path = written(tmp_path, workbook({"S": sheet(rows.format(""))}))
    with pytest.raises(InputError, match="cell A2 has a formula without its value"):
        cells(path)


def test_a_column_of_percentages_is_one_of_fractions(tmp_path):
    path = write_workbook(tmp_path / "s.xlsx", [HEADER, ("A", "1", "dsc", 0.932)])
    assert read_scores(path)["value"].tolist() == [0.932]


GOOD = sheet(rows_of([("a", "b"), (1, 2)]))
ENTITIES = '<!DOCTYPE x [<!ENTITY a "{}">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
BAD = {
    "several sheets": (workbook({"A": GOOD, "B": GOOD}), "several sheets: A, B"),
    "no sheet": (workbook({}), "has no table"),
    "no cells": (workbook({"A": sheet("")}), "has no table"),
    "entities": (workbook({"A": ENTITIES.format("x" * 99) + GOOD}), "document type"),
    "outside": (workbook({"A": OUTSIDE + GOOD}), "document type"),
    "entities in texts": (
        workbook({"A": GOOD}, more={"xl/sharedStrings.xml": OUTSIDE + "<sst/>"}), "document type"
    ),
    "not XML": (workbook({"A": "<worksheet><row>"}), "cannot be read"),
    "no such text": (workbook({"A": sheet('<row><c t="s"><v>5</v></c></row>')}), "cannot be read"),
    "a negative text": (
        workbook({"A": sheet('<row><c t="s"><v>-1</v></c></row>')}, strings="<si><t>x</t></si>"),
        "cannot be read",
    ),
    "no number": (workbook({"A": sheet("<row><c><v>x</v></c></row>")}), "cannot be read"),
    "backwards": (
        workbook({"A": sheet('<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>')}),
        "cannot be read",
    ),
    "far away": (workbook({"A": sheet('<row><c r="ZZZZ1"><v>1</v></c></row>')}), "columns, more"),
    "further still": (workbook({"A": sheet(f'<row><c r="{"Z" * 9999}1"/></row>')}), "more than"),
    "not a zip": (b"PK\x03\x04 nothing", "cannot be read"),
    "empty": (b"", "cannot be read"),
    "another zip": (workbook({"A": GOOD}).replace(b"xl/workbook.xml", b"xl/workbook.x"), "cannot"),
    "deep": (workbook({"A": sheet("<t>" * 40 + "</t>" * 40)}), "tags within each other"),
    "no place": (workbook({"A": GOOD}, more={"xl/workbook.xml": "<sheet name='A'/>"}), "cannot"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_workbooks_are_refused(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        cells(written(tmp_path, data))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{WORKBOOK}.MOST_BYTES", 1 << 20)
    path = tmp_path / "s.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (2 << 20))
    with pytest.raises(InputError, match="unpacks to 2 MB, more than 1"):
        cells(path)


def test_a_size_that_is_not_true_unpacks_no_more_than_it_says(tmp_path):
    data = bytearray(workbook({"A": sheet(" " * 100_000)}))
    at = data.index(b"PK\x01\x02", data.rindex(b"xl/worksheets/sheet1.xml") - 60)
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    with pytest.raises(InputError, match="cannot be read"):
        cells(written(tmp_path, bytes(data)))


def test_few_cells_do_not_make_a_huge_table(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{WORKBOOK}.MOST_CELLS", 5000)
    rows = f"<row>{'<c><v>1</v></c>' * 99}</row>" + "<row><c><v>1</v></c></row>" * 90
    with pytest.raises(InputError, match="over 5,000 cells"):
        cells(written(tmp_path, workbook({"A": sheet(rows)})))


def test_one_long_text_in_every_cell_is_refused(tmp_path):
    strings = f"<si><t>{'x' * 100_000}</t></si>"
    rows = '<row><c t="s"><v>0</v></c></row>' * 10
    with pytest.raises(InputError, match="a cell of 100,000 characters"):
        cells(written(tmp_path, workbook({"A": sheet(rows)}, strings=strings)))
