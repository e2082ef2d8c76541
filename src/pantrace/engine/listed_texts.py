"""Dictionary-encoded Arrow columns: each row is an index into a list of texts, so that each text is handled once."""

from __future__ import annotations

from typing import Any


def codes_of(column: Any) -> Any:
    """The index of each row's text in the column's list; one beyond the end for null."""
    import numpy as np

    codes = column.indices.to_numpy(zero_copy_only=False)
    # With nulls, Arrow gives floats, and NaN for null.
    return np.where(np.isnan(codes), len(column.dictionary), codes).astype(np.int32) if column.null_count else codes


def has_text(column: Any, text: str) -> Any:
    """For each row, whether a column has that text."""
    texts = column.dictionary.to_pylist()
    return codes_of(column) == (texts.index(text) if text in texts else -1)
