"""Reads storage trees: one JSON file per session, message and part (0.3 to 1.1), and the oldest with parts inline.

| generation | layout |
|---|---|
| 2 | `storage/{session/<project>/<ses>, message/<ses>/<msg>, part/<msg>/<prt>, session_diff, todo}` |
| 1 | `project/<slug>/storage/session/{info/<ses>, message/<ses>/<msg>, part/<ses>/<msg>/<prt>}` |
| 0 | as 1, with the parts inside the message (written from the source, no sample was seen) |

Ids come from the path, as in OpenCode's own migration: the file's content may be stale. But if there is no folder of
that name, and there is one for the id inside the file, the files were renamed, and the id inside counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Sample, Source, Trajectory
from pantrace.wire import files
from pantrace.wire.json import decode
from pantrace.wire.optional import text_of
from pantrace.wire.rows import OnBroken

from .generation0 import is_oldest, modern
from .long_outputs import Outputs
from .messages import Message
from .sessions import load_session, root_sample
from .taken_keys import NAME, Raw


def samples(storage: Path, on_broken: OnBroken, seen: set[str] | None = None) -> Iterator[Sample]:
    """Root sessions in the order of their creation, sub-agents inside; those in `seen` are left out."""
    tree = Tree(storage, on_broken, frozenset(seen or ()))
    for session in tree.roots():
        yield from root_sample(session, tree.trajectory, tree.children, storage, on_broken)
    if seen is not None:
        seen.update(tree.infos)


def is_first(storage: Path) -> bool:
    """Whether a storage folder belongs to generation 0 or 1."""
    return (storage / "session" / "info").is_dir()


class Tree:
    """A storage folder: the file of each session, its parent, and when it began."""

    def __init__(self, storage: Path, on_broken: OnBroken, already_read: frozenset[str] = frozenset()):
        self.already_read = already_read
        """Sessions that were read from a newer generation."""
        self.storage = storage
        self.on_broken = on_broken
        self.first = is_first(storage)
        self.folder = storage / ("session/message" if self.first else "message")
        self.parts = storage / ("session/part" if self.first else "part")
        self.outputs = Outputs(storage.parent / "tool-output")
        self.infos: dict[str, Path | None] = {}
        self.parents: dict[str, str | None] = {}
        self.created: dict[str, float] = {}
        self.below: dict[str, list[str]] = {}
        self.projects: dict[str, Raw | None] = {}
        for file in _files(storage / "session", "info/*.json" if self.first else "*/*.json"):
            self._note(self._name(file, self._read(file), self.folder), file)
        # Messages whose session file is missing are read, too.
        for folder in _files(self.folder, "*"):
            if folder.is_dir() and folder.name not in self.infos:
                self._note(folder.name, None)
        for session in sorted(self.infos, key=self._moment):
            parent = self.parents[session]
            if parent is not None:
                self.below.setdefault(parent, []).append(session)

    def _note(self, session: str, file: Path | None) -> None:
        info = self._read(file) if file is not None else {}
        if info is None:
            return
        parent, time = info.get("parentID"), info.get("time")
        created = time.get("created") if isinstance(time, dict) else None
        self.infos[session] = file
        self.parents[session] = text_of(parent)
        self.created[session] = created if isinstance(created, (int, float)) else 0

    def _moment(self, session: str) -> tuple[float, str]:
        return self.created[session], session

    def roots(self) -> Iterator[str]:
        """Sessions without a parent in this tree; last, one session of each ring of parents."""
        ordered = [name for name in self.names() if name not in self.already_read]
        known = set(ordered)
        reached: set[str] = set()
        for ring in (False, True):
            for session in ordered:
                if session not in reached and (ring or self.parents[session] not in known):
                    self._reach(session, reached)
                    yield session

    def _reach(self, session: str, reached: set[str]) -> None:
        open_ = [session]
        while open_:
            name = open_.pop()
            if name not in reached:
                reached.add(name)
                open_ += self.children(name)

    def children(self, session: str) -> list[str]:
        return [name for name in self.below.get(session, []) if name not in self.already_read]

    def names(self) -> Iterator[str]:
        """All sessions, including sub-agents."""
        return iter(sorted(self.infos, key=self._moment))

    def info(self, session: str) -> Raw:
        """The content of the session's file; only its id if the file is missing."""
        file = self.infos[session]
        info = self._read(file) if file is not None else None
        info = {**(info or {}), "id": session}
        if file is not None and not self.first:
            # In generation 2 the folder is named after the project.
            info.setdefault("projectID", file.parent.name)
        return info

    def trajectory(self, session: str) -> Trajectory:
        info = self.info(session)
        file = self.infos[session]
        beside: Raw = {}
        for name in () if self.first else ("todo", "session_diff"):
            value = self._value(self.storage / name / f"{session}.json")
            # An empty list says nothing about the session.
            if value:
                beside[name] = value
        project = self._project(info.get("projectID"))
        if project:
            beside["project"] = project
        version = info.get("version")
        source = Source(
            format=NAME,
            version="project-storage" if self.first else "storage",
            producer=f"opencode {version}" if isinstance(version, str) else None,
            path=str(file or self.folder / session),
        )
        return load_session(info, self.messages(session), beside, source)

    def messages(self, session: str) -> list[Message]:
        found: list[tuple[tuple[float, str], Message]] = []
        for file in _files(self.folder / session, "*.json"):
            raw = self._read(file)
            if raw is None:
                continue
            parts: list[Any]
            if is_oldest(raw):
                raw, parts = modern(raw)
                raw["id"] = file.stem
            else:
                folder = self.parts / session if self.first else self.parts
                name = self._name(file, raw, folder)
                parts = self._parts_in(folder / name, renamed=name != file.stem)
                raw["id"] = name
            time = raw.get("time")
            created = time.get("created") if isinstance(time, dict) else None
            found.append(((created if isinstance(created, (int, float)) else 0, file.stem), (raw, parts)))
        # By time first: ids wrap around every 2.18 years.
        found.sort(key=lambda each: each[0])
        return [message for _, message in found]

    @staticmethod
    def _name(file: Path, raw: Raw | None, below: Path) -> str:
        """The id by which other files refer to this one: its name, or the id inside if it was renamed."""
        inside = (raw or {}).get("id")
        # An id with a slash could lead out of the tree.
        if not isinstance(inside, str) or inside == file.stem or inside != Path(inside).name:
            return file.stem
        return inside if (below / inside).is_dir() and not (below / file.stem).is_dir() else file.stem

    def _parts_in(self, folder: Path, *, renamed: bool) -> list[Raw]:
        parts = []
        for file in sorted(_files(folder, "*.json"), key=lambda file: file.stem):
            raw = self._read(file)
            if raw is not None:
                raw["id"] = raw["id"] if renamed and isinstance(raw.get("id"), str) else file.stem
                self.outputs.follow(raw)
                parts.append(raw)
        return parts

    def _project(self, name: Any) -> Raw | None:
        name = "" if self.first else name
        if not isinstance(name, str):
            return None
        if name not in self.projects:
            # `Path(name).name`: the project's id comes from the recording and must not lead out of the tree.
            place = "../app.json" if self.first else f"project/{Path(name).name}.json"
            value = self._value(self.storage / place)
            self.projects[name] = value if isinstance(value, dict) else None
        return self.projects[name]

    def _value(self, file: Path) -> Any:
        """The value in a file; None if the file is missing, or broken, which is reported."""
        if not file.is_file():
            return None
        try:
            return decode(files.read_all(file))
        except ReadError as error:
            self.on_broken(error.at(path=str(file)))
            return None

    def _read(self, file: Path) -> Raw | None:
        value = self._value(file)
        if value is not None and type(value) is not dict:
            self.on_broken(ReadError("not a JSON object", path=str(file)))
            return None
        return value


def _files(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern)) if folder.is_dir() else []
