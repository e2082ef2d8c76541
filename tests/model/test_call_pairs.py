"""Which result belongs to which call, against a slow and obvious reading of the rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pantrace.model import Part, Step, ToolCall, ToolResult, Trajectory, call_pairs

names = st.sampled_from(["a", "b"])
ids = st.none() | st.sampled_from(["1", "2"])
calls = st.builds(ToolCall, id=ids, name=names)
results = st.builds(ToolResult, call_id=ids, name=st.none() | names, output=st.integers())


def slowly(parts: list[Part]) -> list[ToolResult | None]:
    """Each result takes the first earlier call without one that has its id; without an id, its name, if it has one."""
    made: list[ToolCall] = []
    found: list[ToolResult | None] = []
    for part in parts:
        if isinstance(part, ToolCall):
            made.append(part)
            found.append(None)
        elif isinstance(part, ToolResult):
            for place, call in enumerate(made):
                fits = call.id == part.call_id and (part.call_id is not None or part.name in (None, call.name))
                if found[place] is None and fits:
                    found[place] = part
                    break
    return found


@given(st.lists(calls | results, max_size=14))
def test_results_find_their_calls(parts: list[Part]) -> None:
    trajectory = Trajectory(steps=tuple(Step(role="agent", parts=(part,)) for part in parts))
    assert [pair.result for pair in call_pairs(trajectory)] == slowly(parts)


def test_calls_of_sub_agents_are_paired_by_themselves() -> None:
    child = Trajectory(steps=(Step(role="agent", parts=(ToolResult(name="a", output=1),)),))
    parent = Trajectory(steps=(Step(role="agent", parts=(ToolCall(name="a"),)),), children=(child,))
    assert [pair.result for pair in call_pairs(parent, children=True)] == [None]
