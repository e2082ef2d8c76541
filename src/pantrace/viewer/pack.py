"""Packing: runs become blocks, each small enough to be unpacked quickly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from time import time
from typing import Any

from pantrace.errors import MissingExtra, PantraceError
from pantrace.wire.json import encode, to_plain

from .causes import Causes
from .cuts import Cut, cut
from .pictures import Pictures
from .rows import Row, rows_of
from .sample_page import counts_of, page_of, title_of
from .shown import Comparison, Plot, Shown, ShownRun, ShownSample
from .spool import Kind, Spool
from .table import Table, status_of

ROWS, BYTES = 100, 262_144
"""Maximum rows of one sample in a block, and its approximate size in bytes of JSON."""
FIRST_ROWS, FIRST_BYTES = 20, 65_536
"""The same for the first block of a long sample, which is smaller so that the first screen appears quickly."""
HEADS = 60
"""Rows of a long sample that the outline shows until the summaries of all rows are unpacked."""
INDEX = "index"


class Packer:
    """Puts runs into a spool. `prefix` makes the keys of one packing differ from those of the next."""

    def __init__(self, spool: Spool, prefix: str = ""):
        self._spool = spool
        self._prefix = prefix
        self.samples = 0
        """How many have been packed so far."""
        self._count = 0
        self._images: dict[bytes, str] = {}
        self._open: dict[Kind, tuple[str, dict[str, Any], int]] = {}
        """The block of each kind that is being filled: its key, its content, its size."""

    def pack(self, shown: Shown) -> dict[str, Any]:
        """Pack all runs; returns the index of their blocks, which is also in the spool under its own name."""
        runs = [self._run(run, number) for number, run in enumerate(shown.runs)]
        index = {
            "version": 1,
            "title": shown.title,
            "made": time(),
            "runs": runs,
            "comparisons": [self._comparison(each) for each in shown.compare()],
            "plots": self._plots(shown.plots()),
            "notes": shown.notes,
            "dropped": [],
        }
        self.put_index(index)
        return index

    def put_index(self, index: dict[str, Any]) -> None:
        """Store the index, with an id of this report."""
        # The browser remembers settings per report by this id, so it must not change when a report is made again.
        index["id"] = hashlib.sha256(encode([run["name"] for run in index["runs"]])).hexdigest()[:12]
        self._spool.put(INDEX, encode(index), "index")

    def _run(self, run: ShownRun, number: int) -> dict[str, Any]:
        table, causes = Table(), Causes()
        pictures = Pictures(run.roots, self._keep)
        trouble: list[str] = []
        for shown in until_broken(run, trouble):
            self._sample(shown, table, causes, pictures)
        self._flush()
        key = self._key("t")
        self._spool.put(key, encode(table.block() | {"causes": causes.block()}), "index")
        header: dict[str, Any] = to_plain(run.header)
        header.pop("samples", None)
        small, _ = cut(header, self._keep)
        return {
            "key": str(number),
            "name": run.name,
            "path": run.path,
            "table": key,
            "samples": len(table.keys),
            "statuses": dict(table.statuses),
            "tokens": table.total("tokens"),
            "cost": table.total("cost"),
            "estimated": table.total("estimated") or 0,
            "seconds": table.total("seconds"),
            "agent": run.header.agent or _only(table.rows["agent"]),
            "model": run.header.model or _only(table.rows["model"]),
            "header": small,
            "measures": list(run.measures),
            "scored": {name: dict(counts) for name, counts in table.scored.items()},
            "decisions": list(run.decisions),
            "plots": self._plots(run.plots),
            "notes": [*run.notes, *trouble],
            "live": run.live,
        }

    def _sample(self, shown: ShownSample, table: Table, causes: Causes, pictures: Pictures) -> None:
        sample = shown.sample
        key = table.key_for(shown)
        rows, branches = rows_of(sample.trajectory, sample.expected) if sample.trajectory is not None else ([], [])
        counts = counts_of(sample, rows)
        # Steps of samples that passed are in blocks of their own, which a smaller report can leave out.
        kind: Kind = "passed" if status_of(shown, counts.get("outcome")) == "passed" else "steps"
        source = sample.trajectory.source.path if sample.trajectory and sample.trajectory.source else None
        page = page_of(shown, key, rows, branches)
        page["findings"] = causes.add(len(table.keys), shown, rows)
        page["chunks"] = self._chunks(rows, kind, pictures, source)
        # Thousands of short texts and small numbers: there is nothing to cut, and looking would cost time.
        heads = page.pop("heads")
        if len(rows) > 4 * HEADS:
            page["rest"] = self._key("h")
            self._spool.put(page["rest"], encode(heads), "page")
            heads = {name: column[:HEADS] for name, column in heads.items()}
        page, cuts = cut(to_plain(page), self._keep)
        data = encode(page | {"cuts": cuts, "heads": heads})
        block = self._add("page", key, data)
        table.add(key, shown, title_of(sample), block, counts)
        self.samples += 1

    def _chunks(
        self, rows: Sequence[Row], kind: Kind, pictures: Pictures, source: str | None
    ) -> list[tuple[int, int, str, str]]:
        """Rows in blocks: first row, end (exclusive), key of the block, name in the block."""
        chunks: list[tuple[int, int, str, str]] = []
        waiting: list[bytes] = []
        first = size = 0
        most, largest = (FIRST_ROWS, FIRST_BYTES) if len(rows) > ROWS else (ROWS, BYTES)
        for place, row in enumerate(rows):
            data = encode(self._row(row, pictures, source))
            if waiting and (len(waiting) >= most or size + len(data) > largest):
                chunks.append(self._chunk(kind, first, waiting))
                # Closed at once, although not full: the next sample's rows would make the first screen wait.
                if largest == FIRST_BYTES:
                    self._close(kind)
                first, waiting, size = place, [], 0
                most, largest = ROWS, BYTES
            waiting.append(data)
            size += len(data)
        if waiting:
            chunks.append(self._chunk(kind, first, waiting))
        return chunks

    def _chunk(self, kind: Kind, first: int, waiting: list[bytes]) -> tuple[int, int, str, str]:
        self._count += 1
        name = f"{self._prefix}{self._count:x}"
        return first, first + len(waiting), self._add(kind, name, b"[" + b",".join(waiting) + b"]"), name

    def _row(self, row: Row, pictures: Pictures, source: str | None) -> dict[str, Any]:
        record: dict[str, Any] = {"steps": to_plain([row.step, *row.answers]), "pairs": row.pairs}
        cuts: list[Cut] = []
        for place, step in enumerate(record["steps"]):
            cuts += [(["steps", place, *path], found) for path, found in pictures.in_step(step, source)]
        if row.expected:
            record["expected"] = {str(place): to_plain(action) for place, action in row.expected.items()}
        small, more = cut(record, self._keep)
        found: dict[str, Any] = small
        if cuts or more:
            found["cuts"] = [*cuts, *more]
        return found

    def _comparison(self, each: Comparison) -> dict[str, Any]:
        return {
            "first": each.first,
            "second": each.second,
            "rows": to_plain(list(each.rows)),
            "plots": self._plots(each.plots),
        }

    def _plots(self, plots: Sequence[Plot]) -> list[dict[str, str]]:
        found = []
        for plot in plots:
            key = self._key("p")
            self._spool.put(key, plot.svg, "index", "image/svg+xml")
            found.append({"title": plot.title, "key": key})
        return found

    # Blocks

    def _key(self, letter: str) -> str:
        self._count += 1
        return f"{self._prefix}{letter}{self._count:x}"

    def _keep(self, data: bytes, kind: str) -> str:
        """Store a long text or a picture in a block of its own; the same one only once."""
        digest = hashlib.sha256(data).digest()
        # GUI agents repeat the same screenshot in many steps.
        if (known := self._images.get(digest)) is not None:
            return known
        key = self._images[digest] = self._key("x")
        self._spool.put(key, data, "text" if kind == "text" else "image", "text/plain" if kind == "text" else kind)
        return key

    def _add(self, kind: Kind, name: str, data: bytes) -> str:
        """Put JSON under a name into the open block; returns the key of the block."""
        key, content, size = self._open.get(kind) or (self._key("b"), {}, 0)
        if content and size + len(data) > BYTES:
            self._close(kind)
            key, content, size = self._key("b"), {}, 0
        content[name] = data
        self._open[kind] = (key, content, size + len(data))
        return key

    def _close(self, kind: Kind) -> None:
        key, content, _ = self._open.pop(kind)
        joined = b",".join(encode(name) + b":" + data for name, data in content.items())
        self._spool.put(key, b"{" + joined + b"}", kind)

    def _flush(self) -> None:
        for kind in [*self._open]:
            self._close(kind)


def until_broken(run: ShownRun, trouble: list[str]) -> Iterator[ShownSample]:
    """The samples of a run. If reading fails, the samples before the error, and a note."""
    try:
        yield from run.samples
    except MissingExtra:
        raise  # nothing can be read until the extra is installed, and a page without samples would hide that
    except PantraceError as error:
        trouble.append(f"The rest of this run could not be read: {error}")


def _only(values: list[Any]) -> str | None:
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None
