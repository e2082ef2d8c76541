"""Causes: why samples failed, as in `pantrace diagnose`, with the rows that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pantrace.diagnosis import CAUSES, Finding, Tally, diagnose_sample, diagnosis_of, seen_words, waste_words
from pantrace.model import all_trajectories

from .rows import Row
from .shown import ShownSample

LISTED = 6
"""Findings that a sample's page lists."""
VARIANTS = 4
"""Variants of one error that a group lists."""


class Causes:
    """What went wrong, sample by sample; grouped at the end."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._rows: dict[tuple[int, int], int] = {}
        """Number of a sample and of a step in it -> the row that shows the step."""

    def add(self, number: int, shown: ShownSample, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Diagnose one more sample; returns what its page shows."""
        sample = shown.sample
        # `diagnose` takes the recording's own scores and those of the evaluation separately.
        brought = len(sample.scores) - shown.made
        stored = msgspec.structs.replace(sample, scores=sample.scores[:brought])
        found = diagnose_sample(stored, sample.scores[brought:], shown.decisions, number=number)
        self._tally.add(found)
        if not found.findings or sample.trajectory is None:
            return []
        steps = [step for each in all_trajectories(sample.trajectory) for step in each.steps]
        numbers = {id(step): place for place, step in enumerate(steps, 1)}
        row_of = {numbers[id(step)]: at for at, row in enumerate(rows) for step in (row.step, *row.answers)}
        told = []
        for each in found.findings:
            # The page shows the source's own message already.
            if each.cause == "stated":
                continue
            row = row_of.get(each.place.step) if each.place is not None else None
            if row is not None and each.place is not None:
                self._rows[(number, each.place.step)] = row
            told.append({"title": _title(each), "detail": each.detail[:400], "row": row, "mended": each.mended})
        # Errors that the agent recovered from come last: they are rarely the cause.
        told.sort(key=lambda each: bool(each["mended"]))
        return told[:LISTED]

    def block(self) -> dict[str, Any]:
        """The groups, the largest first, with all their samples by place in the table."""
        found = diagnosis_of(self._tally, 0)
        members: dict[tuple[str, str], list[list[int | None]]] = {}
        for failure in found.failures:
            step = failure.main.place.step if failure.main.place is not None else None
            number = failure.diagnosed.number
            row = self._rows.get((number, step)) if step is not None else None
            members.setdefault(failure.main.key, []).append([number, row])
        return {
            "sentence": found.sentence,
            "counts": found.counts,
            "groups": [
                {
                    "title": each.title,
                    "samples": members.get((each.cause, each.subject), []),
                    "seen": seen_words(each),
                    "waste": waste_words(each.waste),
                    "errors": [[variant.text, variant.samples] for variant in each.variants[:VARIANTS]],
                }
                for each in found.groups
            ],
        }


def _title(finding: Finding) -> str:
    return CAUSES[finding.cause].format(finding.subject[:80] or "something")
