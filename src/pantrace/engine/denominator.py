"""Denominator: how many cases a report is about, and what happened to the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.model import Record
from pantrace.store import RunDirectory, unfinished

from .score_columns import STATUSES, Columns

SHOWN = 20
"""At most this many cases that were not run are listed; all of them are counted."""


class Denominator(Record, frozen=True, kw_only=True):
    """What every number of a report is out of."""

    cases: int
    """In the recordings and in the reference; each counts once, even if it was repeated."""
    run: int
    """Cases with a recorded run."""
    samples: int
    """Recorded runs, repeats included."""
    not_run: int = 0
    """Cases of the dataset or reference that were not run."""
    not_run_cases: tuple[str, ...] = ()
    """The first of their names."""
    left_out: dict[str, int] = {}
    """Samples that were read but are not part of the numbers, by reason."""
    limit: int | None = None
    """Set if the evaluation stopped after this many samples (`--limit`): nobody knows how many others there are."""
    refused: int = 0
    """Records that could not be read."""
    not_applicable: int = 0
    """Scores of metrics that do not apply to their sample."""
    unscored: int = 0
    """Scores that a judge should have given and did not."""
    failed: int = 0
    """Scores of metrics that raised an error."""
    unfinished: str | None = None
    """If the evaluation has not ended: a sentence that says so. The numbers are then out of its beginning only."""

    @property
    def complete(self) -> bool:
        """Whether every case was run and read, and none was left out."""
        return not (
            self.unfinished or self.limit is not None or self.not_run or self.refused or any(self.left_out.values())
        )


_STATUSES = "select status, sum(scores)::bigint from statuses group by status"
_ABSENT = "select coalesce(sum(scores), 0)::bigint from absences join absent using (absence)"


def denominator_of(out: Path, database: Any, columns: Columns) -> Denominator:
    """The denominator of a run directory whose columns are in the database."""
    import numpy as np

    header = RunDirectory.open(out).header
    running = unfinished(out)
    was_run = np.zeros(len(columns.cases), bool)
    was_run[columns.case_of[columns.was_run]] = True
    # By case: a case counts as run if any of its samples was.
    not_run = np.flatnonzero(~was_run)
    statuses = dict(database.execute(_STATUSES).fetchall())
    (absent,) = database.execute(_ABSENT).fetchone()
    names = list(columns.cases)
    # Free-form fields of the header: nothing guarantees their types.
    left_out = header.dataset.get("left_out") if isinstance(header.dataset, dict) else None
    limit = header.dataset.get("limit") if isinstance(header.dataset, dict) else None
    broken = header.config.get("broken_records") if isinstance(header.config, dict) else None
    return Denominator(
        cases=len(names),
        run=len(names) - len(not_run),
        samples=int(columns.was_run.sum()),
        not_run=len(not_run),
        not_run_cases=tuple(names[number] for number in not_run[:SHOWN].tolist()),
        limit=limit if isinstance(limit, int) else None,
        left_out=left_out if isinstance(left_out, dict) else {},
        refused=len(broken) if isinstance(broken, list) else 0,
        not_applicable=statuses.get(STATUSES["not_applicable"], 0) + absent,
        unscored=statuses.get(STATUSES["unscored"], 0),
        failed=statuses.get(STATUSES["failed"], 0),
        unfinished=running.words if running is not None else None,
    )


def denominator_words(found: Denominator) -> str:
    """50 cases: 48 run (192 samples), 2 not run (a, b); 1 record refused; scores: 310 not applicable, 4 unscored."""
    repeats = f" ({found.samples:,} samples)" if found.samples != found.run else ""
    parts = [f"{found.run:,} run{repeats}"]
    if found.not_run:
        names = ", ".join(found.not_run_cases[:3])
        more = f" and {found.not_run - 3:,} more" if found.not_run > 3 else ""
        parts.append(f"{found.not_run:,} not run ({names}{more})")
    parts += [f"{count:,} left out ({why})" for why, count in found.left_out.items() if count]
    if found.limit is not None:
        parts.append(f"others left out by --limit {found.limit:,}, if there are more")
    if found.unfinished:
        parts.append("not finished")
    if found.refused:
        parts.append(f"{_records(found.refused)} refused")
    scores = [
        f"{count:,} {name}"
        for count, name in (
            (found.not_applicable, "not applicable"),
            (found.unscored, "unscored"),
            (found.failed, "failed"),
        )
        if count
    ]
    noun = "case" if found.cases == 1 else "cases"
    return f"{found.cases:,} {noun}: {', '.join(parts)}" + (f"; scores: {', '.join(scores)}" if scores else "")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"
