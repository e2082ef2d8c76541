"""Reducing the scores of a run directory in SQL: one pass decodes the numbers, all else adds up plain columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pantrace.metrics.pooling import Sums
from pantrace.model import Measure
from pantrace.stats.moments import Moments, RatioMoments

from .reduce import Total, total_of
from .reliability import Reliability, reliability_of

MEMORY = "120MB"
"""What the database may hold; the rest goes to the disk."""

MOST_GROUPS = 12
"""A label with more values than this groups nothing."""


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


# A sample is a number from here on, a case the hash of its name, a measure its place in a list: texts would be held
# millions of times.
_SETUP = (
    """
    create temp table places as
    select row_number() over (order by part, number)::uinteger as place, part, number,
        hash(coalesce(case_id, sample)) as case_hash, agent, labels from samples
    """,
    # What an earlier run left in the input counts only where this run has no such score of its own.
    """
    create temp table doubles as
    select distinct s.part, s.number, s.name
    from (select part, number, name from scores where origin = 'source' and maker_kind = 'check') s
    join (select part, number, name from scores where origin = 'run' and maker_kind = 'check') r
    using (part, number, name)
    """,
    """
    create temp view made as
    select p.place, s.name, s.maker_kind as kind, s.status, s.value, s.value_type, s.explanation, s.scale_low,
        s.scale_high, s.better, s.numbers
    from scores s join places p using (part, number)
    where not (s.origin = 'source' and s.maker_kind = 'check'
        and exists (select 1 from doubles d where (d.part, d.number, d.name) = (s.part, s.number, s.name)))
    """,
    """
    create temp table measure_ids as
    select row_number() over (order by name, kind, key)::usmallint as id, name, kind, key from (
        select distinct name, kind, unnest(json_keys(numbers)) as key from made where numbers is not null
        union select distinct name, kind, '' from made where numbers is null and value is not null
    )
    """,
    """
    create temp table figures as
    select f.place, i.id, f.value from (
        select place, name, kind, unnest(map_keys(named)) as key, unnest(map_values(named)) as value
        from (select place, name, kind, from_json(numbers, '"MAP(VARCHAR, DOUBLE)"') as named from made
              where numbers is not null)
        union all
        select place, name, kind, '', value from made where numbers is null and status = 'scored'
    ) f join measure_ids i on f.name = i.name and f.kind is not distinct from i.kind and f.key = i.key
    where f.value is not null and isfinite(f.value)
    """,
    """
    create temp table members as
    with labels as (
        select place, unnest(map_keys(named)) as label, unnest(map_values(named)) as content
        from (select place, from_json(labels, '"MAP(VARCHAR, VARCHAR)"') as named from places where labels is not null)
        union all select place, 'agent', agent from places where agent is not null
    ), useful as (
        select label from labels group by label having count(distinct content) between 2 and {most}
    )
    select l.place, l.label || '=' || l.content as group_name from labels l join useful using (label)
    """,
)

_COUNTS = """
select {group} as group_name, name, kind, count_if(status = 'scored'), count_if(status in ('unscored', 'failed')),
    count(*), bool_and(value_type = 'boolean') filter (value_type is not null), min(scale_low), max(scale_high),
    min(better)
from made {join} group by all
"""
_REASONS = """
with reasons as (
    select {group} as group_name, name, kind, explanation, count(*) as n from made {join}
    where status <> 'scored' and explanation is not null group by all
)
select group_name, name, kind, arg_max(explanation, n) from reasons group by all
"""
_ONCE = """
select {group} as group_name, id, count(*), count(*), favg(value), var_samp(value), fsum(value), min(value),
    max(value), bool_and(value in (0, 1))
from figures {join} group by all
"""
_REPEATED = """
with cases as (
    select {group} as group_name, id, case_hash, favg(value) as mean, count(*) as trials, fsum(value) as total,
        min(value) as lowest, max(value) as highest, bool_and(value in (0, 1)) as yes_or_no
    from figures join places using (place) {join} group by all
)
select group_name, id, count(*), sum(trials)::bigint, favg(mean), var_samp(mean), fsum(total), min(lowest),
    max(highest), bool_and(yes_or_no)
from cases group by all
"""
_RATIO = """
with cases as (
    select {group} as group_name, case_hash, fsum(value) filter (id = $above) as above,
        fsum(value) filter (id = $below) as below
    from figures join places using (place) {join} where id in ($above, $below) group by all
)
select group_name, count_if(below > 0), fsum(above), fsum(below), fsum(above * above), fsum(below * below),
    fsum(above * below)
from cases where above is not null and below is not null group by all
"""
_TASKS = """
with cases as (
    select {group} as group_name, case_hash, count(*) as trials, fsum(value)::bigint as successes
    from figures join places using (place) {join} where id = $id group by all
)
select group_name, trials, successes, count(*) from cases group by all order by all
"""

Group = str | None
Made = tuple[str, str | None]
"""Name and kind of maker."""


class _Tables:
    """The figures of one way to group, and the questions that go with it."""

    def __init__(self, database: Any, *, grouped: bool, repeats: bool) -> None:
        self._database = database
        self._group, self._join = ("group_name", "join members using (place)") if grouped else ("null", "")
        self.repeats = repeats
        self.rows: dict[tuple[Group, int], tuple[Any, ...]] = {
            (group, number): tuple(rest) for group, number, *rest in self.ask(_REPEATED if repeats else _ONCE)
        }
        """(group, measure) -> cases, trials, mean, variance, sum, lowest, highest, whether all are 0 or 1."""
        self._ratios: dict[tuple[int, int], dict[Group, RatioMoments]] = {}

    def ask(self, question: str, **values: Any) -> list[tuple[Any, ...]]:
        text = question.replace("{group} as", f"{self._group} as").replace("{join}", self._join)
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
        tasks = [tuple(rest) for each, *rest in self.ask(_TASKS, id=number) if each == group]
        return reliability_of([(trials, successes, cases) for trials, successes, cases in tasks])


def reduce_stored(database: Any, measures: Sequence[Measure]) -> Reduced:
    """Every measure of the run directory, over all samples and over the groups that labels and agents make."""
    for step in _SETUP:
        database.execute(step.replace("{most}", str(MOST_GROUPS)))
    samples, cases = database.execute("select count(*), count(distinct case_hash) from places").fetchone()
    declared: dict[str, dict[str, Measure]] = {}
    for each in measures:
        declared.setdefault(each.metric, {})[each.name] = each
    lines: list[Line] = []
    for grouped in (False, True):
        lines += _lines(_Tables(database, grouped=grouped, repeats=cases < samples), database, declared)
    first = database.execute("select name from made where place = 1").fetchall()
    rank = {name: place for place, name in enumerate(dict.fromkeys(name for (name,) in first))}
    lines.sort(key=lambda each: (each.group or "", rank.get(each.metric, len(rank)), each.metric, each.kind or ""))
    return Reduced(samples=samples, lines=lines)


def _lines(tables: _Tables, database: Any, declared: dict[str, dict[str, Measure]]) -> Iterator[Line]:
    reasons = {(group, name, kind): why for group, name, kind, why in tables.ask(_REASONS)}
    ids: dict[Made, dict[str, int]] = {}
    for number, name, kind, key in database.execute("select id, name, kind, key from measure_ids").fetchall():
        ids.setdefault((name, kind), {})[key] = number
    for group, name, kind, scored, unscored, count, booleans, low, high, better in tables.ask(_COUNTS):
        numbers = ids.get((name, kind), {})
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
                group=group,
                scored=with_value,
                unscored=unscored,
                not_applicable=count - unscored - with_value,
                why_not=reasons.get((group, name, kind)),
                booleans=bool(booleans),
                scale_low=low,
                scale_high=high,
                better=better,
                moments=moments,
            )
            if key in own:
                line.total = tables.total(own[key], group, numbers, count)
            if tables.repeats and moments is not None and moments.yes_or_no:
                line.reliability = tables.reliability(group, numbers[key])
            yield line
