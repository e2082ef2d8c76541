"""Reducing the scores of a run directory: SQL over plain columns of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pantrace.metrics.pooling import Sums
from pantrace.model import Measure
from pantrace.stats.moments import Moments, RatioMoments

from .reduce import Total, total_of, usual_reason
from .reliability import Reliability, reliability_of
from .score_columns import Columns

MEMORY = "60MB"
"""What the database may hold; the rest goes to the disk."""


@dataclass
class Line:
    """One measure of one kind of maker, over all samples or over those of one group."""

    metric: str
    measure: str
    """Its address."""
    kind: str | None
    group: str | None
    scored: int = 0
    not_applicable: int = 0
    unscored: int = 0
    why_not: str | None = None
    booleans: bool = False
    scale_low: float | None = None
    scale_high: float | None = None
    better: Literal["higher", "lower"] | None = None
    moments: Moments | None = None
    total: Total | None = None
    reliability: Reliability | None = None


@dataclass
class Reduced:
    """All lines, in the order in which the first sample has its scores."""

    samples: int
    lines: list[Line] = field(default_factory=list)


_COUNTS = """
with told as (
    select {group} as group_id, made, count_if(status = 0) as scored, count_if(status in (2, 3)) as unscored,
        count(*) as scores
    from statuses {join} group by all
), absences_of as (
    select {group} as group_id, absence, count(*) as scores from absences {join} group by all
), both_kinds as (
    from told union all select group_id, made, 0, 0, scores from absences_of join absent using (absence)
)
select group_id, made, sum(scored)::bigint, sum(unscored)::bigint, sum(scores)::bigint from both_kinds group by all
"""
_ONCE = """
select {group} as group_id, id, count(*), count(*), favg(value), var_samp(value), fsum(value), min(value),
    max(value), bool_and(value in (0, 1))
from figures {join} {only} group by all
"""
_REPEATED = """
with cases as (
    select {group} as group_id, id, case_id, favg(value) as mean, count(*) as trials, fsum(value) as total,
        min(value) as lowest, max(value) as highest, bool_and(value in (0, 1)) as yes_or_no
    from figures join places using (place) {join} {only} group by all
)
select group_id, id, count(*), sum(trials)::bigint, favg(mean), var_samp(mean), fsum(total), min(lowest),
    max(highest), bool_and(yes_or_no)
from cases group by all
"""
_RATIO = """
with cases as (
    select {group} as group_id, case_id, fsum(value) filter (id = $above) as above,
        fsum(value) filter (id = $below) as below
    from figures join places using (place) {join} where id in ($above, $below) group by all
)
select group_id, count_if(below > 0), fsum(above), fsum(below), fsum(above * above), fsum(below * below),
    fsum(above * below)
from cases where above is not null and below is not null group by all
"""
_TASKS = """
with cases as (
    select {group} as group_id, case_id, count(*) as trials, fsum(value)::bigint as successes
    from figures join places using (place) {join} where id = $id group by all
)
select group_id, trials, successes, count(*) from cases group by all order by all
"""

Group = int | None


class _Tables:
    """The figures of one way to group, and the questions that go with it."""

    def __init__(self, database: Any, *, grouped: bool, repeats: bool, only: Collection[int] = ()) -> None:
        """`only`: measures that are wanted, where not all are."""
        self._database = database
        self._only = f"where id in ({', '.join(map(str, only))})" if only else ""
        self._group, self._join = ("group_id", "join members using (place)") if grouped else ("null", "")
        self.repeats = repeats
        self.rows: dict[tuple[Group, int], tuple[Any, ...]] = {
            (group, number): tuple(rest) for group, number, *rest in self.ask(_REPEATED if repeats else _ONCE)
        }
        """(group, measure) -> cases, trials, mean, variance, sum, lowest, highest, whether all are 0 or 1."""
        self._ratios: dict[tuple[int, int], dict[Group, RatioMoments]] = {}
        self._tasks: dict[int, dict[Group, list[tuple[int, int, int]]]] = {}

    def ask(self, question: str, **values: Any) -> list[tuple[Any, ...]]:
        text = (
            question.replace("{group} as", f"{self._group} as")
            .replace("{join}", self._join)
            .replace("{only}", self._only)
        )
        found: list[tuple[Any, ...]] = self._database.execute(text, values or None).fetchall()
        return found

    def moments(self, group: Group, number: int) -> Moments | None:
        row = self.rows.get((group, number))
        if row is None:
            return None
        return Moments(
            cases=row[0],
            trials=row[1],
            mean=row[2],
            variance=row[3],
            lowest=row[5],
            highest=row[6],
            yes_or_no=row[7],
        )

    def total(self, measure: Measure, group: Group, ids: dict[str, int], samples: int) -> Total | None:
        """What the measure comes to over all samples of a group."""
        sums, ratio = Sums(), None
        for name in measure.over or (measure.name,):
            if (row := self.rows.get((group, ids.get(name, 0)))) is not None:
                sums.put(name, row[1], row[4])
        if measure.over is not None and all(name in ids for name in measure.over):
            ratio = self._ratio(ids[measure.over[0]], ids[measure.over[1]]).get(group)
        return total_of(measure, sums, samples, ratio, self.moments(group, ids.get(measure.name, 0)))

    def _ratio(self, above: int, below: int) -> dict[Group, RatioMoments]:
        if (above, below) not in self._ratios:
            self._ratios[above, below] = {
                group: RatioMoments(cases=cases, above=y, below=x, above_squared=yy, below_squared=xx, product=xy)
                for group, cases, y, x, yy, xx, xy in self.ask(_RATIO, above=above, below=below)
            }
        return self._ratios[above, below]

    def reliability(self, group: Group, number: int) -> Reliability | None:
        """pass@k and pass^k of a measure whose numbers are all 0 or 1."""
        if number not in self._tasks:
            found = self._tasks[number] = {}
            for each, trials, successes, cases in self.ask(_TASKS, id=number):
                found.setdefault(each, []).append((trials, successes, cases))
        return reliability_of(self._tasks[number].get(group, ()))


def reduce_stored(database: Any, columns: Columns, measures: Sequence[Measure]) -> Reduced:
    """Every measure of the run directory, over all samples and over the groups that labels and agents make."""
    declared: dict[str, dict[str, Measure]] = {}
    for each in measures:
        declared.setdefault(each.metric, {})[each.name] = each
    lines: list[Line] = []
    lines += _lines(_Tables(database, grouped=False, repeats=columns.repeats), columns, declared)
    if columns.groups:
        # Groups are many: they have the headlines, with what these are made of.
        shown = _headlines(columns, declared)
        lines += _lines(_Tables(database, grouped=True, repeats=columns.repeats, only=shown), columns, declared)
    order = columns.order
    lines.sort(key=lambda each: (each.group or "", order.get(each.metric, len(order)), each.metric, each.kind or ""))
    return Reduced(samples=columns.samples, lines=lines)


def _headlines(columns: Columns, declared: dict[str, dict[str, Measure]]) -> set[int]:
    """The measures that stand in tables, and those that their ratios are made of."""
    found: set[int] = set()
    for (name, kind), made in columns.made.items():
        own = declared.get(name, {}) if kind == "check" else {}
        wanted = {key for each in own.values() if each.headline for key in (each.name, *(each.over or ()))}
        found |= {number for key, number in made.keys.items() if key in wanted or key not in own}
    return found


def _lines(tables: _Tables, columns: Columns, declared: dict[str, dict[str, Measure]]) -> Iterator[Line]:
    by_id = {made.id: (name, kind, made) for (name, kind), made in columns.made.items()}
    for group, number, scored, unscored, count in tables.ask(_COUNTS):
        name, kind, made = by_id[number]
        numbers = made.keys
        own = declared.get(name, {}) if kind == "check" else {}
        # The main measure has a line whether or not it has a number; of the others, those that have one.
        main = next(iter(own), "" if not numbers else None)
        for key in [each for each in dict.fromkeys((*own, *numbers, "")) if each in numbers or each == main]:
            moments = tables.moments(group, numbers.get(key, 0))
            with_value = scored if not key else moments.trials if moments else 0
            line = Line(
                metric=name,
                measure=f"{name}.{key}" if key else name,
                kind=kind,
                group=None if group is None else columns.groups[group],
                scored=with_value,
                unscored=unscored,
                not_applicable=count - unscored - with_value,
                why_not=usual_reason(made.reasons),
                booleans=made.booleans,
                scale_low=made.scale_low,
                scale_high=made.scale_high,
                better=made.better,
                moments=moments,
            )
            if key in own:
                line.total = tables.total(own[key], group, numbers, count)
            # A yes that is bad, such as a limit reached, is no success.
            says_yes = (
                own[key].yes_or_no and own[key].better == "higher" if key in own else kind != "check" or made.booleans
            )
            if tables.repeats and says_yes and moments is not None and moments.yes_or_no:
                line.reliability = tables.reliability(group, numbers[key])
            yield line
