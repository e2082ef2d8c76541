"""Summary: what an evaluation found, from the run directory alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.model import Record, Scale
from pantrace.stats import Estimate
from pantrace.store import query

from .aggregate import within
from .compare_cases import average
from .measure import Chosen
from .stored_totals import Place, stored_numbers
from .totals import Total


class MetricSummary(Record, frozen=True, kw_only=True):
    """One metric over all samples, or over those of one group."""

    metric: str
    maker: str | None
    """check, rubric, stored."""
    group: str | None = None
    """"label=value" or "agent=name"; None for all samples."""
    scored: int
    not_applicable: int
    unscored: int
    """Unscored and failed together."""
    estimate: Estimate | None
    """The mean of numbers, the share of true; None for words or when nothing was scored."""
    why_not: str | None = None
    """The most frequent reason of those that have no value."""
    together: tuple[Total, ...] = ()
    """What the metric itself makes of all samples together, where that is no mean: a ratio of sums, a sum."""


class DecisionSummary(Record, frozen=True, kw_only=True):
    """How the samples were decided by one profile."""

    profile: str
    passed: int
    failed: int
    undecided: int
    rate: Estimate | None
    """Passed of those decided."""
    reasons: tuple[tuple[str, int], ...] = ()


class EvalSummary(Record, frozen=True, kw_only=True):
    """An evaluation in numbers."""

    samples: int
    metrics: tuple[MetricSummary, ...]
    groups: tuple[MetricSummary, ...]
    decisions: tuple[DecisionSummary, ...]


# Grades of Inspect (C, I, P, N) count as Inspect counts them.
_SCORES = """
select s.name, s.maker_kind, s.origin, s.status,
    coalesce(s.value, case s.text when 'C' then 1.0 when 'I' then 0.0 when 'P' then 0.5 when 'N' then 0.0 end),
    s.value_type, s.explanation, x.agent, x.labels, coalesce(x.case_id, x.sample), s.scale_low, s.scale_high
from scores s join samples x using (run, part, number)
order by s.run, s.part, s.number
"""


_DECISIONS = """
select d.profile, d.passed, d.reasons, coalesce(x.case_id, x.sample)
from decisions d join samples x using (run, part, number)
order by d.run, d.part, d.number
"""


def summarise(out: Path, own: Iterable[Chosen] = ()) -> EvalSummary:
    """The numbers of a run directory, from the rows that it holds. What metrics make of all samples together is told
    for the built-in ones and for one's own."""
    samples = query(out, "select part, number, agent, labels from samples").rows
    rows = query(out, _SCORES).rows
    metrics, groups = _metrics(rows, None), _groups(rows)
    shown = {each.group for each in groups}
    members: dict[Place, list[str]] = {
        (part, number): [name for name in map("=".join, _labels(agent, labels)) if name in shown]
        for part, number, agent, labels in samples
    }
    together = stored_numbers(out, members, own)

    def completed(each: MetricSummary) -> MetricSummary:
        found = together.get((each.metric, each.group)) if each.maker == "check" else None
        return replace(each, together=found) if found else each

    return EvalSummary(
        samples=len(samples),
        metrics=tuple(map(completed, metrics)),
        groups=tuple(map(completed, groups)),
        decisions=tuple(_decisions(out)),
    )


def _metrics(rows: Sequence[tuple[Any, ...]], group: str | None) -> list[MetricSummary]:
    found: dict[tuple[str, str | None], list[tuple[Any, ...]]] = {}
    for row in rows:
        kind = row[1] or ("stored" if row[2] == "stored" else None)
        found.setdefault((row[0], kind), []).append(row)
    return [_metric(name, kind, each, group) for (name, kind), each in found.items()]


def _metric(name: str, kind: str | None, rows: Sequence[tuple[Any, ...]], group: str | None) -> MetricSummary:
    reasons = [row[6] for row in rows if row[3] != "scored" and row[6]]
    return MetricSummary(
        metric=name,
        maker=kind,
        group=group,
        scored=sum(row[3] == "scored" for row in rows),
        not_applicable=sum(row[3] == "not_applicable" for row in rows),
        unscored=sum(row[3] in ("unscored", "failed") for row in rows),
        estimate=_estimate([row for row in rows if row[3] == "scored" and row[4] is not None], kind),
        why_not=max(dict.fromkeys(reasons), key=reasons.count) if reasons else None,
    )


def _estimate(rows: Sequence[tuple[Any, ...]], kind: str | None) -> Estimate | None:
    """The mean, or the share of true: over cases, however often each was repeated, and within the scale."""
    by_case: dict[str, list[float]] = {}
    for row in rows:
        by_case.setdefault(row[9], []).append(float(row[4]))
    # A metric that counts may happen to count zeros and ones; of anybody else these are no and yes.
    binary = all(row[5] == "boolean" or (kind != "check" and row[4] in (0, 1)) for row in rows)
    found = average(by_case, binary) if rows else None
    if found is None:
        return None
    low = next((row[10] for row in rows if row[10] is not None), 0.0 if binary else None)
    high = next((row[11] for row in rows if row[11] is not None), 1.0 if binary else None)
    return within(found, Scale(low=low, high=high))


def _groups(rows: Sequence[tuple[Any, ...]]) -> list[MetricSummary]:
    """Metrics per agent and per label, where there is more than one of a kind."""
    grouped: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for row in rows:
        for name, value in _labels(row[7], row[8]):
            grouped.setdefault(name, {}).setdefault(value, []).append(row)
    return [
        each
        for name, values in sorted(grouped.items())
        if 1 < len(values) <= 12
        for value, found in sorted(values.items())
        for each in _metrics(found, f"{name}={value}")
        if each.scored
    ]


@lru_cache(maxsize=4096)
def _labels(agent: str | None, labels: str | None) -> tuple[tuple[str, str], ...]:
    """What a sample may be grouped by: the labels of its case, and its agent."""
    from msgspec.json import decode

    found = {name: str(value) for name, value in decode(labels).items()} if labels else {}
    return tuple((found | {"agent": agent} if agent else found).items())


def _decisions(out: Path) -> list[DecisionSummary]:
    from msgspec.json import decode

    found: dict[str, list[tuple[bool | None, str, str]]] = {}
    for profile, *row in query(out, _DECISIONS).rows:
        found.setdefault(profile, []).append((row[0], row[1], row[2]))
    summaries = []
    for profile, rows in sorted(found.items()):
        passed = sum(each is True for each, _, _ in rows)
        failed = sum(each is False for each, _, _ in rows)
        by_case: dict[str, list[float]] = {}
        for each, _, case in rows:
            if each is not None:
                by_case.setdefault(case, []).append(float(each))
        rate = average(by_case, binary=True)
        told: dict[str, int] = {}
        for _, text, _ in rows:
            for reason in decode(text):
                kind = reason.partition(":")[0] if len(reason) > 60 else reason
                told[kind] = told.get(kind, 0) + 1
        summaries.append(
            DecisionSummary(
                profile=profile,
                passed=passed,
                failed=failed,
                undecided=len(rows) - passed - failed,
                rate=within(rate, Scale(low=0.0, high=1.0)) if rate is not None else None,
                reasons=tuple(sorted(told.items(), key=lambda item: (-item[1], item[0]))[:8]),
            )
        )
    return summaries


def gate_code(summary: EvalSummary, min_pass_rate: float, profile: str | None = None) -> int:
    """0 pass, 1 fail, 3 could not decide. What could not be decided does not pass."""
    chosen = [each for each in summary.decisions if profile is None or each.profile == profile]
    passed, failed = sum(each.passed for each in chosen), sum(each.failed for each in chosen)
    undecided = sum(each.undecided for each in chosen)
    total = passed + failed + undecided
    if total == 0:
        return 3
    # Even if every undecided sample passed, the rate would be too low: that is a failure, not a doubt.
    if (passed + undecided) / total < min_pass_rate:
        return 1
    return 0 if passed / total >= min_pass_rate else 3
