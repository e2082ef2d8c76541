"""Layout: which columns of a table fit a terminal, and how wide they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Layout:
    """A table's shape on a terminal."""

    widths: dict[int, int]
    """Width of each visible column, by its position."""
    tight: bool = False
    """Whether columns are separated by two spaces instead of three, because space is short."""
    left_out: tuple[str, ...] = ()
    names_parted: bool = False
    """Whether names in the first column continue on a second line after their dot."""


def parted(name: str) -> str:
    """latency_metrics.total_latency_seconds in two lines, so that the numbers next to it need not be wrapped."""
    metric, dot, measure = name.partition(".")
    return f"{metric}.\n  {measure}" if dot and measure and " " not in name else name


def fit(
    columns: Sequence[Sequence[str]],
    room: int,
    spare: Sequence[str] = (),
    last: Sequence[str] = (),
    *,
    firm: bool = False,
) -> Layout:
    """A layout that breaks no word if possible, for columns of cells that begin with their heading.

    If the table is too wide, the widest texts are wrapped first; then the columns in `spare` are left out one by one;
    then long words are broken. `firm`: columns are left out before anything is wrapped, and names in the first column
    are split at their dot if that saves a column, or lines; columns in `last` go where even that is too wide."""
    wanted = [_widest(line for cell in cells for line in cell.split("\n")) for cells in columns]
    least = [_widest(word for cell in cells for word in cell.split()) for cells in columns]
    shown = dict(enumerate(cells[0] for cells in columns))
    if sum(wanted) + 3 * (len(wanted) - 1) <= room:
        return Layout(dict(enumerate(wanted)))
    if firm and (layout := _unfolded(wanted, shown, room, spare)) is not None:
        return layout
    if not firm:
        return _folded(wanted, least, shown, room, spare)
    needed = {place: head for place, head in shown.items() if head not in spare}
    left_out = tuple(name for name in spare if name in shown.values())
    # Two ways remain: wrap cells, or split names. The one that loses fewer columns wins, then the one with fewer lines.
    folded = replace(_folded(wanted, least, needed, room, ()), left_out=left_out)
    lines = [line for name in columns[0] for line in parted(name).split("\n")]
    split = _widest(lines)
    is_whole = all(width >= least[place] for place, width in folded.widths.items())
    layout = _unfolded([split, *wanted[1:]], shown, room, spare)
    if layout is None and last:
        layout = _unfolded([split, *wanted[1:]], shown, room, (*spare, *last))
        is_whole = is_whole and layout is None
    if layout is None and not is_whole:
        needed = {place: head for place, head in needed.items() if head not in last}
        layout = _folded([split, *wanted[1:]], [split, *least[1:]], needed, room, ())
        return replace(layout, names_parted=True, left_out=(*left_out, *last))
    if layout is None:
        return folded
    names = sum(_widest([name]) > layout.widths[0] for name in columns[0])
    if is_whole and (len(folded.left_out), _more_lines(columns, folded)) <= (len(layout.left_out), names):
        return folded
    return replace(layout, names_parted=True)


def _more_lines(columns: Sequence[Sequence[str]], layout: Layout) -> int:
    """Roughly how many more lines than rows a wrapped table has."""
    rows = zip(*(columns[place] for place in layout.widths), strict=True)
    widths = [*layout.widths.values()]
    return sum(max((_widest([cell]) - 1) // width for cell, width in zip(row, widths, strict=True)) for row in rows)


def _folded(
    wanted: Sequence[int], least: Sequence[int], shown: dict[int, str], room: int, spare: Sequence[str]
) -> Layout:
    """The layout that wraps the widest texts first, with as few columns left out as needed to break no word."""
    left_out: list[str] = []
    for name in [None, *(name for name in spare if name in shown.values())]:
        if name is not None:
            shown = {place: head for place, head in shown.items() if head != name}
            left_out.append(name)
        left = room - 2 * (len(shown) - 1)
        for level in range(max(left, 0), 0, -1):
            widths = {place: max(least[place], min(wanted[place], level)) for place in shown}
            if sum(widths.values()) <= left:
                return Layout(widths, True, tuple(left_out))
    # Even without the spare columns a word does not fit: break the longest, rather than print wider than the terminal.
    for level in range(max(left, 1), 0, -1):
        widths = {place: min(least[place], level) for place in shown}
        if sum(widths.values()) <= left:
            break
    return Layout(widths, True, tuple(left_out))


def _unfolded(wanted: Sequence[int], shown: dict[int, str], room: int, spare: Sequence[str]) -> Layout | None:
    """The layout with the fewest columns left out in which nothing is wrapped; None if there is none."""
    left_out: list[str] = []
    for name in [None, *(name for name in spare if name in shown.values())]:
        if name is not None:
            left_out.append(name)
        kept = {place: wanted[place] for place, head in shown.items() if head not in left_out}
        if sum(kept.values()) + 2 * (len(kept) - 1) <= room:
            return Layout(kept, True, tuple(left_out))
    return None


def _widest(texts: Iterable[str]) -> int:
    """Terminal cells that the widest text needs, at least one. A Chinese character takes two."""
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=1) or 1
