"""The page of a sample: its header, and a summary of every row, so that outline and filters need nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pantrace.matching.call import Call
from pantrace.matching.comparison import compare
from pantrace.metrics.token_usage import cost_of, token_usage
from pantrace.model import (
    Action,
    Sample,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    all_trajectories,
    call_pairs,
    final_response,
    has_failed,
    is_prompt,
    total_tokens,
    usage_total,
)
from pantrace.wire.json import to_plain

from .costs import costs_of_steps
from .rows import Branch, Row
from .shown import ShownSample

BRIEF = 90
"""Characters of a step that outline and search results show."""
ALIGNED = 2_000
"""Maximum number of calls that are compared with expected ones: the comparison takes quadratic time."""


def page_of(shown: ShownSample, key: str, rows: Sequence[Row], branches: Sequence[Branch]) -> dict[str, Any]:
    """A sample's page without its steps."""
    sample, trajectory = shown.sample, shown.sample.trajectory
    numbers = _numbers(trajectory)
    usage = usage_total(trajectory) if trajectory is not None else None
    cost, estimated = cost_of(sample)
    costs = costs_of_steps(trajectory, estimated=estimated) if trajectory is not None else {}
    place_of = _places(rows, numbers)
    page = {
        "key": key,
        "id": sample.id,
        "epoch": sample.epoch,
        "title": title_of(sample),
        "case": to_plain(sample.case) if sample.case is not None else None,
        "scores": [_score(score, place_of) for score in sample.scores],
        "decisions": to_plain(shown.decisions),
        "extra": to_plain(sample.extra) or None,
        "expected": _expected(sample, rows),
        "heads": heads_of(rows, numbers, costs),
        "cost": cost,
        "estimated": estimated,
        "spent": _spent(sample),
        "size": len(rows),
    }
    if trajectory is not None:
        page |= {
            "outcome": to_plain(trajectory.outcome),
            "response": trajectory.response,
            "usage": to_plain(usage),
            "state": to_plain(trajectory.state),
            "origin": to_plain(trajectory.origin),
            "created": trajectory.created,
            "ended": trajectory.ended,
            "source": to_plain(trajectory.source),
            "seconds": seconds_of(trajectory),
            "branches": [_branch(branch, rows, branches) for branch in branches],
            "about": {"trajectory": to_plain(trajectory.extra) or None},
        }
    return page


def _numbers(trajectory: Trajectory | None) -> dict[int, str]:
    """Names for steps without an id: their number (#7) in the recording."""
    steps = [step for each in all_trajectories(trajectory) for step in each.steps] if trajectory is not None else []
    return {id(step): f"#{number}" for number, step in enumerate(steps, 1)}


def _places(rows: Sequence[Row], numbers: dict[int, str]) -> dict[str, int]:
    """The rows of the steps that evidence can name, by id or by number."""
    found: dict[str, int] = {}
    for place, row in enumerate(rows):
        for step in (row.step, *row.answers):
            found.setdefault(step.id or numbers.get(id(step), ""), place)
    return found


def _score(score: Any, place_of: dict[str, int]) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(score)
    named = [*score.evidence, *([score.step] if score.step else [])]
    plain["rows"] = sorted({place_of[name] for name in named if name in place_of})
    plain["gone"] = [name for name in named if name not in place_of]
    plain.setdefault("status", "scored")
    return plain


def _branch(branch: Branch, rows: Sequence[Row], branches: Sequence[Branch]) -> dict[str, Any]:
    trajectory = branch.trajectory
    return {
        "id": trajectory.id,
        "name": _agent_name(branch, rows, branches),
        "purpose": trajectory.purpose,
        "depth": branch.depth,
        "parent": branch.parent,
        "first": branch.first,
        "caller": branch.caller,
        "origin": to_plain(trajectory.origin),
        "outcome": to_plain(trajectory.outcome),
        "agents": to_plain(trajectory.agents),
    }


_NAMES = ("subagent_type", "agent_name", "agent", "agent_type", "name", "description", "task_name")
"""Arguments in which calls that start a sub-agent name it."""


def _agent_name(branch: Branch, rows: Sequence[Row], branches: Sequence[Branch]) -> str | None:
    """A readable name of the agent: from the recording, otherwise from the call that started it. A name that it shares
    with the agent that started it is only the program's."""
    trajectory = branch.trajectory
    own, of_parent = _told_name(trajectory), None
    if branch.parent is not None:
        of_parent = _told_name(branches[branch.parent].trajectory)
    # Some programs give every sub-agent their own name; the call that started it says more.
    if branch.caller is None or (own and own != of_parent):
        return own
    started = [
        part.arguments
        for part in rows[branch.caller].step.parts
        if isinstance(part, ToolCall) and part.id == trajectory.caller and isinstance(part.arguments, dict)
    ]
    found = (given[name] for given in started for name in _NAMES if isinstance(given.get(name), str))
    return next(found, "")[:80] or own


def _told_name(trajectory: Trajectory) -> str | None:
    return trajectory.title or (trajectory.agents[0].name if trajectory.agents else None)


def heads_of(rows: Sequence[Row], numbers: dict[int, str], costs: dict[int, float]) -> dict[str, list[Any]]:
    """A column for everything that outline, time axis and filters need to know about a row."""
    heads: dict[str, list[Any]] = {name: [] for name in _HEAD}
    for row in rows:
        ref, cost = row.step.id or numbers[id(row.step)], costs.get(id(row.step))
        for name, value in zip(_HEAD, _head(row, ref, cost), strict=True):
            heads[name].append(value)
    return heads


_HEAD = (
    "role", "kind", "agent", "tools", "brief", "at", "ended", "tool_seconds", "input", "output", "cost", "failed",
    "thinks", "says", "depth", "branch", "active", "turn", "prompt", "id", "cached", "ref",
)  # fmt: skip


def _head(row: Row, ref: str, cost: float | None) -> tuple[Any, ...]:
    step = row.step
    tools = [part.name for part in step.parts if isinstance(part, ToolCall)]
    tools += [part.kind for part in step.parts if isinstance(part, Action)]
    # A result without its call in this row is listed by its own name.
    tools += [part.name or "result" for part in step.parts if isinstance(part, ToolResult) and not tools]
    usage = step.usage
    return (
        step.role,
        step.kind,
        step.agent,
        tools,
        _brief(row),
        step.at,
        max((each.ended for each in (step, *row.answers) if each.ended is not None), default=None),
        _tool_seconds(row),
        usage.input if usage is not None else None,
        usage.output if usage is not None else None,
        cost,
        int(row.failed),
        int(any(isinstance(part, Thinking) for part in step.parts)),
        int(any(isinstance(part, Text) and part.text for part in step.parts)),
        row.depth,
        row.trajectory,
        int(row.active),
        row.turn,
        int(is_prompt(step)),
        step.id,
        usage.cache_read if usage is not None else None,
        ref,
    )


def _brief(row: Row) -> str:
    for kind in (Text, Thinking):
        for part in row.step.parts:
            if isinstance(part, kind) and part.text and part.text.strip():
                # Cut first: a text may have megabytes, and splitting all of it for one line would take long.
                return " ".join(part.text[: BRIEF * 4].split())[:BRIEF]
    for part in row.step.parts:
        if isinstance(part, ToolCall):
            return _arguments_brief(part.arguments)
        if isinstance(part, Action):
            return part.text or part.key or (part.target.description if part.target else None) or ""
        if isinstance(part, ToolResult):
            return " ".join(str(part.error or part.output or "")[: BRIEF * 4].split())[:BRIEF]
        if isinstance(part, Unknown) and row.step.kind == "note":
            return (part.kind or "").rpartition(":")[2]
    if row.step.error is not None:
        return (row.step.error.message or row.step.error.kind or "error")[:BRIEF]
    return ""


def _arguments_brief(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return str(arguments)[:BRIEF] if arguments is not None else ""
    values = (value if isinstance(value, str) else repr(value)[:BRIEF] for value in arguments.values())
    return " ".join(" ".join(value[:BRIEF].split()) for value in values)[:BRIEF]


def _tool_seconds(row: Row) -> float | None:
    found = [
        part.ended - part.started
        for step in (row.step, *row.answers)
        for part in step.parts
        if isinstance(part, ToolResult) and part.started is not None and part.ended is not None
    ]
    return sum(found) if found else None


def _expected(sample: Sample, rows: Sequence[Row]) -> dict[str, Any] | None:
    """The expected calls next to those that were made; None if nothing is expected."""
    if sample.case is not None and sample.case.expected_calls is not None:
        wanted = [Call(each.name, each.arguments) for each in sample.case.expected_calls]
        plain = to_plain(sample.case.expected_calls)
    elif sample.expected is not None:
        pairs = call_pairs(sample.expected)
        wanted = [Call(pair.call.name, pair.call.arguments) for pair in pairs]
        plain = [{"name": call.name, "arguments": to_plain(call.arguments)} for call in wanted]
    else:
        return None
    # Only the main agent's calls on the active path: the expected calls say nothing about sub-agents.
    made = [
        (place, part)
        for place, row in enumerate(rows)
        if row.active and row.depth == 0 and row.step.role != "user"
        for part in row.step.parts
        if isinstance(part, ToolCall)
    ][:ALIGNED]
    wanted, plain = wanted[:ALIGNED], plain[:ALIGNED]
    answer = final_response(sample.expected) if sample.expected is not None else None
    if not wanted and not made and answer is None:
        return None
    found = compare([Call(part.name, part.arguments) for _, part in made], wanted)
    actual = [{"name": part.name, "arguments": to_plain(part.arguments), "row": place} for place, part in made]
    return {"wanted": plain, "made": actual, "pairs": found.pairs, "answer": answer}


_CONTEXT = re.compile(r"\s*<[a-z_]+>")
"""How texts begin that programs insert without marking them, such as Codex's <environment_context>."""


def title_of(sample: Sample) -> str:
    """A readable title of the sample."""
    trajectory, case = sample.trajectory, sample.case
    first = (trajectory.title if trajectory else None) or (case.question or case.goal if case else None)
    if not first and trajectory is not None:
        asked = [step for step in trajectory.steps if step.role == "user"]
        # Inserted user messages (a summary, a context) make bad titles, so they come last.
        asked.sort(key=lambda step: step.kind != "message")
        texts = [part.text for step in asked for part in _texts(step.parts) if part.text.strip()]
        first = next((text for text in texts if not _CONTEXT.match(text)), texts[0] if texts else None)
    return " ".join((first or "")[:800].split())[:160]


def _spent(sample: Sample) -> dict[str, Any] | None:
    """Tokens and dollars of everything that was paid, if that is more than what is counted: it includes abandoned
    branches and interrupted responses. The transcript of `show` says the same."""
    values = token_usage.score(sample).values
    tokens = values.get("spent_tokens")
    if tokens is None or tokens == values.get("total_tokens"):
        return None
    cost, estimated = cost_of(sample, spent=True)
    return {"tokens": tokens, "cost": cost, "estimated": estimated}


def _texts(parts: Iterable[Any]) -> Iterable[Text]:
    return (part for part in parts if isinstance(part, Text) and not part.synthetic)


def seconds_of(trajectory: Trajectory) -> float | None:
    """Seconds from the first recorded time to the last; None if there are no times, or only one."""
    times = [time for step in trajectory.steps for time in (step.at, step.ended) if time is not None]
    times += [time for time in (trajectory.created, trajectory.ended) if time is not None] if times else []
    return max(times) - min(times) or None if times else None


def counts_of(sample: Sample, rows: Sequence[Row]) -> dict[str, Any]:
    """The numbers of a sample that the table shows: tokens and cost of all that was paid, as `show` lists them."""
    trajectory = sample.trajectory
    if trajectory is None:
        return {}
    pairs = call_pairs(trajectory, children=True)
    usage = usage_total(trajectory)
    cost, estimated = cost_of(sample)
    spent = _spent(sample) or {"tokens": total_tokens(usage) if usage else None, "cost": cost, "estimated": estimated}
    names = [step.agent for step in trajectory.steps if step.agent and step.role == "agent"]
    models = [step.model for step in trajectory.steps if step.model]
    return {
        "steps": sum(row.active for row in rows),
        "calls": len(pairs),
        "errors": sum(row.failed for row in rows),
        "tokens": spent["tokens"],
        "cost": spent["cost"],
        "estimated": spent["estimated"] or None,
        "seconds": seconds_of(trajectory),
        "created": trajectory.created,
        "agent": (sample.case.agent if sample.case else None) or (names[0] if names else None),
        "model": models[0] if models else next((each.model for each in trajectory.agents if each.model), None),
        "outcome": trajectory.outcome.status if trajectory.outcome is not None else None,
        "reason": trajectory.outcome.reason if trajectory.outcome is not None else None,
        "tools": sorted({pair.call.name for pair in pairs}),
        "failing": sorted({pair.call.name for pair in pairs if pair.result is not None and has_failed(pair.result)}),
    }
