"""Writes an episode of the new schema. Only steps with a GUI action have a place in it."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import msgspec

from pantrace.errors import SampleRefused
from pantrace.model import Action, Media, Outcome, Sample, Step, Text, Thinking, Trajectory, is_prompt, step_text
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.json import unknown_keys
from pantrace.wire.loss import without_source
from pantrace.wire.optional import object_of, present
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.times import time_text

from .actions import action_to
from .episode import LABELS
from .field_names import CONTINUES, NAME, SCHEMA_VERSION


def episode_to(sample: Sample) -> dict[str, Any]:
    """One episode; SampleRefused when an agent acted and none of it was a GUI action."""
    trajectory = sample.trajectory or Trajectory()
    acting = acting_steps(trajectory)
    if not acting and any(step.role == "agent" for step in trajectory.steps):
        # Writing an empty episode would look as if the agent had done nothing.
        raise SampleRefused("it has no GUI action, and an episode has nothing else")
    case = sample.case
    kept = dict(rest_in(sample.extra, NAME))
    metadata = kept.pop("metadata", None)
    labels = {name: case.labels[name] for name in LABELS if name in case.labels} if case is not None else {}
    if isinstance(metadata, dict) or labels:
        metadata = {**object_of(metadata), **labels} or None
    prompt = _prompt(trajectory)
    row = {
        "schema_version": kept.pop("schema_version", SCHEMA_VERSION),
        "episode_id": sample.id,
        "task_id": case.id if case else None,
        "instruction": step_text(prompt) if prompt else (case.question if case else None) or "",
        "goal": case.goal if case else None,
        "steps": _rows(acting),
        **_success(trajectory.outcome),
        "created_at": time_text(trajectory.created),
        "agent_model": next((agent.model for agent in trajectory.agents if agent.model is not None), None),
        **kept,
        "metadata": metadata,
    }
    return present(row)


def on_screen(read_back: Sample, sample: Sample) -> Sample:
    """The part of a sample that an episode should hold: everything except steps without an action on the screen. They
    have no row, and keeping them under `pantrace` would mean keeping the steps around them too, with their pictures."""
    sample = without_source(sample)
    if sample.trajectory is None or read_back.trajectory is None:
        return sample
    prompts = [step for step in read_back.trajectory.steps if step.role == "user"]
    if (prompt := _prompt(sample.trajectory)) is not None:
        prompts = [prompt]
    steps = (*prompts, *acting_steps(sample.trajectory))
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(sample.trajectory, steps=steps))


def _prompt(trajectory: Trajectory) -> Step | None:
    """The instruction: the first words of the user."""
    return next((step for step in trajectory.steps if is_prompt(step) and step_text(step)), None)


def _success(outcome: Outcome | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    # An error or a limit is not a failure: `success` stays null.
    success = {"passed": True, "failed": False}.get(outcome.status)
    return {"success": success, "final_reward": outcome.reward}


def acting_steps(trajectory: Trajectory) -> list[Step]:
    """The agent's steps that act, each with the screens that its actions refer to."""
    acting = [step for step in trajectory.steps if step.role == "agent" and _actions(step)]
    media = {part.id: part for step in trajectory.steps for part in step.parts if isinstance(part, Media) and part.id}
    screens = [_screen(step, media) for step in acting]
    return [
        _with_screens(step, screen, following, media)
        for step, screen, following in zip_longest(acting, screens, screens[1:])
    ]


def _actions(step: Step) -> list[Action]:
    return [part for part in step.parts if isinstance(part, Action)]


def _screen(step: Step, media: dict[str, Media]) -> Media | None:
    """What the agent saw: the linked screenshot, or else a picture before the first action."""
    first = _actions(step)[0]
    if first.before is not None:
        found = media.get(first.before)
        return found if found is not None and (found.uri or found.data) else None
    for part in step.parts:
        if isinstance(part, Action):
            return None
        if isinstance(part, Media) and (part.mime or "").startswith("image/") and (part.uri or part.data):
            return part
    return None


def _with_screens(step: Step, screen: Media | None, following: Media | None, media: dict[str, Media]) -> Step:
    """A step together with the screens before and after its actions, which may be in steps that are not written."""
    # A screenshot may be the result of the previous call, in a step of its own that an episode cannot hold.
    before = [screen] if screen is not None and screen not in step.parts else []
    led_to = [media[action.after] for action in _actions(step) if action.after in media]
    # The next row shows its own screenshot as its observation; writing it here as well would double it.
    after = [part for part in led_to if part not in step.parts and part != following]
    return msgspec.structs.replace(step, parts=(*before, *step.parts, *after)) if before or after else step


def _rows(acting: list[Step]) -> list[dict[str, Any]]:
    """One row per action; further actions of a turn continue it."""
    rows: list[dict[str, Any]] = []
    index = 0
    for step in acting:
        first, *others = _actions(step)
        kept = dict(rest_in(step.extra, NAME))
        index = _index(step, index)
        row = {
            "step_index": index,
            "observation": _observation(step, kept.pop("observation", None)),
            "action": action_to(first),
            **present({"reasoning": _reasoning(step)}),
            **_times(step),
        }
        rows.append(row | unknown_keys(kept, row))
        for action in others:
            index += 1
            continuing = {"step_index": index, "observation": {}, "action": action_to(action)}
            rows.append({**continuing, CARRIER: {CONTINUES: True}})
        index += 1
    return rows


def _index(step: Step, least: int) -> int:
    """The number of a step: the one it was read with, as long as the numbers rise."""
    _, _, number = (step.id or "").rpartition("step-")
    # Ids of other formats may end in digits, too; nine digits keep `int` from a number that no index can be.
    return max(int(number), least) if number.isascii() and number.isdigit() and len(number) < 10 else least


def _observation(step: Step, kept: Any) -> dict[str, Any]:
    media = {part.id: part for part in step.parts if isinstance(part, Media) and part.id}
    screen = _screen(step, media)
    shown: dict[str, Any] = {}
    if screen is not None:
        size = list(screen.size) if screen.size is not None else None
        shown = present({"screenshot_path": screen.uri, "screenshot_base64": screen.data, "screen_size": size})
    return shown | unknown_keys(object_of(kept), shown)


def _reasoning(step: Step) -> str | None:
    """The thoughts, or the text that came with the action if there are none."""
    thoughts = [part.text for part in step.parts if isinstance(part, Thinking) and part.text is not None]
    words = thoughts or [part.text for part in step.parts if isinstance(part, Text)]
    return "\n\n".join(words) if words else None


def _times(step: Step) -> dict[str, Any]:
    if step.at is None:
        return {}
    times: dict[str, Any] = {"timestamp": step.at}
    if step.ended is not None and step.ended >= step.at:
        times["duration_ms"] = round((step.ended - step.at) * 1000)
    return times
