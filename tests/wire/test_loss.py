"""Losses by name: each row is a sample before and after, and what must be said of it."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.model import Run, Sample, Source, Step, Text, ToolCall, ToolResult, Trajectory, Usage
from pantrace.wire.loss import general_path, header_losses, sample_losses


def sample(*steps: Step, **fields: Any) -> Sample:
    return Sample(id="x", trajectory=Trajectory(steps=steps, **fields))


def said(*texts: str, role: Any = "agent", **fields: Any) -> Step:
    return Step(role=role, parts=tuple(Text(text=text) for text in texts), **fields)


CALL = ToolCall(id="1", name="read", arguments={"path": "a"})
RESULT = ToolResult(call_id="1", name="read", output="text")

ROWS = [
    ("nothing", sample(said("a")), sample(said("a")), []),
    (
        "where it was read",
        sample(said("a"), source=Source(format="a")),
        sample(said("a"), source=Source(format="b")),
        [],
    ),
    ("what the target adds", sample(said("a")), sample(said("a", id="new"), title="t"), []),
    ("a field", sample(said("a", model="m")), sample(said("a")), [("trajectory.steps[0].model", "absent")]),
    (
        "a change",
        sample(said("a", model="m")),
        sample(said("a", model="n")),
        [("trajectory.steps[0].model", "changed")],
    ),
    (
        "a group is named once",
        sample(said("a", usage=Usage(input=1, output=2))),
        sample(said("a")),
        [("trajectory.steps[0].usage", "absent")],
    ),
    ("a step", sample(said("a"), said("b", role="user")), sample(said("a")), [("trajectory.steps[1]", "absent")]),
    (
        "merged",
        sample(said("a"), said("b")),
        sample(said("a\n\nb")),
        [
            ("trajectory.steps[0].parts[0]", "joined"),
            ("trajectory.steps[1]", "merged"),
            ("trajectory.steps[1].parts[0]", "joined"),
        ],
    ),
    (
        "texts joined",
        sample(said("a", "b")),
        sample(said("a\n\nb")),
        [("trajectory.steps[0].parts[0]", "joined"), ("trajectory.steps[0].parts[1]", "joined")],
    ),
    (
        "a result that moved into its call's step",
        sample(Step(role="agent", parts=(CALL,)), Step(role="tool", parts=(RESULT,), at=5.0)),
        sample(Step(role="agent", parts=(CALL, RESULT))),
        [("trajectory.steps[1]", "merged")],
    ),
    (
        "an id",
        sample(Step(role="agent", parts=(CALL,))),
        sample(Step(role="agent", parts=(ToolCall(id="2", name="read", arguments={"path": "a"}),))),
        [("trajectory.steps[0].parts[0].id", "changed")],
    ),
    (
        "an argument",
        sample(Step(role="agent", parts=(CALL,))),
        sample(Step(role="agent", parts=(ToolCall(id="1", name="read", arguments={}),))),
        [("trajectory.steps[0].parts[0].arguments.path", "absent")],
    ),
    (
        "an argument that has the name of a field",
        sample(Step(role="agent", parts=(ToolCall(id="1", name="read", arguments={"source": "a"}),))),
        sample(Step(role="agent", parts=(ToolCall(id="1", name="read", arguments={}),))),
        [("trajectory.steps[0].parts[0].arguments.source", "absent")],
    ),
    (
        "a text is not taken for an empty result",
        sample(said("a", role="user"), Step(role="agent", parts=(CALL,))),
        sample(Step(role="agent", parts=(CALL, ToolResult()))),
        [("trajectory.steps[0]", "absent")],
    ),
    (
        "true is not 1",
        sample(said("a"), state={"k": True}),
        sample(said("a"), state={"k": 1}),
        [("trajectory.state.k", "changed")],
    ),
    (
        "another order",
        sample(Step(role="agent", parts=(Text(text="first"), CALL, RESULT))),
        sample(Step(role="agent", parts=(CALL, RESULT, Text(text="first")))),
        [("trajectory.steps[0].parts[0]", "moved")],
    ),
    ("the whole trajectory", sample(said("a")), Sample(id="x"), [("trajectory", "absent")]),
    ("extras", sample(said("a"), extra={"other": {"k": 1}}), sample(said("a")), [("trajectory.extra", "absent")]),
]


@pytest.mark.parametrize(("before", "after", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_losses_are_named(before: Sample, after: Sample, expected: list[tuple[str, str]]) -> None:
    losses = sample_losses(before, after, {}, "target")
    assert [(loss.path, loss.what.replace(":", " ").split()[0]) for loss in losses] == expected


def test_the_formats_own_reason_is_given_for_the_longest_path_it_explains() -> None:
    why = {"trajectory.steps[]": "steps are flat", "trajectory.steps[].usage": "no tokens here"}
    losses = sample_losses(sample(said("a", usage=Usage(input=1), model="m")), sample(said("a")), why, "target")
    assert {loss.path.rpartition(".")[2]: loss.why for loss in losses} == {
        "model": "steps are flat",
        "usage": "no tokens here",
    }


def test_a_general_path_has_no_numbers_and_ends_at_a_formats_name() -> None:
    assert (
        general_path("trajectory.steps[12].parts[0].extra.opencode.metadata.x")
        == "trajectory.steps[].parts[].extra.opencode"
    )


def test_a_header_is_compared_too() -> None:
    losses = header_losses(Run(name="a", task="t"), Run(name="a"), {}, "target")
    assert [(loss.path, loss.sample) for loss in losses] == [("run.task", None)]


def test_what_is_gone_weighs_what_it_held() -> None:
    held = said("a", "b", usage=Usage(input=1, output=2))
    (loss,) = sample_losses(sample(said("x", role="user"), held), sample(said("x", role="user")), {}, "target")
    assert (loss.path, loss.values) == ("trajectory.steps[1]", 7)  # the role, two texts with their types, two numbers
