"""Neighbours: the session that this one was forked from, and copies of it, among the files of its folder.

A fork begins with copied lines and has an id of its own; a file with the same id is a copy that somebody made.
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
from pantrace.model import Origin, Part, Sample, Step, Trajectory, Unknown
from pantrace.wire import files
from pantrace.wire.head import Head
from pantrace.wire.json import decode
from pantrace.wire.optional import object_of
from pantrace.wire.times import from_iso

from .files import AGENT, agent_files

_BOUNDARY = "compact_boundary"
_UUID = re.compile(rb'"uuid":\s?"([^"]+)"')
_UUID_LENGTH = 36
_TIME = re.compile(rb'"timestamp":\s?"([^"]+)"')
Moments = dict[str, float | None]
"""The times of lines by their ids."""
_MANY = 256
"""How many sessions one session is compared with at most."""
_A_WHILE = 5
"""Seconds for which the contents of a folder are cached."""


def with_origin(sample: Sample, path: Path) -> Sample:
    """Mark lines that a session copied from another one beside it; they count there."""
    trajectory = sample.trajectory
    first = next((step for step in trajectory.steps if step.id is not None), None) if trajectory else None
    if trajectory is None or first is None:
        return sample
    moment = int(monotonic() / _A_WHILE)
    # Compared without decoding: a project may hold thousands of sessions.
    ours = _moments_in(path, moment)
    # Forks of one session resemble each other, too. The parent is the session that shares most lines; among equals, the
    # one that continued first.
    found = [
        (-len(common), since, file)
        for file in _possible_parents(path, first, moment)
        if (common := _common_lines(trajectory, ours, theirs := _moments_in(file, moment)))
        and (since := _went_on(theirs, common, file)) < _went_on(ours, common, path)
    ]
    if not found:
        return sample
    file = min(found)[2]
    shared = _common_lines(trajectory, ours, _moments_in(file, moment))
    last = max(place for place, step in enumerate(trajectory.steps) if step.id in shared)
    steps = tuple(
        msgspec.structs.replace(step, kind="copied") if place <= last and step.kind != "note" else step
        for place, step in enumerate(trajectory.steps)
    )
    origin = Origin(kind="forked", trajectory=_session_in(file, moment), step=trajectory.steps[last].id)
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(trajectory, steps=steps, origin=origin))


def _possible_parents(path: Path, first: Step, moment: int) -> set[Path]:
    """Other sessions beside this one that begin with the same line; if it begins with a compaction, those that contain
    it."""
    # A project may hold thousands of sessions, and each searches for its parent: the folder is listed once and cached.
    # Only for a few seconds, because a session that has just begun has no lines yet.
    changed = path.parent.stat().st_mtime_ns
    compacted = first.kind == "note" and any(_is_boundary(part) for part in first.parts)
    found = (file for file in _distinct_sessions(path.parent, changed, moment, first.id, compacted) if file != path)
    # Cleaned copies for datasets and tests number the lines of each session in the same way, with the same times.
    said = _said_first(path)
    found = (file for file in found if _first_line(file) != first.id or _said_first(file) == said)
    own = _session_in(path, moment)
    # A cut-off copy of a fork may have no lines of its own and would look older: the complete file is compared.
    return {_whole(file, moment) or file for file in islice(found, _MANY) if _session_in(file, moment) != own}


def relatives(path: Path) -> list[Path]:
    """The sessions beside this one of which its reading depends: those that begin with the same line, and those that
    contain it if it is where they were compacted."""
    moment = int(monotonic() / _A_WHILE)
    first = _first_line(path)
    if first is None:
        return []
    changed = path.parent.stat().st_mtime_ns
    alike = _by_first_line(path.parent, changed, moment)
    found = {*alike.get(first, ())}
    if _begins_with_boundary(path, first):
        for file in _by_boundary(path.parent, changed, moment).get(first, ()):
            found.update(alike.get(_first_line(file), ()))
    return sorted(found - {path})


def _begins_with_boundary(path: Path, first: str) -> bool:
    records = (record for record in Head(path).records if isinstance(record, dict))
    return any(record.get("uuid") == first and record.get("subtype") == _BOUNDARY for record in records)


def copy_of(path: Path) -> Path | None:
    """The file beside this one that is of the same session and contains all of its lines; among equals, the one named
    after the session."""
    whole = _whole(path, int(monotonic() / _A_WHILE))
    # A file with logs of sub-agents of its own is more than a copy.
    return whole if whole is not None and next(agent_files(path), None) is None else None


def _whole(file: Path, moment: int) -> Path | None:
    first = _first_line(file)
    changed = file.parent.stat().st_mtime_ns
    return _wholes(file.parent, changed, moment, first).get(file) if first is not None else None


@lru_cache(64)
def _wholes(folder: Path, changed: int, moment: int, first: str) -> dict[Path, Path]:
    """Copies among the files that begin with this line, each with the file that contains it."""
    alike = _by_first_line(folder, changed, moment).get(first, [])
    if len(alike) < 2:
        return {}
    by_session: dict[str, list[Path]] = {}
    for file in alike:
        by_session.setdefault(_session_in(file, moment), []).append(file)
    found: dict[Path, Path] = {}
    for name, several in by_session.items():
        kept: list[tuple[Path, set[bytes]]] = []
        # A file cannot contain a longer one.
        sizes = [(-len(_data(file)), file.stem != name, file) for file in several] if len(several) > 1 else []
        for _, _, file in sorted(sizes):
            lines = [line for line in _data(file).splitlines() if line.strip()]
            whole = next((other for other, theirs in kept if _contains(theirs, lines)), None)
            if whole is None:
                kept.append((file, set(lines)))
            else:
                found[file] = whole
    return found


def _contains(whole: set[bytes], lines: list[bytes]) -> bool:
    """Whether all lines are there; the last one may be torn."""
    *before, last = lines or [b""]
    return whole.issuperset(before) and (last in whole or any(line.startswith(last) for line in whole))


@lru_cache(_MANY)
def _session_in(file: Path, moment: int) -> str:
    """The session that a file holds: the last id on its lines (version 1.0 copied a resumed session under its old id),
    else the file's name."""
    for line in reversed(_data(file).splitlines()):
        if b'"session' not in line:
            continue
        try:
            record = object_of(decode(line))
        except ReadError:
            continue
        for key in ("sessionId", "session_id"):
            if isinstance(name := record.get(key), str):
                return name
    return file.stem


def _is_boundary(part: Part) -> bool:
    return isinstance(part, Unknown) and isinstance(part.raw, dict) and part.raw.get("subtype") == _BOUNDARY


def _sessions(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.jsonl")) if not file.match(AGENT)]


@lru_cache(8)
def _by_first_line(folder: Path, changed: int, moment: int) -> dict[str | None, list[Path]]:
    """Sessions by the id of their first line that has one."""
    found: dict[str | None, list[Path]] = {}
    for file in _sessions(folder):
        found.setdefault(_first_line(file), []).append(file)
    return found


def _first_line(file: Path) -> str | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return _first_line_of(file, found.st_mtime_ns, found.st_size)


def _said_first(file: Path) -> Any:
    """The message of the first line that has an id."""
    try:
        lines = [record for record in Head(file).records if isinstance(record, dict) and "uuid" in record]
    except (ReadError, OSError):
        return None
    return lines[0].get("message") if lines else None


# A folder is looked through anew every few seconds; its files are not read again.
@lru_cache(100_000)
def _first_line_of(file: Path, changed: int, size: int) -> str | None:
    try:
        names = [record.get("uuid") for record in Head(file).records if isinstance(record, dict)]
    except (ReadError, OSError):
        # A neighbour that cannot be read says nothing about the others.
        return None
    return next((name for name in names if isinstance(name, str)), None)


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
def _distinct_sessions(folder: Path, changed: int, moment: int, first: str | None, compacted: bool) -> list[Path]:
    """Sessions with this line; of several with equal lines only the first, because otherwise each of many copies would
    be compared with all the others."""
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


def _common_lines(trajectory: Trajectory, ours: Moments, theirs: Moments) -> set[str]:
    """Ids of lines that both sessions have; empty if this one does not begin with one of them."""
    # A copied line has the time of the original; an equal id alone may be chance. If the first line is a copy, answers
    # may have the time of copying: version 1.0 wrote them anew.
    first = next(step.id for step in trajectory.steps if step.id is not None)
    if first not in ours or first not in theirs or ours[first] != theirs[first]:
        return set()
    return {name for name, at in ours.items() if name in theirs and (theirs[name] == at or len(name) == _UUID_LENGTH)}


def _went_on(moments: Moments, common: set[str], file: Path) -> tuple[float, str]:
    """When a session first continued beyond the common lines; a fork does so later than its parent. A session without
    lines of its own is the older one; names decide between forks of the same moment."""
    own = [at for name, at in moments.items() if name not in common]
    if not own:
        return -inf, ""
    return min((at for at in own if at is not None), default=inf), file.stem


def _moments(lines: Iterable[bytes]) -> Iterator[tuple[str, float | None]]:
    """Ids and times of lines, found without decoding them."""
    for line in lines:
        names, times = _UUID.search(line), _TIME.search(line)
        if names is not None:
            yield names[1].decode("utf-8", "replace"), from_iso(times[1].decode("ascii", "replace")) if times else None
