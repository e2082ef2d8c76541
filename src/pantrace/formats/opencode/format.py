"""Recognises and opens OpenCode's recordings, and defines `FORMAT`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pantrace.errors import ReadError
from pantrace.formats.format import Format
from pantrace.model import Run, Sample, Source
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.input_span import Span
from pantrace.wire.rows import OnBroken, read_rows
from pantrace.wire.source import with_source

from . import database, storage, stream
from .export import CORNERS, dump, load
from .places import Place, claim, is_export, places
from .taken_keys import NAME
from .validation import check, validate


def detect(head: Head) -> str | None:
    if head.kind == "directory":
        found = places(head.path)
        return found[0].variant if found else None
    if head.kind == "sqlite":
        return "sqlite" if database.has_its_tables(head.tables) else None
    if head.kind != "json":
        return None
    if is_export(head.record):
        return "export"
    # `opencode run` writes lines; an array of such objects is somebody else's.
    return "stream" if head.layout != "array" and stream.is_row(head.record) else None


def open_run(path: Path, on_broken: OnBroken) -> Run:
    head = Head(path)
    if head.kind == "sqlite":
        variant, samples = "sqlite", database.samples(path, on_broken)
    elif head.kind == "directory" and (found := places(path)):
        variant, samples = found[0].variant, _samples_of_places(found, on_broken)
    elif head.kind == "json" and head.layout != "array" and stream.is_row(head.record):
        variant, samples = "stream", stream.samples(path, on_broken)
    elif head.kind == "json":
        variant, samples = "export", _exports(path, on_broken)
    else:
        raise ReadError(
            "not a recording of OpenCode",
            path=str(path),
            remedy="expected opencode.db, a storage folder, an export or a run stream",
        )
    source = Source(format=NAME, version=variant, path=str(path))
    return Run(name=path.name, source=source, samples=samples)


def plan(path: Path, cutting: Cutting) -> Iterable[Span]:
    """Cut a database by sessions. A folder with several generations is not cut: migrated sessions are in it twice."""
    where = _only_database(path)
    return database.plan(where, cutting) if where is not None else ()


def open_span(path: Path, span: Span, on_broken: OnBroken) -> Run:
    where = _only_database(path) or path
    source = Source(format=NAME, version="sqlite", path=str(path))
    return Run(name=path.name, source=source, samples=database.samples_between(where, span, on_broken))


def _only_database(path: Path) -> Path | None:
    if path.is_dir():
        found = places(path)
        return found[0].path if len(found) == 1 and found[0].variant == "sqlite" else None
    return path if Head(path).kind == "sqlite" else None


def _samples_of_places(found: list[Place], on_broken: OnBroken) -> Iterator[Sample]:
    """The samples of all generations in a data directory; a migrated session is taken from the newest."""
    # OpenCode leaves the old tree in place when it migrates, so a session may be there twice.
    seen: set[str] | None = set() if len(found) > 1 else None
    for place in found:
        reader = database.samples if place.variant == "sqlite" else storage.samples
        try:
            yield from reader(place.path, on_broken, seen)
        except ReadError as error:
            # A damaged database must not hide the sessions in the other places.
            on_broken(error)


def _exports(path: Path, on_broken: OnBroken) -> Iterator[Sample]:
    for place, row in read_rows(path, on_broken):
        try:
            sample = load(row)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        yield _with_source(sample, path, place)


def _with_source(sample: Sample, path: Path, place: str | None) -> Sample:
    assert sample.trajectory is not None
    # Not every trajectory has OpenCode's `info`: a sample of another format may have been carried whole.
    version = rest_in(rest_in(sample.trajectory.extra, NAME), "info").get("version")
    producer = f"opencode {version}" if isinstance(version, str) else None
    source = Source(format=NAME, version="export", producer=producer, path=str(path), place=place)
    return with_source(sample, source)


FORMAT = Format(
    name=NAME,
    title="OpenCode sessions: database, storage trees, exports, run streams",
    spec="https://opencode.ai/docs/cli/#export",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    plan=plan,
    open_span=open_span,
    # The full text of long outputs, which the recording only names.
    beside=lambda path: [path.parent / "tool-output"],
    claim=claim,
    check=check,
    validate=validate,
    layout="document",
    suffix=".json",
    checks_itself=True,
    lost={
        "case": "a session records what was done, not what was expected",
        "expected": "a session records what was done, not what was expected",
        "scores": "OpenCode has no scores",
        "epoch": "OpenCode does not count repetitions",
        "trajectory.children": "a sub-agent's session is a separate export, linked by parentID, and a grader has none",
        "trajectory.ended": "OpenCode stores when a session was last changed, not when it ended",
        "trajectory.outcome": "OpenCode does not judge sessions",
        "trajectory.state": "OpenCode sessions have no state",
        "trajectory.invocations": "OpenCode times messages and tools, not invocations",
        "trajectory.agents": "an agent is known by its messages: name, model and system prompt",
        "trajectory.usage": "OpenCode has one total per session, not one per model",
        "trajectory.steps[].role": "OpenCode has no system messages: their text becomes synthetic user text",
        "trajectory.steps[].parent": "OpenCode links an answer to its prompt only",
        "trajectory.steps[].state_delta": "OpenCode sessions have no state",
        "trajectory.steps[].parts[].output": "OpenCode stores tool output as text",
        "trajectory.steps[].parts[].failure": "OpenCode distinguishes failures by the error's text and the exit code",
    },
    note="generation 0 (0.1, 0.2: parts inside messages) follows OpenCode's source and is not verified",
    corners=CORNERS,
)
