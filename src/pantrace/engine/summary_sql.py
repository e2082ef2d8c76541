"""Reduces the scores of a run directory: counts by SQL, numbers one measure at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pantrace.model import Measure
from pantrace.stats.moments import Moments

from .case_sums import CaseSums
from .reduce import Total, main_reason
from .reliability import Reliability
from .score_columns import Columns

MEMORY = "160MB"
"""Memory for the database; the rest goes to the disk."""


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
    """All lines, in the order of the first sample's scores."""

    samples: int
    lines: list[Line] = field(default_factory=list)


# Scores that do not apply are counted once per text and then joined with the scores in the text: a row for each of them
# would be half of all rows.
_COUNTS = """
with counted as (
    select {group} as group_id, made, sum(scores * (status = 0)::int) as scored,
        sum(scores * (status in (2, 3))::int) as unscored, sum(scores) as scores
    from statuses {join} group by all
), absences_of as (
    select {group} as group_id, absence, sum(scores) as scores from absences {join} group by all
), both_kinds as (
    from counted union all select group_id, made, 0, 0, scores from absences_of join absent using (absence)
)
select group_id, made, sum(scored)::bigint, sum(unscored)::bigint, sum(scores)::bigint from both_kinds group by all
"""


def reduce_stored(database: Any, columns: Columns, measures: Sequence[Measure]) -> Reduced:
    """Every measure of the run directory, over all samples and over the groups by label and agent."""
    declared: dict[str, dict[str, Measure]] = {}
    for each in measures:
        declared.setdefault(each.metric, {})[each.name] = each
    lines: list[Line] = []
    lines += _lines(database, CaseSums(columns, grouped=False), columns, declared)
    if columns.groups:
        # There are many groups, so they get only the headline measures, and what their ratios need.
        shown = _headlines(columns, declared)
        lines += _lines(database, CaseSums(columns, grouped=True, only=shown), columns, declared, grouped=True)
    order = columns.order
    lines.sort(key=lambda each: (each.group or "", order.get(each.metric, len(order)), each.metric, each.kind or ""))
    return Reduced(samples=columns.samples, lines=lines)


def _headlines(columns: Columns, declared: dict[str, dict[str, Measure]]) -> set[int]:
    """The measures that tables show, and those that their ratios need."""
    found: set[int] = set()
    for (name, kind), made in columns.made.items():
        own = declared.get(name, {}) if kind == "check" else {}
        wanted = {key for each in own.values() if each.headline for key in (each.name, *(each.over or ()))}
        found |= {number for key, number in made.keys.items() if key in wanted or key not in own}
    return found


def _lines(
    database: Any, sums: CaseSums, columns: Columns, declared: dict[str, dict[str, Measure]], *, grouped: bool = False
) -> Iterator[Line]:
    by_id = {made.id: (name, kind, made) for (name, kind), made in columns.made.items()}
    group_id, join = ("group_id", "join members using (bunch)") if grouped else ("null", "")
    counts = database.execute(_COUNTS.format(group=group_id, join=join)).fetchall()
    for group, number, scored, unscored, count in counts:
        name, kind, made = by_id[number]
        numbers = made.keys
        own = declared.get(name, {}) if kind == "check" else {}
        # The main measure always has a line; the others only if they have a number.
        main = next(iter(own), "" if not numbers else None)
        for key in [each for each in dict.fromkeys((*own, *numbers, "")) if each in numbers or each == main]:
            moments = sums.moments(group, numbers.get(key, 0))
            with_value = scored if not key else moments.trials if moments else 0
            line = Line(
                metric=name,
                measure=f"{name}.{key}" if key else name,
                kind=kind,
                group=None if group is None else columns.groups[group],
                scored=with_value,
                unscored=unscored,
                not_applicable=count - unscored - with_value,
                why_not=main_reason(made.reasons),
                booleans=made.booleans,
                scale_low=made.scale_low,
                scale_high=made.scale_high,
                better=made.better,
                moments=moments,
            )
            if key in own:
                line.total = sums.total(own[key], group, numbers, count)
            # A yes that is bad, such as a limit that was reached, is not a success.
            says_yes = (
                own[key].yes_or_no and own[key].better == "higher" if key in own else kind != "check" or made.booleans
            )
            if sums.repeats and says_yes and moments is not None and moments.yes_or_no:
                line.reliability = sums.reliability(group, numbers[key])
            yield line
