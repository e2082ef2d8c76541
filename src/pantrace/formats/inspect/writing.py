"""Writing logs: samples are written one by one; summaries and the header, which count them, follow."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pantrace.model import Record, RunHeader
from pantrace.wire import files, zip_archive
from pantrace.wire.difference import apply_difference
from pantrace.wire.json import encode, unknown_keys
from pantrace.wire.output import writing
from pantrace.wire.output_row import Row

from .content import own_extra
from .header import START_NOTE, VERSION, from_header, is_made, is_unfinished, start_of
from .member_names import member_name
from .reading import HEADER, JOURNAL, REDUCTIONS, START, SUMMARIES, UPDATES
from .summary import Collector, as_array


class Options(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a log is written."""

    compression: Literal["zstd", "deflate"] = "zstd"
    """zstd is what Inspect writes today; deflate is also read by old versions of Inspect and by any unzip."""


def save(run: RunHeader, rows: Iterable[Row], target: Path, options: Options) -> None:
    """Write a log: `.json` as one document, anything else as an archive."""
    if files.bare_suffix(target) == ".json":
        _save_document(run, rows, target)
    else:
        _save_archive(run, rows, target, options)


def _save_archive(run: RunHeader, rows: Iterable[Row], target: Path, options: Options) -> None:
    with writing(target) as file:
        writer = zip_archive.Writer(file, options.compression)
        collector = Collector()
        for row in rows:
            writer.add(member_name(row.value["id"], row.value["epoch"]), row.data)
            collector.add(row)
        header = from_header(run, collector.finish())
        reductions = header.pop("reductions", None)
        kept, start = own_extra(run.extra), start_of(header)
        if is_unfinished(run):
            start = unknown_keys(header, ("status", "config_updates"))
        if START_NOTE not in kept:
            writer.add(START, encode(start))
        elif kept[START_NOTE] is not None:
            writer.add(START, encode(apply_difference(start, kept[START_NOTE])))
        for number, flush in collector.flushes.items():
            writer.add(f"{JOURNAL}{number}.json", as_array(flush))
        if is_unfinished(run):
            # A log without header.json is a crashed one, and must stay one.
            if header.get("config_updates"):
                writer.add(f"{UPDATES}1.json", encode(header["config_updates"]))
            writer.finish()
            return
        writer.add(SUMMARIES, as_array(collector.summaries))
        if is_made(run):
            reductions = collector.reductions() or None
        if reductions is not None:
            writer.add(REDUCTIONS, encode(reductions))
        writer.add(HEADER, encode(header))
        writer.finish()


def _save_document(run: RunHeader, rows: Iterable[Row], target: Path) -> None:
    """Write one JSON object. The header comes before the samples but is only known after them, so they wait in a
    temporary file."""
    with tempfile.TemporaryFile() as samples:
        collector = Collector()
        for row in rows:
            samples.write(b",\n" if collector.summaries else b"")
            samples.write(row.data)
            collector.add(row)
            # A document has no summaries; a short entry still shows that a sample was written.
            collector.summaries[-1] = b" "
        header: dict[str, Any] = from_header(run, collector.finish())
        reductions = header.pop("reductions", None)
        if is_made(run):
            reductions = collector.reductions() or None
        # Documents of a version above 2 are refused, although archives of version 3 are read.
        header = {**header, "version": VERSION} if header.get("version") != VERSION else header
        if is_unfinished(run):
            header = {"plan": {}, "stats": {}, **header}  # a document cannot show a crash by a missing header.json
        samples.seek(0)
        with writing(target) as file:
            file.write(encode(header).removesuffix(b"}") + b',\n"samples":[')
            shutil.copyfileobj(samples, file)
            file.write(b"]")
            if reductions is not None:
                file.write(b',\n"reductions":' + encode(reductions))
            file.write(b"}\n")
