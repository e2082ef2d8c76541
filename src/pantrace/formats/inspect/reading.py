"""Reading logs in three tiers: the header, the summaries, the samples one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, RunHeader, Sample, Source, with_samples
from pantrace.wire import files, ziplog
from pantrace.wire.cuts import Cutting, by_weight
from pantrace.wire.declared_types import fits
from pantrace.wire.head import Head
from pantrace.wire.json import decode, misfit, typed_decoder
from pantrace.wire.pace import tell_place
from pantrace.wire.remainder import SAME, difference
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source
from pantrace.wire.span import Span

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
    record = head.record if head.kind == "json" and head.layout == "document" else {}
    spec = record.get("eval")
    if not isinstance(spec, dict) or not isinstance(record.get("status", ""), str):
        return None
    return "json" if "task" in spec and ({"dataset", "model", "run_id", "eval_id"} & spec.keys()) else None


def is_archive(path: Path) -> bool:
    """Whether the file is a zip."""
    return files.read_start(path, 4) == b"PK\x03\x04"


def plan(path: Path, cutting: Cutting) -> Iterator[Span]:
    """Ranges of the samples of an archive, by their sizes unpacked."""
    if is_archive(path):
        with ziplog.reading(path) as archive:
            yield from by_weight(map(archive.size, sample_names(archive)), cutting.size)


def open_span(path: Path, span: Span, on_broken: OnBroken) -> Run:
    """A log with the samples of a span."""
    return open_run(path, on_broken, span)


def open_run(path: Path, on_broken: OnBroken, span: Span | None = None) -> Run:
    """A log; its samples are read while they are iterated."""
    if not is_archive(path):
        return _open_document(path, on_broken)
    with ziplog.reading(path) as archive:
        raw = archive_header(archive)
        if REDUCTIONS in archive:
            raw["reductions"] = member(archive, REDUCTIONS)
        header, source = _run(raw, path, **_start_note(archive, raw), **_logged(raw, len(sample_names(archive))))
    scorer = _first_scorer(raw)

    def samples() -> Iterator[Sample]:
        with ziplog.reading(path) as archive:
            summarised, names = _summarised(archive), sample_names(archive)
            # A log that breaks the id rule still has its summaries in the order of its samples.
            in_order = list(summarised.values()) if len(summarised) == len(names) else [None] * len(names)
            wanted = slice(span.begin, span.end) if span is not None else slice(None)
            chosen = [*zip(names[wanted], in_order[wanted], strict=True)]
            for number, (name, beside) in enumerate(chosen):
                tell_place(number, len(chosen))
                place = Source(**{**_plain(source), "place": name})
                for row, sample in loaded(lambda name=name: member(archive, name), scorer, place, on_broken):  # type: ignore[misc]
                    told = summarised.get(_key(row), beside)
                    yield sample if told is None else with_summary(sample, row, told)

    return with_samples(header, samples())


def _start_note(archive: ziplog.Archive, raw: dict[str, Any]) -> dict[str, Any]:
    """How the journal of a finished log begins, where that is not with what its header says."""
    if HEADER not in archive or not isinstance(raw.get("eval"), dict):
        return {}
    if START not in archive:
        return {START_NOTE: None}
    try:
        change = difference(start_of(raw), member(archive, START))
    except ReadError:
        return {}  # nobody reads the journal of a finished log
    return {} if change is SAME else {START_NOTE: change}


def _logged(raw: dict[str, Any], count: int) -> dict[str, Any]:
    """How many samples a log has, where that is not what its list of ids and its epochs promise."""
    spec = raw.get("eval")
    spec = spec if isinstance(spec, dict) else {}
    dataset, config = spec.get("dataset"), spec.get("config")
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    if not isinstance(ids, list):
        return {}
    epochs = config.get("epochs") if isinstance(config, dict) else None
    promised = len(ids) * (epochs if isinstance(epochs, int) else 1)
    return {} if promised == count else {LOGGED: count}


def _key(row: dict[str, Any]) -> tuple[str, str]:
    """What a sample is found by; ids of any type, as a broken log may have them."""
    return str(row.get("id")), str(row.get("epoch"))


def _summarised(archive: ziplog.Archive) -> dict[tuple[str, str], Summarised]:
    """What a log says of each sample in short."""
    found: dict[tuple[str, str], Summarised] = {}
    for name in (*sorted_journal(archive, JOURNAL), *((SUMMARIES,) if SUMMARIES in archive else ())):
        number = name.removeprefix(JOURNAL).removesuffix(".json")
        try:
            told = member(archive, name)
        except ReadError:
            continue
        for each in told if isinstance(told, list) else ():
            if isinstance(each, dict):
                before = found.get(_key(each), Summarised(each, None, 0))
                flushed = Summarised(each, each, int(number)) if number.isdigit() else before
                found[_key(each)] = flushed._replace(summary=each)
    return found


def _plain(source: Source) -> dict[str, Any]:
    return msgspec.structs.asdict(source)


def _open_document(path: Path, on_broken: OnBroken) -> Run:
    raw = document(path)
    rows = raw.pop("samples", None) or []
    header, source = _run(raw, path, **_logged(raw, len(rows)))
    scorer = _first_scorer(raw)

    def samples() -> Iterator[Sample]:
        for number, row in enumerate(rows, 1):
            place = Source(**{**_plain(source), "place": f"samples[{number - 1}]"})
            for _, sample in loaded(lambda row=row: decode_row(row), scorer, place, on_broken):  # type: ignore[misc]
                yield sample

    return with_samples(header, samples())


def document(path: Path) -> dict[str, Any]:
    """A `.json` log: everything decoded but the samples, which stay raw until they are asked for."""
    data = files.read_all(path)
    try:
        parts = _parts(data)
        raw: Any = {key: decode(bytes(value)) for key, value in parts.items() if key != "samples"}
        if bytes(parts.get("samples", b"null")) != b"null":
            raw["samples"] = _rows(parts["samples"])
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
    """A sample of a document, decoded when it is still raw."""
    return decode(bytes(row)) if isinstance(row, msgspec.Raw) else row


def loaded(
    read: Callable[[], Any], scorer: str | None, source: Source, on_broken: OnBroken
) -> Iterator[tuple[dict[str, Any], Sample]]:
    """One sample with its row; none when it is broken, which is reported."""
    try:
        row = read()
        if isinstance(row, dict) and "score" in row:
            row = named_scores(sample_today(row), scorer)
        sample = load(row)
        if not fits(sample, steps=False) and (why := misfit(sample, Sample)) is not None:
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


def archive_header(archive: ziplog.Archive) -> dict[str, Any]:
    """The header of an archive; without header.json the run has crashed or goes on: status "started"."""
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
        # The shape of the Inspect log guide: the fields of `eval` without the frame around them.
        start = {"eval": start}
    updates = sorted_journal(archive, UPDATES)
    found = {**start, "status": "started"}
    if updates:
        found["config_updates"] = [each for name in updates for each in _list(member(archive, name))]
    return found


def member(archive: ziplog.Archive, name: str) -> Any:
    """The decoded content of a member."""
    try:
        return decode(archive.read(name))
    except ReadError as error:
        place = name if error.place is None or error.place == name else f"{name}, {error.place}"
        raise ReadError(error.message, path=archive.path, place=place, remedy=error.remedy) from None


def sample_names(archive: ziplog.Archive) -> list[str]:
    """Members that hold samples. Their ids stand inside: a name may hold slashes and spaces."""
    return [name for name in archive.members if name.startswith(SAMPLES) and name.endswith(".json")]


def sorted_journal(archive: ziplog.Archive, folder: str) -> list[str]:
    """Members of a journal folder by number."""
    names = [name for name in archive.members if name.startswith(folder) and name.endswith(".json")]
    stems = {name: name.removeprefix(folder).removesuffix(".json") for name in names}
    return sorted(names, key=lambda name: (not stems[name].isdigit(), int(stems[name]) if stems[name].isdigit() else 0))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def summaries(path: Path) -> list[dict[str, Any]]:
    """The summaries of a log without touching its samples; a running or crashed log gives those of its journal."""
    if not is_archive(path):
        return []
    with ziplog.reading(path) as archive:
        names = [SUMMARIES] if SUMMARIES in archive else sorted_journal(archive, JOURNAL)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for name in names:
            value = member(archive, name)
            if not isinstance(value, list):
                raise ReadError("expected a list of summaries", path=str(path), place=name)
            for each in value:
                if isinstance(each, dict):
                    found.pop(_key(each), None)
                    found[_key(each)] = each
        return list(found.values())
