"""The notebook of the docs, executed by a real Jupyter kernel; tables as pandas and Polars have them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import nbformat

import pantrace
from pantrace.engine.table import Table

ROOT = Path(__file__).parents[3]


def _runner() -> Any:
    spec = importlib.util.spec_from_file_location("run_notebook", ROOT / "docs/run_notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _shown(notebook: Any) -> list[Any]:
    """What each cell shows as text and as HTML; of pictures, that there is one."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            found.append((output.get("text"), data.get("text/plain"), data.get("text/html"), "image/svg+xml" in data))
    return found


def test_the_notebook_shows_what_it_gives_now() -> None:
    stored = nbformat.read(ROOT / "docs/notebook.ipynb", as_version=4)
    found = _runner().executed()
    assert _shown(found) == _shown(stored), "run make notebook"
    pages = [html for _, _, html, _ in _shown(found) if html]
    assert any("no_such_tool failed" in page for page in pages)
    assert any(picture for *_, picture in _shown(found))


def test_frames_keep_types_and_what_is_missing() -> None:
    table = Table({"n": int, "x": float, "ok": bool, "word": str}, [(1, 0.5, True, "a"), (None, None, None, None)])
    frame = table.to_pandas()
    assert [str(kind) for kind in frame.dtypes][:3] == ["Int64", "float64", "boolean"]
    assert frame.isna().iloc[1].all()
    assert frame["n"].sum() == 1
    other = table.to_polars()
    assert other.null_count().row(0) == (1, 1, 1, 1)
    assert other["ok"].to_list() == [True, None]


def test_all_frames_of_a_result_have_the_same_numbers() -> None:
    scores = pantrace.measure(ROOT / "examples")
    in_pandas, in_polars, in_arrow = scores.to_pandas(), scores.to_polars(), scores.to_arrow()
    assert len(in_pandas) == len(in_polars) == in_arrow.num_rows > 100
    total = sum(value for value in in_arrow["value"].to_pylist() if value is not None)
    assert abs(in_pandas["value"].sum() - total) < 1e-6 * total
    assert abs(in_polars["value"].sum() - total) < 1e-6 * total
