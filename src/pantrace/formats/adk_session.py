"""ADK sessions: saved by `adk run --save_session`, returned by the API server, or kept in a SQLite session store.

Spec: https://google.github.io/adk-docs/sessions/ and the models of google-adk 2.13.0.
Detect: an object with `events`, `id` and an app or user (or `context`, before 1.0); a list of events with author and
invocation; a database with the tables `app_states`, `user_states`, `sessions`, `events`.
Lost: nothing of a session; data that ADK has no field for is kept in `custom_metadata.pantrace` of an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Record, Run, Sample, Source, Trajectory, Violation
from pantrace.wire import files, sqlite
from pantrace.wire.adk import shapes
from pantrace.wire.adk.recase import EVENT, SESSION, to_snake
from pantrace.wire.adk.record_samples import samples_of
from pantrace.wire.adk.residual import residual
from pantrace.wire.adk.sessions import IN_FIRST_EVENT, camel_session, session_to, trajectory_from
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.head import Head
from pantrace.wire.json import decode, decode_document
from pantrace.wire.optional import object_of
from pantrace.wire.rows import OnBroken, layout_at, read_log
from pantrace.wire.shape import violations
from pantrace.wire.times import from_iso
from pantrace.wire.violation import unreadable

from .format import Format

NAME = "adk-session"


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a session is written."""

    snake_case: bool = False
    """Keys in snake_case, as ADK's eval history and its databases have them, instead of camelCase."""


def detect(head: Head) -> str | None:
    if head.kind == "sqlite":
        tables = head.tables
        # Both of ADK's stores have these four tables.
        if not {"app_states", "user_states", "sessions", "events"} <= tables.keys():
            return None
        if not {"app_name", "session_id", "event_data"} <= set(tables["events"]):
            # Its events are spread over columns and not read. Claimed all the same, so that the error says what to do.
            return "sqlite before 1.20" if {"app_name", "author"} <= set(tables["events"]) else None
        # Only DatabaseSessionService keeps its schema's version in a table.
        return "database" if "adk_internal_metadata" in tables else "sqlite"
    if head.layout in ("array", "lines") and head.records and all(_is_event(each) for each in head.records[:3]):
        return "events"
    # A document on one long line looks like lines: its beginning is what counts.
    record = head.record
    if not _is_session(record):
        return None
    if {"appName", "userId"} & record.keys():
        return "camelCase"
    if {"app_name", "user_id"} <= record.keys():
        return "snake_case"
    events = record["events"]
    old = isinstance(record.get("context"), dict) and bool(events) and _is_event(events[0])
    return "before 1.0" if old else None


def _is_session(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("events"), list) and "id" in record


def _is_event(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and "author" in record
        and bool({"invocation_id", "invocationId"} & record.keys())
        and bool({"content", "actions", "errorCode", "error_code"} & record.keys())
    )


def _load(row: Any) -> Sample:
    """A session or a list of events; its form is noted, so that it is written back the same way."""
    extra: dict[str, Any] = {}
    if isinstance(row, list):
        if not row or not all(_is_event(each) for each in row):
            raise ReadError("not a session: a list of something else than events")
        extra["shape"] = "events"
    elif not isinstance(row, dict) or not isinstance(row.get("events"), list):
        raise ReadError("not a session: it has no list `events`")
    # `adk run --save_session` wrote snake_case before it wrote camelCase.
    if {"app_name", "user_id", "invocation_id"} & (row[0] if isinstance(row, list) else row).keys():
        extra["snake_case"] = True
    return _sample({"events": row} if isinstance(row, list) else row, {NAME: extra} if extra else {})


def _sample(session: dict[str, Any], extra: dict[str, Any]) -> Sample:
    trajectory = trajectory_from(session)
    first = trajectory.steps[0] if trajectory.steps else None
    # A list of events, the answer to POST /run, has no session id.
    name = trajectory.id or (first and (first.invocation or first.id)) or "session"
    return Sample(id=name, trajectory=trajectory, extra=extra)


def _dump(sample: Sample, options: Options) -> Any:
    kept = sample.extra.get(NAME, {})
    session = session_to(sample)
    if not (options.snake_case or kept.get("snake_case") is True):
        session = camel_session(session)
    return session["events"] if kept.get("shape") == "events" and session["events"] else session


load, dump = carry_rest(_load, _dump, IN_FIRST_EVENT, rest_of=residual)
# A session from a store has no form to return to: it is written as ADK saves sessions.
_load_stored, _ = carry_rest(lambda session: _sample(session, {}), _dump, IN_FIRST_EVENT)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    head = Head(path)
    source = Source(format=NAME, version=detect(head) or None, path=str(path))
    if head.kind == "sqlite":
        records = _stored_sessions(path)
    else:
        records = iter([(None, lambda: load(_read(path, on_broken)))])
    return Run(name=path.name, source=source, samples=samples_of(records, "a session", source, on_broken))


def _read(path: Path, on_broken: OnBroken) -> Any:
    """The session of a file, or its events if it has one on each line."""
    is_log = layout_at(path) == "lines" and detect(Head(path)) == "events"
    return read_log(path, on_broken) if is_log else decode_document(files.read_all(path))


def _stored_sessions(path: Path) -> Iterator[tuple[str | None, Callable[[], Sample]]]:
    """The sessions of a store, each decoded on demand, in one read transaction."""
    with sqlite.reading(path) as database:
        if "event_data" not in sqlite.tables(database).get("events", ()):
            raise ReadError(
                "a session store whose events are spread over columns is not read",
                path=str(path),
                remedy="`adk migrate session` brings it to the current schema",
            )
        apps = {row["app_name"]: row["state"] for row in database.execute("select * from app_states")}
        users = {
            (row["app_name"], row["user_id"]): row["state"] for row in database.execute("select * from user_states")
        }
        for row in database.execute("select * from sessions order by create_time, id").fetchall():
            key = (row["app_name"], row["user_id"], row["id"])
            events = database.execute(
                "select event_data from events where app_name = ? and user_id = ? and session_id = ?"
                # Events may have the same time; then the order of writing decides.
                " order by timestamp, rowid",
                key,
            ).fetchall()  # here, where a damaged database still becomes a ReadError
            shared = {"app": apps.get(key[0]), "user": users.get(key[:2])}
            yield f"session {row['id']}", partial(_stored_sample, row, shared, events)


def _stored_sample(row: Any, shared: dict[str, Any], events: Iterable[Any]) -> Sample:
    # The store keeps state that sessions share in other tables; ADK puts it back under these prefixes.
    state = _object(row["state"])
    for prefix, stored in shared.items():
        state |= {f"{prefix}:{name}": value for name, value in _object(stored).items()}
    session = {
        "id": row["id"],
        "app_name": row["app_name"],
        "user_id": row["user_id"],
        "state": state,
        "events": [decode(data.encode()) for (data,) in events],
        "last_update_time": _moment(row["update_time"]),
    }
    sample = _load_stored(session)
    trajectory = msgspec.structs.replace(sample.trajectory or Trajectory(), created=_moment(row["create_time"]))
    return msgspec.structs.replace(sample, trajectory=trajectory)


def _object(text: Any) -> dict[str, Any]:
    value = decode(text.encode()) if isinstance(text, str) else None
    return object_of(value)


def _moment(value: Any) -> float | None:
    # SqliteSessionService stores seconds, DatabaseSessionService a text.
    return value if isinstance(value, (int, float)) else from_iso(value)


def check(row: Any) -> Iterable[Violation]:
    if isinstance(row, list):
        yield from violations([to_snake(each, EVENT) for each in row], [shapes.EVENT])
        return
    yield from violations(to_snake(row, SESSION), shapes.SESSION)


def validate(path: Path) -> Iterable[Violation]:
    broken: list[ReadError] = []
    if Head(path).kind == "sqlite":
        for _ in open_run(path, broken.append).samples:
            pass
    else:
        try:
            yield from check(_read(path, broken.append))
        except ReadError as error:
            broken.append(error)
    yield from (unreadable(each) for each in broken)


FORMAT = Format(
    name=NAME,
    title="ADK session: saved JSON, API answer, list of events, or a SQLite session store",
    spec="https://google.github.io/adk-docs/sessions/",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    check=check,
    validate=validate,
    options=Options,
    layout="document",
    stands_alone=_is_session,
    suffix=".session.json",
    lost={
        "": "an ADK session without events has no place for it",
    },
    note="live (audio) sessions were not available for testing",
    reencoded={
        "update_time": "in a store, also set for the states of apps and users, which are not sessions",
    },
    corners=("events[].custom_metadata.pantrace", "events[].customMetadata.pantrace"),
)

__all__ = ["FORMAT"]
