"""Hypothesis strategies for samples: every field of the model can occur."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pantrace.model import (
    Action,
    Agent,
    Aggregate,
    Case,
    Citation,
    ExpectedCall,
    Invocation,
    Maker,
    Media,
    Outcome,
    Point,
    Sample,
    Scale,
    Score,
    Step,
    StepError,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
)

text = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
maybe_text = st.none() | text
json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(text, json_value, max_size=2)
count = st.none() | st.integers(0, 5000)
moment = st.none() | st.integers(1_700_000_000_000, 1_800_000_000_000).map(lambda ms: ms / 1000)
extra = st.dictionaries(
    st.sampled_from(["elsewhere", "other"]), st.dictionaries(text, json_value, max_size=1), max_size=1
)
names = st.sampled_from(["read", "bash", "search"])


def usages() -> st.SearchStrategy[Usage]:
    return st.builds(
        lambda i, o, c, r, cost: Usage(
            input=i,
            output=o,
            cache_read=None if i is None else min(c, i),
            reasoning=None if o is None else min(r, o),
            cost_usd=cost,
        ),
        count,
        count,
        st.integers(0, 50),
        st.integers(0, 50),
        st.none() | st.just(0.25),
    )


@st.composite
def exchanges(draw: Any) -> tuple[Any, ...]:
    """A tool call and usually its result."""
    name = draw(names)
    call_id = f"call_{draw(st.integers(0, 10**6))}"
    call = ToolCall(id=call_id, name=name, arguments=draw(arguments))
    if draw(st.integers(0, 5)) == 0:
        return (call,)
    failed = draw(st.booleans())
    result = ToolResult(
        call_id=call_id,
        name=name,
        output=draw(text | arguments),
        error=draw(text) if failed else None,
        failure="error" if failed else None,
        exit_code=draw(st.none() | st.just(3)),
        truncated=draw(st.booleans()),
        started=draw(moment),
    )
    return (call, result)


def parts() -> st.SearchStrategy[tuple[Any, ...]]:
    point = st.builds(Point, x=st.floats(0, 1), y=st.floats(0, 1), space=st.just("normalised"))
    single = st.one_of(
        st.builds(Text, text=text, synthetic=st.booleans(), extra=extra),
        st.builds(Thinking, text=text),
        st.builds(Media, mime=st.just("image/png"), uri=st.just("shot.png"), name=maybe_text),
        st.builds(Citation, uri=st.just("https://example.org/a"), title=maybe_text),
        st.builds(
            Action, kind=st.sampled_from(["click", "type"]), target=st.builds(Target, point=point), text=maybe_text
        ),
        st.builds(Unknown, kind=st.just("elsewhere:thing"), raw=arguments),
    ).map(lambda part: (part,))
    return st.lists(single | exchanges(), max_size=3).map(
        lambda groups: tuple(part for group in groups for part in group)
    )


@st.composite
def steps(draw: Any) -> Step:
    role = draw(st.sampled_from(["user", "agent", "agent", "system"]))
    content = draw(parts()) if role == "agent" else (Text(text=draw(text)),)
    return Step(
        id=draw(st.none() | st.uuids().map(str)),
        role=role,
        agent=draw(maybe_text),
        parts=content,
        at=draw(moment),
        model=draw(maybe_text) if role == "agent" else None,
        usage=draw(st.none() | usages()) if role == "agent" else None,
        stop=draw(maybe_text) if role == "agent" else None,
        error=draw(st.none() | st.builds(StepError, kind=maybe_text, message=text)) if role == "agent" else None,
        kind=draw(st.sampled_from(["message", "message", "message", "compaction", "synthetic"])),
        state_delta=draw(st.none() | arguments),
        extra=draw(extra),
    )


@st.composite
def trajectories(draw: Any, *, children: bool = True) -> Trajectory:
    return Trajectory(
        id=draw(st.uuids().map(str)),
        title=draw(maybe_text),
        created=draw(moment),
        agents=draw(
            st.lists(
                st.builds(
                    Agent, name=text, model=maybe_text, instructions=maybe_text, tools=st.just((Tool(name="read"),))
                ),
                max_size=1,
            ).map(tuple)
        ),
        steps=tuple(draw(st.lists(steps(), max_size=5))),
        invocations=draw(st.just(()) | st.just((Invocation(id="i1", seconds=1.5),))),
        response=draw(st.none() | text),
        state=draw(st.none() | arguments),
        outcome=draw(
            st.none()
            | st.builds(Outcome, status=st.sampled_from(["passed", "failed"]), reason=maybe_text, reward=st.just(0.5))
        ),
        children=(draw(trajectories(children=False)),) if children and draw(st.integers(0, 4)) == 0 else (),
        extra=draw(extra),
    )


def cases() -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        id=maybe_text,
        question=maybe_text,
        context=maybe_text,
        reference=maybe_text,
        goal=maybe_text,
        expected_calls=st.none() | st.builds(ExpectedCall, name=names, arguments=arguments).map(lambda call: (call,)),
        available_tools=st.none() | st.just(("read", "bash")),
        profile=maybe_text,
        labels=st.dictionaries(st.sampled_from(["difficulty", "color"]), text, max_size=1),
    )


def scores() -> st.SearchStrategy[Score]:
    return st.builds(
        Score,
        name=text,
        value=st.floats(0, 1),
        scale=st.none() | st.just(Scale(low=0, high=1)),
        explanation=maybe_text,
        maker=st.none() | st.builds(Maker, name=text, version=maybe_text),
    )


def samples() -> st.SearchStrategy[Sample]:
    return st.builds(
        Sample,
        id=st.uuids().map(str),
        epoch=st.none() | st.integers(1, 3),
        case=st.none() | cases(),
        trajectory=st.none() | trajectories(),
        expected=st.none() | trajectories(children=False),
        scores=st.lists(scores(), max_size=1).map(tuple),
        extra=extra,
    )


aggregates = st.builds(Aggregate, name=text, value=st.floats(0, 1))
