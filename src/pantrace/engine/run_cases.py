"""What is to be asked: the cases of a dataset, or the prompts of recordings that exist."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, UnknownFormat, UsageError
from pantrace.model import Case, Record, Sample, Trajectory, is_prompt, said
from pantrace.model.views import active_steps
from pantrace.wire import files
from pantrace.wire.json import encode
from pantrace.wire.rows import raise_broken, read_rows

from .read import Notes, read_pile

COLUMNS: dict[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "query", "instruction", "task"),
    "id": ("id", "case_id", "task_id", "question_id"),
    "reference": ("reference", "answer", "expected", "target", "ideal", "expected_output"),
    "goal": ("goal",),
    "context": ("context",),
}
"""Under which names a table may hold the fields of a case."""


class Asked(Record, frozen=True, kw_only=True):
    """A case with the questions that are put to the agent, one after another."""

    id: str
    case: Case
    turns: tuple[str, ...]
    expected: Trajectory | None = None
    is_scenario: bool = False
    """Whether a simulated user plays on after the first question."""

    @property
    def hash(self) -> str:
        """Changes when something else is asked or expected."""
        told = encode([self.case, self.turns, self.expected])
        return sha256(told).hexdigest()[:16]


def dataset(paths: Iterable[Path], columns: dict[str, str], notes: Notes) -> Iterator[Sample]:
    """The samples of datasets; tables that no format claims are read by their columns."""
    recognised: list[Path] = []
    for path in paths:
        if not path.is_dir() and (columns or _is_table(path)):
            yield from _table(path, columns)
        else:
            recognised.append(path)
    if recognised:
        yield from read_pile(recognised, notes=notes).samples


def questions(samples: Iterable[Sample], *, follow_up: bool) -> Iterator[Asked]:
    """What is asked in each sample; `follow_up`: all prompts of a recording, not only its first."""
    seen: dict[str, str] = {}
    for sample in samples:
        asked = _asked(sample, follow_up)
        if asked.id in seen:
            # Several trials of one case in a recording are one question.
            if seen[asked.id] != asked.turns[0]:
                raise UsageError(f"two cases have the id {asked.id} and ask different questions; give each its own id")
            continue
        seen[asked.id] = asked.turns[0]
        yield asked


def _asked(sample: Sample, follow_up: bool) -> Asked:
    case = sample.case or Case()
    name = case.id or sample.id
    scenario = "scenario" in (case.extra.get("adk") or {})
    turns = _prompts(sample.expected) if sample.expected is not None and not scenario else ()
    if not turns and case.question:
        turns = (case.question,)
    if not turns and sample.trajectory is not None:
        prompts = _prompts(sample.trajectory)
        turns = prompts if follow_up else prompts[:1]
    if not turns:
        raise UsageError(f"the case {name} has no question; name its column with --column question=NAME")
    question = case.question if case.question is not None else turns[0]
    whole = msgspec.structs.replace(case, id=name, question=question)
    return Asked(id=name, case=whole, turns=turns, expected=sample.expected, is_scenario=scenario)


def _prompts(trajectory: Trajectory | None) -> tuple[str, ...]:
    steps = active_steps(trajectory) if trajectory is not None else ()
    return tuple(text for step in steps if is_prompt(step) and (text := said(step)))


def _is_table(path: Path) -> bool:
    """Whether no format claims a file whose name says that it holds rows."""
    if files.bare_suffix(path) not in (".csv", ".tsv", ".jsonl", ".json"):
        return False
    from pantrace.formats import detect

    try:
        detect(path)
    except UnknownFormat:
        return True
    except ReadError:
        return False
    return False


def _table(path: Path, columns: dict[str, str]) -> Iterator[Sample]:
    for number, row in enumerate(_rows(path), 1):
        if not isinstance(row, dict):
            raise ReadError("a row of cases must be an object", path=str(path), place=f"row {number}")
        yield _case(row, columns, path, number)


def _rows(path: Path) -> Iterator[Any]:
    suffix = files.bare_suffix(path)
    if suffix in (".csv", ".tsv"):
        try:
            text = files.read_all(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            remedy = "save the table as UTF-8"
            raise ReadError("not UTF-8 text", path=str(path), place=f"byte {error.start}", remedy=remedy) from None
        rows = csv.DictReader(
            io.StringIO(text, newline=""), restkey="more", delimiter="\t" if suffix == ".tsv" else ","
        )
        former = csv.field_size_limit(len(text) + 1)
        try:
            yield from rows
        except csv.Error as error:
            raise ReadError(f"not a table: {error}", path=str(path), place=f"line {rows.line_num}") from None
        finally:
            csv.field_size_limit(former)
    else:
        for _, row in read_rows(path, raise_broken):
            yield row


def _case(row: dict[str, Any], columns: dict[str, str], path: Path, number: int) -> Sample:
    where = {"path": str(path), "place": f"row {number}"}
    found: dict[str, Any] = {}
    taken: set[str] = set()
    for name, usual in COLUMNS.items():
        names = (columns[name],) if name in columns else usual
        key = next((each for each in names if row.get(each) not in (None, "")), None)
        if key is not None:
            found[name] = row[key] if isinstance(row[key], str) else encode(row[key]).decode()
            taken.add(key)
        elif name in columns and columns[name] not in row:
            raise ReadError(f"there is no column {columns[name]!r}; there are {', '.join(map(str, row))}", **where)
    if "question" not in found:
        there = ", ".join(map(str, row))
        remedy = "name it with --column question=NAME"
        raise ReadError(f"no column holds the question; there are {there}", **where, remedy=remedy)
    labels = {key: value for key, value in row.items() if key not in taken and isinstance(value, str) and value}
    rest = {key: value for key, value in row.items() if key not in taken and key not in labels and value is not None}
    name = found.pop("id", None) or str(number)
    return Sample(id=name, case=Case(id=name, **found, labels=labels, extra={"table": rest} if rest else {}))
