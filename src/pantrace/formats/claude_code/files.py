"""Files: what belongs to a session beside its own file: logs of sub-agents, and the session that it was forked from.

Claude Code keeps a session in `PROJECT/<id>.jsonl` and its sub-agents in `PROJECT/<id>/subagents/agent-<id>.jsonl`,
with a file `.meta.json` for each; older versions keep them beside the session. A fork begins with copies of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Agent, Origin, Part, Sample, Step, Trajectory, Unknown
from pantrace.wire import files
from pantrace.wire.head import Head
from pantrace.wire.json import decode
from pantrace.wire.rest import rest_in
from pantrace.wire.rows import OnBroken, read_log
from pantrace.wire.times import from_iso

from .lines import NAME, is_message
from .session import as_child, trajectory_from

_AGENT = "agent-*.jsonl"
_BOUNDARY = "compact_boundary"
_UUID = re.compile(rb'"uuid":\s?"([^"]+)"')
_TIME = re.compile(rb'"timestamp":\s?"([^"]+)"')
Moments = dict[str, float | None]
"""The times of lines by their ids."""
_MANY = 256
"""Sessions that one is held against at most."""
_A_WHILE = 5
"""Seconds."""


def with_agents(sample: Sample, path: Path, on_broken: OnBroken) -> Sample:
    """A session with the sub-agents that have files of their own."""
    parent = sample.trajectory
    if parent is None or path.match(_AGENT):
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
            if isinstance(name := meta.get("agentType"), str):
                model = child.agents[0].model if child.agents else None
                child = msgspec.structs.replace(child, agents=(Agent(name=name, model=model),))
        children.append(child)
    if len(children) == len(parent.children):
        return sample
    children.sort(key=lambda child: child.created or 0)
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(parent, children=tuple(children)))


def agent_files(path: Path) -> Iterator[Path]:
    """Logs of the sub-agents of a session."""
    yield from sorted((path.with_suffix("") / "subagents").glob(_AGENT))
    yield from (file for file in sorted(path.parent.glob(_AGENT)) if file != path and owner(file) == path)


def owner(path: Path) -> Path | None:
    """The session that a file of a sub-agent belongs to, or of which a stream was printed."""
    if not path.match(_AGENT) and not path.match("agent-*.meta.json"):
        return _printed(path)
    if path.parent.name == "subagents":
        session = path.parent.parent.with_suffix(".jsonl")
        return session if session.is_file() else None
    for record in Head(path).records:
        if is_message(record) and isinstance(name := record.get("sessionId"), str) and name == Path(name).name:
            session = path.with_name(f"{name}.jsonl")
            return session if session.is_file() else None
    return None


def _printed(path: Path) -> Path | None:
    """The session beside a stream: both tell the same responses, and the session has the prompts, too."""
    names = (record.get("session_id") for record in Head(path).records if isinstance(record, dict))
    name = next((each for each in names if isinstance(each, str) and each == Path(each).name), None)
    session = path.with_name(f"{name}.jsonl") if name else path
    return session if session != path and session.is_file() else None


def _meta(file: Path) -> dict[str, Any]:
    """What Claude Code notes beside a sub-agent's log: its kind, and the call that started it."""
    try:
        found = decode(files.read_all(file.with_suffix(".meta.json")))
    except (ReadError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def with_origin(sample: Sample, path: Path) -> Sample:
    """A session that begins with lines of another one beside it: these are copies, and count there."""
    trajectory = sample.trajectory
    first = next((step for step in trajectory.steps if step.id is not None), None) if trajectory else None
    if trajectory is None or first is None:
        return sample
    moment = int(monotonic() / _A_WHILE)
    ours = _moments_in(path, moment)
    # Forks of one session are alike, too: the one that shares most is the one that was forked, and of those that share
    # the same the one that went on first.
    found = [
        (-len(common), since, file)
        for file in islice(_alike(path, first), _MANY)
        if (common := _common(trajectory, ours, theirs := _moments_in(file, moment)))
        and (since := _went_on(theirs, common, file)) < _went_on(ours, common, path)
    ]
    if not found:
        return sample
    file = min(found)[2]
    shared = _common(trajectory, ours, _moments_in(file, moment))
    last = max(place for place, step in enumerate(trajectory.steps) if step.id in shared)
    steps = tuple(
        msgspec.structs.replace(step, kind="copied") if place <= last and step.kind != "note" else step
        for place, step in enumerate(trajectory.steps)
    )
    origin = Origin(kind="forked", trajectory=file.stem, step=trajectory.steps[last].id)
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(trajectory, steps=steps, origin=origin))


def _alike(path: Path, first: Step) -> Iterator[Path]:
    """Sessions beside this one that begin with the same line; if it begins with a compaction, those that have it in
    their middle."""
    # A project may hold thousands of sessions, and each asks for those like it: the folder is looked through once. For
    # a while, as a session that has just begun has no line yet.
    changed, moment = path.parent.stat().st_mtime_ns, int(monotonic() / _A_WHILE)
    compacted = first.kind == "note" and any(_is_boundary(part) for part in first.parts)
    yield from (file for file in _unlike(path.parent, changed, moment, first.id, compacted) if file != path)


def _is_boundary(part: Part) -> bool:
    return isinstance(part, Unknown) and isinstance(part.raw, dict) and part.raw.get("subtype") == _BOUNDARY


def _sessions(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.jsonl")) if not file.match(_AGENT)]


@lru_cache(8)
def _by_first_line(folder: Path, changed: int, moment: int) -> dict[str | None, list[Path]]:
    """Sessions by the id of their first line that has one."""
    found: dict[str | None, list[Path]] = {}
    for file in _sessions(folder):
        names = (record.get("uuid") for record in Head(file).records if isinstance(record, dict))
        first = next((name for name in names if isinstance(name, str)), None)
        found.setdefault(first, []).append(file)
    return found


@lru_cache(8)
def _by_boundary(folder: Path, changed: int, moment: int) -> dict[str | None, list[Path]]:
    """Sessions by the ids of the lines at which they were compacted."""
    found: dict[str | None, list[Path]] = {}
    for file in _sessions(folder):
        data = _data(file)
        lines = (line for line in data.splitlines() if _BOUNDARY.encode() in line) if _BOUNDARY.encode() in data else ()
        for name, _ in _moments(lines):
            found.setdefault(name, []).append(file)
    return found


@lru_cache(64)
def _unlike(folder: Path, changed: int, moment: int, first: str | None, compacted: bool) -> list[Path]:
    """Sessions that have this line, and of those that hold the same lines only the first: each of a pile of copies
    would be held against all others, and none of them is older."""
    found = {*_by_first_line(folder, changed, moment).get(first, ())}
    if compacted:
        found.update(_by_boundary(folder, changed, moment).get(first, ()))
    sessions = sorted(found)
    if len(sessions) < 3:
        return sessions
    return sorted({hash(tuple(_moments_in(file, moment).items())): file for file in reversed(sessions)}.values())


@lru_cache(_MANY)
def _moments_in(file: Path, moment: int) -> Moments:
    return dict(_moments(_data(file).splitlines()))


def _data(file: Path) -> bytes:
    try:
        return files.read_all(file)
    except (ReadError, OSError):
        return b""


def _common(trajectory: Trajectory, ours: Moments, theirs: Moments) -> set[str]:
    """Ids of lines that two sessions have both; empty where this one does not begin with one of them."""
    # A copy has the time of the original; the same name alone is chance.
    common = {name for name, at in ours.items() if name in theirs and theirs[name] == at}
    first = next(step.id for step in trajectory.steps if step.id is not None)
    return common if first in common else set()


def _went_on(moments: Moments, common: set[str], file: Path) -> tuple[float, str]:
    """When a session said something that the other has not: a fork goes on later than what it was forked from. One that
    is all common is the older one, or both are the same; names decide between forks of the same moment."""
    own = [at for name, at in moments.items() if name not in common]
    if not own:
        return -inf, ""
    return min((at for at in own if at is not None), default=inf), file.stem


def _moments(lines: Iterable[bytes]) -> Iterator[tuple[str, float | None]]:
    """Ids and times of lines, without decoding them."""
    for line in lines:
        names, times = _UUID.search(line), _TIME.search(line)
        if names is not None:
            yield names[1].decode("utf-8", "replace"), from_iso(times[1].decode("ascii", "replace")) if times else None
