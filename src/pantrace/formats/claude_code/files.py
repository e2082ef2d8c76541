"""The files of a session beside its own: logs of sub-agents.

Claude Code keeps a session in `PROJECT/<id>.jsonl` and its sub-agents in `PROJECT/<id>/subagents/agent-<id>.jsonl`,
with a file `.meta.json` for each; older versions keep them beside the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Sample
from pantrace.wire import files
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head
from pantrace.wire.json import decode
from pantrace.wire.optional import object_of
from pantrace.wire.rows import OnBroken, read_log

from .lines import NAME, is_message
from .session import as_child, trajectory_from

AGENT = "agent-*.jsonl"


def with_agents(sample: Sample, path: Path, on_broken: OnBroken) -> Sample:
    """A session with the sub-agents that have files of their own."""
    parent = sample.trajectory
    if parent is None or path.match(AGENT):
        return sample
    children = list(parent.children)
    for file in agent_files(path):
        records = read_log(file, on_broken)
        child = msgspec.structs.replace(trajectory_from(records), id=file.stem.removeprefix("agent-"))
        child = as_child(child, parent)
        if meta := _meta(file):
            kept = {**child.extra, NAME: {**rest_in(child.extra, NAME), "meta": meta}}
            child = msgspec.structs.replace(child, extra=kept)
            if isinstance(caller := meta.get("toolUseId"), str):
                child = msgspec.structs.replace(child, caller=caller)
            # The note always knows the agent's type, its log does not.
            if isinstance(name := meta.get("agentType"), str):
                model = child.agents[0].model if child.agents else None
                child = msgspec.structs.replace(child, agents=(Agent(name=name, model=model),))
        children.append(child)
    if len(children) == len(parent.children):
        return sample
    # File names are random ids: without this, sub-agents would come in no order.
    children.sort(key=lambda child: child.created or 0)
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(parent, children=tuple(children)))


def agent_files(path: Path) -> Iterator[Path]:
    """The logs of a session's sub-agents."""
    yield from sorted((path.with_suffix("") / "subagents").glob(AGENT))
    # Older versions keep sub-agents beside the session.
    for file in _agents_in(path.parent, path.parent.stat().st_mtime_ns):
        if file != path and owner(file) == path:
            yield file


@lru_cache(16)
def _agents_in(folder: Path, changed: int) -> list[Path]:
    """The logs of sub-agents in a folder. It is listed once, not for each of the sessions in it."""
    return sorted(folder.glob(AGENT))


def owner(path: Path) -> Path | None:
    """The session that a sub-agent's file belongs to, or that a stream was printed from."""
    if not path.match(AGENT) and not path.match("agent-*.meta.json"):
        return _session_of_stream(path)
    if path.parent.name == "subagents":
        session = path.parent.parent.with_suffix(".jsonl")
        return session if session.is_file() else None
    for record in Head(path).records:
        # A name with a slash must not lead out of the folder.
        if is_message(record) and isinstance(name := record.get("sessionId"), str) and name == Path(name).name:
            session = path.with_name(f"{name}.jsonl")
            return session if session.is_file() else None
    return None


def _session_of_stream(path: Path) -> Path | None:
    """The session beside a stream: both hold the same responses, but only the session has the prompts."""
    names = (record.get("session_id") for record in Head(path).records if isinstance(record, dict))
    name = next((each for each in names if isinstance(each, str) and each == Path(each).name), None)
    session = path.with_name(f"{name}.jsonl") if name else path
    return session if session != path and session.is_file() else None


def note_of(file: Path) -> Path:
    """Where Claude Code notes a sub-agent's type, and the call that started it."""
    return file.with_suffix(".meta.json")


def _meta(file: Path) -> dict[str, Any]:
    try:
        found = decode(files.read_all(note_of(file)))
    except (ReadError, OSError):
        return {}
    return object_of(found)
