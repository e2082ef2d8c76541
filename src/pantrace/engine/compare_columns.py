"""The sides of a comparison from columns: the numbers of a run directory, without decoding a record for each score.

Gives the same as `side_of` does from samples, value by value and in the same order. None if a column cannot represent
what a record says (a number that is not finite, an integer too long for a float, a broken letter in a name), and if a
sample was not measured by `outcome`, which needs whole scores."""

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
"""A placeholder value of each type of the column; the numbers themselves come from another column."""
_LAST = 1 << 30
"""The place of a score's own number: after its named ones, as in `side_of`."""
_decode = msgspec.json.Decoder(list[dict[str, float | None]]).decode


class _NotInColumns(Exception):
    """A column does not contain what the record does, so records have to be read."""


@dataclass
class _Numbers:
    """The numbers of one measure, collected part by part."""

    first: tuple[int, int]
    """Place of the first: row, and key in the row."""
    shape: Score
    """The score of the first number, without its value."""
    yes_or_no: bool = True
    blocks: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Rows, cases, values."""


def side_of_directory(folder: Path, header: RunHeader, *, cluster: str | None, pair_by: str) -> Side | None:
    """The numbers of a run directory; None if its records have to be read."""
    try:
        return _Columns(Side(name=header.name or "run", created=header.created), cluster, pair_by).read(folder)
    except (_NotInColumns, msgspec.MsgspecError):
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
            self._side.fill(address, _by_case(found.blocks, names), found.shape, yes_or_no=found.yes_or_no)
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
            raise _NotInColumns
        # Each sample has one more place after its rows, for the verdict that follows from them: the order of numbers
        # must be the one that reading the records gives.
        if table is not None:
            rows = np.arange(len(own)) + samples + self._rows
            cases = np.array(codes, np.int64)[samples]
            texts = table.column("numbers").chunk(0)
            listed = codes_of(texts), np.array(texts.dictionary.to_pylist(), object)
            for shape, here in _alike(table):
                self._add_alike(table, listed, shape, here, rows, cases)
        ends = np.searchsorted(own, numbers, "right") + np.arange(len(numbers)) + self._rows
        self._rows += len(own) + len(outlines)
        for place, score in _verdicts(outlines, table, samples):
            self._add(score.name, _LAST, [ends[place]], [codes[place]], [score.value], score)

    def _add_alike(self, table: Any, listed: tuple[Any, Any], shape: Score, here: Any, rows: Any, cases: Any) -> None:
        """Scores that differ only in their numbers. `listed`: of each row the place of its text of numbers,
        and these texts."""
        import numpy as np

        codes, texts = listed[0][here], listed[1]
        named = codes < len(texts)
        if named.any():
            with_names = here[named]
            known, positions = np.unique(codes[named], return_inverse=True)
            for chosen, keys, columns in _alike_texts(texts[known]):
                places = chosen[positions]
                own = with_names[places >= 0]
                for place, (key, column) in enumerate(zip(keys, columns, strict=True)):
                    values = column[places[places >= 0]]
                    self._add(f"{shape.name}.{key}", place, rows[own], cases[own], values, shape)
        if is_measured(shape.name):
            here = here[~named]
        if len(here):
            self._add(shape.name, _LAST, rows[here], cases[here], _single(table, shape, here), shape)

    def _add(self, address: str, place: int, rows: Any, cases: Any, values: Any, shape: Score) -> None:
        """Numbers of one measure in the order of their rows; NaN means none."""
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
            found = self._numbers[address] = _Numbers(first, shape)
        elif first < found.first:
            found.first, found.shape = first, shape
        found.blocks.append((rows, cases, values))
        found.yes_or_no &= may_be_yes(address, shape) and bool(((values == 0) | (values == 1)).all())


def _alike(table: Any) -> Iterator[tuple[Score, Any]]:
    """For rows that are equal except for their numbers: what they share, and which rows these are."""
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
        # The column escapes lone surrogates, and cannot tell them from a real backslash.
        if "\\" in name:
            raise _NotInColumns
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


def _alike_texts(texts: Any) -> Iterator[tuple[Any, tuple[str, ...], list[Any]]]:
    """Objects with the same names: for each text its place among them or -1, the names, and a column for each."""
    import numpy as np

    # One decode for all different texts, instead of a call for each.
    objects = _decode(f"[{','.join(texts)}]")
    by_names: dict[tuple[str, ...], list[int]] = {}
    for place, each in enumerate(objects):
        by_names.setdefault(tuple(each), []).append(place)
    for names, places in by_names.items():
        if any("\\" in name for name in names):
            raise _NotInColumns
        chosen = np.full(len(objects), -1)
        chosen[places] = np.arange(len(places))
        columns = zip(*(objects[place].values() for place in places), strict=True)
        yield chosen, names, [np.array(column, np.float64) for column in columns]


def _single(table: Any, shape: Score, here: Any) -> Any:
    """The scores' own numbers; NaN if there is none."""
    import numpy as np

    if shape.status != "scored" or shape.value is None:
        return np.full(len(here), np.nan)
    if isinstance(shape.value, str):
        # Not `take`, which loads pyarrow.compute.
        words = table.column("text").to_numpy()[here]
        return np.array([GRADES.get(word) for word in words], np.float64)
    values = table.column("value").to_numpy()[here]
    if np.isnan(values).any():
        raise _NotInColumns
    return values


def _verdicts(outlines: list[Outline], table: Any, samples: Any) -> Iterator[tuple[int, Score]]:
    """The verdict of each sample that has exactly one, as `with_outcome` adds it, with the sample's place."""
    import numpy as np

    named: dict[str, Any] = {}
    for name in (OUTCOME, PASSED):
        absent = [any(score.name == name for _, score in absent_of(text)) if text else False for _, text, _ in outlines]
        named[name] = np.array(absent, bool)
        if table is not None:
            named[name][samples[has_text(table.column("name").chunk(0), name)]] = True
    if not named[OUTCOME].all():
        # `outcome` would have to be computed from the scores of the source, which columns do not fully contain.
        raise _NotInColumns
    if table is None:
        return
    passed = table.column("passed").chunk(0)
    is_there: Any = passed.to_numpy(zero_copy_only=False) != None  # noqa: E711 -- for each element
    rows = np.flatnonzero(is_there & has_text(table.column("status").chunk(0), "scored"))
    places, first, counts = np.unique(samples[rows], return_index=True, return_counts=True)
    for place, row, count in zip(places.tolist(), rows[first].tolist(), counts.tolist(), strict=True):
        if count == 1 and not named[PASSED][place]:
            yield place, passed_score(passed[row].as_py())


def _by_case(blocks: list[tuple[Any, Any, Any]], names: list[str]) -> dict[str, list[float]]:
    """The values of each case in the order of their rows, and the cases in order of appearance."""
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
