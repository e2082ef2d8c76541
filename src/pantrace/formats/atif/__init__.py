"""ATIF: the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.8.

Spec: https://www.harborframework.com/docs/agents/trajectory-format and the models of harbor 0.25.0.
Detect: `schema_version` that begins with "ATIF-v"; `trial_name`, `task_name` and `verifier_result` (a trial's result).
Lost: nothing for pantrace, which keeps the rest in `extra.pantrace`; for others cases, scores, outcomes, branches,
the times of tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Run, Sample, Source, Violation
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.head import Head
from pantrace.wire.optional import text_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source
from pantrace.wire.whole_document import document_in

from ..format import Format
from . import read, write
from .read import NAME
from .references import owner, referred, resolve
from .trial import document_of, is_result, result_of, with_result
from .trial import load as trial_in
from .validation import check

load, dump = carry_rest(read.load, write.dump, "extra.pantrace")


def detect(head: Head) -> str | None:
    if is_result(head.record):
        return "trial"
    return head.record["schema_version"] if _is_document(head.record) else None


def _is_document(record: Any) -> bool:
    version = record.get("schema_version") if isinstance(record, dict) else None
    return isinstance(version, str) and version.startswith("ATIF-v")


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """One document with the files that it refers to, and with the result of its trial."""
    # Not left to the frame, which reads one file: sub-agents may lie in others.
    row = document_in(path)
    if is_result(row):
        document = document_of(path)
        source = Source(format=NAME, version="trial", path=str(path))
        return (
            open_run(document, on_broken) if document else Run(name=path.name, source=source, samples=[trial_in(row)])
        )
    # A damaged document is reported by `load`, which says what is wrong.
    version = row.get("schema_version") if isinstance(row, dict) else None
    source = Source(format=NAME, version=text_of(version), path=str(path))
    return Run(name=path.name, source=source, samples=_samples(row, path, source, on_broken))


def _samples(row: Any, path: Path, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    try:
        sample = load(row)
    except ReadError as error:
        on_broken(error.at(path=str(path)))
        return
    yield with_source(with_result(resolve(sample, path, load, on_broken), path, on_broken), source)


def _beside(path: Path) -> Iterator[Path]:
    yield from referred(path)
    if (result := result_of(path)) is not None:
        yield result


def _owner(path: Path) -> Path | None:
    return document_of(path) or owner(path)


def _check(row: Any) -> Iterable[Violation]:
    return () if is_result(row) else check(row)


FORMAT = Format(
    name=NAME,
    title="ATIF, the trajectory format of Harbor: one document per run, sub-agents inside it or in other files",
    spec="https://www.harborframework.com/docs/agents/trajectory-format",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    beside=_beside,
    owner=_owner,
    check=_check,
    layout="document",
    stands_alone=_is_document,
    suffix=".trajectory.json",
    nests=True,
    corners=("extra.pantrace",),
    lost={"": "ATIF holds messages, calls, results and tokens of one run"},
)

__all__ = ["FORMAT"]
