"""OpenHands V1: conversations with condensation, sub-agents and errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pantrace
from corpus import needs_corpus
from goldens import ROOT as GOLDEN
from pantrace.model import Trajectory
from session_truth import FOLDER


def only(path: Path) -> Trajectory:
    (sample,) = pantrace.read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


@needs_corpus
def test_each_condensation_says_what_it_replaced_and_took() -> None:
    trajectory = only(FOLDER / "openhands_v1" / "condense")
    compactions = [step for step in trajectory.steps if step.kind == "compaction"]
    assert len(compactions) == 3 and all(step.replaces and step.usage for step in compactions)


def test_sub_agents_stand_under_their_calls() -> None:
    trajectory = only(GOLDEN / "openhands")
    assert len({child.caller for child in trajectory.children}) == 2
    assert None not in {child.caller for child in trajectory.children}


def test_an_event_that_is_cut_off_is_named(tmp_path: Path) -> None:
    (golden,) = [each for each in (GOLDEN / "openhands").iterdir() if each.is_dir() and "native" not in each.name]
    shutil.copytree(golden, tmp_path / "c")
    first = min((tmp_path / "c" / "events").iterdir())
    first.write_bytes(first.read_bytes()[:50])
    broken: list[str] = []
    (sample,) = pantrace.read(tmp_path / "c", on_broken=lambda error: broken.append(str(error))).samples
    assert len(broken) == 1 and first.name in broken[0]
    assert sample.trajectory is not None and len(sample.trajectory.steps) == 9
