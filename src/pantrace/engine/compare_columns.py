"""Compare's sides from columns: the numbers of a run directory, without a record for each of its scores.

The same as `side_of` makes of the samples, value by value and in the same order; None where a column cannot say what a
record says (a number that is not finite, a whole number too long for a float, a broken letter in a name), and where a
sample was not measured by `outcome`, which looks at whole scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec

from pantrace.model import Maker, RunHeader, Scale, Score
from pantrace.store import Outline, absent_of, read_outline_tables
from pantrace.wire.inspect_grades import GRADES

from .compare_side import LARGEST, Side, is_measured, may_be_yes, note_case
from .compare_verdicts import OUTCOME, PASSED, passed_score
from .listed_texts import codes_of, has_text

_COLUMNS = (
    *("number", "name", "maker_kind", "status", "value", "value_type", "text", "passed", "numbers"),
    *("scale_low", "scale_high", "better"),
)
_TEXTS = ("name", "maker_kind", "status", "value_type", "text", "numbers", "better")
_VALUES: dict[str | None, float | bool | str | None] = {"boolean": True, "text": "", "number": 0.0, None: None}
"""A value of each type that a column knows, for scores of which the numbers are told beside."""
_LAST = 1 << 30
"""The place of a score's own number: behind those that it has by name."""
_decode = msgspec.json.Decoder(list[dict[str, float | None]]).decode


class _NotSaid(Exception):
    """A column does not hold what the record holds."""


@dataclass
class _Numbers:
    """The numbers of one measure, as they come together."""

    first: tuple[int, int]
    """Place of the first: row, and key in the row."""
    told: Score
    """What the score of the first one says of it."""
    yes_or_no: bool = True
    blocks: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Rows, cases, values."""


def side_of_directory(folder: Path, header: RunHeader, *, cluster: str | None, pair_by: str) -> Side | None:
    """The numbers of a run directory; None where its records must be read for them."""
    try:
        return _Columns(Side(name=header.name or "run", created=header.created), cluster, pair_by).read(folder)
    except (_NotSaid, msgspec.MsgspecError):
        return None


class _Columns:
    """One pass over the parts."""

    def __init__(self, side: Side, cluster: str | None, pair_by: str):
        self._side, self._cluster, self._pair_by = side, cluster, pair_by
        self._cases: dict[str, int] = {}
        self._rows = 0
        self._numbers: dict[str, _Numbers] = {}

    def read(self, folder: Path) -> Side:
        for outlines, scores in read_outline_tables(folder, _COLUMNS, _TEXTS):
            self._add_part(outlines, scores)
        names = list(self._cases)
        for address, found in sorted(self._numbers.items(), key=lambda each: each[1].first):
            self._side.fill(address, _by_case(found.blocks, names), found.told, yes_or_no=found.yes_or_no)
        return self._side

    def _add_part(self, outlines: list[Outline], table: Any) -> None:
        import numpy as np

        codes = []
        for _, absent, sample in outlines:
            case = note_case(self._side, sample, self._cluster, self._pair_by)
            codes.append(self._cases.setdefault(case, len(self._cases)))
            for _, score in absent_of(absent) if absent else ():
                self._side.left_out[score.name] += 1
        numbers = np.array([number for number, _, _ in outlines], np.int64)
        own = table.column("number").to_numpy() if table is not None else np.empty(0, np.int64)
        samples = np.searchsorted(numbers, own)
        if (np.diff(numbers) <= 0).any() or (np.diff(own) < 0).any() or not np.isin(own, numbers).all():
            raise _NotSaid
        # Each sample has a place of its own behind its rows, for what follows from them.
        if table is not None:
            rows = np.arange(len(own)) + samples + self._rows
            cases = np.array(codes, np.int64)[samples]
            for told, here in _alike(table):
                self._add_alike(table, told, here, rows, cases)
        ends = np.searchsorted(own, numbers, "right") + np.arange(len(numbers)) + self._rows
        self._rows += len(own) + len(outlines)
        for place, score in _verdicts(outlines, table, samples):
            self._add(score.name, _LAST, [ends[place]], [codes[place]], [score.value], score)

    def _add_alike(self, table: Any, told: Score, here: Any, rows: Any, cases: Any) -> None:
        """Scores that differ in nothing but their numbers."""
        import numpy as np

        texts = table.column("numbers").chunk(0)
        codes = codes_of(texts)[here]
        named = codes < len(texts.dictionary)
        if named.any():
            with_names = here[named]
            known, positions = np.unique(codes[named], return_inverse=True)
            for chosen, keys, columns in _alike_texts(texts.dictionary, known):
                places = chosen[positions]
                own = with_names[places >= 0]
                for place, (key, column) in enumerate(zip(keys, columns, strict=True)):
                    values = column[places[places >= 0]]
                    self._add(f"{told.name}.{key}", place, rows[own], cases[own], values, told)
        if is_measured(told.name):
            here = here[~named]
        if len(here):
            self._add(told.name, _LAST, rows[here], cases[here], _single(table, told, here), told)

    def _add(self, address: str, place: int, rows: Any, cases: Any, values: Any, told: Score) -> None:
        """Numbers of one measure in the order of their rows; NaN is none."""
        import numpy as np

        values, rows, cases = np.asarray(values, np.float64), np.asarray(rows), np.asarray(cases)
        there = np.abs(values) <= LARGEST  # not true of NaN
        if missing := len(values) - int(there.sum()):
            self._side.left_out[address] += missing
            rows, cases, values = rows[there], cases[there], values[there]
        if not len(values):
            return
        first = int(rows[0]), place
        found = self._numbers.get(address)
        if found is None:
            found = self._numbers[address] = _Numbers(first, told)
        elif first < found.first:
            found.first, found.told = first, told
        found.blocks.append((rows, cases, values))
        found.yes_or_no &= may_be_yes(address, told) and bool(((values == 0) | (values == 1)).all())


def _alike(table: Any) -> Iterator[tuple[Score, Any]]:
    """What rows have in common beside their numbers, and which rows these are."""
    import numpy as np

    texts = [table.column(name).chunk(0) for name in ("name", "maker_kind", "status", "value_type", "better")]
    columns = [codes_of(each) for each in texts]
    ends = [table.column(name).to_numpy() for name in ("scale_low", "scale_high")]
    columns += [np.unique(each, return_inverse=True)[1] for each in ends]
    columns = [each.astype(np.int64) for each in columns]
    codes = reduce(lambda one, two: one * (int(two.max()) + 1) + two, columns)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    for row, here in zip(first.tolist(), np.split(order, np.cumsum(np.bincount(inverse))[:-1]), strict=True):
        name, maker, status, kind, better = (each[row].as_py() for each in texts)
        if "\\" in name:
            raise _NotSaid
        low, high = (None if np.isnan(each[row]) else float(each[row]) for each in ends)
        yield (
            Score(
                name=name,
                status=status,
                value=_VALUES[kind],
                scale=Scale(low=low, high=high, better=better) if better is not None else None,
                maker=Maker(name="", kind=maker) if maker is not None else None,
            ),
            here,
        )


def _alike_texts(texts: Any, known: Any) -> Iterator[tuple[Any, tuple[str, ...], list[Any]]]:
    """Objects of the same names: for each text its place among them or -1, the names, and a column for each of them."""
    import numpy as np

    objects = _decode(f"[{','.join(texts.take(known).to_pylist())}]")
    by_names: dict[tuple[str, ...], list[int]] = {}
    for place, each in enumerate(objects):
        by_names.setdefault(tuple(each), []).append(place)
    for names, places in by_names.items():
        if any("\\" in name for name in names):
            raise _NotSaid
        chosen = np.full(len(objects), -1)
        chosen[places] = np.arange(len(places))
        columns = zip(*(objects[place].values() for place in places), strict=True)
        yield chosen, names, [np.array(column, np.float64) for column in columns]


def _single(table: Any, told: Score, here: Any) -> Any:
    """The own numbers of scores; NaN where there is none."""
    import numpy as np

    if told.status != "scored" or told.value is None:
        return np.full(len(here), np.nan)
    if isinstance(told.value, str):
        words = table.column("text").take(here).to_pylist()
        return np.array([GRADES.get(word) for word in words], np.float64)
    values = table.column("value").to_numpy()[here]
    if np.isnan(values).any():
        raise _NotSaid
    return values


def _verdicts(outlines: list[Outline], table: Any, samples: Any) -> Iterator[tuple[int, Score]]:
    """The one verdict of a sample that has no other, as `with_outcome` adds it, with the place of the sample."""
    import numpy as np

    named: dict[str, Any] = {}
    for name in (OUTCOME, PASSED):
        absent = [any(score.name == name for _, score in absent_of(text)) if text else False for _, text, _ in outlines]
        named[name] = np.array(absent, bool)
        if table is not None:
            named[name][samples[has_text(table.column("name").chunk(0), name)]] = True
    if not named[OUTCOME].all():
        raise _NotSaid  # it follows from all scores that came with the sample
    if table is None:
        return
    passed = table.column("passed").chunk(0)
    rows = np.flatnonzero(np.asarray(passed.is_valid()) & has_text(table.column("status").chunk(0), "scored"))
    places, first, counts = np.unique(samples[rows], return_index=True, return_counts=True)
    for place, row, count in zip(places.tolist(), rows[first].tolist(), counts.tolist(), strict=True):
        if count == 1 and not named[PASSED][place]:
            yield place, passed_score(passed[row].as_py())


def _by_case(blocks: list[tuple[Any, Any, Any]], names: list[str]) -> dict[str, list[float]]:
    """The values of each case in the order of their rows, and the cases in the order of their first."""
    import numpy as np

    rows, cases, values = (np.concatenate(each) for each in zip(*blocks, strict=True))
    if len(blocks) > 1:
        order = np.argsort(rows, kind="stable")
        cases, values = cases[order], values[order]
    order = np.argsort(cases, kind="stable")
    cases = cases[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(cases)) + 1])
    ends = np.append(starts[1:], len(cases))
    by_first = np.argsort(order[starts])
    found = values[order].tolist()
    bounds = zip(*(each[by_first].tolist() for each in (cases[starts], starts, ends)), strict=True)
    return {names[case]: found[start:end] for case, start, end in bounds}
