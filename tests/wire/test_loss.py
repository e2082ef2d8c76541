"""Losses by name: each row is a sample before and after, and what must be said of it."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.model import Agent, Run, Sample, Source, Step, Text, ToolCall, ToolResult, Trajectory, Usage
from pantrace.wire.found import common_weight
from pantrace.wire.loss import general_path, header_losses, plain, sample_losses


def sample(*steps: Step, **fields: Any) -> Sample:
    return Sample(id="x", trajectory=Trajectory(steps=steps, **fields))


def said(*texts: str, role: Any = "agent", **fields: Any) -> Step:
    return Step(role=role, parts=tuple(Text(text=text) for text in texts), **fields)


def calling(**arguments: Any) -> Step:
    return Step(role="agent", parts=(ToolCall(id="1", name="read", arguments=arguments),))


CALL = ToolCall(id="1", name="read", arguments={"path": "a"})
RESULT = ToolResult(call_id="1", name="read", output="text")
WRAPPED = ToolResult(call_id="1", name="read", output={"output": "text"})

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
    (
        "agents in another order",
        sample(agents=(Agent(name="a"), Agent(name="b"))),
        sample(agents=(Agent(name="b"), Agent(name="a"))),
        [("trajectory.agents[0]", "moved")],
    ),
    (
        "an argument's items in another order",
        sample(calling(items=[{"id": "a"}, {"id": "b"}])),
        sample(calling(items=[{"id": "b"}, {"id": "a"}])),
        [("trajectory.steps[0].parts[0].arguments.items[0]", "moved")],
    ),
    (
        "steps without parts in another order",
        sample(said(id="1"), said(id="2")),
        sample(said(id="2"), said(id="1")),
        [("trajectory.steps[0]", "moved")],
    ),
    (
        "a short text that is a part of a word",
        sample(said("no", "I know")),
        sample(said("I know")),
        [("trajectory.steps[0].parts[0]", "absent")],
    ),
    (
        "a text said twice and written once",
        sample(said("a", "a")),
        sample(said("a")),
        [("trajectory.steps[0].parts[1]", "absent")],
    ),
    (
        "a step said twice and written once",
        sample(said("a"), said("a")),
        sample(said("a")),
        [("trajectory.steps[1]", "merged"), ("trajectory.steps[1].parts[0]", "absent")],
    ),
    (
        "a text that only stands in another step's text",
        sample(said("fine"), said("ok fine")),
        sample(said("ok fine")),
        [("trajectory.steps[0].parts[0]", "absent"), ("trajectory.steps[1]", "merged")],
    ),
    (
        "another speaker",
        sample(said("a", role="user"), said("b")),
        sample(said("a"), said("b", role="user")),
        [
            ("trajectory.steps[0]", "merged"),
            ("trajectory.steps[0].role", "changed"),
            ("trajectory.steps[1]", "merged"),
            ("trajectory.steps[1].role", "changed"),
        ],
    ),
    (
        "an argument that nobody gave",
        sample(calling(path="a")),
        sample(calling(path="a", force=True)),
        [("trajectory.steps[0].parts[0].arguments.force", "added")],
    ),
    (
        "an item that nobody gave",
        sample(said("a"), state={"list": [1]}),
        sample(said("a"), state={"list": [1, 2]}),
        [("trajectory.state.list[1]", "added")],
    ),
    ("the whole trajectory", sample(said("a")), Sample(id="x"), [("trajectory", "absent")]),
    (
        "an agent that has another name now",
        sample(agents=(Agent(name="codex", model="m", instructions="Be brief."),)),
        sample(agents=(Agent(name="agent", instructions="Be brief."),)),
        [("trajectory.agents[0].name", "changed"), ("trajectory.agents[0].model", "absent")],
    ),
    (
        "another agent with the same model, of several",
        sample(agents=(Agent(name="a", model="m"), Agent(name="b", model="m"))),
        sample(agents=(Agent(name="a", model="m"), Agent(name="c", model="m"))),
        [("trajectory.agents[1]", "absent")],
    ),
    (
        "an output that is an object now, in a step with the same id",
        sample(said("a", role="user"), Step(id="2", role="tool", parts=(RESULT,))),
        sample(said("b"), said("a", role="user"), Step(id="2", role="tool", parts=(WRAPPED,))),
        [("trajectory.steps[1].parts[0].output", "changed")],
    ),
    (
        "an output that is an object now, in its call's step",
        sample(Step(role="agent", parts=(CALL,)), Step(role="tool", parts=(RESULT,))),
        sample(Step(role="agent", parts=(CALL, WRAPPED))),
        [("trajectory.steps[1]", "merged"), ("trajectory.steps[1].parts[0].output", "changed")],
    ),
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


@pytest.mark.parametrize("key", ["extra", "extracted", "extra_info", "type"])
def test_a_key_of_somebodys_data_is_never_the_models(key: str) -> None:
    """What is called `extra` in a state or an argument is lost like any other value."""
    data = {key: "unknown", "raw": {"extra": {"a": 1}}}
    for before in (sample(said("a"), state={"kept": 1, **data}), sample(said("a"), calling(kept=1, **data))):
        after = sample(said("a"), state={"kept": 1}) if before.trajectory.state else sample(said("a"), calling(kept=1))
        losses = sample_losses(before, after, {}, "target")
        assert sum(loss.values for loss in losses) == 2
        assert [loss.own for loss in losses] == [0, 0]
        assert {loss.why for loss in losses} == {"target has no place for it"}
        assert common_weight(plain(before)) - common_weight(plain(after)) == 2


def test_what_nobody_wrote_has_a_reason_of_its_own() -> None:
    (loss,) = sample_losses(sample(calling(a=1)), sample(calling(a=1, b=2)), {"": "no room"}, "target")
    assert (loss.what, loss.why) == ("added: 2", "the source does not say it")
