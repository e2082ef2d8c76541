"""A row on its way to a file: the sample, its record, and the encoded bytes, made once for all who need them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pantrace.model import Sample

from .json import encode


class Row:
    """One sample on its way into a file."""

    def __init__(self, sample: Sample, value: Any) -> None:
        self.sample = sample
        self.value = value

    @cached_property
    def data(self) -> bytes:
        """Compact JSON."""
        return encode(self.value)
