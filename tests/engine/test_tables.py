"""Tables of scores: every text can be written, whatever a judge said."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.engine.measure import Row, row
from pantrace.engine.tables import write_table
from pantrace.errors import WriteError
from pantrace.model import Sample, Score


def test_half_a_surrogate_pair_is_written_out(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    score = Score(name="a", value="bad \ud800", explanation="half \ud83d", details={"reason": "\udc00"})
    rows = [row("run", Sample(id="s"), None, score)]
    assert write_table(rows, tmp_path / "s.parquet", "parquet", Row.__struct_fields__) == 1
    (found,) = parquet.read_table(tmp_path / "s.parquet").to_pylist()
    assert (found["value"], found["explanation"]) == ("bad \\ud800", "half \\ud83d")


def test_whole_numbers_that_arrow_does_not_hold(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    score = Score(name="a", value=10**40, threshold=10**40)
    rows = [row("run", Sample(id="s"), None, score), row("run", Sample(id="s"), None, Score(name="b", value=10**400))]
    write_table(rows, tmp_path / "s.parquet", "parquet", Row.__struct_fields__)
    one, two = parquet.read_table(tmp_path / "s.parquet").to_pylist()
    assert (one["threshold"], one["number"], two["number"], two["value"]) == (1e40, 1e40, None, str(10**400))
    rows = [row("run", Sample(id="s", epoch=10**30), None, Score(name="a", value=1))]
    with pytest.raises(WriteError, match=r"too large for Parquet .* write .csv or .json"):
        write_table(rows, tmp_path / "t.parquet", "parquet", Row.__struct_fields__)
    assert not (tmp_path / "t.parquet").exists()


def test_every_parquet_file_has_the_same_columns_of_the_same_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    files = {"none": [], "number": [3], "truth": [True], "word": ["C"], "all": [0.5, True, "C", None]}
    for name, values in files.items():
        rows = [row("run", Sample(id="s"), None, Score(name="a", value=value)) for value in values]
        assert write_table(iter(rows), tmp_path / name, "parquet", Row.__struct_fields__) == len(values)
    [schema] = {str(parquet.read_schema(tmp_path / name)) for name in files}
    assert "turn: int64" in schema
    found = parquet.read_table(tmp_path / "all").to_pylist()
    values = [(each["value"], each["number"]) for each in found]
    assert values == [
        ("0.5", 0.5),
        ("true", 1.0),
        ("C", None),
        (None, None),
    ]


def test_no_cell_of_csv_is_a_formula() -> None:
    from pantrace.engine.tables import csv_line

    cells = ["=1+1", "+A1", "-cmd|x", "@sum", "\tx", "-5", "+1e3", "-.5", "a=b", ""]
    assert csv_line(cells).decode() == "'=1+1,'+A1,'-cmd|x,'@sum,'\tx,-5,+1e3,-.5,a=b,\n"
