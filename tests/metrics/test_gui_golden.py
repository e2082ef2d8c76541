"""Profile openadapt-v1 gives the numbers of OpenAdapt's own code (golden data: its inputs and outputs)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from metrics.openadapt_samples import samples
from pantrace import read
from pantrace.metrics.gui import Settings, gui
from pantrace.metrics.gui.metrics import aggregate, metrics
from pantrace.metrics.gui.milestones import Milestone

FILE = CORPUS / "own/openadapt/golden/trajectory_metrics.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text())["cases"] if FILE.exists() else []

PER_EPISODE = {
    "step_matches": "type_matches",
    "step_total": "num_steps",
    "coord_errors": "coord_errors",
    "success_pred": "episode_success_rate",
    "click_hits": "click_hits",
    "click_total": "click_total",
    "milestones_achieved": "milestones",
    "full_step_correct": "correct_steps",
    "state_success": "state_success_rate",
    "bbox_hits": "bbox_hits",
    "bbox_total": "bbox_total",
    "element_hits": "element_hits",
    "element_total": "element_total",
}


@needs_corpus
def test_all_cases_are_there() -> None:
    assert len(CASES) == 20


@needs_corpus
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_numbers_are_those_of_the_original(case: dict[str, Any]) -> None:
    settings = Settings(profile="openadapt-v1", dsl_mode=case["dsl_mode"], milestones=_milestones(case["milestones"]))
    scores = [gui.score(sample, settings) for sample in samples(case)]
    for score, theirs in zip(scores, case["expected"]["episode_metrics"], strict=True):
        for name, ours in PER_EPISODE.items():
            wanted = theirs[name]
            assert (score.values | score.details)[ours] == (
                pytest.approx(wanted, rel=1e-12) if isinstance(wanted, list) else wanted
            )
    found = aggregate(scores) if scores else metrics([], "openadapt-v1")
    ours_by_name = {each.name: each.value for each in found if not each.labels}
    assert ours_by_name.keys() == case["expected"]["metrics"].keys()
    for name, wanted in case["expected"]["metrics"].items():
        assert ours_by_name[name] == (None if wanted is None else pytest.approx(wanted, rel=1e-12, abs=0)), name


@needs_corpus
@pytest.mark.parametrize("case", [case for case in CASES if case["episodes"]], ids=lambda case: case["name"])
def test_numbers_are_the_same_through_the_readers(case: dict[str, Any], tmp_path: Path) -> None:
    """Episodes as ground truth, the step log as predictions; the log alone has all but the boxes."""
    episodes, log = tmp_path / "episodes.json", tmp_path / "log.jsonl"
    episodes.write_text(json.dumps(case["episodes"]))
    log.write_text("".join(json.dumps(row) + "\n" for row in case["expected"]["step_log"]))
    truths = {sample.id: sample.trajectory for sample in read(episodes).samples}
    logged = list(read(log).samples)
    joined = [msgspec.structs.replace(sample, expected=truths[sample.id]) for sample in logged]
    settings = Settings(profile="openadapt-v1", dsl_mode=case["dsl_mode"], milestones=_milestones(case["milestones"]))
    wanted = case["expected"]["metrics"]
    for samples_read, lacking in ((joined, set()), (logged, {"bbox_hit_rate"})):
        found = aggregate([gui.score(sample, settings) for sample in samples_read])
        for each in found:
            if not each.labels and each.name not in lacking:
                value = wanted[each.name]
                assert each.value == (None if value is None else pytest.approx(value, rel=1e-12, abs=0)), each.name


@needs_corpus
def test_without_milestones_every_task_is_a_login() -> None:
    case = next(case for case in CASES if case["name"] == "synthetic_login_coord_perfect")
    scores = [gui.score(sample, Settings(profile="openadapt-v1")) for sample in samples(case)]
    assert {each.name: each.value for each in aggregate(scores)}["weak_episode_success_rate"] == 1.0


def _milestones(rows: list[dict[str, Any]]) -> Any:
    return {"*": msgspec.convert(rows, tuple[Milestone, ...])}
