"""Claude Code: session logs with their sub-agents, output of `--output-format stream-json`, exports of the web version.

Spec: none is published; learned from sessions of version 1.0 to 2.1 and from recordings of 2.1.197.
Detect: lines of type user or assistant with a `message` and a `uuid` or session; a stream's `init` or `result`;
`loglines`.
Lost: nothing for pantrace, which keeps the rest in a line of type `pantrace`; for others cases, scores, outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source
from pantrace.wire.carry_rest import carry_rest_in_log
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head
from pantrace.wire.rows import OnBroken, rows_in
from pantrace.wire.source import with_source

from ..format import Format
from . import session, write
from .files import agent_files, note_of, owner, with_agents
from .lines import NAME, is_message
from .neighbours import copy_of, relatives, with_origin

load, dump = carry_rest_in_log(session.load, write.dump)


def detect(head: Head) -> str | None:
    if "loglines" in head.record and isinstance(head.record["loglines"], list):
        return "web export"
    if {"agentType", "toolUseId"} <= head.record.keys() and owner(head.path) is not None:
        # Claimed, so that it counts as a part of its session and not as an unknown file.
        return "note on a sub-agent"
    for record in head.records:
        if not isinstance(record, dict):
            continue
        if is_message(record) and {"sessionId", "session_id", "uuid"} & record.keys():
            # A stream spells its keys in snake_case, a session's log in camelCase.
            return "stream" if "session_id" in record else "session"
        # Redacted copies lack the ids, but the type of a line still matches the role of its message.
        kind = record.get("type")
        if kind and is_message(record) and "timestamp" in record and record["message"].get("role", kind) == kind:
            return "session"
        if isinstance(record.get("session_id"), str) and record.get("subtype") and "uuid" in record:
            return "stream"
        if record.get("type") == "summary" and {"summary", "leafUuid"} <= record.keys():
            return "session"
    return None


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """A session with its sub-agents; lines copied from another session beside it are marked."""
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return Run(name=path.name, source=source, samples=_samples(path, source, on_broken))


def _samples(path: Path, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    for _, row in rows_in(path, "log", on_broken):
        try:
            sample = with_origin(with_agents(load(row), path, on_broken), path)
        except ReadError as error:
            on_broken(error.at(path=str(path)))
            return
        yield with_source(sample, _with_producer(sample, source))


def _with_producer(sample: Sample, source: Source) -> Source:
    extra: Any = rest_in(sample.trajectory.extra, NAME) if sample.trajectory else {}
    version = extra.get("common", {}).get("version")
    producer = f"claude-code {version}" if isinstance(version, str) else None
    return Source(format=source.format, version=source.version, path=source.path, producer=producer)


def beside(path: Path) -> Iterable[Path]:
    for file in agent_files(path):
        yield from (file, note_of(file))
    yield from relatives(path)


FORMAT = Format(
    name=NAME,
    title="Claude Code: session logs with sub-agents, stream-json output, web exports",
    spec="derived from its files (docs/formats/claude-code.md)",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    owner=owner,
    copy_of=copy_of,
    beside=beside,
    layout="log",
    suffix=".jsonl",
    nests=True,
    corners=("[]",),
    lost={"": "a session of Claude Code holds messages, calls, results and tokens"},
)

__all__ = ["FORMAT"]
