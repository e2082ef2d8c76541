"""An episode of the new schema, read: the instruction as the user's step, then one agent step per model turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import (
    Action,
    Agent,
    Case,
    Maker,
    Media,
    Outcome,
    Part,
    Sample,
    Scale,
    Score,
    Step,
    Text,
    Thinking,
    Trajectory,
    Usage,
)
from pantrace.wire.carried import CARRIER
from pantrace.wire.fields import is_number
from pantrace.wire.rest import as_extra, rest_of
from pantrace.wire.times import from_iso

from .actions import Viewport, action_from
from .notes import NOTES, notes_in
from .words import NAME, SCHEMA_VERSION, odd, text_of, with_fields

LABELS = ("domain", "difficulty")
"""Keys of `metadata` that label the case."""

_EPOCH = 1e9
"""Smaller timestamps are seconds since the episode's start, or merely numbered; only larger ones were a clock's."""

_STATED = Maker(name="openadapt-evals", kind="stored")
_COUNTED = {"num_steps": ("num_steps", "steps"), "elapsed_seconds": ("total_time_seconds", "elapsed_seconds")}
"""What a benchmark says of a run as a whole -> the keys it stands under: run folders, full evaluations."""

_EPISODE = {
    "episode_id",
    "task_id",
    "instruction",
    "goal",
    "steps",
    "success",
    "final_reward",
    "created_at",
    "agent_model",
    "metadata",
    CARRIER,
    NOTES,
}
_STEP = {"step_index", "observation", "action", "reasoning", CARRIER, NOTES}
_OBSERVATION = {"screenshot_path", "screenshot_base64", "screen_size", CARRIER, NOTES}


def episode_from(row: dict[str, Any]) -> Sample:
    """The sample of one episode of the new schema."""
    identity = row["episode_id"]
    if not isinstance(identity, str):
        raise ReadError("must be text", place="episode_id")
    notes = notes_in(row)
    said = {name: text_of(row.get(name)) for name in ("task_id", "instruction", "goal", "agent_model")}
    instruction, model = said["instruction"], said["agent_model"]
    created = from_iso(row.get("created_at"))
    found = row.get("metadata")
    metadata = dict(found) if isinstance(found, dict) else {}
    labels = {name: metadata.pop(name) for name in LABELS if isinstance(metadata.get(name), str)}
    case = Case(id=said["task_id"], question=instruction or None, goal=said["goal"], labels=labels)
    kept = rest_of(row, _EPISODE)
    if kept.get("schema_version") == SCHEMA_VERSION:
        del kept["schema_version"]
    if metadata:
        kept["metadata"] = metadata
    success, reward = row.get("success"), row.get("final_reward")
    judged = {
        "success": success if isinstance(success, bool) else None,
        "final_reward": reward if is_number(reward) else None,
    }
    kept |= odd(row, {**said, **judged, "created_at": created, "metadata": found if isinstance(found, dict) else None})
    trajectory = Trajectory(
        id=notes.trajectory or identity,
        created=created,
        agents=(Agent(name="agent", model=model),) if model is not None else (),
        steps=steps_from(instruction, row["steps"]),
        outcome=notes.outcome or natural_outcome(row.get("success"), row.get("final_reward")),
    )
    return Sample(
        id=identity,
        epoch=notes.epoch,
        case=case if case != Case() else None,
        trajectory=trajectory,
        expected=_expected(notes.expected) if notes.expected is not None else None,
        scores=tuple(_scores(metadata)),
        extra=as_extra(NAME, kept),
    )


def _expected(row: dict[str, Any]) -> Trajectory:
    return Trajectory(id=text_of(row.get("episode_id")), steps=steps_from(row.get("instruction"), row.get("steps", [])))


def natural_outcome(success: Any, reward: Any) -> Outcome | None:
    """What `success` and `final_reward` say; neither of them: nothing was recorded."""
    reward = reward if is_number(reward) else None
    if isinstance(success, bool):
        return Outcome(status="passed" if success else "failed", reward=reward)
    return Outcome(status="unscored", reward=reward) if reward is not None else None


def _scores(metadata: dict[str, Any]) -> Iterator[Score]:
    passed, total = metadata.get("milestones_passed"), metadata.get("milestones_total")
    if is_number(passed) and is_number(total) and total > 0:
        yield Score(
            name="milestones",
            value=passed / total,
            scale=Scale(low=0, high=1),
            details={"passed": passed, "total": total},
            maker=_STATED,
        )
    execution = metadata.get("execution")
    stated = execution if isinstance(execution, dict) else metadata
    for name, keys in _COUNTED.items():
        number = next((stated[key] for key in keys if is_number(stated.get(key))), None)
        if number is not None:
            yield Score(name=name, value=number, scale=Scale(low=0, better="lower"), maker=_STATED)


def steps_from(instruction: Any, rows: Any) -> tuple[Step, ...]:
    """The instruction and the steps; a row that continues a turn adds its action to the step before it."""
    if not isinstance(rows, list):
        raise ReadError("must be an array", place="steps")
    steps: list[Step] = []
    if isinstance(instruction, str) and instruction:
        steps.append(Step(role="user", parts=(Text(text=instruction),)))
    seen = [_seen(row, place) for place, row in enumerate(rows)]
    for place, row in enumerate(rows):
        following = seen[place + 1][0] if place + 1 < len(rows) else None
        step = _step(row, place, seen[place], following)
        if notes_in(row).continues and steps and steps[-1].role == "agent":
            steps[-1] = msgspec.structs.replace(steps[-1], parts=(*steps[-1].parts, *step.parts))
        else:
            steps.append(step)
    return tuple(steps)


def _seen(row: Any, place: int) -> tuple[Media | None, tuple[Media, ...], Viewport]:
    """What was on the screen before a step's action: the screenshot, other files, and the screen's size."""
    if not isinstance(row, dict) or not isinstance(row.get("action"), (dict, Action)):
        raise ReadError("a step must be an object with an action", place=f"steps[{place}]")
    observation = row.get("observation")
    if observation is not None and not isinstance(observation, dict):
        raise ReadError("must be an object", place=f"steps[{place}].observation")
    observation = observation or {}
    notes = notes_in(observation)
    screenshot = natural_screen(observation, index_of(row, place))
    if screenshot is not None:
        screenshot = with_fields(screenshot, notes.screenshot)
    return screenshot, notes.media, _size(observation.get("screen_size"))


def index_of(row: dict[str, Any], place: int) -> int:
    index = row.get("step_index")
    return index if isinstance(index, int) and not isinstance(index, bool) else place


def natural_screen(observation: dict[str, Any], index: int) -> Media | None:
    """The screenshot of an observation; None when there is none (an empty path is none)."""
    path, data = text_of(observation.get("screenshot_path")), text_of(observation.get("screenshot_base64"))
    if not path and not data:
        return None
    return Media(
        id=f"screen-{index}",
        mime=_mime(path, data),
        uri=path or None,
        data=data or None,
        size=_size(observation.get("screen_size")),
    )


def _size(value: Any) -> Viewport:
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(each, int) for each in value):
        return value[0], value[1]
    return None


def _mime(path: str | None, data: str | None) -> str | None:
    if path and "." in path:
        by_name = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp"}
        return by_name.get(path.rpartition(".")[2].lower())
    # The first bytes of PNG and JPEG files, as base64 writes them.
    starts = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg"}
    return next((mime for start, mime in starts.items() if data and data.startswith(start)), None)


def _step(
    row: dict[str, Any], place: int, seen: tuple[Media | None, tuple[Media, ...], Viewport], following: Media | None
) -> Step:
    screenshot, others, viewport = seen
    notes = notes_in(row)
    index = index_of(row, place)
    after = following if notes.after == "next" else notes.after
    after_id = after.id if isinstance(after, Media) else None
    before_id = screenshot.id if screenshot is not None else None
    action = row["action"]
    if isinstance(action, Action):
        action = msgspec.structs.replace(action, before=before_id, after=after_id)
    else:
        action = action_from(action, viewport, before_id, after_id)
    reasoning = text_of(row.get("reasoning"))
    parts: tuple[Part, ...] = (
        *((screenshot,) if screenshot is not None else ()),
        *others,
        *((Thinking(text=reasoning),) if reasoning is not None else ()),
        action,
        *((notes.after,) if isinstance(notes.after, Media) else ()),
    )
    kept = rest_of(row, _STEP)
    kept |= odd(row, {"reasoning": reasoning})
    observation = rest_of(row.get("observation") or {}, _OBSERVATION)
    shown = row.get("observation") or {}
    size = viewport if screenshot is not None else None
    seen_fields = {name: text_of(shown.get(name)) or None for name in ("screenshot_path", "screenshot_base64")}
    observation |= odd(shown, {**seen_fields, "screen_size": size})
    if observation:
        kept["observation"] = observation
    clock: Any = kept.get("timestamp")
    at = kept.pop("timestamp") if is_number(clock) and clock >= _EPOCH else None
    duration = kept.get("duration_ms")
    ended = None
    if at is not None and isinstance(duration, int) and not isinstance(duration, bool):
        ended = at + kept.pop("duration_ms") / 1000
    return Step(
        id=f"step-{index}" if notes.id is msgspec.UNSET else notes.id,
        role="agent",
        parts=parts,
        at=at,
        ended=ended,
        usage=_usage(kept.get("agent_logs")),
        extra=as_extra(NAME, kept),
    )


def _usage(logs: Any) -> Usage | None:
    tokens = logs.get("tokens") if isinstance(logs, dict) else None
    if not isinstance(tokens, dict):
        return None
    spent, made = tokens.get("input"), tokens.get("output")
    usage = Usage(input=spent if isinstance(spent, int) else None, output=made if isinstance(made, int) else None)
    return usage if usage != Usage() else None
