"""Labels: how people judge samples in the viewer, stored in the run directory with their name and the time.

Lines are only ever added, so that no label is lost when two people label at once. A person's last label for a sample
counts. `pantrace calibrate --labels` reads what `export` writes."""

from __future__ import annotations

import csv
import errno
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
    """One person's label of one sample."""

    sample: str
    """Its key in the table: the id, with its epoch where there are several."""
    id: str
    epoch: int | None = None
    label: Literal["pass", "fail"] | None = None
    score: float | None = None
    comment: str = ""
    tag: str = ""
    step: str | None = None
    """The step that it is about, by its id or its number (#7) in the recording; None: the whole sample."""
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
    """Add a label. One write for one line, so that two servers cannot mix theirs."""
    descriptor = os.open(folder / LABELS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        # Half a line that a full disk left must not spoil this one.
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = b"\n" * torn + encode(label) + b"\n"
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # A label is a person's work: it must survive a crash of the machine.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def kept(folder: Path) -> list[Label]:
    """All labels, the last of each person for a sample; other lines are skipped."""
    found: dict[tuple[str, str | None, str], Label] = {}
    try:
        lines = read_unreported(folder / LABELS).splitlines()
    except ReadError:
        return []
    for line in lines:
        try:
            label = msgspec.json.decode(line, type=Label)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # A line that was cut off by a crash must not hide all other labels.
            continue
        found[(label.sample, label.step, label.by)] = label
    return list(found.values())


def export(labels: list[Label]) -> str:
    """Labels of whole samples as the table that `pantrace calibrate --labels` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["sample", "epoch", "label"])
    for each in labels:
        # Labels of single steps are left out: `calibrate` compares scores of whole samples.
        said = each.label if each.label is not None else each.score
        if said is not None and each.step is None:
            cells = [each.id, "" if each.epoch is None else each.epoch, said]
            # Ids come from recordings: a spreadsheet must not run one that begins with "=".
            writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()
