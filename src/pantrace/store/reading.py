"""Reading a run directory: only what was committed when the reading began."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Case, Decision, Outcome, Record, Sample, Score, Trajectory
from pantrace.places import bring_all
from pantrace.wire.limits import limits
from pantrace.wire.progress import report_place

from .absent import COLUMN as ABSENT
from .absent import absent_of, merged
from .json_text import column_value, from_exact_json, sayable
from .manifest import CommittedPart, committed_parts
from .parquet import read_columns, read_whole
from .rows import Address, Kept, Result
from .run_file import MANIFEST, PARTS
from .schema import PART_TABLES, columns
from .verify import check, check_whole, damaged_part

_ADDRESS = ("part", "number", "sample", "epoch")


class StoredScore(Record, frozen=True, kw_only=True):
    """A score and the sample it belongs to."""

    part: str
    number: int
    """0-based place of the sample in its part."""
    sample: str
    epoch: int | None = None
    origin: str
    """source: was in the recording; run: computed by this run."""
    score: Score


OnDamage = Callable[[ReadError], None]
"""Called for each part that cannot be read, which is then left out."""


def read_results(folder: Path, *, with_decisions: bool = True, on_damage: OnDamage | None = None) -> Iterator[Result]:
    """Samples as they were read, in the order of the inputs, each with the results of the run. A damaged part is an
    error, unless `on_damage` takes it."""
    parts = _fetched(folder, "samples", "scores", "decisions")
    decisions: dict[tuple[str, int], list[Decision]] = {}
    told = set()

    def tell(error: ReadError) -> None:
        if on_damage is None:
            raise error
        # A part is read twice: first its decisions, then its samples.
        if error.path not in told:
            on_damage(error)
        told.add(error.path)

    if with_decisions:
        for name, number, decision in _decisions(folder, parts, tell):
            decisions.setdefault((name, number), []).append(decision)
    total, done = sum(part.samples for part in parts), 0
    for part in parts:
        if not part.samples:
            continue
        try:
            for result in _part_results(folder, part, decisions):
                report_place(done, total)
                done += 1
                yield result
        except ReadError as error:
            tell(error)


def _fetched(folder: Path, *tables: str) -> list[CommittedPart]:
    """The parts that count. If they are in a bucket, the files of these tables are fetched, several at a time."""
    parts = committed_parts(folder / MANIFEST)
    bring_all(folder / PARTS / file.file for part in parts for name in tables if (file := part.file(name)) is not None)
    return parts


def read_kept(folder: Path, part: CommittedPart) -> list[Kept]:
    """The results of one part as the rows that were written, without regard to later decisions."""
    found: dict[int, dict[str, list[tuple[Any, ...]]]] = {}
    for table, kind in PART_TABLES.items():
        names = list(columns(kind))
        place = names.index("number")
        for row in read_rows(folder, part, table, *names):
            found.setdefault(row[place], {each: [] for each in PART_TABLES})[table].append(row)
    return [Kept(rows=rows) for rows in found.values()]


def _part_results(
    folder: Path, part: CommittedPart, decisions: dict[tuple[str, int], list[Decision]]
) -> Iterator[Result]:
    # A sample is also its steps, calls and decisions, which have tables of their own: whoever reads samples whole must
    # not show a part of which a query would say that it is damaged.
    check_whole(folder, part)
    scores = _Groups(_records(folder, part, "scores", Score, "number", "origin"))
    for number, absent, sample in _records(folder, part, "samples", Sample, "number", ABSENT):
        yield Result(
            sample=sample,
            scores=merged((score for _, origin, score in scores.of(number) if origin == "run"), absent),
            decisions=tuple(decisions.get((part.part, number), ())),
        )


_OUTLINE = (
    *("number", ABSENT, "sample", "epoch", "case_id", "scenario", "labels", "contract", "required_evals"),
    *("trajectories", "status", "reason", "reward"),
)


def read_outlines(folder: Path) -> Iterator[Sample]:
    """Samples with their scores (those of the source, then those of the run) and with those fields of case and outcome
    that have a column; without what the agent did, so that no recording has to be decoded."""
    for sample, made in read_scored(folder, patiently=False):
        yield msgspec.structs.replace(sample, scores=sample.scores + made)


def read_scored(folder: Path, *, patiently: bool = True) -> Iterator[tuple[Sample, tuple[Score, ...]]]:
    """The same samples with the scores of their source, and next to each the scores of the run. `patiently`: parts of
    earlier versions have no column for required evals, so their samples are decoded for it."""
    for part in _fetched(folder, "samples", "scores"):
        scores = _Groups(_records(folder, part, "scores", Score, "number", "origin"))
        for number, absent, outline in _outlines(folder, part, patiently=patiently):
            found = scores.of(number)
            came = tuple(score for _, origin, score in found if origin == "source")
            sample = msgspec.structs.replace(outline, scores=came) if came else outline
            yield sample, merged((score for _, origin, score in found if origin == "run"), absent)


Outline = tuple[int, str | None, Sample]
"""A sample's number in its part, the text of what does not apply to it, and the sample without scores."""


def read_outline_tables(
    folder: Path, names: Sequence[str], listed: Collection[str]
) -> Iterator[tuple[list[Outline], Any]]:
    """For each part: its samples, and some columns of their scores as `read_tables` returns them."""
    tables = read_tables(folder, "scores", names, listed)
    for part, table in zip(_fetched(folder, "samples"), tables, strict=True):
        yield [*_outlines(folder, part, patiently=False)], table


def _outlines(folder: Path, part: CommittedPart, *, patiently: bool) -> Iterator[Outline]:
    for number, absent, name, epoch, case, scenario, labels, contract, required, count, *ended in read_rows(
        folder, part, "samples", *_OUTLINE
    ):
        outline = Sample(
            id=name,
            epoch=epoch,
            case=Case(
                id=case,
                scenario=scenario,
                labels=column_value(labels, dict[str, Any]) if labels else {},
                contract=contract,
                required_evals=_names(required)
                if required is not None
                else _required_in(folder, part)[number]
                if patiently
                else None,
            ),
            trajectory=Trajectory(outcome=_outcome(*ended)) if count else None,
        )
        yield number, absent, outline


@lru_cache
def _names(text: str) -> tuple[str, ...]:
    return column_value(text, tuple[str, ...])


@lru_cache(maxsize=1)
def _required_in(folder: Path, part: CommittedPart) -> dict[int, tuple[str, ...]]:
    """The required evals of a part's samples, by number."""
    rows = _records(folder, part, "samples", Sample, "number")
    return {number: (sample.case.required_evals if sample.case is not None else None) or () for number, sample in rows}


def _outcome(status: Any, reason: str | None, reward: float | None) -> Outcome | None:
    return Outcome(status=status, reason=reason, reward=reward) if status is not None else None


class _Groups:
    """Rows by the number of their sample. A file has them in this order, so only one sample's rows are in memory."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]):
        self._groups = groupby(rows, key=itemgetter(0))
        self._next = self._taken()

    def _taken(self) -> tuple[int, list[tuple[Any, ...]]] | None:
        return next(((number, list(rows)) for number, rows in self._groups), None)

    def of(self, number: int) -> list[tuple[Any, ...]]:
        """The rows of a sample; ask for samples in ascending order."""
        if self._next is None or self._next[0] != number:
            return []
        found = self._next[1]
        self._next = self._taken()
        return found


def read_scores(folder: Path, wanted: Collection[str] | None = None) -> Iterator[StoredScore]:
    """All scores, including those of the source; or only those with these names."""
    only = ("name", wanted) if wanted is not None else None
    for part in _fetched(folder, "samples", "scores"):
        scores = _Groups(_records(folder, part, "scores", Score, "number", "origin", only=only))
        for name, number, sample, epoch, text in read_rows(folder, part, "samples", *_ADDRESS, ABSENT):
            found = [(origin, score) for _, origin, score in scores.of(number)]
            found += [("run", score) for _, score in absent_of(text)] if text else []
            for origin, score in found:
                if wanted is None or score.name in wanted:
                    yield StoredScore(part=name, number=number, sample=sample, epoch=epoch, origin=origin, score=score)


def read_decisions(folder: Path) -> Iterator[Decision]:
    """Decisions that have not been replaced by later ones of the same profile."""
    return (decision for _, _, decision in _decisions(folder, _fetched(folder, "decisions")))


def read_evaluated_profiles(folder: Path) -> tuple[str, ...]:
    """Profiles by which the evaluation itself decided, even if a later gate decided again by the same name."""
    parts = [part for part in _fetched(folder, "decisions") if part.profile is None]
    found = {profile for part in parts for (profile,) in read_rows(folder, part, "decisions", "profile")}
    return tuple(sorted(found))


def read_addresses(folder: Path) -> dict[str, list[Address]]:
    """The addresses of the samples of each id, in reading order; ids as in their column."""
    found: dict[str, list[Address]] = {}
    for part in _fetched(folder, "samples"):
        for row in read_rows(folder, part, "samples", *_ADDRESS):
            address = Address(*row)
            found.setdefault(address.sample, []).append(address)
    return found


def with_replaced_profiles(parts: list[CommittedPart]) -> Iterator[tuple[CommittedPart, frozenset[str]]]:
    """Each part, with the profiles whose decisions in it were replaced later."""
    again = [(each.profile, each.sequence) for each in parts if each.profile is not None]
    for part in parts:
        yield part, frozenset(profile for profile, sequence in again if sequence > part.sequence)


def _decisions(
    folder: Path, parts: list[CommittedPart], on_damage: OnDamage | None = None
) -> Iterator[tuple[str, int, Decision]]:
    for part, replaced in with_replaced_profiles(parts):
        try:
            for name, number, decision in _records(folder, part, "decisions", Decision, "part", "number"):
                if sayable(decision.profile) not in replaced:
                    yield name, number, decision
        except ReadError as error:
            if on_damage is None:
                raise
            on_damage(error)


def _records(
    folder: Path,
    part: CommittedPart,
    table: str,
    kind: type[Any],
    *names: str,
    only: tuple[str, Collection[str]] | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Some columns of a table, followed by the decoded record."""
    decode, most = msgspec.json.Decoder(kind).decode, limits().depth
    for row in read_rows(folder, part, table, *names, "json", only=only):
        json = row[-1]
        # Few brackets cannot be nested too deeply, so most texts do not need the slower reader, which counts depth.
        if json.count("{") + json.count("[") < most:
            try:
                found = decode(json)
            except (msgspec.MsgspecError, UnicodeError):
                pass  # a number that is not finite, or too large: the slower reader below accepts it
            else:
                yield (*row[:-1], found)
                continue
        try:
            yield (*row[:-1], from_exact_json(json.encode(), kind))
        except (
            ReadError,
            msgspec.MsgspecError,
            AttributeError,
            ValueError,
        ) as error:  # only in old directories without hashes, or in forged ones
            file = part.file(table)
            assert file is not None
            raise damaged_part(folder / PARTS / file.file, str(error)) from None


def read_tables(folder: Path, table: str, names: Sequence[str], listed: Collection[str] = ()) -> Iterator[Any]:
    """Some columns of a table as Arrow tables, part by part; None for a part without rows of it. The columns `listed`
    are dictionary-encoded."""
    for part in _fetched(folder, table):
        file = part.file(table)
        if file is None:
            yield None
            continue
        path = folder / PARTS / file.file
        check(path, file)
        found = read_whole(table, path, file.rows, names, listed)
        _refuse_strange_numbers(path, found, part.samples)
        yield found


def _refuse_strange_numbers(path: Path, table: Any, samples: int) -> None:
    """Refuse numbers of samples that the part does not have: callers use them as indices into arrays."""
    if "number" not in table.column_names or not table.num_rows:
        return
    numbers = table.column("number").to_numpy()
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high >= samples:
        raise damaged_part(path, f"it has sample numbers {low:,} to {high:,}, but {samples:,} samples")


def read_rows(
    folder: Path, part: CommittedPart, table: str, *names: str, only: tuple[str, Collection[str]] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Some columns of a part's table; with `only`, just the rows that have one of these texts in this column."""
    file = part.file(table)
    if file is not None:
        path = folder / PARTS / file.file
        check(path, file)
        yield from read_columns(table, path, file.rows, names, only)
