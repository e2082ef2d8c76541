"""Tables: results for pandas, Polars and Arrow, for a notebook and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

from pantrace.errors import UsageError

Columns = dict[str, type]
"""Name of each column and the type of its values: str, int, float or bool; every value may be None."""

_SHOWN = 20
"""Rows that are printed; data frames have all."""
_WIDE = 60
"""Characters of a cell that are printed."""
_ARROW = {str: "string", int: "int64", float: "float64", bool: "bool_"}
# The nullable types: with int64 and bool, pandas would turn a column with a missing value into floats or objects.
_PANDAS = {int: "Int64", bool: "boolean", float: "float64"}
_POLARS = {str: "String", int: "Int64", float: "Float64", bool: "Boolean"}


class Tabular:
    """A result that can become a table. A missing value is missing in it, never zero."""

    __slots__ = ()

    def table(self) -> Table:
        """Everything, as flat rows."""
        raise NotImplementedError

    def overview(self) -> Table:
        """What a person wants to see first."""
        return self.table()

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Whole numbers and truth values that may be missing are `Int64` and `boolean`."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """A Polars DataFrame."""
        return self.table().to_polars()

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        return self.table().to_arrow()

    def __repr__(self) -> str:
        return self.overview().as_text()

    def __rich__(self) -> Any:
        # Imported by name, because only layers above this one use the library that draws in a terminal.
        return import_module("pantrace.library.terminal").rich_table(self.overview())

    def _repr_html_(self) -> str:
        return self.overview().as_html()


@dataclass(repr=False)
class Table(Tabular):
    """Rows under named columns, with a sentence above and notes below."""

    columns: Columns
    rows: list[Sequence[Any]]
    sentence: str = ""
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> Table:
        return self

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows, each as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_pandas(self) -> Any:
        frame = _imported("pandas").DataFrame(self.rows, columns=list(self.columns))
        return frame.astype({name: _PANDAS[kind] for name, kind in self.columns.items() if kind in _PANDAS})

    def to_polars(self) -> Any:
        polars = _imported("polars")
        schema = {name: getattr(polars, _POLARS[kind]) for name, kind in self.columns.items()}
        return polars.DataFrame(self.rows, schema=schema, orient="row")

    def to_arrow(self) -> Any:
        arrow = _imported("pyarrow")
        schema = arrow.schema([(name, getattr(arrow, _ARROW[kind])()) for name, kind in self.columns.items()])
        # An empty table still has its columns and types.
        values = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return arrow.table([*map(list, values)], schema=schema)

    def as_text(self) -> str:
        """For a terminal."""
        lines = [self.sentence] if self.sentence else []
        shown = [[*self.columns], *self.cells()]
        if self.rows:
            widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
            right = [kind in (int, float) for kind in self.columns.values()]
            shown.insert(1, ["-" * width for width in widths])
            lines += [
                "  ".join(
                    cell.rjust(width) if last else cell.ljust(width)
                    for cell, width, last in zip(row, widths, right, strict=True)
                ).rstrip()
                for row in shown
            ]
        return "\n".join([*lines, *self.remarks()])

    def as_html(self) -> str:
        """For a notebook."""
        root = ElementTree.Element("div")
        _paragraph(root, self.sentence)
        if self.rows:
            grid = ElementTree.SubElement(root, "table")
            _line(ElementTree.SubElement(grid, "thead"), "th", self.columns)
            body = ElementTree.SubElement(grid, "tbody")
            for row in self.cells():
                _line(body, "td", row)
        for remark in self.remarks():
            _paragraph(root, remark)
        return html_text(root)

    def cells(self) -> list[list[str]]:
        """The rows that are printed, as texts."""
        return [[_cell(value) for value in row] for row in self.rows[:_SHOWN]]

    def remarks(self) -> list[str]:
        """The lines below the rows."""
        left = len(self.rows) - _SHOWN
        return [*([f"and {left:,} more rows (.to_pandas() has all)"] if left > 0 else []), *self.notes]


def html_text(root: ElementTree.Element) -> str:
    """A piece of HTML; ElementTree escapes texts, so they cannot become markup."""
    return ElementTree.tostring(root, encoding="unicode", method="html")


def _paragraph(root: ElementTree.Element, text: str) -> None:
    if text:
        ElementTree.SubElement(root, "p").text = text


def _line(parent: ElementTree.Element, kind: str, cells: Iterable[str]) -> None:
    line = ElementTree.SubElement(parent, "tr")
    for cell in cells:
        ElementTree.SubElement(line, kind).text = cell


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
    text = " ".join(str(value).split())
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"


def _imported(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise UsageError(f"a table of {package} needs that package: pip install {package}") from None
