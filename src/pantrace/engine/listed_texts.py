"""Listed texts: columns of Arrow whose texts are places in a list of them, so that each text is looked at once."""

from __future__ import annotations

from typing import Any


def codes_of(column: Any) -> Any:
    """The places of a column's texts in its list of them; one beyond the list for null."""
    return column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)


def has_text(column: Any, text: str) -> Any:
    """For each row, whether a column has that text."""
    texts = column.dictionary.to_pylist()
    return codes_of(column) == (texts.index(text) if text in texts else -1)
