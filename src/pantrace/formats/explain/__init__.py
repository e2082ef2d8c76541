"""The Explain dataset: cases with an answer to be judged, the reports of judging them, and their scenarios.

Spec: docs/formats/explain.md. Cases and scenarios are JSON Lines (an array or one object is read too), a report is one
JSON document.
Detect: `case_id` with `agent_name` or another key of a case; `totalCases` with `perAgent`; `scenario_id` with two of a
scenario's own keys. Upper and lower case are the same; only keys within the first 64 KiB count.
Lost: in a dataset all scores, and everything of a trajectory but question, final answer and tool calls; in a report
everything but the scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.formats.format import Format
from pantrace.model import Record, Run, RunHeader, Sample, Source, Violation
from pantrace.wire import files
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head, decode_beginning
from pantrace.wire.json import decode_document
from pantrace.wire.optional import object_of
from pantrace.wire.output_row import Row
from pantrace.wire.rows import OnBroken, layout_of, read_rows, write_rows
from pantrace.wire.source import with_source
from pantrace.wire.violation import unreadable
from pantrace.wire.whole_document import object_in

from . import catalogue, dataset, report, scored_case
from .bundle import explain_inputs
from .keys import NAME
from .validation import check, check_cases

__all__ = ["FORMAT", "Options", "explain_inputs"]

_OF_A_CASE = frozenset({"agent_name", "explain_inputs", "model_answer", "invoked_tool_calls", "threshold_profile"})


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a dataset or a report is written."""

    kind: Literal["auto", "dataset", "report"] = "auto"
    """dataset: cases, one per line; report: one document with the scores; auto: samples that were read from a report
    (or a scenario catalogue) become one again, all others a dataset."""
    bundle: bool = True
    """Write `explain_inputs`, the payloads of the nine evals, which repeat the answer nine times."""
    labels: bool = True
    """Write labels that have no key of their own (those of the scenario catalogue, those of other formats) as an object
    `labels`, which the original ignores."""


def detect(head: Head) -> str | None:
    record = _first_object(head)
    # The original program ignores the case of keys.
    keys = {key.lower() for key in record}
    # Not by `required_evals`, which the description names: in real rows it comes after 84 kB of answers.
    if "case_id" in keys and keys & _OF_A_CASE:
        return "comparative" if "workflow_mode" in keys and "model_answer" not in keys else "dataset"
    if report.is_report(record):
        return "report"
    return "catalogue" if catalogue.is_scenario(record) else None


def _first_object(head: Head) -> dict[str, Any]:
    """The first record; lines that do not begin an object are skipped, as the original program does."""
    if head.kind == "json" and head.record:
        return head.record
    if head.kind not in ("json", "text"):
        return {}
    line = next((line for line in head.data.splitlines() if line.startswith(b"{")), b"{}")
    record = decode_beginning(line)
    return object_of(record)


def load(row: Any) -> Sample:
    if not isinstance(row, dict):
        raise ReadError("a record of an explain dataset is an object")
    if catalogue.is_scenario(row):
        return catalogue.load(row)
    keys = {key.lower() for key in row}
    return scored_case.load(row) if "caseid" in keys and "case_id" not in keys else dataset.load(row)


def dump(sample: Sample, options: Options) -> dict[str, Any]:
    kind = _kind_of(sample) if options.kind == "auto" else options.kind
    if kind == "report":
        return scored_case.dump(sample, options)  # type: ignore[no-any-return]
    if kind == "catalogue":
        return catalogue.dump(sample)
    return dataset.dump(sample, bundle=options.bundle, labels=options.labels)


def _kind_of(held: Sample | RunHeader) -> str:
    kind = rest_in(held.extra, NAME).get("kind")
    return kind if kind in ("report", "catalogue") else "dataset"


def open_run(path: Path, on_broken: OnBroken) -> Run:
    variant = detect(Head(path)) or "dataset"
    if variant == "report":
        return report.open_report(path, on_broken)
    source = Source(format=NAME, version=variant, path=str(path))
    return Run(source=source, samples=_samples(path, source, on_broken))


def _samples(path: Path, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    # A case names its scenario only by id; what the id means is in the catalogue.
    beside = catalogue.catalogue_beside(path) if source.version != "catalogue" else None
    scenarios = catalogue.read_catalogue(beside, on_broken) if beside is not None else {}
    for place, row in _rows(path, on_broken):
        try:
            sample = load(row)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        if scenarios:
            sample = catalogue.join_scenario(sample, scenarios)
        yield with_source(sample, msgspec.structs.replace(source, place=place))


def _rows(path: Path, on_broken: OnBroken) -> Iterator[tuple[str | None, Any]]:
    """The records of a file, reporting lines that the original skips silently."""
    start = files.read_start(path, 1 << 16)
    if layout_of(start, whole=len(start) < (1 << 16) - 8) != "lines":
        yield from read_rows(path, on_broken)
        return
    for number, line in files.lines(path, None, on_broken):
        place = f"line {number}"
        try:
            if not line.lstrip().startswith(b"{"):
                raise ReadError("the line does not begin with {, so the original skips it")
            yield place, decode_document(line)
        except ReadError as error:
            # The decoder counts lines within this one line, so only its column is of use.
            column = (error.place or "").rpartition(", ")[2]
            on_broken(ReadError(error.message, path=str(path), place=f"{place}, {column}" if column else place))


def save(run: RunHeader, rows: Iterable[Row], target: Path, options: Options) -> None:
    rows = iter(rows)
    first = next(rows, None)
    kind: str = options.kind
    if kind == "auto":
        kind = _kind_of(first.sample if first is not None else run)
        # With `auto`, a file cannot be half dataset and half report.
        rows = _of_one_kind(rows, kind)
    values = (row.value for row in chain([] if first is None else [first], rows))
    if kind == "report":
        report.write_report(run, list(values), target)
    else:
        write_rows(values, target, default="lines")


def _of_one_kind(rows: Iterator[Row], kind: str) -> Iterator[Row]:
    for row in rows:
        if _kind_of(row.sample) != kind:
            raise UsageError(
                f"the samples come from a {kind} and from a {_kind_of(row.sample)}: "
                "choose what to write with --option kind=dataset or kind=report"
            )
        yield row


def validate(path: Path) -> Iterable[Violation]:
    variant = detect(Head(path))
    if variant == "report":
        yield from check(object_in(path))
        return
    broken: list[ReadError] = []
    beside = catalogue.catalogue_beside(path) if variant != "catalogue" else None
    for violation in check_cases(_rows(path, broken.append), beside):
        yield from (unreadable(error) for error in broken)
        # Reported between the violations, so that all of them come in the order of the file.
        broken.clear()
        yield violation
    yield from (unreadable(error) for error in broken)


_NO_PLACE = "a case holds the question, the final answer and the tool calls"

FORMAT = Format(
    name=NAME,
    title="Explain dataset (cases, comparative cases, scenarios) and its reports",
    spec="docs/formats/explain.md",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    beside=lambda path: [found] if (found := catalogue.catalogue_beside(path)) is not None else [],
    save=save,
    check=check,
    validate=validate,
    options=Options,
    lost={
        "id": "case ids are unique in a file: later repetitions get a number at the end",
        "epoch": "case ids are unique in a file: later repetitions get a number at the end",
        "scores": "a dataset has no scores (--option kind=report writes them)",
        "expected": "only the final answer and the calls of a reference are kept",
        "trajectory": _NO_PLACE,
        "trajectory.steps": f"{_NO_PLACE} (earlier turns go into its context if the case has none)",
        "trajectory.outcome": "a dataset has no outcome (--option kind=report writes it)",
        "case.choices": "a case has no choices",
        "case.expected_state": "a case has no expected state",
        "run": "a dataset has no header, a report only its totals",
    },
    corners=("pantrace",),
)
