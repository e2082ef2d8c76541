"""Numbers with their nouns: 1 sample, 13 samples."""

from __future__ import annotations


def few(count: int, noun: str) -> str:
    """1 sample, 13 samples."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
