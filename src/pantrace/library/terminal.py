"""How results look where rich prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pantrace.engine.table import Table

if TYPE_CHECKING:
    from rich.console import Group


def rich_table(found: Table) -> Group:
    """A table as rich draws it; texts of recordings are not taken for styles."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, kind in found.columns.items():
        grid.add_column(Text(name), justify="right" if kind in (int, float) else "left")
    for row in found.cells():
        grid.add_row(*map(Text, row))
    return Group(
        *([Text(found.sentence)] if found.sentence else []),
        *([grid] if found.rows else []),
        *map(Text, found.remarks()),
    )
