"""Version 1 of the model, brought to today's."""

from __future__ import annotations

from pathlib import Path

import pantrace
from pantrace.model import Sample, Step, Trajectory, Usage
from pantrace.wire.upgrade import upgrade

OLD = Usage(input=30, extra={"adk": {"tool_use_prompt_token_count": 20, "traffic_type": "ON_DEMAND"}})


def test_what_version_1_kept_in_extra_becomes_a_field() -> None:
    grader = Trajectory(extra={"inspect": {"span": "scorer"}}, steps=(Step(role="agent", usage=OLD),))
    found = upgrade(Sample(id="s", trajectory=Trajectory(children=(grader,), usage={"m": OLD})))
    assert found.trajectory is not None
    assert found.trajectory.usage is not None
    (child,) = found.trajectory.children
    wanted = Usage(input=30, tool_prompt=20, extra={"adk": {"traffic_type": "ON_DEMAND"}})
    assert (child.purpose, child.steps[0].usage, found.trajectory.usage["m"]) == ("grader", wanted, wanted)


def test_what_needs_no_change_is_not_copied() -> None:
    sample = Sample(id="s", trajectory=Trajectory(steps=(Step(role="agent", usage=Usage(input=1)),)))
    assert upgrade(sample) is sample


def test_a_file_of_version_1_reads_as_its_copy_of_version_2(tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "golden" / "native" / "version_1.trace.jsonl"
    new = tmp_path / "new.trace.jsonl"
    pantrace.convert(old, new, to="native")
    assert new.read_bytes().startswith(b'{"pantrace":"2"')
    assert list(pantrace.read(old).samples) == list(pantrace.read(new).samples)
