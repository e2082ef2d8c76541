"""Trials of Harbor: what `result.json` says about the run whose document lies in the folder `agent` beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import Case, Maker, Outcome, Sample, Score, Trajectory, Usage
from pantrace.wire import files
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.field_map import INTEGER, NUMBER, FieldMap, is_number
from pantrace.wire.json import decode_document
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso

from .read import NAME, with_cache, without_cache

RESULT = "result.json"
_DOCUMENT = ("agent", "trajectory.json")
_TAKEN = ("task_name", "config", "agent_info", "verifier_result", "exception_info")
"""What has a place in the model; and the configuration, which may hold the keys of the agent's environment."""
_TIMEOUT = "AgentTimeoutError"
USAGE = FieldMap(
    NAME,
    Usage,
    {
        "n_input_tokens": ("input", INTEGER),
        "n_output_tokens": ("output", INTEGER),
        "n_cache_tokens": ("cache_read", INTEGER),
        "cost_usd": ("cost_usd", NUMBER),
    },
)


def is_result(record: Any) -> bool:
    """Whether a record is the result of one trial; a job's own has neither name."""
    return isinstance(record, dict) and {"trial_name", "task_name", "verifier_result"} <= record.keys()


def result_of(path: Path) -> Path | None:
    """Where the result of the trial lies of which a file is the agent's document."""
    return path.parent.parent / RESULT if (path.parent.name, path.name) == _DOCUMENT else None


def document_of(path: Path) -> Path | None:
    """The document of the agent whose trial has this result."""
    document = path.parent.joinpath(*_DOCUMENT)
    return document if path.name == RESULT and document.is_file() else None


def with_result(sample: Sample, path: Path, on_broken: OnBroken) -> Sample:
    """A sample with the verdict on its trial."""
    result = result_of(path)
    if result is None or not result.is_file():
        return sample
    try:
        row = decode_document(files.read_all(result))
    except ReadError as error:
        on_broken(error.at(path=str(result)))
        return sample
    return judged(sample, row) if is_result(row) else sample


def load(row: dict[str, Any]) -> Sample:
    """A trial without a document: it broke down before its agent began, or its agent writes none."""
    name, used = text_of(row["trial_name"]) or "trial", object_of(row.get("agent_result"))
    usage = USAGE.load({key: used[key] for key in USAGE.fields if key in used}) if used else None
    usage = with_cache(usage, "n_input_tokens") if without_cache(usage) else usage
    began = from_iso(row.get("started_at"))
    trajectory = Trajectory(id=name, created=began, steps=(), usage={"": usage} if usage is not None else None)
    return judged(Sample(id=name, trajectory=trajectory), row)


def judged(sample: Sample, row: dict[str, Any]) -> Sample:
    """A sample with the case, the rewards and the ending that a result states."""
    rewards = object_of(object_of(row.get("verifier_result")).get("rewards"))
    kept = as_extra(NAME, rest_in(sample.extra, NAME) | {"trial": rest_of(row, _TAKEN)})
    trajectory = sample.trajectory
    return replace(
        sample,
        case=sample.case or Case(id=text_of(row["task_name"])),
        trajectory=replace(trajectory, outcome=_outcome(row, rewards)) if trajectory is not None else None,
        scores=(*sample.scores, *(_score(name, value) for name, value in rewards.items())),
        extra=sample.extra | kept,
    )


def _outcome(row: dict[str, Any], rewards: dict[str, Any]) -> Outcome:
    """How a trial ended. After a timeout the verifier still looks at what the agent left behind: its reward counts."""
    trouble = object_of(row.get("exception_info"))
    kind = text_of(trouble.get("exception_type"))
    told = [kind, text_of(trouble.get("exception_message"))]
    why = ": ".join(each for each in told if each) or None
    reward = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    if not is_number(reward):
        return Outcome(status="limit" if kind == _TIMEOUT else "error" if trouble else "unscored", reason=why)
    passed = reward >= 1
    return Outcome(status="passed" if passed else "limit" if kind == _TIMEOUT else "failed", reason=why, reward=reward)


def _score(name: str, value: Any) -> Score:
    told = is_number(value)
    return Score(
        name=name,
        value=float(value) if told else None,
        status="scored" if told else "unscored",
        maker=Maker(name="harbor"),
        passed=value >= 1 if told and name == "reward" else None,
    )
