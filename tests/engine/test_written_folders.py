"""A folder with one file for each sample: what is written into it is found again, sub-agents included."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from pantrace.engine.convert import write_run
from pantrace.engine.loss_report import Report
from pantrace.engine.read import open_run, read
from pantrace.engine.weigh import Scales
from pantrace.formats import all_formats, by_name
from pantrace.model import Action, Loss, Run, Sample, Step, Text, Trajectory, all_trajectories, with_samples
from pantrace.wire.rows import OnBroken

SPLIT = [each.name for each in all_formats() if each.writes and each.is_split]


def family() -> Sample:
    """A sample of another format, whose sub-agent has one of its own; their names stand in each other's texts."""

    def member(name: str, *children: Trajectory, parent: str | None = None, caller: str | None = None) -> Trajectory:
        said = (
            Step(role="user", parts=(Text(text=f'ask "{name}"'),)),
            Step(role="agent", parts=(Text(text="done"), Action(kind="wait"))),
        )
        extra = {"elsewhere": {"names": [name, *(child.id for child in children)]}}
        return Trajectory(id=name, parent=parent, caller=caller, steps=said, children=children, extra=extra)

    grandchild = member("deep", parent="inner", caller="call-2")
    return Sample(id="outer", trajectory=member("outer", member("inner", grandchild, parent="outer", caller="call-1")))


def members(run: Run) -> list[tuple[str | None, str | None]]:
    trajectories = [sample.trajectory for sample in run.samples if sample.trajectory is not None]
    return sorted((each.id, each.caller) for one in trajectories for each in all_trajectories(one))


@pytest.mark.parametrize("to", SPLIT)
def test_every_member_of_a_family_is_found_again(to: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    report = write_run(Run(samples=[family()]), target, to=to)
    assert not any(loss[0] == "sample" for loss in report.losses)
    found = members(read(target, format=to))
    lost = {path for path, _, _ in report.losses}
    if lost & {"trajectory.caller", "trajectory.id"}:
        assert len(found) == 3
    else:
        assert found == [("deep", "call-2"), ("inner", "call-1"), ("outer", None)]


def test_a_file_that_belongs_to_another_which_does_not_show_it_is_lost(tmp_path: Path) -> None:
    """The files of sub-agents are not read alone, so a session that leaves one out hides it from everybody."""
    codex = by_name("codex")
    write_run(Run(samples=[family()]), tmp_path / "out", to="codex")
    files = sorted((tmp_path / "out").iterdir())

    def forgets(path: Path, on_broken: OnBroken) -> Run:
        run = open_run(path, codex, "", on_broken)
        return with_samples(run, [alone(sample) for sample in run.samples])

    for format_, missing in ((codex, []), (replace(codex, open=forgets), ["deep", "inner"])):
        losses: list[Loss] = []
        with closing(Scales(format_, Report(to="codex"), losses.append, on_loss=None)) as scales:
            scales.add_files(files, None)
        assert sorted(str(loss.sample) for loss in losses) == missing


def alone(sample: Sample) -> Sample:
    assert sample.trajectory is not None
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(sample.trajectory, children=()))
