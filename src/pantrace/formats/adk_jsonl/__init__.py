"""The JSONL of the ADK evaluation guide: interactions with an ADK agent, ready for evaluation.

Spec: the ADK evaluation guide of pantrace, "What We Extract to JSONL".
Detect: `question_id` beside `final_session_state` or `extracted_data`; also the older CSV with the same columns.
Lost: nothing; data that a row has no key for is kept under its key `pantrace`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.formats.format import Format
from pantrace.model import Run, Sample, Source, Violation
from pantrace.wire import files
from pantrace.wire.adk import shapes
from pantrace.wire.adk.recase import SESSION, to_snake
from pantrace.wire.adk.record_samples import samples_of
from pantrace.wire.adk.schema import Session
from pantrace.wire.head import Head
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.input_span import Span
from pantrace.wire.json import checked_types, decode, decode_document
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import Decode, OnBroken, cut_rows, read_rows
from pantrace.wire.shape import ANY, document, violations
from pantrace.wire.violation import unreadable

from .line import decode_line
from .rows import NAME, SEAL, Options, dump, load

_MARKS = frozenset({"final_session_state", "extracted_data", "session_trace", "ADK_USER_ID"})
"""Keys beside the question's id; one of them is near the beginning of a row, however long its columns are."""


def detect(head: Head) -> str | None:
    if head.kind == "text":
        first = head.data.partition(b"\n")[0]
        return "csv" if b"question_id" in first and b"final_session_state" in first else None
    row = head.record
    if "question_id" not in row or not _MARKS & row.keys():
        return None
    if CARRIER in row:
        return "pantrace"
    # The original converter's constant; the live path writes the agent's address.
    return "converted" if row.get("base_url") == "simulation" else "live"


def plan(path: Path, cutting: Cutting) -> Iterable[Span]:
    # A quoted cell may hold line breaks, so CSV cannot be cut at a line.
    return cut_rows(path, cutting.size) if detect(Head(path)) != "csv" else ()


def open_span(path: Path, span: Span, on_broken: OnBroken) -> Run:
    return open_run(path, on_broken, span)


def open_run(path: Path, on_broken: OnBroken, span: Span | None = None) -> Run:
    head = Head(path)
    source = Source(format=NAME, version=detect(head) or None, path=str(path))
    rows = _rows(path, source.version, on_broken, span, decode_line)
    records = ((place, partial(load_row, row)) for place, row in rows)
    samples = samples_of(records, "a row of interactions", source, on_broken)
    return Run(name=path.name, source=source, samples=samples)


def load_row(row: Any) -> Sample:
    """The sample of a row. A session that was decoded by type is not checked again."""
    sample = load(row)
    is_typed = isinstance(row.get("final_session_state"), Session) and CARRIER not in row
    return sample if is_typed else checked_types(sample)


def _rows(
    path: Path,
    version: str | None,
    on_broken: OnBroken,
    span: Span | None = None,
    decoded: Decode = decode_document,
) -> Iterator[tuple[str | None, Any]]:
    if version != "csv":
        yield from read_rows(path, on_broken, span, decoded)
        return
    # Python's default of 128 kB is less than one session.
    csv.field_size_limit(1 << 30)
    # newline="": the csv module itself must see the line breaks inside quoted cells.
    text = io.StringIO(files.read_all(path).decode("utf-8", "replace"), newline="")
    try:
        for number, row in enumerate(csv.DictReader(text), 1):
            yield f"row {number}", {key: _cell(value) for key, value in row.items() if isinstance(key, str)}
    except csv.Error as error:
        on_broken(ReadError(f"not a CSV table: {error}", path=str(path)))


def _cell(text: Any) -> Any:
    """A cell of the CSV form, in which objects and lists are JSON text."""
    if isinstance(text, str) and text[:1] in ("{", "["):
        try:
            return decode(text.encode("utf-8", "surrogatepass"))
        except ReadError:
            # A text that only looks like JSON: a prompt may begin with a bracket.
            return text
    # CSV has no null; an empty cell is the closest thing.
    return None if text == "" else text


_ROW: dict[str, Any] = {
    "request": document({"contents": [{"role": str, "parts": [{"text?": ANY}]}]}),
    "response": document({"candidates": list}),
    "question_id": str,
    "session_id": document((str, None)),
    "app_name": document(str),
    "ADK_USER_ID": document(str),
    "user_inputs": document([str]),
    "final_session_state": (shapes.SESSION, None),
    "session_trace": document(list),
    "latency_data": document(list),
    "trace_summary": document([str]),
    "extracted_data": {
        "state_variables": document((dict, None)),
        "tool_interactions": document([{"tool_name": str, "input_arguments": ANY, "output_result?": ANY}]),
        "sub_agent_trace": document(list),
        "tool_declarations": document(list),
        "system_instruction": document((str, None)),
        "thinking_trace": document(list),
        "grounding_chunks": document(list),
        "per_turn_tokens": document(list),
        "stop_reasons": document(list),
        "conversation_history": document(list),
    },
    "final_response": document(ANY),
}


def check(row: Any) -> Iterable[Violation]:
    if isinstance(row, dict) and isinstance(row.get("final_session_state"), dict):
        row = {**row, "final_session_state": to_snake(row["final_session_state"], SESSION)}
    yield from violations(row, _ROW)


def validate(path: Path) -> Iterable[Violation]:
    broken: list[ReadError] = []
    version = detect(Head(path))
    for place, row in _rows(path, version, broken.append):
        for violation in check(row):
            where = ", ".join(part for part in (place, violation.place) if part)
            yield msgspec.structs.replace(violation, place=where or None)
    yield from (unreadable(each) for each in broken)


FORMAT = Format(
    name=NAME,
    title="ADK interactions as evaluation JSONL: request, response, session, trace, extracted data, ADK scores",
    spec="the ADK evaluation guide of pantrace",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    plan=plan,
    open_span=open_span,
    check=check,
    validate=validate,
    options=Options,
    suffix=".jsonl",
    checks_itself=True,
    repeats=True,
    corners=(CARRIER, SEAL, "final_session_state.events[].customMetadata.pantrace"),
)

__all__ = ["FORMAT"]
