"""Loss report: what a conversion did, and what happened to the values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pantrace.model import Loss
from pantrace.wire.found import MISSING
from pantrace.wire.loss import general_path

from .loss_kinds import ELSEWHERE, OWN, kind_of
from .read import Notes
from .table import Table, Tabular


@dataclass(repr=False)
class Report(Tabular):
    """What a conversion did."""

    to: str
    samples: int = 0
    """How many were written."""
    outputs: list[Path] = field(default_factory=list)
    values: int = 0
    """Values in the samples and headers, without those that only the source's own format has."""
    lost: int = 0
    """How many of them are missing in the output; values that were only moved do not count."""
    hidden: int = 0
    """How many of them only pantrace can read."""
    losses: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Lost values: (path without numbers, what happened, why) -> how many."""
    carried: Counter[str] = field(default_factory=Counter)
    """Path without numbers -> values that the target has no place for and that are kept for pantrace only."""
    not_kept: Counter[str] = field(default_factory=Counter)
    """Values that are missing or changed, by what they mean to a person: timestamps, thoughts."""
    rearranged: Counter[str] = field(default_factory=Counter)
    """Values that are still there, but in another place."""
    only_for_pantrace: Counter[str] = field(default_factory=Counter)
    """Values that only pantrace can read."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Samples that cannot be written in the target format, with the reason."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Ids that occurred twice, and what they became."""
    named: list[tuple[str, str]] = field(default_factory=list)
    """Samples whose id cannot be a file name, and the names of their files; the id inside is unchanged."""
    repairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """What had to be repaired so that the target's own tools can read it: (path without numbers, what) -> how often."""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """Samples whose copy is as invalid as its source, with what is wrong."""
    wordless: list[str] = field(default_factory=list)
    """Samples whose recording contains no texts: their steps are written without any."""
    headers: Counter[str] = field(default_factory=Counter)
    """Headers that are lost because several inputs become one output: input -> how many values it had."""
    ids: set[str] = field(default_factory=set)
    """Ids of all samples that were read, written or not."""
    by: list[str] = field(default_factory=list)
    """Which processes did it, in words, if not this one alone."""
    measured: bool = True
    notes: Notes = field(default_factory=Notes)

    def add(self, loss: Loss) -> None:
        """Count a loss."""
        what = loss.what.partition(":")[0].partition(" ")[0]
        self.losses[(general_path(loss.path), what, loss.why)] += loss.values
        # Moved or merged values are still there for a reader.
        if what not in MISSING:
            self.rearranged[ELSEWHERE.get(what, what)] += loss.values
            return
        # Values that only the source's format has are not part of the shares: a log full of bookkeeping would look like
        # a disaster.
        self.lost += loss.values - loss.own
        _count(self.not_kept, kind_of(general_path(loss.path), loss.part), loss.values, loss.own)

    def absorb(self, other: Report) -> None:
        """Add the counts of the next part of the same run."""
        for name in ("samples", "values", "lost", "hidden"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("losses", "carried", "not_kept", "rearranged", "only_for_pantrace", "repairs", "headers"):
            getattr(self, name).update(getattr(other, name))
        for name in ("refused", "renamed", "named", "faults", "wordless"):
            getattr(self, name).extend(getattr(other, name))
        self.measured = other.measured

    def repair(self, path: str, what: str) -> None:
        """Count a repair."""
        self.repairs[(general_path(path), what)] += 1

    def carry(self, path: str, values: int, own: int) -> None:
        """Count what is kept for pantrace only."""
        self.carried[general_path(path)] += values
        self.hidden += values - own
        _count(self.only_for_pantrace, kind_of(general_path(path)), values, own)

    def to_dict(self) -> dict[str, Any]:
        """What was written and every kind of loss, as `pantrace convert --json` prints it."""
        return {
            "to": self.to,
            "read": self.notes.formats,
            "written": self.samples,
            "outputs": [str(path) for path in self.outputs],
            "loss_measured": self.measured,
            "values": self.values,
            "shares": self.shares,
            "losses": [
                {"path": path, "what": what, "why": why, "count": count}
                for (path, what, why), count in self.losses.most_common()
            ],
            "carried": [{"path": path, "count": count} for path, count in self.carried.most_common()],
            "refused": [{"sample": sample, "why": why} for sample, why in self.refused],
            "repairs": [
                {"path": path, "what": what, "count": count} for (path, what), count in self.repairs.most_common()
            ],
            "invalid_as_in_source": [{"sample": sample, "what": what} for sample, what in self.faults],
            "without_texts": self.wordless,
            "renamed": [{"sample": old, "as": new} for old, new in self.renamed],
            "named": [{"sample": sample, "file": name} for sample, name in self.named],
            "reading": self.notes.unread.plain() if self.notes.unread is not None else None,
            "headers": [{"input": name, "lost": count} for name, count in self.headers.items()],
            **self.notes.left_out(),
        }

    def table(self) -> Table:
        """One row for each kind of loss, the largest first."""
        columns: dict[str, type] = {"values": int, "path": str, "what": str, "why": str}
        rows = [(count, path, what, why) for (path, what, why), count in self.losses.most_common()]
        noun = "sample" if self.samples == 1 else "samples"
        facts = [f"{self.samples:,} {noun} written as {self.to}"]
        if (shares := self.shares) is not None:
            facts.append(f"{percent(shares['kept'])} kept for its own tools")
            facts.append(
                f"{percent(shares['kept_for_pantrace_only'])} for pantrace only, {percent(shares['lost'])} lost"
            )
        left_out = [f"left out: {error}" for error in self.notes.broken]
        refused = [f"refused: {sample}: {why}" for sample, why in self.refused]
        return Table(columns, [*rows], sentence="; ".join(facts), notes=[*left_out, *refused])

    @property
    def shares(self) -> dict[str, float] | None:
        """Of all values: kept for the target's own tools, kept for pantrace only, lost; None: not measured."""
        if not self.measured or not self.values:
            return None
        # The three numbers are counted separately, and a share must not exceed 1.
        lost = min(self.lost, self.values)
        hidden = min(self.hidden, self.values - lost)
        return {
            "kept": (self.values - lost - hidden) / self.values,
            "kept_for_pantrace_only": hidden / self.values,
            "lost": lost / self.values,
        }


def _count(kinds: Counter[str], kind: str, values: int, own: int) -> None:
    """Count values under their kind, and those that only the source's own format has separately."""
    for name, count in ((OWN, own), (kind, values - own)):
        if count:
            kinds[name] += count


def percent(share: float) -> str:
    """A share in words. It is never rounded to 100 % or 0 %: "100 % kept" must mean that nothing was lost."""
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    return f"{min(max(share, 0.001), 0.999) * 100:.1f} %"
