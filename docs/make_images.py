"""Draws the pictures of the documentation from made-up numbers: `python docs/make_images.py`."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from pantrace.engine.metric_values import read_evaluations
from pantrace.engine.plot import Kind, figure, label_names, save
from pantrace.engine.read import Notes

IMAGES = Path(__file__).parent / "images"

NAMES = ("action_type_accuracy", "mean_coord_error", "coord_error_count", "click_hit_rate", "episode_success_rate")
EVALS = {
    "Small, base": (0.31, 0.142, 21, 0.43, 0.0),
    "Small, tuned": (0.62, 0.041, 77, 0.83, 0.16),
    "Large, tuned": (0.74, 0.029, 88, 0.91, 0.31),
    "Large, marks": (0.97, None, 0, None, 0.88),
}


def draw(kind: Kind, files: list[Path], labels: list[str], target: Path) -> None:
    found = read_evaluations(files, notes=Notes())
    save(figure(kind, found, label_names(found, labels)), target)


def eval_files(folder: Path) -> list[Path]:
    files = []
    for place, values in enumerate(EVALS.values()):
        metrics = {"num_episodes": 32, "num_steps": 192, **dict(zip(NAMES, values, strict=True))}
        path = folder / f"eval_{place}.json"
        path.write_text(json.dumps({"config_path": "made-up.yaml", "backend": "made-up", "metrics": metrics}))
        files.append(path)
    return files


def trials(folder: Path, name: str, lift: float) -> Path:
    """Results of 40 tasks with four trials each; the same tasks are hard each time."""
    tasks, dice = random.Random(7), random.Random(name)
    rows = []
    for task in range(40):
        chance = min(1.0, tasks.betavariate(0.8, 0.7) + lift)
        for trial in range(4):
            reward = float(dice.random() < chance)
            rows.append({"task_id": task, "trial": trial, "reward": reward, "info": {}, "traj": []})
    path = folder / f"{name}.json"
    path.write_text(json.dumps(rows))
    return path


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw("comparison", eval_files(folder), list(EVALS), IMAGES / "comparison.svg")
        runs = [trials(folder, "before", 0.0), trials(folder, "after", 0.06)]
        draw("passk", runs, ["before", "after"], IMAGES / "passk.svg")
        draw("paired", runs, ["before", "after"], IMAGES / "paired.svg")


if __name__ == "__main__":
    main()
