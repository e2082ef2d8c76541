"""Sessions of GitHub Copilot: events of its command line, and chats in VS Code.

Spec: events of `~/.copilot/session-state/ID/events.jsonl`; `chatSessions/ID.json` of a VS Code workspace
Detect: events such as `user.message` with `data`; or `requests` beside `sessionId` and `creationDate`.
Lost: nothing is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source
from pantrace.wire import files
from pantrace.wire.head import Head
from pantrace.wire.json import decode_document
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

from ..format import Format
from . import chat, events
from .events import NAME

TYPES = ("session.", "user.", "assistant.", "tool.", "subagent.", "skill.")


_LOOSE = re.compile(rb'"type":\s*"(?:user|assistant)\.message"')


def detect(head: Head) -> str | None:
    record = head.record
    if isinstance(record.get("requests"), list) and "creationDate" in record and "sessionId" in record:
        return "VS Code chat"
    if _is_event(record):
        return "events"
    # Events on many lines each are no JSON document.
    loose = head.kind == "json" and not record and b'"parentId"' in head.data
    return "events" if loose and _LOOSE.search(head.data) else None


def _is_event(record: Any) -> bool:
    kind = record.get("type") if isinstance(record, dict) else None
    return isinstance(kind, str) and kind.startswith(TYPES) and "data" in record and "timestamp" in record


def load(row: Any) -> Sample:
    if isinstance(row, dict) and "requests" in row:
        return chat.sample_of(row)
    return events.sample_of(row if isinstance(row, list) else [row])


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """One session: a document, or its events one after another."""
    source = Source(format=NAME, path=str(path))

    def samples() -> Iterator[Sample]:
        try:
            sample = load(_rows(path, on_broken))
        except ReadError as error:
            on_broken(error.at(path=str(path)))
            return
        yield with_source(replace(sample, id=_name(path) if sample.id == NAME else sample.id), source)

    return Run(name=path.name, source=source, samples=samples())


def _name(path: Path) -> str:
    return path.parent.name if path.name == "events.jsonl" else path.stem


def _rows(path: Path, on_broken: OnBroken) -> Any:
    data = files.read_all(path)
    try:
        whole = decode_document(data)
    except ReadError:
        if b"}\n{" not in data.replace(b"\r", b""):
            raise
        return list(_values(data, path, on_broken))
    return whole if isinstance(whole, list) or "requests" in _mapping(whole) else [whole]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _values(data: bytes, path: Path, on_broken: OnBroken) -> Iterator[Any]:
    """JSON values one after another, on lines of their own or on many lines each."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise ReadError(f"not UTF-8 at byte {error.start}") from None
    decoder, text, begin = json.JSONDecoder(), "", 0
    for number, line in enumerate(lines, 1):
        if not text:
            begin = number
        text += line + "\n"
        if not line.rstrip().endswith("}"):
            continue
        try:
            value, _ = decoder.raw_decode(text.strip())
        except (ValueError, RecursionError):
            if line.startswith("{") and begin == number:
                on_broken(ReadError("the line is cut off or damaged", path=str(path), place=f"line {number}"))
                text = ""
            continue
        yield value
        text = ""
    if text.strip():
        on_broken(ReadError("the last event is cut off", path=str(path), place=f"line {begin}"))


FORMAT = Format(
    name=NAME,
    title="GitHub Copilot: events of its command line, chats of VS Code",
    spec="https://docs.github.com/copilot",
    detect=detect,
    load=load,
    open=open_run,
    layout="log",
    suffix=".jsonl",
    nests=True,
    note="verified with fixtures of other tools' tests, not with sessions of our own",
)

__all__ = ["FORMAT"]
