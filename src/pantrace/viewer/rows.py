"""Rows: the steps of a trajectory and of its sub-agents in reading order.

A tool's answer is in the row of its call; the steps of a sub-agent follow the call that started it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pantrace.model import (
    Action,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    active_steps,
    has_failed,
    pair_up,
    turns,
)


@dataclass
class Row:
    """One step, with the later steps that only answer its calls."""

    step: Step
    trajectory: int
    depth: int
    active: bool
    turn: int | None
    answers: list[Step] = field(default_factory=list)
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    """Place of a call among the parts, of the step that answers it (-1: this one), and of the answer in that step."""
    expected: dict[int, Action] = field(default_factory=dict)
    """Place of a GUI action among the parts -> what the reference does there."""

    @property
    def failed(self) -> bool:
        """Whether anything in it is an error."""
        steps = (self.step, *self.answers)
        return any(
            step.error is not None or any(isinstance(part, ToolResult) and has_failed(part) for part in step.parts)
            for step in steps
        )


@dataclass
class Branch:
    """A trajectory among the rows: the agent's own, or one of a sub-agent."""

    trajectory: Trajectory
    depth: int
    parent: int | None
    first: int = 0
    """Its first row."""
    caller: int | None = None
    """The row whose call started it."""


def rows_of(trajectory: Trajectory, expected: Trajectory | None = None) -> tuple[list[Row], list[Branch]]:
    """All rows, and the trajectories that they belong to."""
    rows: list[Row] = []
    branches: list[Branch] = []
    # Without recursion, since sub-agents may be nested deeper than Python's limit.
    waiting: list[tuple[Trajectory, int, int | None]] = [(trajectory, 0, None)]
    while waiting:
        each, depth, parent = waiting.pop()
        number = len(branches)
        own = _own_rows(each, number, depth)
        branch = Branch(each, depth, parent)
        branches.append(branch)
        branch.caller = _home(rows, each, parent)
        place = branch.first = len(rows) if branch.caller is None else _behind(rows, branch.caller)
        # Rows were inserted in the middle: the places of all branches behind them move.
        for other in branches[:-1]:
            other.first += len(own) if other.first >= place and other is not branch else 0
            if other.caller is not None and other.caller >= place:
                other.caller += len(own)
        rows[place:place] = own
        waiting += [(child, depth + 1, number) for child in reversed(each.children)]
    if expected is not None:
        _expect(rows, expected)
    return rows, branches


def _own_rows(trajectory: Trajectory, number: int, depth: int) -> list[Row]:
    active = {id(step) for step in active_steps(trajectory)}
    turn_of = {id(step): turn.number for turn in turns(trajectory) for step in turn.steps}
    placed: dict[int, tuple[int, int]] = {}
    calls: list[tuple[int, int]] = []
    parts = []
    for at, step in enumerate(trajectory.steps):
        for place, part in enumerate(step.parts):
            parts.append((part, step))
            placed[id(part)] = (at, place)
            if isinstance(part, ToolCall):
                calls.append((at, place))
    pairs = pair_up(parts, agent_only=False)
    asked: dict[int, dict[int, tuple[int, int]]] = {}
    for (at, place), pair in zip(calls, pairs, strict=True):
        if pair.result is not None:
            answered, there = placed[id(pair.result)]
            asked.setdefault(answered, {})[there] = (at, place)
    rows: list[Row] = []
    row_of: dict[int, Row] = {}
    for at, step in enumerate(trajectory.steps):
        found = asked.get(at, {})
        homes = {where for where, _ in found.values()}
        home = row_of.get(next(iter(homes))) if len(homes) == 1 and homes != {at} else None
        # Only if every part answers that row's calls: a step that says more must not disappear into another row.
        alone = step.role == "tool" and step.kind == "message" and len(found) == len(step.parts)
        if home is not None and alone:
            home.answers.append(step)
            home.pairs += [(place, len(home.answers) - 1, there) for there, (_, place) in found.items()]
            row_of[at] = home
            continue
        row = Row(step, number, depth, id(step) in active, turn_of.get(id(step)))
        row.pairs += [(place, -1, there) for there, (where, place) in found.items() if where == at]
        rows.append(row)
        row_of[at] = row
    return rows


def _home(rows: list[Row], child: Trajectory, parent: int | None) -> int | None:
    """The row whose call started a sub-agent; None if it is not recorded."""
    if child.caller is None or parent is None:
        return None
    for at, row in enumerate(rows):
        if row.trajectory == parent and any(
            isinstance(part, ToolCall) and part.id == child.caller for part in row.step.parts
        ):
            return at
    return None


def _behind(rows: list[Row], at: int) -> int:
    """The first row after a row and everything nested below it."""
    end = at + 1
    while end < len(rows) and rows[end].depth > rows[at].depth:
        end += 1
    return end


def _expect(rows: list[Row], expected: Trajectory) -> None:
    """Pair GUI actions with those of the reference, in order."""
    wanted = [part for step in expected.steps for part in step.parts if isinstance(part, Action)]
    done = [
        (row, place)
        for row in rows
        if row.depth == 0 and row.active
        for place, part in enumerate(row.step.parts)
        if isinstance(part, Action)
    ]
    for (row, place), action in zip(done, wanted, strict=False):
        row.expected[place] = action
