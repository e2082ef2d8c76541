"""Work grows with the length of a trajectory and not with its square; counted in function calls, not in time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pantrace.engine.measure import choose, scores_of
from pantrace.errors import SampleRefused
from pantrace.formats import by_name, names
from pantrace.formats.format import Format
from pantrace.model import (
    Agent,
    Invocation,
    Sample,
    Score,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    call_pairs,
    final_response,
    merged_turns,
    turns,
    usage_total,
)
from pantrace.wire.json import decode, encode
from pantrace.wire.loss import sample_losses
from thorough import quick

SHORT, LONG = 25, 100
"""Turns; four steps each."""

WRITERS = [name for name in names() if by_name(name).dump is not None and by_name(name).load is not None]


def calls_in(work: Callable[[], Any]) -> int:
    """How many functions are called, those of C included."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # what other tests left behind may call something when it goes
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def grows_linearly(work: Callable[[int], Callable[[], Any]]) -> None:
    work(2)()  # caches and imports
    short, long = calls_in(work(SHORT)), calls_in(work(LONG))
    assert long < 1.5 * (LONG / SHORT) * short, (short, long)


def recorded(count: int, *, ids: bool, prompts: bool, parts: int = 1) -> Sample:
    """A session of many turns, or of one turn with many steps; several calls per step if asked for."""
    steps: list[Step] = []
    for turn in range(count):
        if prompts or not steps:
            steps.append(Step(role="user", invocation=f"i{turn}", parts=(Text(text=f"Question {turn}?"),)))
        asked = [ToolCall(id=f"c{turn}.{n}", name="bash", arguments={"command": f"ls {turn}"}) for n in range(parts)]
        usage = Usage(input=turn, output=1, total=turn + 1)
        spoken = (Thinking(text=f"hm {turn}"), Text(text=f"Looking {turn}."), *asked)
        at = 1000.0 + turn
        steps.append(Step(role="agent", agent="a", model="m", at=at, ended=at + 0.5, usage=usage, parts=spoken))
        answers = [ToolResult(call_id=call.id, name="bash", output=f"file {turn}") for call in asked]
        steps.append(Step(role="tool", parts=tuple(answers)))
        steps.append(Step(role="agent", agent="a", model="m", at=at + 0.6, parts=(Text(text=f"Answer {turn}."),)))
    if ids:
        steps = [Step(**{**fields_of(step), "id": f"s{place}"}) for place, step in enumerate(steps)]
    invocations = tuple(Invocation(id=f"i{turn}", seconds=1.5) for turn in range(count if prompts else 1))
    trajectory = Trajectory(
        id="t", agents=(Agent(name="a", model="m"),), steps=tuple(steps), invocations=invocations, state={}
    )
    return Sample(id="x", trajectory=trajectory, expected=trajectory, scores=(Score(name="s", value=1.0),))


def fields_of(step: Step) -> dict[str, Any]:
    return {name: getattr(step, name) for name in Step.__struct_fields__}


SHAPES = {
    "ids": {"ids": True, "prompts": True},
    "no ids": {"ids": False, "prompts": True},
    "one turn": {"ids": False, "prompts": False},
}


def written(format_: Format, sample: Sample) -> Any:
    assert format_.dump is not None
    try:
        return format_.dump(sample, format_.options())
    except SampleRefused as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("shape", quick({"ids"}, SHAPES))
@pytest.mark.parametrize("name", quick({"native", "inspect", "otlp", "opencode"}, WRITERS))
def test_writing(name: str, shape: str) -> None:
    def work(count: int) -> Callable[[], Any]:
        sample = recorded(count, **SHAPES[shape])
        return lambda: written(by_name(name), sample)

    grows_linearly(work)


@pytest.mark.parametrize("shape", quick({"ids"}, SHAPES))
@pytest.mark.parametrize("name", quick({"native", "inspect", "otlp", "opencode"}, WRITERS))
def test_reading_and_measuring_the_loss(name: str, shape: str) -> None:
    format_ = by_name(name)
    assert format_.load is not None
    load = format_.load

    def work(count: int) -> Callable[[], Any]:
        sample = recorded(count, **SHAPES[shape])
        row = encode(written(format_, sample))
        return lambda: sample_losses(sample, load(decode(row)), format_.lost, name)

    grows_linearly(work)


@pytest.mark.parametrize("shape", SHAPES)
def test_views_and_all_checks(shape: str) -> None:
    chosen = choose((), (), ())

    def work(count: int) -> Callable[[], Any]:
        sample = recorded(count, **SHAPES[shape])
        assert sample.trajectory is not None
        trajectory = sample.trajectory

        def look() -> None:
            for view in (turns, call_pairs, merged_turns, final_response, usage_total):
                view(trajectory)
            scores_of(sample, chosen)

        return look

    grows_linearly(work)


def steps(count: int, role: Any = "agent", word: str = "text") -> list[Step]:
    return [Step(role=role, parts=(Text(text=f"{word} {number}."),)) for number in range(count)]


def calls(count: int, *, alike: bool) -> list[Step]:
    made = [0 if alike else number for number in range(count)]
    return [Step(role="agent", parts=(ToolCall(name="f", arguments={"n": n}), ToolResult(output=n))) for n in made]


def merged(parts: list[Step]) -> list[Step]:
    return [Step(role="agent", parts=tuple(part for step in parts for part in step.parts))]


@pytest.mark.parametrize(
    "make",
    [
        lambda n: (steps(n), steps(n, word="other")[1:]),
        lambda n: (steps(n), [*steps(n, role="user"), *steps(1)]),
        lambda n: (calls(n, alike=False), merged(calls(n, alike=False))),
        lambda n: (calls(n, alike=True), merged(calls(n, alike=True))),
        lambda n: (merged(calls(n, alike=True)), calls(n, alike=True)),
        lambda n: (steps(n), merged(steps(n))),
        lambda n: (steps(n), [Step(role="agent", parts=(Text(text=" ".join(f"text {i}." for i in range(n))),))]),
        lambda n: ([Step(role="tool", parts=(ToolResult(output=i),)) for i in range(n)], steps(n)),
        lambda n: (calls(n, alike=False), []),
    ],
    ids=["nothing alike", "roles", "merged", "merged alike", "split", "texts beside", "texts joined", "gone", "empty"],
)
def test_losses_where_nothing_is_at_its_place(make: Callable[[int], tuple[list[Step], list[Step]]]) -> None:
    def work(count: int) -> Callable[[], Any]:
        before, after = (Sample(id="x", trajectory=Trajectory(steps=tuple(each))) for each in make(8 * count))
        return lambda: sample_losses(before, after, {}, "other")

    grows_linearly(work)
