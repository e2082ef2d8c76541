"""Measure: applies deterministic metrics to samples, whole or turn by turn, and joins references from other files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.matching.turns import numbered_turns
from pantrace.metrics import Metric, by_name, full_address, measure_named, names, parse_settings
from pantrace.model import (
    Aggregate,
    Case,
    Record,
    Run,
    Sample,
    Score,
    ToolCall,
    Trajectory,
    Turn,
    is_agents,
    is_prompt,
    step_text,
    turns,
)

Chosen = tuple[Metric, Record]


class Row(Record, frozen=True, kw_only=True):
    """One score of one sample, or of one turn of it, as `pantrace measure` writes it."""

    run: str | None
    sample: str | None
    """None for a number that the source states for the whole run."""
    epoch: int | None
    turn: int | None
    metric: str
    """The metric, or the address of the requested measure."""
    value: float | bool | str | None
    status: str
    explanation: str | None
    scale: dict[str, Any] | None
    maker: dict[str, Any] | None
    details: dict[str, Any]
    evidence: tuple[str, ...]
    threshold: float | None
    passed: bool | None
    case: str | None
    """The case of the sample; the sample itself if it names none."""
    values: dict[str, int | float | None]
    """All measures of the metric by name."""
    group: str | None = None
    """The group of the sample, if rows are grouped."""

    @property
    def repeatable_case(self) -> str | None:
        """The case, if there may be more numbers of it: from another epoch, turn or sample."""
        again = self.epoch is not None or self.turn is not None or self.case != self.sample
        return self.case if again else None


COLUMNS = tuple(name for name in Row.__struct_fields__ if name != "group")
"""What every row says; its group only where rows are grouped."""


def choose(wanted: Sequence[str], settings: Sequence[str], plugins: Sequence[Path]) -> list[Chosen]:
    """The named metrics (all if none is named), with their settings "NAME.key=value"."""
    own = load_plugins(plugins)
    chosen = dict.fromkeys(_metric_of(name, own) for name in wanted) or (*names(), *own)
    found = {name: own.get(name) or by_name(name) for name in chosen}
    # Texts here; `parse_settings` converts them to the types that each metric declares.
    given: dict[str, dict[str, str]] = {}
    for text in settings:
        name, dot, rest = text.partition(".")
        key, equals, value = rest.partition("=")
        if not dot or not equals:
            raise UsageError(f"--set {text!r} is not METRIC.KEY=VALUE")
        if name not in found:
            raise UsageError(f"--set {text!r}: the metric {name!r} is not among those measured")
        given.setdefault(name, {})[key] = value
    return [(each, parse_settings(each, given.get(name, {}))) for name, each in found.items()]


def _metric_of(name: str, own: Mapping[str, Metric]) -> str:
    """The metric that a name, or the address of one of its measures, means; a UsageError if it has no such measure."""
    if name in own or name in names():
        return name
    address = full_address(name)
    metric, dot, _ = address.partition(".")
    if dot and (metric in own or metric in names()) and measure_named(address, own.values()) is None:
        known = [each.address for each in (own.get(metric) or by_name(metric)).measures]
        close = get_close_matches(address, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}"
        raise UsageError(f"{metric} has no measure {address.partition('.')[2]!r}; {hint}")
    return metric


def only_measures(rows: Iterable[Row], wanted: Collection[str]) -> Iterator[Row]:
    """The rows of metrics that were requested by name, and a row for each measure that was requested by address."""
    addresses = {full_address(name) for name in wanted if name not in names()}
    for each in rows:
        asked = [(name, number) for name, number in each.values.items() if f"{each.metric}.{name}" in addresses]
        if each.metric in wanted or not addresses or kind_of(each) != "check":
            yield each
        for name, number in asked:
            status = "scored" if number is not None else "not_applicable"
            yield replace(each, metric=f"{each.metric}.{name}", value=number, values={}, status=status)
        if not asked and each.metric not in wanted and kind_of(each) == "check" and addresses:
            for address in sorted(address for address in addresses if address.partition(".")[0] == each.metric):
                yield replace(each, metric=address, value=None, values={}, status=_without_number(each))


def _without_number(each: Row) -> str:
    return each.status if each.status in ("failed", "unscored") else "not_applicable"


def load_plugins(paths: Sequence[Path]) -> dict[str, Metric]:
    """The metrics of Python files by name. A name that is taken is refused, because its scores would be ambiguous."""
    found: dict[str, Metric] = {}
    for path in paths:
        for each in load_plugin(path):
            if each.name in found or each.name in names():
                raise UsageError(f"{path}: there is another metric {each.name!r}; rename yours")
            found[each.name] = each
    return found


def load_plugin(path: Path) -> list[Metric]:
    """The metrics of a Python file: every `Metric` in its namespace."""
    from importlib.util import module_from_spec, spec_from_file_location

    if not path.exists():
        raise UsageError(f"{path}: no such file")
    spec = spec_from_file_location(f"pantrace_plugin_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path}: not a Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    # SystemExit, too: a plugin that is also a script may end in `sys.exit()`, which would look like a success.
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a user's file may raise anything
        raise UsageError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from None
    # By identity, because a file may give a metric two names; and without our own metrics, which it may import.
    checks = {id(value): value for value in vars(module).values() if isinstance(value, Metric)}
    found = [each for each in checks.values() if not each.is_ours]
    if not found:
        raise UsageError(f"{path}: defines no metric; decorate a function with pantrace.metrics.metric()")
    return found


@dataclass
class References:
    """Expected trajectories and cases from another source, joined by id, otherwise by the first prompt if it is
    unique."""

    by_id: dict[str, Sample] = field(default_factory=dict)
    by_prompt: dict[str, Sample | None] = field(default_factory=dict)
    """None if several have this prompt, so that it is not known which is meant."""
    samples: list[Sample] = field(default_factory=list)
    met: set[str] = field(default_factory=set)
    """Ids of the references that a sample was joined with."""
    unmatched: int = 0
    prompted: int = 0
    """Samples that were joined by their prompt."""

    @classmethod
    def of(cls, run: Run) -> References:
        found = cls()
        for sample in run.samples:
            found.samples.append(sample)
            for name in _handles(sample):
                found.by_id.setdefault(name, sample)
            prompt = _first_prompt(sample)
            if prompt is not None:
                # Guessing one of several would measure a sample against the wrong reference.
                found.by_prompt[prompt] = None if prompt in found.by_prompt else sample
        return found

    def fresh(self) -> References:
        """The same, with nothing counted yet: for the samples of one part."""
        return References(self.by_id, self.by_prompt, self.samples)

    def absorb(self, other: References) -> None:
        """Add the counts of another part."""
        self.met |= other.met
        self.unmatched += other.unmatched
        self.prompted += other.prompted

    def join(self, sample: Sample) -> Sample:
        """The sample with its reference; it is counted if it has none."""
        # Ids first: two cases may ask the same question and expect different answers.
        other = next((self.by_id[name] for name in _handles(sample) if name in self.by_id), None)
        if other is None and (prompt := _first_prompt(sample)) is not None:
            other = self.by_prompt.get(prompt)
            self.prompted += other is not None
        if other is None:
            self.unmatched += 1
            return sample
        self.met.add(other.id)
        return msgspec.structs.replace(
            sample,
            expected=other.expected or other.trajectory or sample.expected,
            case=_completed(sample.case, other.case),
        )

    def not_run(self) -> Iterator[Sample]:
        """A sample without a trajectory for each reference that no sample was joined with: the case was not run, but it
        belongs to the denominator."""
        for each in self.samples:
            if each.id not in self.met:
                expected = each.expected or each.trajectory
                yield Sample(id=each.id, case=each.case or Case(id=each.id), expected=expected)

    def to_tell(self, source: str | None) -> Iterator[str]:
        """What the user should know about the join."""
        if self.prompted:
            yield f"{self.prompted} samples were joined with {source} by their first prompt, not by an id"
        if self.unmatched:
            yield f"{self.unmatched} samples have no counterpart in {source}"
        missing = [each.id for each in self.samples if each.id not in self.met]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            noun = "case" if len(missing) == 1 else "cases"
            yield f"{len(missing)} {noun} of {source} not run: {', '.join(missing[:3])}{more}; counted, with no score"


def _first_prompt(sample: Sample) -> str | None:
    """The user's first prompt, with normalised white space; None if it is not known."""
    for trajectory in (sample.trajectory, sample.expected):
        for step in trajectory.steps if trajectory is not None else ():
            if is_prompt(step) and (text := step_text(step)) is not None:
                return " ".join(text.split())
    return None


def _completed(case: Case | None, other: Case | None) -> Case | None:
    """A case, completed with what only the other one states."""
    if case is None or other is None:
        return case or other
    # What the recording itself states takes precedence.
    silent = [name for name in case.__struct_fields__ if getattr(case, name) is None]
    return msgspec.structs.replace(case, **{name: getattr(other, name) for name in silent})


def _handles(sample: Sample) -> Iterator[str]:
    yield sample.id
    if sample.case is not None and sample.case.id:
        yield sample.case.id
    if sample.trajectory is not None and sample.trajectory.id:
        yield sample.trajectory.id


def scores_of(sample: Sample, checks: Iterable[Chosen]) -> list[Score]:
    """Our scores for one sample."""
    return [check.score(sample, settings) for check, settings in checks]


def measure_samples(
    samples: Iterable[Sample], checks: Sequence[Chosen], *, by_turn: bool = False
) -> Iterator[tuple[Sample, int | None, list[Score]]]:
    """Each sample with its scores; with `by_turn`, each of its turns with its number. A sample without turns (a case
    that was not run) comes once, without number and scores."""
    per_turn = [each for each in checks if each[0].per_turn]
    for sample in samples:
        if not by_turn:
            yield sample, None, scores_of(sample, checks)
            continue
        number = None
        for number, part in by_turns(sample):
            yield sample, number, scores_of(part, per_turn)
        if number is None:
            yield sample, None, []


def by_turns(sample: Sample) -> Iterator[tuple[int, Sample]]:
    """A sample for each turn, with the expected turn of the same number."""
    if sample.trajectory is None:
        return
    # Scores are dropped below: those of the source are about the whole sample.
    expected = dict(_sliced(sample.expected)) if sample.expected is not None else {}
    for number, trajectory in _sliced(sample.trajectory):
        yield number, msgspec.structs.replace(sample, trajectory=trajectory, expected=expected.get(number), scores=())


def _sliced(trajectory: Trajectory) -> Iterator[tuple[int, Trajectory]]:
    """The turns as trajectories. A sub-agent belongs to the turn with its call. If its call is not known, it belongs to
    the only turn, or to none if there are several."""
    found = _turns(trajectory)
    for turn in found:
        ids = {step.invocation for step in turn.steps}
        calls = {part.id for step in turn.steps for part in step.parts if isinstance(part, ToolCall)} - {None}
        if len(found) == 1:
            calls.add(None)
        yield (
            turn.number,
            msgspec.structs.replace(
                trajectory,
                steps=turn.steps,
                invocations=tuple(each for each in trajectory.invocations if each.id in ids),
                children=tuple(child for child in trajectory.children if child.caller in calls),
                # A total for the whole trajectory cannot be divided between turns.
                usage=trajectory.usage if len(found) == 1 else None,
                response=trajectory.response if turn is found[-1] else None,
            ),
        )


def _turns(trajectory: Trajectory) -> list[Turn]:
    """The turns; what the agent did before the first prompt is turn 0."""
    found = turns(trajectory)
    if len(found) > 1 and found[0].number == 0 and any(is_agents(step) for step in found[0].steps):
        return found
    return numbered_turns(trajectory)


def case_of(sample: Sample) -> str:
    """What repeats share: the case, otherwise the sample."""
    return sample.case.id if sample.case is not None and sample.case.id else sample.id


def row(run: str | None, sample: Sample, turn: int | None, score: Score, group: str | None = None) -> Row:
    """A score as a flat record."""
    return Row(
        run=run,
        sample=sample.id,
        case=case_of(sample),
        epoch=sample.epoch,
        turn=turn,
        metric=score.name,
        value=score.value,
        values=score.values,
        status=score.status,
        explanation=score.explanation,
        scale=_as_dict(score.scale),
        maker=_as_dict(score.maker) or {"kind": "stored"},
        details=score.details,
        evidence=score.evidence,
        threshold=score.threshold,
        passed=score.passed,
        group=group,
    )


def stored_row(run: str | None, found: Aggregate, group: str | None = None) -> Row:
    """A number that the source states for the whole run, as a flat record; null stays null."""
    details = {name: getattr(found, name) for name in ("metric", "n", "low", "high", "labels")}
    return Row(
        run=run,
        sample=None,
        case=None,
        epoch=None,
        turn=None,
        metric=found.name if found.metric is None else f"{found.name}.{found.metric}",
        value=found.value,
        values={},
        status="not_applicable" if found.value is None else "scored",
        explanation=_why_none(found) if found.value is None else None,
        scale=None,
        maker={"kind": "stored", "of": "run"},
        details={name: value for name, value in details.items() if value not in (None, {})},
        evidence=(),
        threshold=None,
        passed=None,
        group=group,
    )


def _why_none(found: Aggregate) -> str:
    return "the source has withdrawn it" if found.withdrawn else "the source says null"


def kind_of(found: Row) -> str:
    """Where a number comes from: a metric (`check`), a rubric, or `stored` in the source."""
    return str((found.maker or {}).get("kind", "stored"))


@lru_cache(maxsize=1024)
def _as_dict(record: Record | None) -> dict[str, Any] | None:
    """A record as plain data, including fields with their default. Cached, because few records are in many rows."""
    return None if record is None else {name: getattr(record, name) for name in record.__struct_fields__}
