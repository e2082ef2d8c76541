"""Views: values computed from a trajectory, and therefore never stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from .parts import Part, Text, ToolCall, ToolResult
from .trajectory import Step, Trajectory
from .usage import Usage, add_usage


class Turn(msgspec.Struct, frozen=True):
    """A user prompt and all that followed until the next one."""

    number: int
    """1-based; 0 for what happened before the first prompt."""
    steps: tuple[Step, ...]


class CallPair(msgspec.Struct, frozen=True):
    """A tool call and its result, if it has one."""

    call: ToolCall
    result: ToolResult | None
    step: Step
    """The step that made the call."""


class MergedTurn(msgspec.Struct, frozen=True):
    """Consecutive steps of one side, as one utterance."""

    role: str
    """user or agent."""
    text: str
    """All that was said, joined by a blank line; empty when only tools were called."""
    steps: tuple[Step, ...]
    pairs: tuple[CallPair, ...] = ()


def active_steps(trajectory: Trajectory) -> tuple[Step, ...]:
    """The steps that count: all of them, or those from the leaf up to the root if branches were abandoned.

    A step without an id belongs to the branch of the step before it: sources that number only some steps exist."""
    if trajectory.leaf is None:
        return trajectory.steps
    by_id = {step.id: step for step in trajectory.steps if step.id is not None}
    path: set[str] = set()
    name: str | None = trajectory.leaf
    # `not in path`: in a broken file a step can be its own ancestor, and the walk would never end.
    while name is not None and name in by_id and name not in path:
        path.add(name)
        name = by_id[name].parent
    found: list[Step] = []
    active = True
    for step in trajectory.steps:
        if step.id is not None:
            active = step.id in path
        if active:
            found.append(step)
    return tuple(found)


def given_up_steps(trajectory: Trajectory) -> list[Step]:
    """The steps of abandoned branches."""
    if trajectory.leaf is None:
        return []
    # By identity: steps without an id, or equal ones, must not be confused with each other.
    active = set(map(id, active_steps(trajectory)))
    return [step for step in trajectory.steps if id(step) not in active]


def is_staff(purpose: str | None) -> bool:
    """Whether a step belongs to the test itself (a grader, a simulated user) and not to the agent."""
    return purpose == "grader" or purpose == "simulated_user"


def step_text(step: Step) -> str | None:
    """The text of one step without what the program inserted; None if there is none."""
    # `type(...) is`, here and below: isinstance is slow for structs, and this runs for every part of every sample.
    texts = [part.text for part in step.parts if type(part) is Text and not part.synthetic and part.text]
    return "\n\n".join(texts) if texts else None


def is_prompt(step: Step) -> bool:
    """Whether a step is a real prompt of the user."""
    if step.role != "user" or step.kind != "message":
        return False
    # A message with only inserted text comes from the program; one without any text (a picture) from the user.
    inserted = False
    for part in step.parts:
        if type(part) is Text:
            if not part.synthetic:
                return True
            inserted = True
    return not inserted


def is_agents(step: Step) -> bool:
    """Whether a step is a message of the agent, or a tool's answer to it."""
    return step.role in ("agent", "tool") and step.kind == "message" and not is_staff(step.purpose)


def turns(trajectory: Trajectory) -> list[Turn]:
    """Steps grouped by user prompt; prompts that follow each other directly share a turn."""
    groups: list[list[Step]] = []
    first, answered = 1, True
    for step in active_steps(trajectory):
        # Several prompts in a row are one turn: people add a second message before the agent answers.
        if answered and step.role == "user" and is_prompt(step):
            groups.append([])
            answered = False
        elif not groups:
            groups.append([])
            # What comes before the first prompt (instructions) is turn 0, so that prompts are numbered from 1.
            first = 0
        if step.role == "agent" or step.role == "tool":
            answered = True
        groups[-1].append(step)
    return [Turn(number, tuple(group)) for number, group in enumerate(groups, first)]


def call_pairs(trajectory: Trajectory, *, agent_only: bool = True, children: bool = False) -> list[CallPair]:
    """Tool calls in order, each with its result: by id, without an id by name and order.

    `agent_only` leaves out what the user ran or called, copied context and abandoned branches. `children` adds the
    calls of sub-agents after those of their parent, but not those of graders and simulated users."""
    found: list[CallPair] = []
    for each in agent_trajectories(trajectory) if children else (trajectory,):
        steps = active_steps(each) if agent_only else each.steps
        found += pair_up([(part, step) for step in steps for part in step.parts], agent_only=agent_only)
    return found


def pair_up(parts: Iterable[tuple[Part, Step]], *, agent_only: bool = True) -> list[CallPair]:
    """Calls and results among the parts of one trajectory, paired as in `call_pairs`."""
    calls: list[tuple[ToolCall, Step]] = []
    open_by_id: dict[str, int] = {}
    again: dict[str, deque[int]] = {}
    by_name: dict[str | None, deque[int]] = {}
    results: dict[int, ToolResult] = {}
    for part, step in parts:
        if type(part) is ToolCall:
            name = part.id
            if name is None:
                by_name.setdefault(part.name, deque()).append(len(calls))
                # A result may have neither id nor name: it then answers the oldest open call of any name.
                by_name.setdefault(None, deque()).append(len(calls))
            # The id is in use: this call waits until the first has its result, so that no result answers two calls.
            elif name in open_by_id:
                again.setdefault(name, deque()).append(len(calls))
            else:
                open_by_id[name] = len(calls)
            calls.append((part, step))
        elif type(part) is ToolResult:
            name = part.call_id
            if name is None:
                places = by_name.get(part.name)
                # The same call is in two queues (its name and None), so it may have its result already.
                while places:
                    if (place := places.popleft()) not in results:
                        results[place] = part
                        break
            elif name in open_by_id:
                results[open_by_id.pop(name)] = part
                if places := again.get(name):
                    open_by_id[name] = places.popleft()
    return [
        CallPair(call, results.get(place), step)
        for place, (call, step) in enumerate(calls)
        if not agent_only or _is_agents_call(step)
    ]


def _is_agents_call(step: Step) -> bool:
    if step.role == "user" or step.kind in ("user_shell", "copied", "synthetic"):
        return False
    return not is_staff(step.purpose)


def has_failed(result: ToolResult) -> bool:
    """Whether a tool's answer is a failure: recorded as one, a non-zero exit code, or an error payload."""
    # Many tools report a failure only inside a normal answer; a success rate without these would always be near 100 %.
    if result.failure is not None or result.error or result.exit_code:
        return True
    output = result.output
    if not isinstance(output, dict):
        return False
    return bool(output.get("status") == "error" or output.get("error") or output.get("error_message"))


def merged_turns(trajectory: Trajectory) -> list[MergedTurn]:
    """Prompts and answers, strictly alternating between user and agent; compaction summaries, inserted texts and user
    shell commands are left out. A turn in which the agent only called tools has the text ""."""
    by_step: dict[int, list[CallPair]] = {}
    for pair in call_pairs(trajectory):
        by_step.setdefault(id(pair.step), []).append(pair)
    merged: list[tuple[str, list[Step], list[str], list[CallPair]]] = []
    for step in active_steps(trajectory):
        prompt = is_prompt(step)
        if not prompt and not is_agents(step):
            continue
        text = step_text(step) if step.role != "tool" else None
        pairs = by_step.get(id(step), [])
        if text is None and not pairs:
            continue
        role = "user" if prompt else "agent"
        if not merged or merged[-1][0] != role:
            merged.append((role, [], [], []))
        merged[-1][1].append(step)
        merged[-1][3].extend(pairs)
        if text is not None:
            merged[-1][2].append(text)
    return [MergedTurn(role, "\n\n".join(texts), tuple(steps), tuple(pairs)) for role, steps, texts, pairs in merged]


def final_response(trajectory: Trajectory) -> str | None:
    """The response that the source states, otherwise the agent's last text after the last prompt; None if there is
    none."""
    # A response that is stated as "" means that there is none; the last message must not take its place.
    if trajectory.response is not None:
        return trajectory.response or None
    for step in reversed(active_steps(trajectory)):
        # An answer to an earlier prompt is not an answer to the last one.
        if is_prompt(step) and step_text(step):
            return None
        if step.role == "agent" and is_agents(step) and (text := step_text(step)):
            return text
    return None


def usage_total(trajectory: Trajectory, *, children: bool = True) -> Usage | None:
    """Tokens and cost of the trajectory's steps, or the source's totals if no step has any; None if there are neither.
    `children`: sub-agents, too. Graders, simulated users, abandoned branches, interrupted responses never count."""
    usages: list[Usage] = []
    for each in agent_trajectories(trajectory) if children else (trajectory,):
        own = [step.usage for step in active_steps(each) if step.usage is not None and counts_usage(step)]
        # Never both: the source's totals are sums of the same calls.
        usages += own or (each.usage.values() if each.usage else ())
    return add_usage(usages)


def counts_usage(step: Step) -> bool:
    """Whether a step's tokens belong to the run: not copied, not of the test itself, not of an unfinished response."""
    mine = step.kind != "copied" and step.kind != "user_shell" and not is_staff(step.purpose)
    return mine and not (step.usage is not None and step.usage.interrupted)


def agent_trajectories(trajectory: Trajectory) -> Iterator[Trajectory]:
    """The trajectory and, depth first, those of sub-agents and tools that call a model; no graders, none abandoned."""
    yield trajectory
    # A sub-agent that an abandoned branch started is abandoned with it.
    left = {part.id for step in given_up_steps(trajectory) for part in step.parts if type(part) is ToolCall}
    for child in trajectory.children:
        if not is_staff(child.purpose) and (child.caller is None or child.caller not in left):
            yield from agent_trajectories(child)


def all_trajectories(trajectory: Trajectory) -> Iterator[Trajectory]:
    """The trajectory and, depth first, those of its sub-agents."""
    yield trajectory
    for child in trajectory.children:
        yield from all_trajectories(child)
