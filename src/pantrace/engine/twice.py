"""Twice: the same recording in two files, such as a session's transcript and what the tool printed.

Nothing is left out, because the two may contain different things. But the user is told that both are counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pantrace.model import Sample
from pantrace.store import query

_REMEMBERED = 100_000
"""At most this many ids are remembered; in larger inputs, a repeated recording may not be noticed."""
# In SQL, because a run directory may have millions of ids; only the repeated ones are returned.
_QUESTION = (
    "select sample, source from samples where case_id is null and (sample, coalesce(epoch, 1)) in "
    "(select (sample, coalesce(epoch, 1)) from samples group by 1 having count(distinct source) > 1) "
    "order by sample, source"
)


class Twice:
    """Which samples were seen in which files, by id."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, int | None], str] = {}
        self._files: dict[str, list[str]] = {}

    def see(self, sample: Sample, path: str) -> None:
        """Note a sample of a file. Only sessions count: a case may well be in two logs, and ids such as `1` are used
        everywhere."""
        if len(sample.id) >= _LONG and sample.case is None:
            self._note((sample.id, sample.epoch), path)

    def watch(self, samples: Iterable[Sample], path: str) -> Iterator[Sample]:
        """The samples of a file, each noted."""
        for sample in samples:
            self.see(sample, path)
            yield sample

    def absorb(self, other: Twice) -> None:
        """Add what was noted in another process."""
        for key, path in other._first.items():
            self._note(key, path)

    def _note(self, key: tuple[str, int | None], path: str) -> None:
        first = self._first.get(key)
        if first is None:
            if len(self._first) < _REMEMBERED:
                self._first[key] = path
        elif first != path:
            files = self._files.setdefault(key[0], [first])
            if path not in files:
                files.append(path)

    def sentences(self) -> list[str]:
        """A warning for each of them."""
        return sentences_of(self._files)


_LONG = 12
"""Generated ids have at least this many letters; shorter ones are numbers and names that several files may share."""


def twice_in(folder: Path) -> list[str]:
    """The same for the samples of a run directory."""
    files: dict[str, list[str]] = {}
    for sample, source in query(folder, _QUESTION).rows:
        if source is not None and len(sample) >= _LONG:
            files.setdefault(sample, []).append(source)
    return sentences_of({name: several for name, several in files.items() if len(set(several)) > 1})


def copies_among(inputs: Iterable[Sequence[Path]]) -> list[str]:
    """A warning for each of several groups of inputs that hold the same: as trials they would look like independent
    ones, which they are not."""
    found = []
    for same in inputs:
        if len(same) > 1:
            times = "twice" if len(same) == 2 else f"{len(same)} times"
            found.append(f"{_and(sorted(map(str, same)))} have the same content, which is counted {times}")
    return found


def sentences_of(files: dict[str, list[str]]) -> list[str]:
    """One sentence for the first few, and how many more there are."""
    found = []
    for name, several in [*files.items()][:3]:
        times = "twice" if len(several) == 2 else f"{len(several)} times"
        found.append(f"{name} occurs {times} and is counted {times}: in {_and(several)}")
    if len(files) > 3:
        rest = len(files) - 3
        more, are = (f"{rest:,} more recordings occur", "are") if rest > 1 else ("1 more recording occurs", "is")
        found.append(f"{more} more than once and {are} counted each time")
    return found


def _and(names: Iterable[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
