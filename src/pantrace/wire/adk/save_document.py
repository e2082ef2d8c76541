"""Save one document with many records, as ADK stores eval sets and results: a header, then a growing list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pantrace.model import RunHeader
from pantrace.wire.json import encode
from pantrace.wire.output import writing
from pantrace.wire.pantrace_key import CARRIER

from .residual import residual


def save_document(
    target: Path, header: dict[str, Any], key: str, records: Iterable[bytes], actual: RunHeader, wanted: RunHeader
) -> None:
    """Write a header with encoded records under a key, one per line, then what `actual`, read back from the header,
    lacks of `wanted`. That comes last: a file is recognised by its beginning."""
    start = encode(header)[:-1] + (b"," if header else b"")
    with writing(target) as file:
        file.write(start + encode(key) + b":[")
        for number, record in enumerate(records):
            file.write((b",\n" if number else b"\n") + record)
        rest = residual(actual, wanted)
        file.write(b"\n]" + (b"," + encode({CARRIER: rest})[1:-1] if rest else b"") + b"}\n")
