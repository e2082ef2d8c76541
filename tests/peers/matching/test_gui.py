"""Profile openadapt-v1 gives the numbers of the real OpenAdapt code on hundreds of generated episodes."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

import pytest

from metrics.openadapt_samples import samples
from pantrace.metrics.gui import Settings, gui
from pantrace.metrics.gui.metrics import aggregate, metrics

KINDS = ("click", "click", "drag", "type", "key", "scroll", "wait", "done", "fail", "double_click")


def point(dice: random.Random) -> list[float]:
    """On a coarse grid, so that distances of exactly 0.05 are frequent."""
    return [dice.randrange(0, 21) / 20, dice.randrange(0, 5) / 20]


def action(dice: random.Random) -> dict[str, Any]:
    kind = dice.choice(KINDS)
    row: dict[str, Any] = {"type": kind}
    needed: dict[str, dict[str, Any]] = {"type": {"text": "x"}, "key": {"key": "enter"}}
    row |= needed.get(kind, {})
    chance = dice.random()
    if chance < 0.6:
        row["normalized_coordinates"] = point(dice)
    elif chance < 0.7:
        row["coordinates"] = {"x": 512, "y": 384}
    elif chance < 0.8:
        row["normalized_start"] = point(dice)
    if dice.random() < 0.4:
        left, top = point(dice)
        row["raw"] = {"bbox": [left, top, left + 0.2, top + 0.2]}
    if dice.random() < 0.3:
        row["raw"] = {**row.get("raw", {}), "element_index": dice.choice((1, 2, "1"))}
    if dice.random() < 0.3:
        row["element"] = {"element_id": dice.choice(("1", "2", "save"))}
        if dice.random() < 0.3:
            row["element"]["bounds"] = {"x": 0, "y": 0, "width": 1, "height": 1}
    return row


def case(dice: random.Random) -> dict[str, Any]:
    episodes: list[dict[str, Any]] = []
    predictions: list[dict[str, Any]] = []
    for number in range(dice.randrange(0, 4)):
        steps: list[dict[str, Any]] = []
        for place in range(dice.randrange(1, 8)):
            shown = {"screenshot_path": f"{place}.png"} if dice.random() < 0.8 else {}
            steps.append({"step_index": place, "observation": shown, "action": action(dice)})
            if shown:
                predictions.append({"action": steps[-1]["action"] if dice.random() < 0.4 else action(dice)})
        episodes.append({"episode_id": f"e{number}", "instruction": "made up", "steps": steps})
    if dice.random() < 0.2:
        predictions = predictions[: dice.randrange(len(predictions) + 1)]
    states = [dice.choice((None, {"success": True}, {"success": False}, {"success": "yes"})) for _ in predictions]
    return {"episodes": episodes, "predictions": predictions, "states": states}


class Replay:
    """A policy that answers from a list."""

    def __init__(self, actions: list[Any], states: list[Any]) -> None:
        self.answers = list(zip(actions, states, strict=True))

    def predict_action_from_sample(self, sample: dict[str, Any]) -> tuple[Any, None, Any, str]:
        predicted, state = self.answers[sample["number"]]
        return predicted, None, state, ""


@pytest.mark.parametrize("mode", ["coord", "som"])
def test_numbers_are_those_of_the_original(mode: Any) -> None:
    from openadapt_ml.evals.trajectory_matching import evaluate_policy_on_episodes
    from openadapt_ml.schema import Action, Episode

    dice = random.Random(3)
    seen: set[str] = set()
    for _ in range(400):
        made = case(dice)
        episodes = [Episode.model_validate(each) for each in made["episodes"]]
        policy: Any = Replay([Action.model_validate(each["action"]) for each in made["predictions"]], made["states"])
        numbered = [{"number": number} for number in range(len(made["predictions"]))]
        theirs = asdict(evaluate_policy_on_episodes(policy, episodes, numbered, use_som=mode == "som"))
        settings = Settings(profile="openadapt-v1", dsl_mode=mode)
        scores = [gui.score(sample, settings) for sample in samples(made)]
        assert all(score.status in ("scored", "not_applicable") for score in scores)
        ours = aggregate(scores) if scores else metrics([], profile="openadapt-v1")
        for each in ours:
            if not each.labels:
                wanted = theirs.pop(each.name)
                assert each.value == (None if wanted is None else pytest.approx(wanted, rel=1e-12, abs=0)), each.name
                seen |= {each.name} if wanted not in (None, 0, 1) else set()
        assert not theirs
    # Otherwise agreement would say little.
    assert {"action_type_accuracy", "mean_episode_step_score", "state_success_rate"} <= seen
    assert ("element_accuracy" if mode == "som" else "click_hit_rate") in seen
