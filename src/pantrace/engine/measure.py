"""Measure: deterministic checks over samples, whole or turn by turn, with references that lie elsewhere joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pantrace.checks import Check, by_name, names, parse_settings
from pantrace.errors import UsageError
from pantrace.model import Case, Record, Run, Sample, Score, ToolCall, Trajectory, turns

Chosen = tuple[Check, Record]


class Row(Record, frozen=True, kw_only=True):
    """One score of one sample, or of one turn of it, as `pantrace measure` writes it."""

    run: str | None
    sample: str
    epoch: int | None
    turn: int | None
    metric: str
    value: float | bool | str | None
    status: str
    explanation: str | None
    scale: dict[str, Any] | None
    maker: dict[str, Any] | None
    details: dict[str, Any]
    evidence: tuple[str, ...]
    threshold: float | None
    passed: bool | None


def choose(wanted: Sequence[str], settings: Sequence[str], plugins: Sequence[Path]) -> list[Chosen]:
    """The checks named (all of them if none is), with their settings "NAME.key=value"."""
    own = {each.name: each for path in plugins for each in load_plugin(path)}
    found = {name: own.get(name) or by_name(name) for name in wanted or (*names(), *own)}
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


def load_plugin(path: Path) -> list[Check]:
    """The checks of a Python file: every `Check` among its names."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"pantrace_plugin_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path}: not a Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a user's file may raise anything
        raise UsageError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from None
    found = [value for value in vars(module).values() if isinstance(value, Check)]
    if not found:
        raise UsageError(f"{path}: defines no check; decorate a function with pantrace.checks.check()")
    return found


@dataclass
class References:
    """Expected trajectories and cases from another source, by sample id."""

    by_id: dict[str, Sample] = field(default_factory=dict)
    unmatched: int = 0

    @classmethod
    def of(cls, run: Run) -> References:
        found = cls()
        for sample in run.samples:
            for name in _handles(sample):
                found.by_id.setdefault(name, sample)
        return found

    def join(self, sample: Sample) -> Sample:
        """The sample with what is expected of it; counted when nothing is known of it."""
        other = next((self.by_id[name] for name in _handles(sample) if name in self.by_id), None)
        if other is None:
            self.unmatched += 1
            return sample
        return msgspec.structs.replace(
            sample,
            expected=other.expected or other.trajectory or sample.expected,
            case=_completed(sample.case, other.case),
        )


def _completed(case: Case | None, other: Case | None) -> Case | None:
    """A case with what only the other one states."""
    if case is None or other is None:
        return case or other
    silent = [name for name in case.__struct_fields__ if getattr(case, name) is None]
    return msgspec.structs.replace(case, **{name: getattr(other, name) for name in silent})


def _handles(sample: Sample) -> Iterator[str]:
    yield sample.id
    if sample.case is not None and sample.case.id:
        yield sample.case.id
    if sample.trajectory is not None and sample.trajectory.id:
        yield sample.trajectory.id


def scores_of(sample: Sample, checks: Iterable[Chosen]) -> list[Score]:
    """Our scores of one sample."""
    return [check.score(sample, settings) for check, settings in checks]


def measured(
    samples: Iterable[Sample], checks: Sequence[Chosen], *, by_turn: bool = False
) -> Iterator[tuple[Sample, int | None, list[Score]]]:
    """Each sample with its scores; with `by_turn`, each of its turns with its number."""
    for sample in samples:
        if not by_turn:
            yield sample, None, scores_of(sample, checks)
            continue
        for number, part in by_turns(sample):
            yield sample, number, scores_of(part, [each for each in checks if each[0].per_turn])


def by_turns(sample: Sample) -> Iterator[tuple[int, Sample]]:
    """A sample for each of its turns, with the turn of the same number that is expected."""
    if sample.trajectory is None:
        return
    expected = dict(_sliced(sample.expected)) if sample.expected is not None else {}
    for number, trajectory in _sliced(sample.trajectory):
        yield number, msgspec.structs.replace(sample, trajectory=trajectory, expected=expected.get(number), scores=())


def _sliced(trajectory: Trajectory) -> Iterator[tuple[int, Trajectory]]:
    """The turns as trajectories. A sub-agent belongs to the turn with its call; one whose call is not known, to the
    only turn, and among several to none."""
    found = [turn for turn in turns(trajectory) if turn.number > 0]
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
                usage=None,
            ),
        )


def row(run: str | None, sample: Sample, turn: int | None, score: Score) -> Row:
    """A score as a flat record."""
    return Row(
        run=run,
        sample=sample.id,
        epoch=sample.epoch,
        turn=turn,
        metric=score.name,
        value=score.value,
        status=score.status,
        explanation=score.explanation,
        scale=msgspec.to_builtins(score.scale) if score.scale else None,
        maker=msgspec.to_builtins(score.maker) if score.maker else None,
        details=score.details,
        evidence=score.evidence,
        threshold=score.threshold,
        passed=score.passed,
    )
