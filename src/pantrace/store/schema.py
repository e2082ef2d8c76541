"""The tables of a run directory: one struct per table, one field per column, its meaning under it.

A number that its column cannot hold as it is (not finite, beyond 64 bits) is null there and exact in `json`.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, get_args, get_type_hints

from pantrace.model import Record

from .absent import VIEW as SCORES_VIEW

VERSION = 2
"""Version of the layout and of these columns. A directory of a later one is neither read nor continued; one of an
earlier version is read as it is, and becomes one of this version as soon as something is written into it."""


class RunRow(Record, frozen=True, kw_only=True):
    """One row per run directory, read from `run.json`."""

    id: str | None = None
    """The run's id in its source."""
    name: str | None = None
    """Its name."""
    created: float | None = None
    """When the run was made, as its header says. With `environment`, the only columns that two runs of the same input
    and plan may differ in."""
    task: str | None = None
    """What the agent was to do, as the source names it."""
    agent: str | None = None
    """The agent under test."""
    model: str | None = None
    """The model under test."""
    checkpoint: str | None = None
    """The trained state of the model."""
    status: str | None = None
    """As the writer left it; null while the run is being written for the first time."""
    config: str | None = None
    """JSON object: settings of the run."""
    dataset: str | None = None
    """JSON object: where the cases came from."""
    environment: str | None = None
    """JSON object: packages, device, memory."""
    results: str | None = None
    """JSON list: the aggregates of the run."""
    extra: str | None = None
    """JSON object: what the model has no word for."""
    format: str | None = None
    """Format of the input, where it had one."""
    source: str | None = None
    """Path of the input."""
    plan: str
    """The text of the plan."""
    plan_hash: str
    """Decides whether a run goes on in this directory."""
    pantrace: str
    """The version that made the directory."""


class Addressed(Record, frozen=True, kw_only=True, gc=False):
    """The first columns of every table but `runs`: which sample a row belongs to. Join tables by `part` and `number`
    (and by `run` when several directories are asked): ids repeat where a case was run several times."""

    part: str
    """Name of the part that holds the sample."""
    number: int
    """0-based place of the sample in its part."""
    sample: str
    """The sample's id."""
    epoch: int | None = None
    """1-based repetition of the same case."""


class SampleRow(Addressed, frozen=True, kw_only=True, gc=False):
    """One row per sample, with what the source recorded. What the run made of it is in `scores` and `decisions`."""

    case_id: str | None = None
    """Id of the case."""
    scenario: str | None = None
    """Scenario of the case."""
    agent: str | None = None
    """The agent under test, else the first that took part."""
    question: str | None = None
    """What the case asks."""
    goal: str | None = None
    """What a good run reaches."""
    reference: str | None = None
    """The ideal answer."""
    response: str | None = None
    """The last thing the agent said."""
    labels: str | None = None
    """JSON object: difficulty, quality_band, topic and the like."""
    profile: str | None = None
    """The threshold profile that the case asks for."""
    contract: str | None = None
    """The output contract that the answer must meet."""
    required_evals: str | None = None
    """JSON list: the evals that the case requires; null in parts of earlier versions, which say it only in `json`."""
    status: str | None = None
    """The recorded outcome: passed, failed, error, cancelled, limit or unscored; null: none was recorded."""
    reason: str | None = None
    """Why it ended so, as recorded."""
    reward: float | None = None
    """As recorded."""
    title: str | None = None
    """Title of the trajectory."""
    format: str | None = None
    """Format it was read from."""
    producer: str | None = None
    """The program that recorded it."""
    source: str | None = None
    """Path of the file it was read from."""
    place: str | None = None
    """Line, member or row in that file."""
    created: float | None = None
    """Epoch seconds."""
    ended: float | None = None
    """Epoch seconds."""
    models: str | None = None
    """JSON list of the models that answered, in order of appearance."""
    trajectories: int
    """The trajectory and those of sub-agents; 0 for a case that was not run."""
    turns: int
    """User prompts, those to sub-agents not counted."""
    steps: int
    """Of all trajectories."""
    calls: int
    """Tool calls of all trajectories."""
    input_tokens: int | None = None
    """Sub-agents included, as the other sums; null: not reported."""
    output_tokens: int | None = None
    """Generated tokens, reasoning included."""
    cache_read_tokens: int | None = None
    """The part of `input_tokens` that came from a cache."""
    cache_write_tokens: int | None = None
    """The part of `input_tokens` that was written to a cache."""
    reasoning_tokens: int | None = None
    """The part of `output_tokens` that was reasoning."""
    total_tokens: int | None = None
    """As reported."""
    cost_usd: float | None = None
    """As reported."""
    not_applicable: str | None = None
    """JSON list: the run's scores that only say that they do not apply, each with its place among all that the run
    made. They have no row in the part; in a query, `scores` has one for each."""
    json: str
    """The whole sample in the native format, without the scores that the run made."""


class StepRow(Addressed, frozen=True, kw_only=True, gc=False):
    """One row per step of what the agent did, sub-agents included; what was expected is only in `samples.json`."""

    trajectory: int
    """0 for the sample's own trajectory, then its sub-agents', depth first."""
    trajectory_id: str | None = None
    """Its id in the source."""
    step: int
    """0-based place in its trajectory."""
    id: str | None = None
    """The step's id in the source; what `scores.evidence` names."""
    parent: str | None = None
    """Id of the step this one answers or continues."""
    role: str
    """system, user, agent or tool."""
    kind: str
    """message, compaction, synthetic, copied, user_shell or note."""
    agent: str | None = None
    """The agent that speaks; of a user step, the one spoken to."""
    turn: int
    """1-based number of the user prompt it belongs to, 0 before the first one."""
    invocation: str | None = None
    """Id of the invocation it belongs to."""
    started: float | None = None
    """Epoch seconds."""
    ended: float | None = None
    """Epoch seconds."""
    model: str | None = None
    """The model that answered."""
    text: str | None = None
    """What was said, without what the program inserted."""
    thinking: str | None = None
    """Recorded reasoning, or its summary where the reasoning is hidden."""
    actions: str | None = None
    """JSON list of the GUI actions; null: none."""
    calls: int
    """Tool calls made in the step."""
    input_tokens: int | None = None
    """Prompt tokens, cached ones included; null: not reported."""
    output_tokens: int | None = None
    """Generated tokens, reasoning included."""
    cache_read_tokens: int | None = None
    """The part of `input_tokens` that came from a cache."""
    cache_write_tokens: int | None = None
    """The part of `input_tokens` that was written to a cache."""
    reasoning_tokens: int | None = None
    """The part of `output_tokens` that was reasoning."""
    total_tokens: int | None = None
    """As reported."""
    cost_usd: float | None = None
    """As reported."""
    stop: str | None = None
    """Why the model stopped, in the source's word."""
    error_kind: str | None = None
    """The source's name for what went wrong."""
    error: str | None = None
    """Its message."""


class CallRow(Addressed, frozen=True, kw_only=True, gc=False):
    """One row per tool call with its result, the user's own shell commands and copied context included (see `kind`)."""

    trajectory: int
    """As in `steps`."""
    step: int
    """0-based place of the calling step in its trajectory."""
    call: int
    """0-based place among the calls of the trajectory."""
    id: str | None = None
    """The call's id in the source."""
    kind: str
    """Kind of the calling step; the agent's own calls are of kind message."""
    agent: str | None = None
    """The agent that called."""
    name: str
    """The tool."""
    arguments: str | None = None
    """JSON, whatever its type; null: none recorded."""
    answered: bool
    """Whether there is a result."""
    output: str | None = None
    """Text as it is, any other value as JSON."""
    error: str | None = None
    """The error's text, as recorded."""
    failure: str | None = None
    """error, invalid_tool, invalid_arguments, exit_code, denied, cancelled or timeout; null: no failure was seen."""
    exit_code: int | None = None
    """Of a command."""
    truncated: bool | None = None
    """Whether the recording holds only a part of the output; null without a result."""
    started: float | None = None
    """Epoch seconds."""
    ended: float | None = None
    """Epoch seconds."""


class ScoreRow(Addressed, frozen=True, kw_only=True, gc=False):
    """One row per score: those that came with the sample, and those that the run made."""

    origin: str
    """source: came with the sample; run: made by this run. A score that the run found again as it came is there once,
    as source."""
    name: str
    """The metric."""
    value: float | None = None
    """The number; 1 and 0 for true and false; of a stored grade of Inspect (C, I, P, N) what Inspect counts it as; null
    for any other word, and where there is no value."""
    value_type: str | None = None
    """number, boolean or text; null: no value."""
    text: str | None = None
    """The word; for a number that `value` cannot hold, its exact text (NaN, Infinity, a long integer)."""
    status: str
    """scored, not_applicable, failed or unscored."""
    passed: bool | None = None
    """Whether it reached its own threshold; null: it has none."""
    threshold: float | None = None
    """The score's own, where it has one."""
    scale_low: float | None = None
    """The lowest value there can be; null: not declared."""
    scale_high: float | None = None
    """The highest value there can be; null: not declared."""
    better: str | None = None
    """higher or lower; null: no scale."""
    explanation: str | None = None
    """The reason for the value, or why there is none."""
    evidence: str | None = None
    """JSON list of step ids; null: none."""
    numbers: str | None = None
    """JSON object: every measure of the metric by name; null: `value` is the only one. The view `measures` has a row
    for each."""
    details: str | None = None
    """JSON object; null: none."""
    maker: str | None = None
    """Metric, rubric or person that made it."""
    maker_kind: str | None = None
    """stored, check, rubric or human."""
    maker_version: str | None = None
    """Version of the metric or rubric."""
    maker_model: str | None = None
    """The judge's model."""
    json: str
    """The whole score in the native format."""


SCORE_WORDS: dict[str, frozenset[str]] = {
    "origin": frozenset({"source", "run"}),
    "value_type": frozenset({"number", "boolean", "text"}),
    "status": frozenset({"scored", "not_applicable", "failed", "unscored"}),
    "better": frozenset({"higher", "lower"}),
    "maker_kind": frozenset({"stored", "check", "rubric", "human"}),
}
"""Columns of scores that contain only these words; readers rely on it."""


class DecisionRow(Addressed, frozen=True, kw_only=True, gc=False):
    """One row per sample and profile that decided it. After `gate`, the newer decisions of that profile."""

    profile: str
    """The profile that decided."""
    passed: bool | None = None
    """null: could not decide."""
    composite: float | None = None
    """The weighted mean of the scores; null: none."""
    reasons: str
    """JSON list."""
    deciding: str
    """JSON list of the scores that decided."""
    json: str
    """The whole decision in the native format."""


VIEWS: dict[str, str] = {
    "scores": SCORES_VIEW,
    "measures": """
        with counted as (
            select s.run, s.part, s.number, s.sample, s.epoch, coalesce(x.case_id, x.sample) as case_id, s.origin,
                s.maker_kind, s.name as metric, s.value, s.value_type, s.scale_low, s.scale_high, s.better,
                from_json(s.numbers, '"MAP(VARCHAR, DOUBLE)"') as named
            from score_rows s join samples x using (run, part, number)
        )
        select run, part, number, sample, epoch, case_id, origin, maker_kind, metric,
            metric || '.' || named_number.key as measure, named_number.value as value, 'number' as value_type,
            null as scale_low, null as scale_high, null as better
        from (select * exclude (named, value, value_type, scale_low, scale_high, better),
                unnest(map_entries(named)) as named_number from counted where named is not null)
        where named_number.value is not null
        union all
        select run, part, number, sample, epoch, case_id, origin, maker_kind, metric, metric as measure, value,
            value_type, scale_low, scale_high, better
        from counted where named is null and value is not null
    """,
    # Repeats are averaged within the case first, so that a case that was run more often does not count more.
    "case_means": """
        select run, measure, maker_kind, case_id, avg(value) as value, count(*) as repeats
        from measures group by run, measure, maker_kind, case_id
    """,
}
"""Views over the tables: a row for each score, a row for each number, and the mean of each case over its repeats. The
mean of a measure is the mean of its `case_means`."""

PART_TABLES: dict[str, type[Addressed]] = {
    "samples": SampleRow,
    "steps": StepRow,
    "calls": CallRow,
    "scores": ScoreRow,
    "decisions": DecisionRow,
}
"""Tables that are stored in parts, each as a Parquet file."""

TABLES: dict[str, type[Record]] = {"runs": RunRow, **PART_TABLES}

SQL_TYPES: dict[type, str] = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}


@cache
def columns(row: type[Record]) -> dict[str, type]:
    """Column names and their types: str, int, float or bool."""
    hints = get_type_hints(row)
    return {name: _bare(hints[name]) for name in row.__struct_fields__}


def _bare(hint: Any) -> type:
    found = next(each for each in get_args(hint) if each is not type(None)) if isinstance(hint, UnionType) else hint
    assert isinstance(found, type)
    return found
