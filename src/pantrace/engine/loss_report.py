"""Loss report: what a conversion did, and what became of the values that it was given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pantrace.model import Loss
from pantrace.wire.loss import MISSING, general

from .read import Notes


@dataclass
class Report:
    """What a conversion did."""

    to: str
    samples: int = 0
    """How many were written."""
    outputs: list[Path] = field(default_factory=list)
    values: int = 0
    """Values that the samples and headers held: texts, numbers, what is empty."""
    losses: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Values that were lost: (path without numbers, what happened, why) -> how many."""
    carried: Counter[str] = field(default_factory=Counter)
    """Path without numbers -> values that the target has no place for and that are kept for pantrace alone."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Samples that the target cannot hold, with the reason."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Ids that occurred twice, and what they became."""
    named: list[tuple[str, str]] = field(default_factory=list)
    """Samples whose id is no file name, and the names of their files; inside, the id is as it was."""
    headers: Counter[str] = field(default_factory=Counter)
    """Of a pile of several inputs, whose headers have no place in it: input -> how many values it had."""
    measured: bool = True
    notes: Notes = field(default_factory=Notes)

    def add(self, loss: Loss) -> None:
        """Count a loss."""
        what = loss.what.partition(":")[0].partition(" ")[0]
        self.losses[(general(loss.path), what, loss.why)] += loss.values

    @property
    def lost(self) -> int:
        """Values that are not in the output at all; what only stands elsewhere is not one of them."""
        return sum(count for (_, what, _), count in self.losses.items() if what in MISSING)

    @property
    def shares(self) -> dict[str, float] | None:
        """Of all values: kept for the target's own tools, kept for pantrace only, lost; None: not measured."""
        if not self.measured or not self.values:
            return None
        lost, carried = min(self.lost, self.values), self.carried.total()
        carried = min(carried, self.values - lost)
        kept = self.values - lost - carried
        return {
            "kept": kept / self.values,
            "kept_for_pantrace_only": carried / self.values,
            "lost": lost / self.values,
        }
