"""What a judge gets to read of a run."""

from __future__ import annotations

from pantrace.judges.transcript import transcript
from pantrace.model import Trajectory
from short_samples import agent, run, user


def test_a_judge_reads_sub_agents_but_not_what_another_grader_said() -> None:
    helper = Trajectory(title="helper", steps=(agent("looked it up"),))
    grader = Trajectory(title="graded", steps=(agent("GRADE: C"),), purpose="grader")
    sample = run(user("q"), agent("a"), children=(helper, grader))
    assert sample.trajectory is not None
    told = "\n".join(block.text for block in transcript(sample.trajectory))
    assert "looked it up" in told
    assert "GRADE" not in told
