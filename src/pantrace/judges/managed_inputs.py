"""Inputs of managed metrics: the case that the service gets for a sample, or why there is none.

A case has columns of the client's FLATTEN schema, but only those that the metric uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pantrace.errors import SampleRefused
from pantrace.model import MergedTurn, Sample, Trajectory, call_pairs, final_response, is_agents, merged_turns

from .cut import Absent
from .inputs import INPUTS
from .managed import Family, Managed, family_of, pinned_versions

Row = Callable[[], dict[str, Any]]
"""Returns the sample as a `vertex-agent` row; SampleRefused if that is not possible."""

_NO_RUBRICS = "it has no rubrics of its own (`rubric_groups`), and the service makes none for this metric"


def managed_case(sample: Sample, managed: Managed, row: Row) -> dict[str, Any] | Absent:
    """What the service gets to see of a sample."""
    family, trajectory = family_of(managed), sample.trajectory
    # Checked first: it costs nothing, and asking Google does.
    if managed.agents and not set(managed.agents) & _agents(sample):
        return Absent(f"it is not a run of {' or '.join(managed.agents)}")
    if trajectory is None:
        return Absent("it has not been run: there is no trajectory")
    said = [turn for turn in merged_turns(trajectory) if turn.text]
    prompts = [place for place, turn in enumerate(said) if turn.role == "user"]
    # The service would judge the last prompt alone, and its score would look like one of the conversation.
    if family.turns == "one" and len(prompts) > 1:
        return Absent(f"it is a conversation of {len(prompts)} prompts, and the metric judges one{_sister(family)}")
    if "calls" in family.inputs and not any(is_agents(pair.step) for pair in call_pairs(trajectory)):
        return Absent(INPUTS["invoked_tools"][1])
    found = _texts(sample, trajectory, said, prompts)
    case: dict[str, Any] = {}
    for name, (column, missing) in _COLUMNS.items():
        if name not in family.inputs:
            continue
        value = found.get(name)
        if not value and missing is not None:
            return Absent(missing)
        if value:
            case[column] = value
    return _with_run(case, family, row)


def _with_run(case: dict[str, Any], family: Family, row: Row) -> dict[str, Any] | Absent:
    """The case with what only the row has: the run as agent data, rubrics of the sample."""
    if not {"agent_data", "rubric_groups"} & set(family.inputs):
        return case
    try:
        columns = row()
    except SampleRefused as refused:
        return Absent(str(refused))
    if "agent_data" in family.inputs:
        case["agent_data"] = columns["agent_data"]
    if "rubric_groups" in family.inputs:
        if not columns.get("rubric_groups"):
            return Absent(_NO_RUBRICS)
        case["rubric_groups"] = columns["rubric_groups"]
    return case


_COLUMNS: dict[str, tuple[str, str | None]] = {
    "history": ("conversation_history", None),
    "prompt": ("prompt", INPUTS["question"][1]),
    "response": ("response", INPUTS["answer"][1]),
    "context": ("context", "its case has no context"),
    "reference": ("reference", INPUTS["reference"][1]),
}
"""Input -> the client's column, and what its absence means; None if it may be absent."""


def _texts(sample: Sample, trajectory: Trajectory, said: list[MergedTurn], prompts: list[int]) -> dict[str, Any]:
    case = sample.case
    reference = case.reference if case is not None else None
    if reference is None and sample.expected is not None:
        reference = final_response(sample.expected)
    return {
        "history": [_content(turn) for turn in said[: prompts[-1]]] if prompts else [],
        "prompt": said[prompts[-1]].text if prompts else (case.question if case is not None else None),
        # The answer as recorded, not `said[-1]`: a source may state a response that is not the last message.
        "response": final_response(trajectory),
        "context": (case.context or case.relevant_context) if case is not None else None,
        "reference": reference,
    }


def _content(turn: MergedTurn) -> dict[str, Any]:
    return {"role": "user" if turn.role == "user" else "model", "parts": [{"text": turn.text}]}


def _agents(sample: Sample) -> set[str]:
    """The agents of a sample: the one under test, otherwise those that the recording names."""
    if sample.case is not None and sample.case.agent is not None:
        return {sample.case.agent}
    return {agent.name for agent in sample.trajectory.agents} if sample.trajectory is not None else set()


def _sister(family: Family) -> str:
    return f" (for conversations: {', '.join(pinned_versions(family.instead))})" if family.instead else ""
