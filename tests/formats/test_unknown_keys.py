"""A key that no reader knows, put in every object of every golden file, is kept: in the model, and when written back.

The key stands in one object at a time, so that each record goes the way it would go without it, a quick one included.
Of objects that are alike (the events of a session), the first and the last are tried. A reader may also refuse: in an
object whose keys are names (agents, samples), a text is no unknown key but a wrong value.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from documents import Place, documents, kind
from goldens import golden_inputs
from pantrace.engine.convert import write_run
from pantrace.engine.read import read
from pantrace.errors import PantraceError, ReadError
from pantrace.formats import by_name, names
from pantrace.model import header_of
from pantrace.wire.json import encode
from thorough import thorough

KEY, VALUE = "zz_unknown", "zz-value-17"

TO_THEIR_PLACE = (
    "adk-evalset",
    "adk-history",
    "adk-jsonl",
    "adk-session",
    "explain",
    "inspect",
    "openadapt-episodes",
    "openadapt-eval",
    "opencode",
    "vertex-agent",
    "vertex-flat",
    "vertex-seed",
)
"""Formats that write such a key where it stood, and not only under a key of ours."""
DISPLACED: dict[str, str] = {
    "adk-evalset/conversation_scenarios.json": "scenarios are written as an eval set",
    "adk-evalset/named_cases.test.json": "lists are written as an eval set",
    "adk-evalset/trpc_agent_go.evalset.json": "what google-adk would refuse is written under our key",
    "adk-evalset/turns.test.json": "lists are written as an eval set",
    "adk-history/one_file_per_case_1.21": "several files are written as one",
    "adk-history/trpc_agent_go.evalset_result.json": "what google-adk would refuse is written under our key",
    "adk-session/database_session_service.sqlite": "a database is written as JSON",
    "adk-session/sqlite_session_service.sqlite": "a database is written as JSON",
    "inspect/basic_cut.json": "a document is written as an archive",
    "openadapt-episodes/batch_som.json": "a list is written as one file per episode",
    "openadapt-episodes/benchmark_run": "logs are written as episodes",
    "openadapt-episodes/full_eval.jsonl": "logs are written as episodes",
    "openadapt-episodes/legacy.json": "the old schema is written as the new one",
    "openadapt-episodes/planner.jsonl": "logs are written as episodes",
    "openadapt-episodes/step_log.jsonl": "logs are written as episodes",
    "openadapt-episodes/waa_results": "logs are written as episodes",
    "openadapt-eval/legacy_flat.json": "the old shape is written as the new one",
    "opencode/project-storage-0.5.29": "a tree is written as exports",
    "opencode/run_s1.ndjson": "a stream is written as an export",
    "opencode/run_s5_api_error.ndjson": "a stream is written as an export",
    "opencode/storage-1.1.65": "a tree is written as exports",
    "opencode/todo.db": "a database is written as exports",
    "vertex-seed/document.json": "contents",
    "vertex-seed/document_example.json": "one object is written as a list",
    "vertex-seed/script_24604da.json": "the script's shape is written as the document's",
}
"""Golden files of these whose keys do not all come back where they stood, and why."""


def objects(value: Any, place: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict):
        yield place
        for key, item in value.items():
            yield from objects(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from objects(item, (*place, index))


def chosen(document: Any) -> list[Place]:
    """The first and the last object of each kind."""
    by_kind: dict[str, list[Place]] = {}
    for place in objects(document):
        by_kind.setdefault(kind(place), []).append(place)
    return [place for places in by_kind.values() for place in dict.fromkeys((places[0], places[-1]))]


def with_unknown_key(document: Any, place: Place) -> Any:
    copy = deepcopy(document)
    inner = copy
    for key in place:
        inner = inner[key]
    inner[KEY] = VALUE
    return copy


def variants(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Copies of a golden file with the key in one object each: the object's place, and the copy."""
    for name, data, write in documents(path, folder):
        for place, changed in changes(data):
            yield name + place, write(changed)


def changes(data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        document = json.loads(data)
    except ValueError:
        try:
            lines = [json.loads(line) for line in data.splitlines() if line.strip()]
        except ValueError:
            return  # not JSON: a picture, a note
        for place in chosen(lines):
            changed = with_unknown_key(lines, place)
            yield kind(place), b"".join(json.dumps(line).encode() + b"\n" for line in changed)
        return
    # Files of google-adk up to 1.21 hold their JSON in a JSON string.
    inner = json.loads(document) if isinstance(document, str) else document
    for place in chosen(inner):
        text = json.dumps(with_unknown_key(inner, place))
        yield kind(place), (json.dumps(text) if isinstance(document, str) else text).encode()


def held(path: Path, name: str) -> bytes | None:
    """All that is read of a file; None when something of it is refused."""
    broken: list[ReadError] = []
    try:
        run = read(path, format=name, on_broken=broken.append)
        found = encode(header_of(run)) + b"".join([encode(sample) for sample in run.samples])
    except ReadError:
        return None
    return None if broken else found


def goldens(known: dict[str, str], formats: Collection[str]) -> list[Any]:
    """Those of some formats; `make test` tries the first of each that is not known to be displaced."""
    found, tried = [], set()
    for name, path in golden_inputs():
        title = f"{name}/{path.name}"
        marks = [pytest.mark.xfail(strict=True, reason=known[title])] if title in known else []
        if name in tried or marks:
            marks.append(thorough)
        else:
            tried.add(name)
        if name in formats:
            found.append(pytest.param(name, path, id=title, marks=marks))
    return found


@pytest.mark.parametrize(("name", "path"), goldens({}, names()))
def test_an_unknown_key_is_in_the_model(name: str, path: Path, tmp_path: Path) -> None:
    lost = set()
    for place, variant in variants(path, tmp_path):
        found = held(variant, name)
        if found is not None and VALUE.encode() not in found:
            lost.add(place)
    assert not lost


@pytest.mark.parametrize(("name", "path"), goldens(DISPLACED, TO_THEIR_PLACE))
def test_an_unknown_key_comes_back_where_it_stood(name: str, path: Path, tmp_path: Path) -> None:
    displaced = set()
    (tmp_path / "in").mkdir()
    usual = write_run(read(path, format=name), tmp_path / "usual", to=name).repairs
    for place, variant in variants(path, tmp_path / "in"):
        target = tmp_path / "out"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        with suppress(PantraceError):
            format_ = by_name(name)
            out = target / ("x" if format_.is_split else f"x{format_.suffix}")
            report = write_run(read(variant, format=name), out, to=name)
            # Where keys are names, the text is a wrong value; it may be set right, which is told.
            if report.repairs - usual or held(variant, name) is None:
                continue
            if kind_of_key(target) != place.rpartition(": ")[2]:
                displaced.add((place, kind_of_key(target)))
    assert not displaced


def kind_of_key(folder: Path) -> str | None:
    """The kind of the object that has the key in what was written."""
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        for _, data, _ in documents(file, folder):
            try:
                found: Any = json.loads(data)
            except ValueError:
                with suppress(ValueError):
                    found = [json.loads(line) for line in data.splitlines() if line.strip()]
            for place in objects(found):
                inner = found
                for key in place:
                    inner = inner[key]
                if inner.get(KEY) == VALUE:
                    return kind(place)
    return None
