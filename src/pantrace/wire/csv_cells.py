"""Cells of CSV that a spreadsheet takes for text: what an agent wrote must not run in somebody's table."""

from __future__ import annotations

_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: str) -> str:
    """The cell with an apostrophe in front where a spreadsheet would execute it; numbers are left alone."""
    return f"'{cell}" if _is_formula(cell) else cell


def as_meant(cell: str) -> str:
    """The text that `inert` was given."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(cell: str) -> bool:
    if not cell.startswith(_SIGNS):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False
