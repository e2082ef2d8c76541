"""ADK eval history: what `adk eval` leaves in `.adk/eval_history/`.

Spec: the models of google-adk 0.5 to 2.13 (EvalSetResult); the ADK evaluation guide of pantrace.
Detect: `eval_case_results` beside an eval set or result id, in snake_case or camelCase; a JSON string that holds such
JSON (up to 1.21); a directory whose JSON files are all of this kind.
Lost: nothing; data that ADK has no field for is kept in `custom_metadata.pantrace` of an event or under a key
`pantrace` of the case, which ADK's loader ignores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.formats.format import Format, NoOptions
from pantrace.model import Run, RunHeader, Sample, Source, Violation, header_of, with_samples
from pantrace.wire import files
from pantrace.wire.adk import shapes
from pantrace.wire.adk.recase import CASE_RESULT, to_snake
from pantrace.wire.adk.record_samples import header_of_file, samples_of
from pantrace.wire.adk.residual import with_carried
from pantrace.wire.adk.save_document import save_document
from pantrace.wire.adk.schema import CaseResult, Unusual
from pantrace.wire.adk.trpc import DIALECT
from pantrace.wire.claimed_files import of_patterns
from pantrace.wire.extra_keys import rest_of
from pantrace.wire.head import Head
from pantrace.wire.json import checked_types, encode
from pantrace.wire.optional import present
from pantrace.wire.output_row import Row
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken
from pantrace.wire.shape import violations
from pantrace.wire.violation import error, under, unreadable, warning

from .cases import NAME, app_of, dump, load
from .document import Document, document, is_dialect, looks_like
from .run_files import group_files


def detect(head: Head) -> str | None:
    if head.kind == "directory":
        paths = _results_in(head.path)
        return "directory" if paths and all(looks_like(path) for path in paths) else None
    if head.data.lstrip()[:1] == b'"':
        # The head of a string is no JSON object, so the text itself is searched.
        return "double-encoded" if looks_like(head.path) else None
    # A document on one long line looks like lines: its beginning is what counts.
    record = head.record if head.layout != "array" else {}
    if not {"eval_case_results", "evalCaseResults"} & record.keys():
        return None
    cases = record.get("evalCaseResults", record.get("eval_case_results"))
    if isinstance(cases, list) and any(isinstance(each, dict) and is_dialect(each) for each in cases[:1]):
        return DIALECT if _IDS & record.keys() else None
    if {"eval_set_result_id", "eval_set_id"} & record.keys():
        return "snake_case"
    return "camelCase" if {"evalSetResultId", "evalSetId"} & record.keys() else None


_IDS = {"eval_set_result_id", "eval_set_id", "evalSetResultId", "evalSetId"}


def _results_in(folder: Path) -> list[Path]:
    """The files of a directory if all of them can be results, else none."""
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []
    plain = all(path.is_file() and files.bare_suffix(path) == ".json" for path in found)
    return found if plain else []


def open_run(path: Path, on_broken: OnBroken) -> Run:
    if path.is_dir():
        return _open_directory(path, on_broken)
    found = document(path)
    source = Source(format=NAME, version=found.variant, path=str(path))
    header = header_of_file(lambda: header_from(found.header), source)
    epochs = found.epochs()
    numbers = range(1, len(found.cases) + 1)
    records = ((f"case {number}", partial(load_case, found, number, epochs.get(number))) for number in numbers)
    return with_samples(header, samples_of(records, "a case of an eval history", source, on_broken))


def header_from(row: dict[str, Any]) -> RunHeader:
    """The header of an EvalSetResult, without its cases."""
    name, set_id, created = row.get("eval_set_result_id"), row.get("eval_set_id"), row.get("creation_timestamp")
    # google-adk names a result <app>_<eval set>_<time>; the app's name occurs nowhere else.
    ending = f"_{set_id}_{created}"
    known = {"eval_set_result_id", "eval_set_result_name", "eval_set_id", "creation_timestamp", CARRIER}
    rest = rest_of(row, known)
    # 0 means "unknown" in the model, but the file is written back with what it had.
    if created == 0:
        rest["creation_timestamp"] = created
    header = RunHeader(
        id=name,
        name=row.get("eval_set_result_name"),
        created=created or None,
        task=set_id,
        agent=name.removesuffix(ending) if isinstance(name, str) and name.endswith(ending) else None,
        extra={NAME: rest} if rest else {},
    )
    return with_carried(header, row)


def load_case(found: Document, number: int, epoch: int | None) -> Sample:
    """The sample of one case; `epoch` is its repetition unless it names its own."""
    case = found.case(number - 1)
    try:
        sample = load(case) if isinstance(case, CaseResult) else checked_types(load(case))
    # The typed record would lose something: read the case again with all its keys and nulls.
    except Unusual:
        sample = checked_types(load(found.plain_case(number - 1)))
    return msgspec.structs.replace(sample, epoch=epoch) if epoch is not None and sample.epoch is None else sample


def _open_directory(folder: Path, on_broken: OnBroken) -> Run:
    """A directory as one run: google-adk 1.x wrote one file per case, so files of one eval set and time belong
    together."""
    groups = group_files(_results_in(folder), on_broken)
    source = Source(format=NAME, version="directory", path=str(folder))
    if not groups:
        raise ReadError("no eval results in it", path=str(folder))

    def samples() -> Iterator[Sample]:
        seen: dict[str, int] = {}
        repeated = len(groups) > 1
        for group in groups:
            for path in group.paths:
                try:
                    run = open_run(path, on_broken)
                except ReadError as error:
                    on_broken(error)
                    continue
                for sample in run.samples:
                    # Runs of one directory are told apart by epoch.
                    seen[sample.id] = seen.get(sample.id, 0) + 1
                    if repeated and sample.id in group.repeated:
                        sample = msgspec.structs.replace(sample, epoch=seen[sample.id])
                    yield sample

    first = groups[0]
    header = header_from(first.header)
    further = [each for group in groups for each in group.headers][1:]
    if len(groups) > 1:
        further.insert(0, first.header)
        same_set = len({each.header.get("eval_set_id") for each in groups}) == 1
        header = RunHeader(name=folder.name, task=header.task if same_set else None, agent=header.agent)
    if further:
        # A run has one header, so those of the other files are kept beside it.
        header = msgspec.structs.replace(header, extra={NAME: {**header.extra.get(NAME, {}), "files": further}})
    return with_samples(msgspec.structs.replace(header, source=source), samples())


def save(run: RunHeader, rows: Iterable[Row], target: Path, options: NoOptions) -> None:
    """Write one EvalSetResult; cases are written as they come, one per line."""
    cases = iter(rows)
    # The header comes first in the file and names the app, which only a case knows.
    first = next(cases, None)
    header = _header_row(run, app_of(first.sample) if first is not None else "app")
    records = (_of_set(case, header["eval_set_id"]) for case in chain([] if first is None else [first], cases))
    save_document(target, header, "eval_case_results", records, header_from(header), header_of(run))


def _of_set(case: Row, name: str) -> bytes:
    """A case, with the eval set of its file if it names none."""
    if case.value["eval_set_id"]:
        return case.data
    return encode({**case.value, "eval_set_id": name, "eval_set_file": name})


def _header_row(run: RunHeader, app: str) -> dict[str, Any]:
    set_id = run.task or "pantrace"
    row: dict[str, Any] = {
        "eval_set_result_id": run.id or f"{run.agent or app}_{set_id}_{run.created or 0.0}",
        "eval_set_result_name": run.name,
        "eval_set_id": set_id,
        "creation_timestamp": run.created,
        **run.extra.get(NAME, {}),
    }
    return present(row)


def check(row: Any) -> Iterable[Violation]:
    yield from violations(to_snake(row, CASE_RESULT) if isinstance(row, dict) else row, shapes.CASE_RESULT)


def validate(path: Path) -> Iterable[Violation]:
    for each in _results_in(path) if path.is_dir() else [path]:
        try:
            found = document(each)
        except ReadError as broken:
            yield unreadable(broken)
            continue
        if found.variant == "double-encoded":
            # google-adk 2.13 itself refuses these files.
            yield warning("JSON inside a JSON string, as google-adk wrote it up to 1.21")
        if found.variant == DIALECT:
            yield warning(f"results of {DIALECT}: google-adk loads them once converted")
        for key in ("eval_set_result_id", "eval_set_id"):
            if not isinstance(found.header.get(key), str):
                yield error("must be text", key)
        for number in range(len(found.cases)):
            yield from under(f"eval_case_results[{number}]", check(found.plain_case(number)))


FORMAT = Format(
    name=NAME,
    title="ADK eval history (.adk/eval_history): session and per-invocation data merged",
    spec="https://google.github.io/adk-docs/evaluate/",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    claim=lambda folder: of_patterns(folder, "[!.]*"),
    save=save,
    check=check,
    validate=validate,
    layout="document",
    suffix=".evalset_result.json",
    checks_itself=True,
    note="tried on files of 1.21 and 2.13; for versions in between, only the source code was read",
    corners=("pantrace", "session_details.events[].custom_metadata.pantrace"),
)

__all__ = ["FORMAT"]
