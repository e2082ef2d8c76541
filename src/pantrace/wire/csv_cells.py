"""CSV cells that a spreadsheet must not run: text written by an agent could begin like a formula."""

from __future__ import annotations

# The first characters that Excel, LibreOffice and Google Sheets take for a formula.
_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet would run it; numbers are left alone."""
    return f"'{cell}" if _is_formula(cell) else cell


def unescape_formula(cell: str) -> str:
    """The text that was given to `escape_formula`."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(cell: str) -> bool:
    if not cell.startswith(_SIGNS):
        return False
    try:
        # -5 and +1e3 are numbers: an apostrophe would make them texts in a spreadsheet.
        float(cell)
    except ValueError:
        return True
    return False
