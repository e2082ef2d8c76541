"""Reading logs in three tiers: the header, the summaries, the samples one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, RunHeader, Sample, Source, with_samples
from pantrace.wire import files, zip_archive
from pantrace.wire.declared_types import fits
from pantrace.wire.difference import SAME, difference
from pantrace.wire.head import Head
from pantrace.wire.input_cuts import Cutting, by_weight
from pantrace.wire.input_span import Span
from pantrace.wire.json import decode, first_misfit, typed_decoder
from pantrace.wire.optional import object_of
from pantrace.wire.progress import report_place
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

from .header import LOGGED, START_NOTE, start_of, to_header
from .member_names import SAMPLES
from .migration import header_today, named_scores, sample_today
from .samples import load
from .summary import Summarised, with_summary

HEADER, START, SUMMARIES, REDUCTIONS = "header.json", "_journal/start.json", "summaries.json", "reductions.json"
JOURNAL, UPDATES = "_journal/summaries/", "_journal/config_updates/"

_parts, _rows = typed_decoder(dict[str, msgspec.Raw]), typed_decoder(list[msgspec.Raw])
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, msgspec.ValidationError)


def detect(head: Head) -> str | None:
    if head.kind == "zip":
        return "eval" if HEADER in head.members or START in head.members else None
    record = head.record if head.may_be_document else {}
    spec = record.get("eval")
    if not isinstance(spec, dict) or not isinstance(record.get("status", ""), str):
        return None
    return "json" if "task" in spec and ({"dataset", "model", "run_id", "eval_id"} & spec.keys()) else None


def is_archive(path: Path) -> bool:
    """Whether the file is a zip."""
    return files.read_start(path, 4) == b"PK\x03\x04"


def plan(path: Path, cutting: Cutting) -> Iterator[Span]:
    """Ranges of an archive's samples, by unpacked size."""
    if is_archive(path):
        with zip_archive.reading(path) as archive:
            yield from by_weight(map(archive.size, sample_names(archive)), cutting.size)


def open_span(path: Path, span: Span, on_broken: OnBroken) -> Run:
    """A log with the samples of a span."""
    return open_run(path, on_broken, span)


def open_run(path: Path, on_broken: OnBroken, span: Span | None = None) -> Run:
    """A log; its samples are read while they are iterated."""
    if not is_archive(path):
        return _open_document(path, on_broken)
    with zip_archive.reading(path) as archive:
        raw = archive_header(archive)
        # In archives they are a member, in `.json` logs a key of the document.
        if REDUCTIONS in archive:
            raw["reductions"] = member(archive, REDUCTIONS)
        header, source = _run(raw, path, **_start_note(archive, raw), **_count_note(raw, len(sample_names(archive))))
    scorer = _first_scorer(raw)

    def samples() -> Iterator[Sample]:
        with zip_archive.reading(path) as archive:
            summarised = _summaries_by_sample(archive) if span is None else _summarised_once(path, *_state(path))
            names = sample_names(archive)
            # A log whose ids do not match still has its summaries in the order of its samples.
            in_order = list(summarised.values()) if len(summarised) == len(names) else [None] * len(names)
            wanted = slice(span.begin, span.end) if span is not None else slice(None)
            chosen = [*zip(names[wanted], in_order[wanted], strict=True)]
            for number, (name, beside) in enumerate(chosen):
                report_place(number, len(chosen))
                place = Source(**{**_plain(source), "place": name})
                for row, sample in load_sample(lambda name=name: member(archive, name), scorer, place, on_broken):  # type: ignore[misc]
                    stated = summarised.get(_key(row), beside)
                    yield sample if stated is None else with_summary(sample, row, stated)

    return with_samples(header, samples())


def _start_note(archive: zip_archive.Archive, raw: dict[str, Any]) -> dict[str, Any]:
    """How the journal of a finished log begins, if that differs from its header."""
    if HEADER not in archive or not isinstance(raw.get("eval"), dict):
        return {}
    if START not in archive:
        # Noted, so that the log is written without it again.
        return {START_NOTE: None}
    try:
        change = difference(start_of(raw), member(archive, START))
    except ReadError:
        return {}  # no program reads the journal of a finished log
    return {} if change is SAME else {START_NOTE: change}


def _count_note(raw: dict[str, Any], count: int) -> dict[str, Any]:
    """How many samples a log has, if that differs from its list of ids and epochs."""
    spec = raw.get("eval")
    spec = object_of(spec)
    dataset, config = spec.get("dataset"), spec.get("config")
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    if not isinstance(ids, list):
        return {}
    epochs = config.get("epochs") if isinstance(config, dict) else None
    promised = len(ids) * (epochs if isinstance(epochs, int) else 1)
    return {} if promised == count else {LOGGED: count}


def _key(row: dict[str, Any]) -> tuple[str, str]:
    """The key of a sample: id and epoch as text, because a broken log may have them in any type."""
    return str(row.get("id")), str(row.get("epoch"))


def _summaries_by_sample(archive: zip_archive.Archive) -> dict[tuple[str, str], Summarised]:
    """The summary of each sample in a log."""
    found: dict[tuple[str, str], Summarised] = {}
    for name in (*sorted_journal(archive, JOURNAL), *((SUMMARIES,) if SUMMARIES in archive else ())):
        number = name.removeprefix(JOURNAL).removesuffix(".json")
        try:
            listed = member(archive, name)
        except ReadError:
            continue
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                before = found.get(_key(each), Summarised(each, None, 0))
                flushed = Summarised(each, each, int(number)) if number.isdigit() else before
                found[_key(each)] = flushed._replace(summary=each)
    return found


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=1)
def _summarised_once(path: Path, _inode: int, _size: int, _changed: int) -> dict[tuple[str, str], Summarised]:
    """The same, cached for all spans that one process reads: each span needs the summaries of all samples."""
    with zip_archive.reading(path) as archive:
        return _summaries_by_sample(archive)


def _plain(source: Source) -> dict[str, Any]:
    return msgspec.structs.asdict(source)


def _open_document(path: Path, on_broken: OnBroken) -> Run:
    raw = document(path)
    rows = raw.pop("samples", None) or []
    header, source = _run(raw, path, **_count_note(raw, len(rows)))
    scorer = _first_scorer(raw)

    def samples() -> Iterator[Sample]:
        for number, row in enumerate(rows, 1):
            place = Source(**{**_plain(source), "place": f"samples[{number - 1}]"})
            for _, sample in load_sample(lambda row=row: decode_row(row), scorer, place, on_broken):  # type: ignore[misc]
                yield sample

    return with_samples(header, samples())


def document(path: Path) -> dict[str, Any]:
    """A `.json` log, decoded except for its samples, which stay raw until they are needed."""
    data = files.read_all(path)
    try:
        parts = _parts(data)
        raw: Any = {key: decode(bytes(value)) for key, value in parts.items() if key != "samples"}
        if bytes(parts.get("samples", b"null")) != b"null":
            raw["samples"] = _rows(parts["samples"])
    # NaN and Infinity, which Inspect writes, and torn text: the slower decoder knows or explains them.
    except (msgspec.DecodeError, UnicodeDecodeError, msgspec.ValidationError):
        try:
            raw = decode(data)
        except ReadError as error:
            raise error.at(path=str(path)) from None
    if not isinstance(raw, dict) or not isinstance(raw.get("eval"), dict):
        raise ReadError("not an Inspect log: it has no `eval` object", path=str(path), remedy="is --from right?")
    if not isinstance(raw.get("samples") or [], list):
        raise ReadError("`samples` is not a list", path=str(path), place="samples")
    return raw


def decode_row(row: Any) -> Any:
    """A sample of a document, decoded if it is still raw."""
    return decode(bytes(row)) if isinstance(row, msgspec.Raw) else row


def load_sample(
    read: Callable[[], Any], scorer: str | None, source: Source, on_broken: OnBroken
) -> Iterator[tuple[dict[str, Any], Sample]]:
    """One sample with its row; nothing if it is broken, which is reported."""
    try:
        row = read()
        if isinstance(row, dict) and "score" in row:
            row = named_scores(sample_today(row), scorer)
        sample = load(row)
        # The quick check first; the slow one, which finds the place, only if it fails.
        if not fits(sample, steps=False) and (why := first_misfit(sample, Sample)) is not None:
            raise ReadError(why, remedy="is --from right, and was the file edited by hand?")
    except ReadError as error:
        on_broken(ReadError(error.message, path=source.path, place=error.place or source.place, remedy=error.remedy))
        return
    except _WRONG as error:
        detail = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
        on_broken(ReadError(f"not a sample of an Inspect log: {detail}", path=source.path, place=source.place))
        return
    yield row, with_source(sample, source)


def _run(raw: dict[str, Any], path: Path, **notes: Any) -> tuple[RunHeader, Source]:
    try:
        header = to_header(raw, **notes)
    except ReadError as error:
        raise error.at(path=str(path), place="header") from None
    except _WRONG as error:
        raise ReadError(f"not the header of an Inspect log: {error}", path=str(path)) from None
    packages = header.environment.get("packages") or {}
    maker = packages.get("inspect_ai")
    version = raw.get("version")
    source = Source(
        format="inspect",
        version=None if version is None else str(version),
        producer=f"inspect_ai {maker}" if maker else None,
        path=str(path),
    )
    return msgspec.structs.replace(header, source=source), source


def _first_scorer(raw: dict[str, Any]) -> str | None:
    results = header_today(raw).get("results")
    scores = results.get("scores") if isinstance(results, dict) else None
    first = scores[0] if isinstance(scores, list) and scores else None
    return first.get("name") if isinstance(first, dict) else None


def archive_header(archive: zip_archive.Archive) -> dict[str, Any]:
    """An archive's header; without header.json the run has crashed or is still running (status "started")."""
    if HEADER in archive:
        raw = member(archive, HEADER)
        if not isinstance(raw, dict):
            raise ReadError("not an object", path=archive.path, place=HEADER)
        return dict(raw)
    if START not in archive:
        raise ReadError(
            "neither header.json nor _journal/start.json in it", path=archive.path, remedy="is --from right?"
        )
    start = member(archive, START)
    if not isinstance(start, dict):
        raise ReadError("not an object", path=archive.path, place=START)
    if not isinstance(start.get("eval"), dict):
        # The Inspect log guide shows the fields of `eval` without the frame around them; inspect_ai itself writes
        # `{version, eval, plan}`.
        start = {"eval": start}
    updates = sorted_journal(archive, UPDATES)
    found = {**start, "status": "started"}
    if updates:
        found["config_updates"] = [each for name in updates for each in _list(member(archive, name))]
    return found


def member(archive: zip_archive.Archive, name: str) -> Any:
    """The decoded content of a member."""
    try:
        return decode(archive.read(name))
    except ReadError as error:
        place = name if error.place is None or error.place == name else f"{name}, {error.place}"
        raise ReadError(error.message, path=archive.path, place=place, remedy=error.remedy) from None


def sample_names(archive: zip_archive.Archive) -> list[str]:
    """Members that hold samples. Ids are read from inside: a name may contain slashes and spaces."""
    return [name for name in archive.members if name.startswith(SAMPLES) and name.endswith(".json")]


def sorted_journal(archive: zip_archive.Archive, folder: str) -> list[str]:
    """Members of a journal folder by number."""
    names = [name for name in archive.members if name.startswith(folder) and name.endswith(".json")]
    stems = {name: name.removeprefix(folder).removesuffix(".json") for name in names}
    return sorted(names, key=lambda name: (not stems[name].isdigit(), int(stems[name]) if stems[name].isdigit() else 0))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def summaries(path: Path) -> list[dict[str, Any]]:
    """The summaries of a log, without reading its samples; those of the journal for a running or crashed log."""
    if not is_archive(path):
        return []
    with zip_archive.reading(path) as archive:
        names = [SUMMARIES] if SUMMARIES in archive else sorted_journal(archive, JOURNAL)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for name in names:
            value = member(archive, name)
            if not isinstance(value, list):
                raise ReadError("expected a list of summaries", path=str(path), place=name)
            for each in value:
                if isinstance(each, dict):
                    # A sample that ran again has two summaries; the last one counts.
                    found.pop(_key(each), None)
                    found[_key(each)] = each
        return list(found.values())
