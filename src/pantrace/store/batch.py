"""A batch: results of one part that are written together."""

from __future__ import annotations

from typing import Any

from .rows import Items, Kept, Result, take
from .schema import PART_TABLES, columns
from .table_columns import COLUMNS

_AT_ONCE = 64
"""Results that become columns at a time. Columns contain texts and numbers, which Python's garbage collector ignores;
thousands of waiting objects would be scanned again and again."""


class Batch:
    """Results in order of arrival: new ones, and those taken over from an existing part."""

    def __init__(self) -> None:
        self._items: Items = {table: [] for table in PART_TABLES}
        self._columns: dict[str, dict[str, list[Any]]] = {}
        self.characters = 0
        """Length of the samples' JSON."""

    @property
    def rows(self) -> int:
        """Rows of the longest table, as far as they have become columns."""
        return max(len(found["part"]) for found in self._columns.values()) if self._columns else 0

    def add(self, part: str, number: int, result: Result | Kept) -> None:
        """Add a result at this position of the part."""
        if isinstance(result, Result):
            self.characters += take(self._items, part, number, result)
            if len(self._items["samples"]) >= _AT_ONCE:
                self._make_columns()
            return
        # Results that wait as objects come first, or the order of the rows would change.
        self._make_columns()
        for table, rows in result.rows.items():
            # Everything else stays as it was written, to the byte; only its position may differ in the new part.
            moved: dict[str, list[Any]] = {"part": [part] * len(rows), "number": [number] * len(rows)}
            found = self._columns_of(table)
            for name, values in zip(found, zip(*rows, strict=True), strict=True) if rows else ():
                found[name] += moved.get(name) or values
        self.characters += len(result.json)

    def add_item(self, table: str, item: Any) -> None:
        """Add the material for one row."""
        self._items[table].append(item)

    def tables(self) -> dict[str, dict[str, list[Any]]]:
        """The columns of the tables that have rows."""
        self._make_columns()
        return {table: found for table, found in self._columns.items() if found["part"]}

    def _make_columns(self) -> None:
        for table, items in self._items.items():
            if items:
                made = COLUMNS[table](items)
                found = self._columns_of(table)
                for name, values in made.items():
                    found[name] += values
                items.clear()

    def _columns_of(self, table: str) -> dict[str, list[Any]]:
        if table not in self._columns:
            self._columns[table] = {name: [] for name in columns(PART_TABLES[table])}
        return self._columns[table]
