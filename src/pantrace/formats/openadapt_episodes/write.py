"""An episode of the new schema, written. Only steps with a GUI action have a place in it."""

from __future__ import annotations

from typing import Any

from pantrace.errors import SampleRefused
from pantrace.model import Action, Media, Outcome, Sample, Step, Text, Thinking, Trajectory, is_prompt, said
from pantrace.wire.carried import CARRIER
from pantrace.wire.json import to_plain
from pantrace.wire.rest import rest_in
from pantrace.wire.times import time_text

from .actions import Viewport, action_to
from .episode import LABELS, natural_outcome, natural_screen
from .words import NAME, SCHEMA_VERSION, differing_fields, present


def episode_to(sample: Sample) -> dict[str, Any]:
    """One episode; SampleRefused when an agent acted and none of it was a GUI action."""
    trajectory = sample.trajectory or Trajectory()
    if not _acts(trajectory) and any(step.role == "agent" for step in trajectory.steps):
        raise SampleRefused("it has no GUI action, and an episode holds nothing else")
    case = sample.case
    kept = dict(rest_in(sample.extra, NAME))
    metadata = kept.pop("metadata", None)
    labels = {name: case.labels[name] for name in LABELS if name in case.labels} if case is not None else {}
    if isinstance(metadata, dict) or labels:
        metadata = {**(metadata if isinstance(metadata, dict) else {}), **labels} or None
    outcome = trajectory.outcome
    row: dict[str, Any] = {
        "schema_version": kept.pop("schema_version", SCHEMA_VERSION),
        "episode_id": sample.id,
        "task_id": case.id if case else None,
        "instruction": _instruction(trajectory) or (case.question if case else None) or "",
        "goal": case.goal if case else None,
        "steps": steps_to(trajectory),
        **_success(outcome),
        "created_at": time_text(trajectory.created),
        "agent_model": next((agent.model for agent in trajectory.agents if agent.model is not None), None),
        **kept,
        "metadata": metadata,
    }
    ours: dict[str, Any] = {"epoch": sample.epoch} if sample.epoch is not None else {}
    if trajectory.id is not None and trajectory.id != sample.id:
        ours["trajectory"] = trajectory.id
    if outcome is not None and outcome != natural_outcome(row.get("success"), row.get("final_reward")):
        ours["outcome"] = to_plain(outcome)
    if sample.expected is not None:
        reference = {"episode_id": sample.expected.id, "instruction": _instruction(sample.expected)}
        ours["expected"] = {**present(reference), "steps": steps_to(sample.expected)}
    return present({**row, CARRIER: ours or None})


def _acts(trajectory: Trajectory) -> bool:
    return any(isinstance(part, Action) for step in trajectory.steps for part in step.parts)


def _instruction(trajectory: Trajectory) -> str | None:
    return next((words for step in trajectory.steps if is_prompt(step) and (words := said(step))), None)


def _success(outcome: Outcome | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    success = {"passed": True, "failed": False}.get(outcome.status)
    return {"success": success, "final_reward": outcome.reward}


def steps_to(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The steps that act, one row per action; further actions of a turn continue it."""
    acting = [step for step in trajectory.steps if step.role == "agent" and _actions(step)]
    media = {part.id: part for step in trajectory.steps for part in step.parts if isinstance(part, Media) and part.id}
    screens = [_screen(step, media) for step in acting]
    rows: list[dict[str, Any]] = []
    for place, (step, screen) in enumerate(zip(acting, screens, strict=True)):
        following = screens[place + 1] if place + 1 < len(acting) else None
        _add(rows, step, screen, following, media)
    return rows


def _actions(step: Step) -> list[Action]:
    return [part for part in step.parts if isinstance(part, Action)]


def _screen(step: Step, media: dict[str, Media]) -> Media | None:
    """What the agent saw: the linked screenshot, else a picture that stands in front of the first action."""
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


def _add(
    rows: list[dict[str, Any]], step: Step, screen: Media | None, following: Media | None, media: dict[str, Media]
) -> None:
    actions = _actions(step)
    mine = rest_in(step.extra, NAME)
    for number, action in enumerate(actions):
        index = len(rows)
        last = number == len(actions) - 1
        after, after_id = _after(action, following if last else None, media)
        ours: dict[str, Any] = {"after": after} if after is not None else {}
        if number == 0:
            used = {id(screen), *(id(media.get(each.after)) for each in actions if each.after)}
            others = [part for part in step.parts if isinstance(part, Media) and id(part) not in used]
            observation, viewport = _observation(step, screen, others, index)
            row: dict[str, Any] = {"step_index": index, "observation": observation}
            seen = screen.id if screen else None
            row["action"] = action_to(action, viewport, seen, after_id)
            row |= present({"reasoning": _reasoning(step)}) | _times(step)
            row |= {key: value for key, value in mine.items() if key != "observation" and key not in row}
            if step.id != f"step-{index}":
                ours["id"] = step.id
        else:
            row = {"step_index": index, "observation": {}, "action": action_to(action, None, None, after_id)}
            ours["continues"] = True
        if ours:
            row[CARRIER] = ours
        rows.append(row)


def _after(action: Action, following: Media | None, media: dict[str, Media]) -> tuple[Any, str | None]:
    """How the screen after an action is told, and the id it will have."""
    if action.after is None or action.after not in media:
        return None, None
    if following is not None and following.id == action.after:
        return "next", action.after
    return to_plain(media[action.after]), action.after


def _observation(step: Step, screen: Media | None, others: list[Media], index: int) -> tuple[dict[str, Any], Viewport]:
    kept = rest_in(step.extra, NAME).get("observation")
    observation: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    if screen is not None:
        observation = present({"screenshot_path": screen.uri, "screenshot_base64": screen.data})
        if screen.size is not None:
            observation["screen_size"] = list(screen.size)
        natural = natural_screen(observation, index)
        rest = differing_fields(screen, natural) if natural is not None else {}
        if rest:
            ours["screenshot"] = rest
    if isinstance(kept, dict):
        observation |= {key: value for key, value in kept.items() if key not in observation}
    if others:
        ours["media"] = [to_plain(each) for each in others]
    if ours:
        observation[CARRIER] = ours
    size = observation.get("screen_size")
    return observation, (size[0], size[1]) if isinstance(size, list) and len(size) == 2 else None


def _reasoning(step: Step) -> str | None:
    """The thoughts; where there are none, the words that came with the action."""
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
