"""Rollouts that belong together: sub-agents have their own files, and a fork begins in its parent's file.

Codex keeps `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, cold ones as `.jsonl.zst`, archived ones in
`archived_sessions/`. A session is found by the id in its file name or, if files were renamed, by the first record of
each file in the same folder, which is scanned once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Origin, Sample, Step, ToolCall, ToolResult, Trajectory
from pantrace.wire.carry_rest import Load
from pantrace.wire.head import Head
from pantrace.wire.json import decode_document
from pantrace.wire.rows import OnBroken, read_log

from .early_rollouts import add_envelopes
from .events import NAME, Record
from .session import is_line, raw_of

_PATTERN = "*.jsonl*"
_DEPTH = 8
"""How deep sub-agents are followed, and how long a chain of forks."""


def meta_of(path: Path) -> Record:
    """The session's metadata in a rollout's first record; empty if it is not one."""
    try:
        return meta_in([Head(path).record])
    except (ReadError, OSError):
        return {}


@lru_cache(64)
def _folder(folder: Path, changed: int) -> tuple[dict[str, Path], dict[str, list[Path]]]:
    """The rollouts of a folder by id, and by the id of the session that started them."""
    by_id: dict[str, Path] = {}
    by_parent: dict[str, list[Path]] = {}
    metas = {path: meta_of(path) for path in sorted(folder.glob(_PATTERN)) if path.is_file()}
    # If several files have one id, the longest counts: the others are copies of it, perhaps cut off.
    for path in sorted(metas, key=lambda each: -each.stat().st_size):
        if isinstance(name := metas[path].get("id"), str):
            by_id.setdefault(name, path)
    for path, meta in metas.items():
        is_copy = isinstance(name := meta.get("id"), str) and by_id[name] != path
        if isinstance(parent := meta.get("parent_thread_id"), str) and not is_copy:
            by_parent.setdefault(parent, []).append(path)
    return by_id, by_parent


def _index(folder: Path) -> tuple[dict[str, Path], dict[str, list[Path]]]:
    try:
        # The time makes the cache forget a folder that has changed.
        return _folder(folder, folder.stat().st_mtime_ns)
    except OSError:
        return {}, {}


def _folders(name: str, path: Path) -> Iterator[Path]:
    """Where Codex would keep a session, given the place of another one: the archive, and the folders of the days around
    the time at the beginning of its id."""
    above = path.absolute().parents
    if len(above) > 4 and all(each.name.isdigit() for each in above[:3]):
        root, archive = above[3], above[4] / "archived_sessions"
    elif above[0].name == "archived_sessions":
        root, archive = above[0].with_name("sessions"), above[0]
    else:
        return
    try:
        # Ids are UUIDs of version 7: their first 48 bits are the time in milliseconds.
        begin = datetime.fromtimestamp(int(name.replace("-", "")[:12], 16) / 1000, UTC)
        # Folders are named by the local day, ids by UTC.
        days = [begin + timedelta(days=shift) for shift in (0, -1, 1)]
    except (ValueError, OverflowError, OSError):
        days = []
    yield from (root / f"{each:%Y/%m/%d}" for each in days)
    yield archive


def find_rollout(name: str, path: Path) -> Path | None:
    """The rollout of a session, in the folder of another one or where Codex keeps it."""
    if (found := _index(path.parent)[0].get(name)) is not None:
        return found
    # The id becomes part of a glob pattern, so it must not contain wildcards or slashes.
    if not all(letter.isalnum() or letter == "-" for letter in name):
        return None
    files = (file for folder in _folders(name, path) for file in sorted(folder.glob(f"rollout-*-{name}.jsonl*")))
    return next(files, None)


def owner(path: Path) -> Path | None:
    """The rollout that a file is only a part of: that of the session that started this sub-agent or printed this
    stream."""
    meta = meta_of(path)
    name = meta.get("parent_thread_id")
    if not meta:
        first = Head(path).record
        name = first.get("thread_id") if first.get("type") == "thread.started" else None
        found = _index(path.parent)[0].get(name) if isinstance(name, str) else None
    else:
        found = find_rollout(name, path) if isinstance(name, str) and meta.get("id") != name else None
    return found if found != path else None


def related_rollouts(path: Path) -> list[Path]:
    """Rollouts that are looked into when this one is read: what it was forked from, who started it, and its sub-agents,
    each with its own."""
    found = [path]
    layer = [path]
    for _ in range(_DEPTH):
        layer = list(dict.fromkeys(each for one in layer for each in _related(one) if each not in found))
        found += layer
    return found[1:]


def _related(path: Path) -> Iterator[Path]:
    meta = meta_of(path)
    for key in ("forked_from_id", "parent_thread_id"):
        if isinstance(name := meta.get(key), str) and (file := find_rollout(name, path)) is not None:
            yield file
    if isinstance(name := meta.get("id"), str):
        # A sub-agent that was started at midnight is kept with those of the next day.
        for folder in (path.parent, *_folders(name, path)):
            yield from _index(folder)[1].get(name, ())


class Session:
    """Reads a rollout with everything that belongs to it."""

    def __init__(self, load: Load, on_broken: OnBroken):
        self.load = load
        self.on_broken = on_broken

    def sample(self, path: Path, depth: int = 0) -> Sample | None:
        """The session of a file; None if it has no readable line, as each broken one was reported already."""
        records = read_log(path, self.on_broken)
        if not records:
            return None
        sample = self.load(records)
        trajectory = sample.trajectory
        # As the file says it: of a file that pantrace wrote, the sample's `extra` is that of another format.
        meta = meta_in(records)
        if trajectory is None or not meta:
            return sample
        if depth < _DEPTH:
            trajectory = self._with_prefix(self._mark_copies(trajectory, records, path), meta, path, depth)
            trajectory = self._with_children(trajectory, meta, path, depth)
        return msgspec.structs.replace(sample, trajectory=trajectory)

    def _mark_copies(self, trajectory: Trajectory, records: list[Any], path: Path) -> Trajectory:
        """Mark the copies in a fork that begins with its parent's lines, as older versions wrote it."""
        origin = trajectory.origin
        if origin is None or origin.trajectory is None or meta_in(records[1:2]).get("id") != origin.trajectory:
            return trajectory
        where = find_rollout(origin.trajectory, path)
        if where is None or where == path:
            return _with_missing(trajectory)
        parent = read_log(where, self.on_broken)
        pairs = zip(records[1:], parent, strict=False)
        shared = next((place for place, (one, other) in enumerate(pairs) if not _is_copy(one, other)), None)
        shared = min(len(records) - 1, len(parent)) if shared is None else shared
        before = self.load(records[: shared + 1]).trajectory
        copied = len(before.steps) if before is not None else 0
        steps = [
            msgspec.structs.replace(step, kind="copied") if place < copied and raw_of(step) is None else step
            for place, step in enumerate(trajectory.steps)
        ]
        last = next((step.id for step in reversed(steps) if step.kind == "copied"), None)
        origin = Origin(kind="forked", trajectory=origin.trajectory, step=last)
        # Its totals include the parent's, and nothing shows how much of them.
        return msgspec.structs.replace(trajectory, steps=tuple(steps), origin=origin, usage=None)

    def _with_prefix(self, trajectory: Trajectory, meta: Record, path: Path, depth: int) -> Trajectory:
        """A fork with its parent's earlier steps, as copies; they count in the parent."""
        base = meta.get("history_base")
        origin = trajectory.origin
        if not isinstance(base, dict) or origin is None or origin.trajectory is None:
            return trajectory
        # A file that pantrace wrote already contains the copies.
        if any(step.kind == "copied" for step in trajectory.steps):
            return trajectory
        where = find_rollout(origin.trajectory, path)
        if where is None or where == path:
            return _with_missing(trajectory)
        parent = Session(self.load, self.on_broken).before(where, base, depth + 1)
        steps = tuple(msgspec.structs.replace(step, kind="copied") for step in parent)
        last = next((step.id for step in reversed(steps) if step.id is not None), None)
        origin = Origin(kind="forked", trajectory=origin.trajectory, step=last)
        return msgspec.structs.replace(trajectory, steps=(*steps, *trajectory.steps), origin=origin)

    def before(self, path: Path, base: Record, depth: int) -> tuple[Step, ...]:
        """The steps of a session before a fork, including those of its own parent; notes are left out."""
        records = read_log(path, self.on_broken)
        # Not `end_byte_offset`: a copy of the parent's file no longer has the same bytes.
        end = base.get("end_ordinal_exclusive")
        if isinstance(end, int):
            records = [each for each in records if _ordinal(each) < end]
        trajectory = self.load(records).trajectory
        if trajectory is None:
            return ()
        if depth < _DEPTH:
            trajectory = self._with_prefix(trajectory, meta_in(records), path, depth)
        return tuple(step for step in trajectory.steps if raw_of(step) is None)

    def _with_children(self, trajectory: Trajectory, meta: Record, path: Path, depth: int) -> Trajectory:
        callers = _callers(trajectory)
        files = list(_index(path.parent)[1].get(str(meta.get("id")), ()))
        for name in callers:
            found = find_rollout(name, path)
            if found is not None and found not in files and meta_of(found).get("parent_thread_id") == meta.get("id"):
                files.append(found)
        known = {child.id for child in trajectory.children}
        children = []
        for file in files:
            if file == path:
                continue
            try:
                session = self.sample(file, depth + 1)
            except ReadError as error:
                self.on_broken(error.at(path=str(file)))
                continue
            child = session.trajectory if session is not None else None
            if child is not None and child.id not in known:
                caller = callers.get(child.id or "", child.caller)
                children.append(msgspec.structs.replace(child, parent=trajectory.id, caller=caller))
        if not children:
            return trajectory
        order = list(callers)
        children.sort(key=lambda each: order.index(each.id) if each.id in order else len(order))
        return msgspec.structs.replace(trajectory, children=(*trajectory.children, *children))


def meta_in(records: list[Any]) -> Record:
    """The session's metadata in the first of some records; empty if it is something else."""
    first: Any = add_envelopes(records)[0] if records else None
    return first["payload"] if is_line(first) and first["type"] == "session_meta" else {}


def _is_copy(one: Any, other: Any) -> bool:
    """Whether two lines have the same content; a copy has its own time."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return bool(one == other)
    return bool(one.get("type") == other.get("type") and one.get("payload") == other.get("payload"))


def _with_missing(trajectory: Trajectory) -> Trajectory:
    """A fork whose parent is not there."""
    parent = trajectory.origin.trajectory if trajectory.origin is not None else None
    missing = Origin(kind="forked", trajectory=parent, extra={NAME: {"missing": True}})
    return msgspec.structs.replace(trajectory, origin=missing)


def _callers(trajectory: Trajectory) -> dict[str, str]:
    """Sessions that this one started, each with the call that started it."""
    found: dict[str, str] = {}
    for step in trajectory.steps:
        match raw_of(step):
            case {"payload": {"item": {"type": "CollabAgentToolCall", "tool": "spawn_agent", "id": str(call), **item}}}:
                names: Any = item.get("receiver_thread_ids")
                for name in names if isinstance(names, list) else ():
                    found.setdefault(str(name), call)
            case {"payload": {"item": {"type": "SubAgentActivity", "kind": "started", "id": str(call), **item}}}:
                if isinstance(name := item.get("agent_thread_id"), str):
                    found.setdefault(name, call)
    # Without events, the answer of the tool still names the sub-agent (in both families, `multi_agent_v1.*` and
    # `collaboration.*`).
    started = {
        part.id
        for step in trajectory.steps
        for part in step.parts
        if isinstance(part, ToolCall) and part.name.endswith("spawn_agent")
    }
    for step in trajectory.steps:
        for part in step.parts:
            if isinstance(part, ToolResult) and part.call_id in started and isinstance(part.output, str):
                try:
                    answer = decode_document(part.output.encode("utf-8", "surrogatepass"))
                except ReadError:
                    continue
                if isinstance(answer, dict) and isinstance(name := answer.get("agent_id"), str) and part.call_id:
                    found.setdefault(name, part.call_id)
    return found


def _ordinal(record: Any) -> int:
    """The number of a line; -1 if it has none."""
    number = record.get("ordinal") if isinstance(record, dict) else None
    return number if isinstance(number, int) else -1
