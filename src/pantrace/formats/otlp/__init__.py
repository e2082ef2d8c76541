"""OTLP: OpenTelemetry's traces and logs of agents, in many dialects.

Spec: opentelemetry.io/docs/specs/otlp and the GenAI semantic conventions
Detect: `resourceSpans` or `resourceLogs`, in JSON or protobuf; dumps of spans with trace and span ids.
Lost: nothing for pantrace, which keeps the rest in an attribute `pantrace`; for other tools cases, outcomes, branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, RunHeader, Sample, Source, with_samples
from pantrace.wire.head import Head
from pantrace.wire.rows import OnBroken
from pantrace.wire.source import with_source

from ..format import Format
from .container import located_in
from .conversation import dump_whole, load_whole
from .groups import Groups, trace_of
from .input_files import beside, claim, files_of, owner
from .read_samples import samples_from, samples_of_request, source_of
from .recognise import detect
from .span import NAME
from .write_file import header_in, save
from .write_spans import Options


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """Open a file or folder. A first pass finds which traces form one conversation, a second one reads them."""
    paths = files_of(path)
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    fields = {"name": path.name, **header_in(path)}
    header = msgspec.convert(
        {key: value for key, value in fields.items() if key in RunHeader.__struct_fields__}, RunHeader
    )
    return with_samples(msgspec.structs.replace(header, source=source), _samples(path, paths, source, on_broken))


def _samples(path: Path, paths: list[Path], source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    groups = Groups()
    seen: set[tuple[str, str]] = set()
    traces: Counter[str] = Counter()
    for file in paths:
        for _, kind, plain in located_in(file, on_broken):
            if kind == "span" and not _is_new(plain, seen):
                continue
            groups.learn(plain, is_log=kind == "log")
            traces[trace_of(plain)] += 1
    # A service exports all its spans, and most are about HTTP and databases. A file without any of an agent is refused.
    if not groups.is_told:
        if traces:
            on_broken(
                ReadError(
                    "none of its spans is of an agent, a model or a tool",
                    path=str(path),
                    remedy="docs/formats/otlp.md lists the dialects",
                )
            )
        return
    # The number of spans in each conversation tells the second pass when one is complete and need not be held.
    names = groups.names()
    counts: Counter[str] = Counter()
    for trace, count in traces.items():
        counts[names[trace]] += count
    # The second pass must drop the same repeated spans as the first, or the counts would not match.
    seen.clear()
    located = (
        each
        for file in paths
        for each in located_in(file, lambda _: None)
        if each[1] == "log" or _is_new(each[2], seen)
    )
    for found in samples_from(located, names, counts):
        if isinstance(found, ReadError):
            on_broken(found.at(path=str(path)))
            continue
        producer = source_of(found)
        yield with_source(found, Source(format=NAME, version=source.version, producer=producer, path=source.path))


def _is_new(plain: dict[str, object], seen: set[tuple[str, str]]) -> bool:
    """Whether a span is seen for the first time: exporters send spans again, and folders may hold JSON and protobuf of
    the same spans."""
    key = (str(plain.get("traceId", "")), str(plain.get("spanId", "")))
    if not key[1]:
        return True
    if key in seen:
        return False
    seen.add(key)
    return True


FORMAT = Format(
    name=NAME,
    title="OpenTelemetry traces and logs (OTLP, JSON or protobuf): GenAI, OpenInference and other dialects",
    spec="opentelemetry.io/docs/specs/otlp, github.com/open-telemetry/semantic-conventions-genai",
    detect=detect,
    load=load_whole,
    dump=dump_whole,
    open=open_run,
    save=save,
    beside=beside,
    owner=owner,
    claim=claim,
    options=Options,
    suffix=".otlp.json",
    nests=True,
    corners=("pantrace",),
    lost={"": "a span holds messages, calls, results, tokens and times"},
)

__all__ = ["FORMAT", "samples_of_request"]
