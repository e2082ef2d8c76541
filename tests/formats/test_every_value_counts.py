"""No value is passed over: put another in its place, and another sample is read, or the reader says what it left out.

A small number and a short word may stand anywhere, so the measuring of a reading (`wire.unread`) cannot miss them.
Here two of them are tried in the place of each value: if both are read as the same sample, nobody has looked at them.
Values of another type are tried as well: a reader that knows a key must still keep what it does not understand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from documents import Place, documents, kind
from goldens import golden_inputs
from pantrace.engine.balance import Balance
from pantrace.engine.read import Notes, read_pile
from pantrace.errors import ReadError
from pantrace.formats import by_name, names
from pantrace.model import header_of
from pantrace.wire.json import encode

LARGEST = 30_000
"""Bytes of a golden file: larger ones say the same things more often."""
_NO_TIME = "only a time is read; other texts are left out"
_CLEAR = "who speaks is clear from where it stands"
PASSED_OVER: dict[str, dict[str, str]] = {
    "adk-history": {"*intermediateResponses[].role": _CLEAR},
    "inspect": {
        "[].id": "a summary names its sample",
        "[].epoch": "a summary names its sample",
    },
    "langchain": {"*.data.type": "the type next to `data` counts", "*.lc": "the version of the serialisation"},
    "langsmith": {
        "*_time": _NO_TIME,
        "*parent_run_id": "a run whose parent is not there hangs from the first",
    },
    "native": {"*.provenance": "a word of version 1, for which version 2 lists the numbers"},
    "opencode": {"id": "the name of the file counts"},
    "openadapt-episodes": {
        "task_id": "the name of the folder counts, which is that of the task",
        "*action_timestamp": _NO_TIME,
        "*step_num": "lines are in order",
    },
    "otlp": {"observations[].endTime": _NO_TIME},
    "promptfoo": {"results.timestamp": "a time in the form of an evaluation's id"},
    "tau2": {
        "timestamp": _NO_TIME,
        "*_time": _NO_TIME,
        "*.raw_data.message.tool_calls": "the message has its own calls",
    },
    "vertex-agent": {"*.role": _CLEAR},
    "vertex-flat": {"*.role": _CLEAR},
    "vertex-result": {
        "*.role": _CLEAR,
        "metadata.creation_timestamp": "a time",
        "py/*": "what Python says about its own objects",
        "*py/*": "what Python says about its own objects",
    },
    "vertex-seed": {
        "*.role": _CLEAR,
        "*.function_response.name": "the call of that id has it",
        "*.response_absent": "an answer is there, or is not",
    },
}
"""Values that are passed over, and why: format and place."""
OF_ONE_TYPE = (
    "inspect",
    "langchain",
    "langsmith",
    "openadapt-episodes",
    "openai-responses",
    "otlp",
    "promptfoo",
    "strands",
    "tau2",
    "vertex-agent",
    "vertex-seed",
)
"""Formats whose readers pass over some values of another type than usual, if nothing but their type is remarkable: a
number in place of an id. Longer values are named when they are left out."""
OURS = b'"pantrace":'
"""In files of ours, what is kept under this key counts, and not what was made of it for others."""


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*place, index))
    else:
        yield place, value


def pairs(value: Any, name: str) -> list[tuple[Any, Any]]:
    """Two values of the same type, and two of another."""
    if isinstance(value, bool):
        return [(True, False)]
    if isinstance(value, (int, float)):
        found: list[tuple[Any, Any]] = [(5, 7) if isinstance(value, int) else (2.5, 3.5), ("a5", "b7")]
    else:
        found = [("ab", "cd"), (5, 7)]
    return found[:1] if name in OF_ONE_TYPE else found


def parsed(data: bytes) -> tuple[Any, bool] | None:
    """The JSON of a document, and whether it is a list of lines; None for pictures and notes."""
    try:
        return json.loads(data), False
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()], True
    except ValueError:
        return None


def told(path: Path, name: str) -> tuple[bytes, bool] | None:
    """What is read of a file, and whether something is left out by name; None if it is refused."""
    notes = Notes.keeping()
    notes.unread = Balance()
    try:
        run = read_pile([path], format=name, notes=notes)
        samples = [encode(sample) for sample in run.samples]
    except ReadError:
        return None
    said = b"".join([encode(header_of(run)), *samples])
    return None if notes.broken else (said, bool(notes.unread.count or notes.ignored))


def is_declared(name: str, place: str) -> bool:
    """Whether the format or this test says why a value needs no place in the model."""
    path = place.replace(".[]", "[]")
    return any(fnmatchcase(path, each) for each in [*by_name(name).reencoded, *PASSED_OVER.get(name, ())])


@pytest.mark.parametrize("name", names())
def test_no_value_is_passed_over(name: str, tmp_path: Path) -> None:
    seen: set[tuple[str, str, type]] = set()
    silent: list[tuple[str, str, Any]] = []
    for path in [path for golden, path in golden_inputs() if golden == name]:
        for title, data, write in documents(path, tmp_path):
            if len(data) > LARGEST or (name != "native" and OURS in data) or (found := parsed(data)) is None:
                continue
            document, is_lines = found
            for place, value in list(leaves(document)):
                mark = (re.sub(r"\w*\d\w*", "", title), kind(place), type(value))
                if not place or mark in seen or is_declared(name, kind(place)):
                    continue
                seen.add(mark)
                for pair in pairs(value, name):
                    if not differ(document, place, pair, is_lines, write, name):
                        silent.append((path.name, f"{title}{kind(place)}", pair))
    assert not silent, "\n".join(map(str, silent))


def differ(document: Any, place: Place, pair: tuple[Any, Any], is_lines: bool, write: Any, name: str) -> bool:
    """Whether two values at the same place are read as two things, or one of them is refused or named."""
    readings = []
    for value in pair:
        changed = deepcopy(document)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        lines = [json.dumps(line).encode() + b"\n" for line in changed] if is_lines else [json.dumps(changed).encode()]
        if (found := told(write(b"".join(lines)), name)) is None or found[1]:
            return True
        readings.append(found[0])
    return readings[0] != readings[1]
