"""Reading episodes: the instruction as the user's step, then one agent step per model turn."""

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
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.field_map import is_number
from pantrace.wire.optional import text_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.times import from_iso

from .actions import Viewport, action_from
from .field_names import CONTINUES, NAME, SCHEMA_VERSION, misfits
from .turns import Episode, Turn

LABELS = ("domain", "difficulty")
"""Keys of `metadata` that label the case."""

_EPOCH = 1e9
"""Smaller timestamps are seconds since the episode began, or just numbers; only larger ones are clock times."""

_STATED = Maker(name="openadapt-evals", kind="stored")
_COUNTED = {"num_steps": ("num_steps", "steps"), "elapsed_seconds": ("total_time_seconds", "elapsed_seconds")}
"""Score -> the keys that hold it in run folders and in full evaluations."""

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
}
_STEP = {"step_index", "observation", "action", "reasoning", CARRIER}
_OBSERVATION = {"screenshot_path", "screenshot_base64", "screen_size"}


def episode_in(row: dict[str, Any]) -> Episode:
    """An episode of the new schema."""
    return Episode(row=row, turns=_turns(row["steps"]))


def _turns(rows: Any) -> list[Turn]:
    """One turn per row; a row that continues a turn (see `write`) adds its action to it."""
    if not isinstance(rows, list):
        raise ReadError("must be an array", place="steps")
    turns: list[Turn] = []
    for place, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("action"), dict):
            raise ReadError("a step must be an object with an action", place=f"steps[{place}]")
        observation = row.get("observation")
        if observation is not None and not isinstance(observation, dict):
            raise ReadError("must be an object", place=f"steps[{place}].observation")
        action = action_from(row["action"], _size((observation or {}).get("screen_size")))
        # One turn may hold several actions, but the schema has one per row; our writer marks the further rows.
        if turns and isinstance(row.get(CARRIER), dict) and row[CARRIER].get(CONTINUES) is True:
            turns[-1].actions.append(action)
        else:
            # A turn may span several rows, so a step without a number takes the number of its row, not of its turn.
            turns.append(Turn(row={**row, "step_index": _index(row, place)}, actions=[action]))
    return turns


def sample_from(episode: Episode) -> Sample:
    """An episode as a sample."""
    row = episode.row
    identity = row["episode_id"]
    if not isinstance(identity, str):
        raise ReadError("must be text", place="episode_id")
    stated_texts = {name: text_of(row.get(name)) for name in ("task_id", "instruction", "goal", "agent_model")}
    instruction, model = stated_texts["instruction"], stated_texts["agent_model"]
    created = from_iso(row.get("created_at"))
    found = row.get("metadata")
    metadata = dict(found) if isinstance(found, dict) else {}
    labels = {name: metadata.pop(name) for name in LABELS if isinstance(metadata.get(name), str)}
    case = Case(id=stated_texts["task_id"], question=instruction or None, goal=stated_texts["goal"], labels=labels)
    kept = rest_of(row, _EPISODE)
    # The writer adds the current version anyway; only another one is worth keeping.
    if kept.get("schema_version") == SCHEMA_VERSION:
        del kept["schema_version"]
    if metadata:
        kept["metadata"] = metadata
    success, reward = row.get("success"), row.get("final_reward")
    success = success if isinstance(success, bool) else None
    reward = reward if is_number(reward) else None
    stated = {**stated_texts, "success": success, "final_reward": reward, "created_at": created}
    # A known key with a value of the wrong type has no field to go to, but it must not disappear.
    kept |= misfits(row, {**stated, "metadata": found if isinstance(found, dict) else None})
    trajectory = Trajectory(
        id=identity,
        created=created,
        agents=(Agent(name="agent", model=model),) if model is not None else (),
        steps=_steps(instruction, episode.turns),
        outcome=episode.outcome or _stated_outcome(success, reward),
    )
    expected = episode.expected
    return Sample(
        id=identity,
        epoch=episode.epoch,
        case=case if case != Case() else None,
        trajectory=trajectory,
        expected=Trajectory(id=identity, steps=_steps(instruction, expected)) if expected is not None else None,
        scores=tuple(_scores(metadata)),
        extra=as_extra(NAME, kept),
    )


def _stated_outcome(success: bool | None, reward: float | None) -> Outcome | None:
    """The outcome that `success` and `final_reward` state; None if neither is recorded."""
    if success is not None:
        return Outcome(status="passed" if success else "failed", reward=reward)
    # A reward alone is not a verdict: the schema does not say which rewards count as a success.
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


def _steps(instruction: str | None, turns: list[Turn]) -> tuple[Step, ...]:
    """The instruction and a step for each turn."""
    screens = [_screen(turn.row, place) for place, turn in enumerate(turns)]
    steps = [_step(turn, place, screens) for place, turn in enumerate(turns)]
    return (*((Step(role="user", parts=(Text(text=instruction),)),) if instruction else ()), *steps)


def _index(row: dict[str, Any], place: int) -> int:
    index = row.get("step_index")
    # JSON's true is an int to Python.
    return index if isinstance(index, int) and not isinstance(index, bool) else place


def _screen(row: dict[str, Any], place: int) -> Media | None:
    """The screenshot of an observation; None if there is none or its path is empty."""
    observation = row.get("observation") or {}
    path, data = text_of(observation.get("screenshot_path")), text_of(observation.get("screenshot_base64"))
    if not path and not data:
        return None
    return Media(
        id=f"screen-{_index(row, place)}",
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


def _step(turn: Turn, place: int, screens: list[Media | None]) -> Step:
    row, screenshot = turn.row, screens[place]
    # In the arenas the next screenshot shows what this action did. Elsewhere time may have passed between them.
    following = screens[place + 1] if turn.leads_on and place + 1 < len(screens) else None
    reasoning = text_of(row.get("reasoning"))
    parts: tuple[Part, ...] = (
        *((screenshot,) if screenshot is not None else ()),
        *turn.seen,
        *((Thinking(text=reasoning),) if reasoning is not None else ()),
        *_link_screens(turn.actions, screenshot, turn.after or following),
        *((turn.after,) if turn.after is not None else ()),
    )
    kept = rest_of(row, _STEP)
    kept |= misfits(row, {"reasoning": reasoning})
    shown = row.get("observation") or {}
    observation = rest_of(shown, _OBSERVATION)
    fields = {name: text_of(shown.get(name)) or None for name in ("screenshot_path", "screenshot_base64")}
    # The model keeps the size on the screenshot; without one, the size stays in `extra`.
    observation |= misfits(shown, {**fields, "screen_size": screenshot.size if screenshot is not None else None})
    if observation:
        kept["observation"] = observation
    clock: Any = kept.get("timestamp")
    at = kept.pop("timestamp") if is_number(clock) and clock >= _EPOCH else None
    duration = kept.get("duration_ms")
    ended = None
    if at is not None and isinstance(duration, int) and not isinstance(duration, bool):
        ended = at + kept.pop("duration_ms") / 1000
    return Step(
        id=f"step-{_index(row, place)}",
        role="agent",
        parts=parts,
        at=at,
        ended=ended,
        usage=_usage(kept.get("agent_logs")),
        extra=as_extra(NAME, kept),
    )


def _link_screens(actions: list[Action], before: Media | None, after: Media | None) -> list[Action]:
    """The actions of a turn: the first was done on the screen before, the last led to the one after."""
    linked = list(actions)
    if before is not None:
        linked[0] = msgspec.structs.replace(linked[0], before=before.id)
    if after is not None:
        linked[-1] = msgspec.structs.replace(linked[-1], after=after.id)
    return linked


def _usage(logs: Any) -> Usage | None:
    tokens = logs.get("tokens") if isinstance(logs, dict) else None
    if not isinstance(tokens, dict):
        return None
    spent, made = tokens.get("input"), tokens.get("output")
    usage = Usage(input=spent if isinstance(spent, int) else None, output=made if isinstance(made, int) else None)
    return usage if usage != Usage() else None
