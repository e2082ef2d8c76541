"""Labels: what people say of samples in the viewer, kept in the run directory with who and when.

Kept as lines that are only ever added, so that no label is lost when two people label at once; the last of a person
for a sample counts. `pantrace calibrate --labels` reads what `export` writes."""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path
from time import time
from typing import Any, Literal

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.model import Record
from pantrace.store import LABELS
from pantrace.wire.csv_cells import escape_formula
from pantrace.wire.files import read_unreported
from pantrace.wire.json import encode

LONGEST = 10_000


class Label(Record, frozen=True, kw_only=True):
    """What one person says of one sample."""

    sample: str
    """Its key in the table: the id, with its epoch where there are several."""
    id: str
    epoch: int | None = None
    label: Literal["pass", "fail"] | None = None
    score: float | None = None
    comment: str = ""
    tag: str = ""
    step: str | None = None
    """The step it speaks of, by its id or its number (#7) in the recording; None: the whole sample."""
    by: str = ""
    at: float = 0.0


def checked(body: Any, *, by: str, sample: str, id: str, epoch: int | None) -> Label:  # noqa: A002
    """A label that came from the page."""
    try:
        label = msgspec.convert(
            {name: body[name] for name in ("label", "score", "comment", "tag", "step") if name in body}
            | {"sample": sample, "id": id, "epoch": epoch, "by": by, "at": time()},
            Label,
        )
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageError(f"not a label: {error}") from None
    if label.score is not None and not math.isfinite(label.score):
        raise UsageError("a score is a number")
    if len(label.comment) > LONGEST or len(label.tag) > LONGEST:
        raise UsageError(f"a comment has at most {LONGEST:,} characters")
    return label


def keep(folder: Path, label: Label) -> None:
    """Add a label. One write of one line: two servers do not mix theirs."""
    descriptor = os.open(folder / LABELS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, encode(label) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def kept(folder: Path) -> list[Label]:
    """All labels, the last of each person for a sample; lines that are none are passed over."""
    found: dict[tuple[str, str | None, str], Label] = {}
    try:
        lines = read_unreported(folder / LABELS).splitlines()
    except ReadError:
        return []
    for line in lines:
        try:
            label = msgspec.json.decode(line, type=Label)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        found[(label.sample, label.step, label.by)] = label
    return list(found.values())


def export(labels: list[Label]) -> str:
    """Labels of whole samples as the table that `pantrace calibrate --labels` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["sample", "epoch", "label"])
    for each in labels:
        said = each.label if each.label is not None else each.score
        if said is not None and each.step is None:
            cells = [each.id, "" if each.epoch is None else each.epoch, said]
            writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()
