"""Sessions of Gemini CLI: one file of lines each, sub-agents in separate files; also the older documents.

Spec: github.com/google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts
Detect: `sessionId` beside `projectHash` in the first record.
Lost: nothing for pantrace, which keeps the rest in a line of its own; for others cases, scores, outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source
from pantrace.wire.carry_rest import carry_rest_in_log
from pantrace.wire.head import Head
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

from ..format import Format
from . import session
from .files import head_of, owner, records, session_files, with_children
from .messages import NAME

load, dump = carry_rest_in_log(session.load, session.dump)


def detect(head: Head) -> str | None:
    record = head.record
    if not isinstance(record.get("sessionId"), str) or not isinstance(record.get("projectHash"), str):
        return None
    if isinstance(record.get("messages"), list):
        return None if head.layout == "array" else "document"
    return "lines"


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """A session with all of its files."""
    head = head_of(path)
    variant = "document" if isinstance(head.get("messages"), list) else "lines"
    source = Source(format=NAME, version=variant, path=str(path))
    return Run(name=path.name, source=source, samples=_samples(path, head, source, on_broken))


def _samples(path: Path, head: dict[str, object], source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    name = head.get("sessionId")
    # A resume in another minute leaves a second file with the same session id.
    every = session_files(path, name) if isinstance(name, str) else [path]
    # Only the first file is read with the others; a later one that is named itself is read alone, as a resumed session.
    is_first = every[:1] == [path]
    found = [each for file in (every if is_first else [path]) for each in records(file, on_broken)]
    # If no line can be read, each of them was reported already.
    if not found:
        return
    try:
        sample = load(found)
    except ReadError as error:
        on_broken(error.at(path=str(path)))
        return
    if sample.trajectory is not None:
        whole = with_children(sample.trajectory, path, load, on_broken)
        sample = msgspec.structs.replace(sample, trajectory=whole if is_first else session.mark_resumed(whole))
    yield with_source(sample, source)


def _other_files(path: Path) -> list[Path]:
    name = head_of(path).get("sessionId")
    return [each for each in (*session_files(path, name), path.parent / name) if each != path] if name else []


FORMAT = Format(
    name=NAME,
    title="Gemini CLI sessions: JSON Lines or the older documents, with files of resumes and sub-agents",
    spec="github.com/google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    beside=_other_files,
    owner=owner,
    layout="log",
    suffix=".jsonl",
    corners=("[]",),
    lost={"": "a session of Gemini CLI holds messages, thoughts, calls, results and tokens"},
)

__all__ = ["FORMAT"]
