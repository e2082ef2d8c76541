"""Labels: what people say about samples, from a table or from the cases of a dataset."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.judges import LabelKind
from pantrace.model import Sample
from pantrace.wire.csv_cells import unescape_formula
from pantrace.wire.json import decode
from pantrace.wire.text_file import read_text

from .read import Notes, read_pile

Label = str | float | bool

_KEYS = ("sample", "epoch", "metric", "label")
_BANDS = (("poor", "mixed", "good", "excellent"),)
"""Known orders: the quality bands of Explain datasets."""
_YES = {"pass": True, "passed": True, "true": True, "yes": True, "fail": False, "failed": False, "false": False}
_YES |= {"no": False, "correct": True, "incorrect": False}


@dataclass
class Labels:
    """Labels by sample, and by epoch and metric if the source distinguishes them."""

    by_key: dict[tuple[str, int | None, str | None], Label] = field(default_factory=dict)

    def add(self, sample: str, epoch: int | None, metric: str | None, label: Label, place: str) -> None:
        key = (sample, epoch, metric)
        if self.by_key.setdefault(key, label) != label:
            # Two raters disagree, and nothing here can say which of them is right.
            raise UsageError(
                f"{place}: a second, different label for sample {sample!r}; combine the raters' labels into one first"
            )

    def of(self, sample: Sample, metric: str) -> Label | None:
        """The label for a metric of a sample; the most specific one counts."""
        # Labels are often given by case, and hold for each of its runs.
        names = [sample.id, *([sample.case.id] if sample.case is not None and sample.case.id else [])]
        for name in names:
            for epoch in (sample.epoch, None):
                for wanted in (metric, None):
                    if (found := self.by_key.get((name, epoch, wanted))) is not None:
                        return found
        return None


def read_labels(path: Path, label: str | None) -> Labels:
    """Labels from a CSV, JSON or JSON Lines table (sample, label, perhaps epoch and metric; or a column for each
    metric), or, if `label` is given, from this label of the cases of a dataset."""
    if label is not None:
        return _from_cases(path, label)
    found = Labels()
    for place, row in _rows(path):
        _take(found, row, place)
    if not found.by_key:
        raise UsageError(f"{path}: has no labels")
    return found


def _from_cases(path: Path, label: str) -> Labels:
    found = Labels()
    seen: set[str] = set()
    for sample in read_pile([path], notes=Notes()).samples:
        labels = sample.case.labels if sample.case is not None else {}
        seen |= set(labels)
        if label in labels:
            found.add(sample.id, None, None, labels[label], str(path))
    if not found.by_key:
        there = f"there are {', '.join(sorted(seen))}" if seen else "its cases have none"
        raise UsageError(f"{path}: no case has the label {label!r}; {there}")
    return found


LONGEST = 131_072
"""Characters of a cell; a longer one is not a label but a missing closing quotation mark."""


def _table_rows(path: Path, text: str) -> list[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(StringIO(text))
    # The limit is global to the process, and readers of recordings raise it.
    before = csv.field_size_limit(LONGEST)
    try:
        return [
            (
                f"{path}: line {reader.line_num}",
                {
                    key: unescape_formula(value) if isinstance(value, str) else value
                    for key, value in row.items()
                    if key
                },
            )
            for row in reader
        ]
    except csv.Error as error:
        raise UsageError(f"{path}: line {reader.reader.line_num}: not CSV: {error}") from None
    finally:
        csv.field_size_limit(before)


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    text = read_text(path)
    # By content and not by suffix, so that the name of the file does not matter.
    if not text.lstrip().startswith(("{", "[")):
        yield from _table_rows(path, text)
        return
    try:
        if text.lstrip().startswith("["):
            rows = [(f"{path}: entry {number}", row) for number, row in enumerate(decode(text.encode()), 1)]
        else:
            lines = enumerate(text.split("\n"), 1)
            rows = [(f"{path}: line {number}", decode(line.encode())) for number, line in lines if line.strip()]
    except (ReadError, ValueError) as error:
        raise UsageError(f"{path}: not JSON: {error}; labels are CSV, JSON or JSON Lines") from None
    for place, row in rows:
        if not isinstance(row, dict):
            raise UsageError(f"{place}: not an object with sample and label")
        yield place, row


def _take(found: Labels, row: Mapping[str, Any], place: str) -> None:
    sample = row.get("sample")
    if sample in (None, ""):
        raise UsageError(f"{place}: no sample; a row of labels has {', '.join(_KEYS)}, or a column for each metric")
    epoch = _epoch(row.get("epoch"), place)
    if not isinstance(row.get("metric"), (str, type(None))):
        raise UsageError(f"{place}: the metric must be a name, not {row['metric']!r:.40}")
    if "label" in row:
        given = {row.get("metric") or None: row["label"]}
    else:
        given = {name: value for name, value in row.items() if name not in _KEYS}
        if not given:
            raise UsageError(f"{place}: no label; name the column label, or one column for each metric")
    for metric, value in given.items():
        if (label := _label(value, place)) is not None:
            found.add(str(sample), epoch, metric, label, place)


def _epoch(value: Any, place: str) -> int | None:
    if value in (None, ""):
        return None
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value)):
        return int(value)
    raise UsageError(f"{place}: epoch {value!r} is not a whole number")


def _label(value: Any, place: str) -> Label | None:
    """A label as it is meant: a number, true or false, a word; None for an empty cell."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _finite(value, place)
    if not isinstance(value, str):
        raise UsageError(f"{place}: a label is a number, a word, or true or false; not {value!r}")
    text = value.strip()
    try:
        number = float(text)
    except ValueError:
        return text or None
    return _finite(number, place)


def _finite(number: float, place: str) -> float:
    # Not `>= 1e15`, which is false for NaN.
    if not abs(number) < 1e15:
        shown = str(number)[:24]  # not `:g`: a whole number of 400 digits does not fit into a float
        raise UsageError(f"{place}: the label {shown} is not a grade; leave the cell empty if there is no label")
    return number


@dataclass(frozen=True)
class Ranked:
    """Labels as numbers, with their kind and the names they had."""

    kind: LabelKind
    numbers: dict[Label, float]
    names: dict[float, str]


def rank_labels(labels: Iterable[Label], order: tuple[str, ...], scale: tuple[float, float] | None) -> Ranked:
    """What kind of labels these are, and their order. `scale` is that of the metric, if it declares one."""
    seen = list(dict.fromkeys(labels))
    if order:
        return _ordered(seen, order)
    words = [label for label in seen if isinstance(label, str)]
    if not words:
        # 0 and 1 are pass and fail, unless the metric's own scale is 0 to 1: then they may be grades.
        if all(label in (0, 1) for label in seen) and (any(isinstance(each, bool) for each in seen) or scale != (0, 1)):
            return _passes({label: float(label) for label in seen})
        return _grades(seen, scale)
    if all(isinstance(label, (bool, str)) and str(label).lower() in _YES for label in seen):
        return _passes({label: float(_YES[str(label).lower()]) for label in seen})
    for known in _BANDS:
        if all(str(label).lower() in known for label in seen):
            return _ordered(seen, known)
    raise UsageError(
        f"the labels are {', '.join(map(str, seen[:8]))}: give their order with --order WORST,…,BEST "
        "(or use numbers, or pass and fail)"
    )


def _ordered(seen: list[Label], order: tuple[str, ...]) -> Ranked:
    numbers: dict[Label, float] = {}
    for label in seen:
        word = f"{label:g}" if isinstance(label, float) else str(label)
        place = next((number for number, known in enumerate(order) if known.lower() == word.lower()), None)
        if place is None:
            raise UsageError(f"the label {word!r} is not in the order {', '.join(order)}")
        numbers[label] = float(place)
    return Ranked("bands", numbers, {float(number): word for number, word in enumerate(order)})


def _passes(numbers: dict[Label, float]) -> Ranked:
    return Ranked("pass", numbers, {0.0: "fail", 1.0: "pass"})


def _grades(seen: list[Label], scale: tuple[float, float] | None) -> Ranked:
    if scale is not None:
        strange = [label for label in seen if not scale[0] <= float(label) <= scale[1]]
        if strange:
            raise UsageError(f"the label {strange[0]:g} lies outside the metric's scale, {scale[0]:g} to {scale[1]:g}")
    return Ranked("grades", {label: float(label) for label in seen}, {float(each): f"{float(each):g}" for each in seen})
