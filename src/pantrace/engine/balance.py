"""Balance: what the sources of a pile say, beside what was read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.formats import Format
from pantrace.model import Run, Sample, header_of, with_samples
from pantrace.wire.head import Head
from pantrace.wire.json import as_builtins, encode, to_plain
from pantrace.wire.read_listener import Listener, RowsListener, listening
from pantrace.wire.rows import OnBroken
from pantrace.wire.unread import Ledger
from pantrace.wire.value_census import Census

from .vocabulary import vocabulary


@dataclass
class Balance:
    """Over all inputs that were read to their end."""

    values: int = 0
    """Values that the sources have."""
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(format, path without numbers) -> values that have no place in the model."""
    needed: set[tuple[str, str]] = field(default_factory=set)
    """(format, declared path) that excused a value."""
    unfinished: int = 0
    """Inputs of which only a part was read: what the rest would have held is not known."""

    copied_as: str | None = None
    """A format, of which a source is counted value by value as well, to be held against its copy."""
    census: Census | None = None
    variant: str | None = None
    """Of the source that was counted."""
    last: tuple[Sample, Any] | None = None
    """The sample that was read last, and what it says as plain values: others need them too."""

    @property
    def count(self) -> int:
        return self.missing.total()

    def open(
        self,
        path: Path,
        chosen: Format,
        variant: str,
        on_broken: OnBroken,
        open_with: Callable[[OnBroken], Run],
        *,
        goes_on: bool = False,
    ) -> Run:
        """The run of an input, which is measured while its samples are iterated. `goes_on`: it is a later part of one,
        whose beginning has been measured with the first."""
        ledger = Ledger(chosen.reencoded, vocabulary(chosen))
        tell: Listener = ledger.source
        tell_rows: RowsListener | None = ledger.source_rows
        if self.census is not None:
            self.census = self.copied_as = (
                None  # several inputs become one: there is no one source to hold a copy against
            )
        elif chosen.name == self.copied_as:
            self.census, self.variant = Census(), variant or _variant(path, chosen)
            tell = partial(_both, ledger.source, self.census.tell)
            tell_rows = None
        if not path.is_dir():
            tell = partial(_of_one_file, tell, path)

        def broken(error: ReadError) -> None:
            ledger.broken()
            on_broken(error)

        with listening(None) if goes_on else listening(tell, ledger.hear, tell_rows):
            run = open_with(broken)
        header = to_plain(header_of(run))
        ledger.model(header)
        return with_samples(run, self._read(iter(run.samples), header, ledger, tell, tell_rows, chosen))

    def _read(
        self,
        samples: Iterator[Sample],
        header: Any,
        ledger: Ledger,
        tell: Listener,
        tell_rows: RowsListener | None,
        chosen: Format,
    ) -> Iterator[Sample]:
        self.unfinished += 1
        while True:
            # Only while the reader works: what others read meanwhile is none of its business.
            with listening(tell, ledger.hear, tell_rows):
                sample = next(samples, None)
            if sample is None:
                break
            said = as_builtins(sample)
            # A file of ours may say the sample word by word, which is seen at once.
            ledger.model(said, encode(sample) if chosen.typed else b"")
            self.last = sample, said
            yield sample
        self.last = None
        self.unfinished -= 1
        # What a header is made of may come through the door again, or only now.
        ledger.model(header)
        found = ledger.closed()
        self.values += found.values
        self.missing += Counter({(chosen.name, path): count for path, count in found.missing.items()})
        self.needed |= {(chosen.name, path) for path in found.needed}

    def absorb(self, other: Balance) -> None:
        """Count what was counted of another part of the same input."""
        self.values += other.values
        self.missing += other.missing
        self.needed |= other.needed
        self.unfinished += other.unfinished

    def sentence(self, shown: int = 4) -> str | None:
        """One line: how many values have no place, and where they stand; None where all have one."""
        if not self.count:
            return None
        listed = ", ".join(f"{path} {count:,}" for (_, path), count in self.missing.most_common(shown))
        more = f", {len(self.missing) - shown} more" if len(self.missing) > shown else ""
        have = "has" if self.count == 1 else "have"
        return f"{self.count:,} of {self.values:,} values {have} no place in the model: {listed}{more}"

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        missing = [{"format": name, "path": path, "count": count} for (name, path), count in self.missing.most_common()]
        return {"values": self.values, "unread": self.count, "missing": missing, "unfinished": self.unfinished}


def _variant(path: Path, chosen: Format) -> str:
    """The variant of a file whose format the user has named, so that nobody had to find it out."""
    try:
        return chosen.detect(Head(path)) or ""
    except ReadError:
        return ""


def _both(one: Listener, two: Listener, place: Hashable, data: Any) -> None:
    one(place, data)
    two(place, data)


def _of_one_file(tell: Listener, path: Path, place: Hashable, data: Any) -> None:
    """A record of this file; files beside it, in which a reader looks things up, are inputs of their own."""
    file = place[0] if isinstance(place, tuple) else place
    if not isinstance(file, Path) or file == path:
        tell(place, data)
