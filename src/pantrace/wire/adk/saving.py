"""One document of many records, as ADK keeps eval sets and results: a header, and a list, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pantrace.model import RunHeader
from pantrace.wire.carried import CARRIER
from pantrace.wire.json import encode
from pantrace.wire.output import writing

from .residual import residual


def save_document(
    target: Path, header: dict[str, Any], key: str, records: Iterable[bytes], told: RunHeader, meant: RunHeader
) -> None:
    """A header with encoded records under a key, one on a line; and what `told`, read back from the header, leaves
    unsaid of `meant`. That stands last: a file is recognised by its beginning, which a long rest would fill."""
    start = encode(header)[:-1] + (b"," if header else b"")
    with writing(target) as file:
        file.write(start + encode(key) + b":[")
        for number, record in enumerate(records):
            file.write((b",\n" if number else b"\n") + record)
        rest = residual(told, meant)
        file.write(b"\n]" + (b"," + encode({CARRIER: rest})[1:-1] if rest else b"") + b"}\n")
