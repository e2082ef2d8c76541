"""Summary: the results of an evaluation, from the run directory alone. A database does the sums, so memory stays
flat."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import closing
from math import fsum
from pathlib import Path
from typing import Any, Literal

import msgspec

from pantrace.metrics import measures
from pantrace.model import Measure, Record, Scale, Unit
from pantrace.stats import Estimate
from pantrace.stats.moments import Moments
from pantrace.store import workbench

from .denominator import Denominator, denominator_of
from .measure import Chosen
from .reduce import Total, estimate_of, within
from .reliability import Reliability, reliability_of
from .score_columns import Columns
from .summary_sql import MEMORY, Line, reduce_stored
from .table import Table, Tabular


class MetricSummary(Record, frozen=True, kw_only=True):
    """One measure over all samples, or over those of one group."""

    metric: str
    """Its address: token_usage.total_tokens."""
    maker: str | None
    """check, rubric, stored."""
    group: str | None = None
    """"label=value" or "agent=name"; None for all samples."""
    unit: Unit | None = None
    better: Literal["higher", "lower"] | None = None
    headline: bool = True
    """Whether it is shown in tables that have no room for all."""
    scored: int
    """Samples that have a value."""
    not_applicable: int
    unscored: int
    """Unscored and failed together."""
    estimate: Estimate | None
    """The mean over cases, or the share of true; None for words, or if nothing was scored."""
    why_not: str | None = None
    """The most frequent reason why there is no value."""
    together: Total | None = None
    """The total over all samples, if that is not a mean over cases: a ratio of sums, a sum, a rate."""
    reliability: Reliability | None = None
    """pass@k and pass^k, if cases were repeated and are yes or no."""


class DecisionSummary(Record, frozen=True, kw_only=True):
    """How the samples were decided by one profile."""

    profile: str
    passed: int
    """These three are numbers of samples; the shares below are means over cases."""
    failed: int
    undecided: int
    cases: int
    pass_rate: float
    """What a gate uses: the share of a case's samples that passed, averaged over cases. A sample that could not be
    decided has not passed."""
    pass_rate_at_best: float
    """The same if every sample that could not be decided had passed."""
    rate: Estimate | None
    """The share of decided samples that passed: the mean over cases, repeats averaged within the case."""
    reasons: tuple[tuple[str, int], ...] = ()
    reliability: Reliability | None = None


class EvalSummary(Record, Tabular, frozen=True, kw_only=True):
    """An evaluation in numbers."""

    samples: int
    denominator: Denominator
    metrics: tuple[MetricSummary, ...]
    groups: tuple[MetricSummary, ...]
    decisions: tuple[DecisionSummary, ...]

    __repr__ = Tabular.__repr__

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles of these decisions."""
        return tuple(each.profile for each in self.decisions)

    def only_by(self, profiles: Collection[str]) -> EvalSummary:
        """Without the decisions of other profiles: a run directory also has those of every gate that was tried."""
        chosen = tuple(each for each in self.decisions if each.profile in profiles)
        return msgspec.structs.replace(self, decisions=chosen)

    def table(self) -> Table:
        """One row for each measure, over all samples and then for each group."""
        columns: dict[str, type] = {"metric": str, "group": str, "unit": str, "scored": int, "not_applicable": int}
        columns |= {"unscored": int, "mean": float, "low": float, "high": float}
        rows = []
        for each in (*self.metrics, *self.groups):
            found = each.estimate
            mean = (None, None, None) if found is None else (found.value, found.low, found.high)
            counts = (each.scored, each.not_applicable, each.unscored)
            rows.append((each.metric, each.group, each.unit, *counts, *mean))
        return Table(columns, [*rows])

    def overview(self) -> Table:
        """The measures with a number, each as its mean over cases with a 95 % interval."""
        # Here, because these modules put summaries into words and import this one.
        from .decided_words import verdict_words
        from .denominator import denominator_words
        from .estimate_words import estimate_words

        rows, silent = [], []
        for each in self.metrics:
            if each.headline and each.estimate is not None:
                rows.append((each.metric, each.scored, estimate_words(each.estimate, each.unit, scored=each.scored)))
            elif each.headline:
                silent.append(each.metric)
        decided = [verdict_words(each) for each in self.decisions]
        notes = [f"without a number: {', '.join(silent)}"] if silent else []
        return Table(
            {"metric": str, "scored": int, "mean [95 %]": str},
            [*rows],
            sentence="; ".join(decided) or f"{self.samples} samples, none decided",
            notes=[*notes, denominator_words(self.denominator)],
        )


def summarise(out: Path, own: Iterable[Chosen] = ()) -> EvalSummary:
    """The numbers of a run directory. `own`: metrics of plugins, so that their measures are known, too."""
    plugins = [each for each, _ in own if not each.is_ours]
    declared = measures(plugins)
    known = {each.address: each for each in declared}
    with workbench(out, MEMORY, {"samples", "decisions"}) as database:
        columns = Columns(database, out, {each.metric: each.name for each in reversed(declared)})
        with closing(columns.figures):
            reduced = reduce_stored(database, columns, declared)
        return EvalSummary(
            samples=reduced.samples,
            denominator=denominator_of(out, database, columns),
            metrics=tuple(_summary(each, known.get(each.measure)) for each in reduced.lines if each.group is None),
            groups=tuple(
                _summary(each, known.get(each.measure))
                for each in reduced.lines
                if each.group is not None and each.scored
            ),
            decisions=tuple(_decisions(database)),
        )


def _summary(line: Line, measure: Measure | None) -> MetricSummary:
    ours = measure if line.kind == "check" else None
    if ours is not None:
        binary, scale = ours.yes_or_no, Scale(low=ours.low, high=ours.high)
    else:
        # A metric of ours may be a count that happens to be 0 or 1; for everybody else these mean no and yes.
        binary = line.booleans or line.kind != "check"
        scale = Scale(low=line.scale_low, high=line.scale_high)
    return MetricSummary(
        metric=line.measure,
        maker=line.kind,
        group=line.group,
        unit=ours.unit if ours else None,
        better=ours.better if ours else line.better,
        headline=ours is None or ours.headline,
        scored=line.scored,
        not_applicable=line.not_applicable,
        unscored=line.unscored,
        estimate=estimate_of(line.moments, binary=binary, scale=scale),
        why_not=line.why_not,
        together=line.total,
        reliability=line.reliability if binary else None,
    )


_DECISIONS = """
with decided as (
    select d.profile, d.passed, coalesce(x.case_id, x.sample) as case_id
    from decisions d join samples x using (run, part, number)
), cases as (
    select profile, case_id, avg(passed::int) as mean, count(*) as samples, count(passed) as trials,
        count(*) filter (passed) as successes
    from decided group by profile, case_id
)
select profile, sum(trials)::bigint, count(mean), coalesce(favg(mean), 0), var_samp(mean), sum(successes)::bigint,
    sum(samples)::bigint, count(*), favg(successes / samples), favg((samples - trials + successes) / samples)
from cases group by profile order by profile
"""

# A reason has another number in each sample: "Below threshold: tone=0.31 (<0.50)" is counted without it. If it is still
# long, only the part before its colon counts.
_REASONS = """
with listed as (select profile, unnest(from_json(reasons, '["VARCHAR"]')) as reason from decisions),
each_reason as (select profile, regexp_replace(reason, '=-?[0-9][0-9.]*(e-?[0-9]+)?', '', 'g') as reason from listed)
select profile, case when length(reason) > 120 then split_part(reason, ':', 1) else reason end as kind, count(*) as n
from each_reason group by profile, kind order by profile, n desc, kind
"""


def _decisions(database: Any) -> list[DecisionSummary]:
    # SQL, because there may be millions of decisions. `favg` in it is DuckDB's average with compensated sums.
    reasons: dict[str, list[tuple[str, int]]] = {}
    for profile, reason, count in database.execute(_REASONS).fetchall():
        reasons.setdefault(profile, []).append((reason, count))
    found = []
    for row in database.execute(_DECISIONS).fetchall():
        profile, trials, decided, mean, variance, passed, samples, cases, least, most = row
        moments = Moments(cases=decided, trials=trials, mean=mean, variance=variance, yes_or_no=True)
        rate = estimate_of(moments, binary=True) if decided else None
        found.append(
            DecisionSummary(
                profile=profile,
                passed=passed,
                failed=trials - passed,
                undecided=samples - trials,
                cases=cases,
                pass_rate=least,
                pass_rate_at_best=most,
                rate=within(rate, Scale(low=0.0, high=1.0)) if rate is not None else None,
                reasons=tuple(reasons.get(profile, ())[:8]),
                reliability=reliability_of(_tasks(database, profile)) if trials > decided else None,
            )
        )
    return found


def _tasks(database: Any, profile: str) -> list[tuple[int, int, int]]:
    question = """
    with cases as (
        select count(passed) as trials, count_if(passed) as successes
        from decisions d join samples x using (run, part, number)
        where d.profile = ? group by coalesce(x.case_id, x.sample)
    ) select trials, successes, count(*) from cases where trials > 0 group by trials, successes
    """
    return [(trials, successes, count) for trials, successes, count in database.execute(question, [profile]).fetchall()]


def pass_rates(summary: EvalSummary) -> tuple[float, float]:
    """The share of cases that passed, repeats averaged, and what it would be if everything undecided passed: what a
    gate compares with its rate. Only for a summary with decisions."""
    unread = summary.denominator.refused
    cases = sum(each.cases for each in summary.decisions) + unread
    least = fsum(each.pass_rate * each.cases for each in summary.decisions) / cases
    return least, (fsum(each.pass_rate_at_best * each.cases for each in summary.decisions) + unread) / cases


def gate_code(summary: EvalSummary, min_pass_rate: float, *, complete: bool = False) -> int:
    """0 pass, 1 fail, 3 could not decide, by the share of cases that pass, repeats averaged within the case. A sample
    that could not be decided does not pass, and a record that could not be read counts as such a case. With
    `complete`, a run that lacks a case does not pass either."""
    # Of an evaluation that has not ended, nobody knows how many cases there will be: it has neither passed nor failed.
    if not summary.decisions or summary.denominator.unfinished:
        return 3
    least, most = pass_rates(summary)
    # Sums of thirds can be slightly less than the exact share.
    wanted = min_pass_rate - 1e-12
    # Even if every undecided sample passed, the rate would be too low: that is a failure, not a doubt.
    if most < wanted:
        return 1
    if complete and not summary.denominator.complete:
        return 3
    return 0 if least >= wanted else 3
