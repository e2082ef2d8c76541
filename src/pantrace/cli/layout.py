"""Layout: which columns of a table a terminal has room for, and how wide they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Layout:
    """A table's shape on a terminal."""

    widths: dict[int, int]
    """Width of each column that is shown, by its place."""
    tight: bool = False
    """Whether two spaces part the columns instead of three: where some text has to be folded."""
    left_out: tuple[str, ...] = ()
    names_parted: bool = False
    """Whether the names in the first column go on behind their dot in a line of their own."""


def parted(name: str) -> str:
    """latency_metrics.total_latency_seconds in two lines, so that the numbers beside it need not be folded."""
    metric, dot, measure = name.partition(".")
    return f"{metric}.\n  {measure}" if dot and measure and " " not in name else name


def fit(columns: Sequence[Sequence[str]], room: int, spare: Sequence[str] = (), *, firm: bool = False) -> Layout:
    """A layout that breaks no word, for columns of cells with their heads in front.

    Where it is too wide, the widest texts are folded first; then the columns `spare` are left out one by one; what
    still does not fit has its longest words broken. `firm`: columns are left out before anything is folded, and names
    in the first column are parted at their dot where that saves a column, or lines."""
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
    folded = replace(_folded(wanted, least, needed, room, ()), left_out=left_out)
    lines = [line for name in columns[0] for line in parted(name).split("\n")]
    layout = _unfolded([_widest(lines), *wanted[1:]], shown, room, spare)
    if layout is None:
        return folded
    names = sum(_widest([name]) > layout.widths[0] for name in columns[0])
    if (len(folded.left_out), _more_lines(columns, folded)) <= (len(layout.left_out), names):
        return folded
    return replace(layout, names_parted=True)


def _more_lines(columns: Sequence[Sequence[str]], layout: Layout) -> int:
    """How many lines more than rows a folded table has, about."""
    rows = zip(*(columns[place] for place in layout.widths), strict=True)
    widths = [*layout.widths.values()]
    return sum(max((_widest([cell]) - 1) // width for cell, width in zip(row, widths, strict=True)) for row in rows)


def _folded(
    wanted: Sequence[int], least: Sequence[int], shown: dict[int, str], room: int, spare: Sequence[str]
) -> Layout:
    """The layout that folds the widest texts first, with the fewest columns left out in which no word is broken."""
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
    for level in range(max(left, 1), 0, -1):
        widths = {place: min(least[place], level) for place in shown}
        if sum(widths.values()) <= left:
            break
    return Layout(widths, True, tuple(left_out))


def _unfolded(wanted: Sequence[int], shown: dict[int, str], room: int, spare: Sequence[str]) -> Layout | None:
    """The layout with the fewest columns left out in which nothing is folded; None if there is none."""
    left_out: list[str] = []
    for name in [None, *(name for name in spare if name in shown.values())]:
        if name is not None:
            left_out.append(name)
        kept = {place: wanted[place] for place, head in shown.items() if head not in left_out}
        if sum(kept.values()) + 2 * (len(kept) - 1) <= room:
            return Layout(kept, True, tuple(left_out))
    return None


def _widest(texts: Iterable[str]) -> int:
    """Cells of a terminal that the widest text takes, at least one."""
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=1) or 1
