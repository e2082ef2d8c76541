"""How rich prints results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pantrace.engine.table import Table
from pantrace.model import Run, Sample

from .notebook import run_table, transcript

if TYPE_CHECKING:
    from rich.console import Group


def rich_table(found: Table) -> Group:
    """A table as rich draws it; texts of recordings are never interpreted as markup."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, kind in found.columns.items():
        grid.add_column(Text(name), justify="right" if kind in (int, float) else "left")
    for row in found.cells():
        # As Text: rich would read [bold] in a recording as markup.
        grid.add_row(*map(Text, row))
    return Group(
        *([Text(found.sentence)] if found.sentence else []),
        *([grid] if found.rows else []),
        *map(Text, found.remarks()),
    )


def rich_view(shown: Sample | Run) -> Group:
    """A sample as a transcript, a run as a table of facts, like in a notebook."""
    from rich.console import Group
    from rich.text import Text

    if isinstance(shown, Run):
        return rich_table(run_table(shown))
    lines = []
    for element in transcript(shown).iter():
        if element.tag == "strong":
            lines.append(Text.assemble((element.text or "", "bold"), element.tail or ""))
        elif element.text:
            lines.append(Text(element.text, style="bold underline" if element.tag in ("h4", "h5") else "dim"))
    return Group(*lines)
