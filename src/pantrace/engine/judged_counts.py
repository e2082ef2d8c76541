"""Counts of judged scores: what became of them, and why some are missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pantrace.model import Score


@dataclass
class JudgedCounts:
    """Of one run, or of the samples that one process judged for it."""

    statuses: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    """Why scores are unscored."""

    def count(self, score: Score) -> None:
        self.statuses[score.status] += 1
        if score.status in ("unscored", "failed"):
            self.problems[score.explanation or ""] += 1

    def absorb(self, others: JudgedCounts) -> None:
        """Add what was counted elsewhere."""
        self.statuses.update(others.statuses)
        self.problems.update(others.problems)
