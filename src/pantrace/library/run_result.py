"""The result of running agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pantrace.engine.compare_runs import Comparisons
from pantrace.engine.read import Notes
from pantrace.engine.run import Ran
from pantrace.engine.table import Table, Tabular
from pantrace.errors import UsageError

from .gate import Gate
from .results import Results


@dataclass(repr=False)
class RunResult(Tabular):
    """What agents did, and its evaluation. With one agent it can be used wherever its run directory can."""

    agents: list[Ran]
    """Trials, tokens and cost of each agent, and where its recordings are."""
    results: list[Results] = field(default_factory=list)
    """The evaluation of each agent; empty if nothing was evaluated."""
    comparison: Comparisons | None = None
    """For several agents: each compared with the first."""
    notes: Notes = field(default_factory=Notes.keeping)

    @property
    def result(self) -> Results:
        """The evaluation of the one agent that was asked."""
        if len(self.results) != 1:
            raise UsageError(f"{len(self.results)} agents were evaluated: .results has an evaluation for each of them")
        return self.results[0]

    @property
    def complete(self) -> bool:
        """Whether every trial was run."""
        return not any(each.left for each in self.agents)

    def __fspath__(self) -> str:
        if len(self.agents) != 1:
            raise UsageError(f"{len(self.agents)} agents were asked: each has a run directory of its own")
        return str(self.agents[0].out)

    def gate(self, *, min_pass_rate: float | None = None) -> Gate:
        """Whether the only agent is good enough. A run with trials left does not pass."""
        decided = self.result.gate(min_pass_rate=min_pass_rate)
        # A gate fails closed: the trials that were not run might have failed.
        if self.complete:
            return decided
        return Gate(passed=None, sentence="gate: not every trial was run, which is not a pass")

    def to_dict(self) -> dict[str, Any]:
        """What was run, as `pantrace run --json` prints it: with one agent beside its evaluation, with several each
        with its own."""
        agents = [ran_as_plain(each) for each in self.agents]
        # With one agent the document is that of `eval`, so that scripts read both in the same way.
        if len(self.results) == 1:
            return {**self.result.to_dict(), "agents": agents}
        for each, found in zip(agents, self.results, strict=False):
            each["evaluation"] = found.to_dict()
        compared = {"comparison": self.comparison.to_dict()} if self.comparison is not None else {}
        return {"agents": agents, **compared}

    def table(self) -> Table:
        """One row for each agent."""
        columns: dict[str, type] = {"agent": str, "ran": int, "reused": int, "unanswered": int, "left": int}
        columns |= {"tokens": int, "cost_usd": float, "recordings": str}
        rows = [
            (
                each.name,
                each.ran,
                each.reused,
                len(each.failed),
                each.left,
                _tokens(each),
                _cost(each),
                str(each.recordings),
            )
            for each in self.agents
        ]
        told = [f"{name}: {why}" for each in self.agents for name, why in each.failed[:10]]
        left_out = [f"left out: {error}" for error in self.notes.broken]
        decided = [found.overview().sentence for found in self.results]
        return Table(columns, [*rows], sentence="; ".join(decided), notes=[*told, *left_out])


def _tokens(ran: Ran) -> int | None:
    """The reported tokens; None if none were reported, since a run that used no tokens does not exist."""
    return ran.tokens or None


def _cost(ran: Ran) -> float | None:
    """The known cost; None if no trial's cost is known."""
    return None if ran.unpriced and not ran.usd else ran.usd


def ran_as_plain(ran: Ran) -> dict[str, Any]:
    """What one agent did, as plain data."""
    failed = [{"trial": name, "reason": why} for name, why in ran.failed]
    counts = {name: getattr(ran, name) for name in ("name", "ran", "reused", "superseded", "left")}
    spent = {"tokens": _tokens(ran), "usd": _cost(ran), "unpriced": ran.unpriced}
    return {**counts, **spent, "failed": failed, "recordings": str(ran.recordings)}
