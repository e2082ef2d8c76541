"""A batch: results of one part that wait to be written together."""

from __future__ import annotations

from typing import Any

from .rows import Items, Kept, Result, take
from .schema import PART_TABLES, columns
from .table_columns import COLUMNS

_AT_ONCE = 64
"""Results that become columns together. Columns are texts and numbers, which Python's collector leaves alone."""


class Batch:
    """Results in the order in which they come: those that the run has made, and those that a part holds already."""

    def __init__(self) -> None:
        self._items: Items = {table: [] for table in PART_TABLES}
        self._columns: dict[str, dict[str, list[Any]]] = {}
        self.characters = 0
        """Of the samples' JSON."""

    @property
    def rows(self) -> int:
        """Of the longest table, as far as they have become columns."""
        return max(len(found["part"]) for found in self._columns.values()) if self._columns else 0

    def add(self, part: str, number: int, result: Result | Kept) -> None:
        """One more result, at that place of the part."""
        if isinstance(result, Result):
            self.characters += take(self._items, part, number, result)
            if len(self._items["samples"]) >= _AT_ONCE:
                self._make_columns()
            return
        self._make_columns()
        for table, rows in result.rows.items():
            moved: dict[str, list[Any]] = {"part": [part] * len(rows), "number": [number] * len(rows)}
            found = self._columns_of(table)
            for name, values in zip(found, zip(*rows, strict=True), strict=True) if rows else ():
                found[name] += moved.get(name) or values
        self.characters += len(result.json)

    def add_item(self, table: str, item: Any) -> None:
        """What one row is made of."""
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
