"""A trajectory as entries for a judge: who said what, which tool was called with what, and what it answered.

Thoughts are left out: a judge grades what was done and said. Copied context is left out, too."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from pantrace.model import (
    Action,
    Citation,
    Media,
    Part,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    active_steps,
    is_prompt,
    is_staff,
)
from pantrace.wire.json import encode

from .cut import Block
from .numbering import Numbers

_KINDS = {
    "compaction": "summary that replaced earlier context",
    "synthetic": "inserted by the program",
    "user_shell": "command run by the user",
    "note": "note",
}


def transcript(trajectory: Trajectory, numbers: Numbers | None = None, *, who: str = "agent") -> list[Block]:
    """All entries; those of a sub-agent follow the call that started it, or are at the end. What another grader said
    about the run is left out. With `numbers`, each entry has that of its step."""
    numbers = numbers or Numbers(None)
    children: dict[str | None, list[Trajectory]] = {}
    for child in trajectory.children:
        # An earlier verdict in the material would influence the judge.
        if not is_staff(child.purpose):
            children.setdefault(child.caller, []).append(child)
    found: list[Block] = []
    for step in active_steps(trajectory):
        if step.kind == "copied":
            continue
        speaker, place = _speaker(step, who), numbers.place(step)
        for part in step.parts:
            block = _entry(part, speaker)
            if block is not None:
                found.append(replace(block, **place))
            if isinstance(part, ToolResult) and part.call_id is not None:
                found += _sub_agents(children.pop(part.call_id, []), numbers)
        if step.error is not None:
            words = ": ".join(each for each in (step.error.kind, step.error.message) if each) or "no reason recorded"
            found.append(Block(f"{speaker} stopped with an error: {words}", "output", **place))
        if step.state_delta:
            found.append(Block(f"state changed: {told(step.state_delta)}", **place))
    for rest in children.values():
        found += _sub_agents(rest, numbers)
    if trajectory.response is not None:
        found.append(Block(f"{who}'s final response, as recorded: {trajectory.response}", "output"))
    return found


def _sub_agents(trajectories: list[Trajectory], numbers: Numbers) -> Iterator[Block]:
    for child in trajectories:
        name = child.agents[0].name if child.agents else child.title or "sub-agent"
        yield Block(f"[sub-agent {name} begins]")
        yield from transcript(child, numbers, who=f"sub-agent {name}")
        yield Block(f"[sub-agent {name} ends]")


def _speaker(step: Step, who: str) -> str:
    if step.kind in _KINDS:
        return f"{step.role} ({_KINDS[step.kind]})"
    if step.role in ("agent", "tool"):
        return f"{who} {step.agent}" if step.agent and who == "agent" else who
    return step.role if step.role != "user" or is_prompt(step) else "user (inserted by the program)"


def _entry(part: Part, speaker: str) -> Block | None:
    match part:
        case Text(text=text, synthetic=inserted) if text:
            # Inserted texts (a file's content) count as output: they are as long, and can be cut as well.
            return Block(f"{speaker} (inserted by the program): {text}", "output") if inserted else _said(speaker, text)
        case ToolCall():
            return Block(f"{speaker} calls {part.name} {told(part.arguments)}")
        case ToolResult():
            return result_block(part)
        case Action():
            return Block(f"{speaker} acts: {told(_plain_action(part))}")
        # Judges read text: a picture is only named.
        case Media():
            size = f", {part.size[0]}x{part.size[1]}" if part.size else ""
            return Block(f"[{part.mime or 'file'} {part.name or part.uri or part.id or 'inline'}{size}; not shown]")
        case Citation():
            return Block(f"{speaker} cites {part.uri or ''} {part.title or ''}: {part.text or ''}".rstrip(": "))
        case _:
            return None


def _said(speaker: str, text: str) -> Block:
    return Block(f"{speaker}: {text}")


def _plain_action(action: Action) -> dict[str, object]:
    """The action without fields that only a program needs."""
    from msgspec import to_builtins

    plain: dict[str, object] = to_builtins(action)
    return {key: value for key, value in plain.items() if key not in ("type", "raw", "extra", "before", "after", "id")}


def result_block(result: ToolResult) -> Block:
    """A tool's answer as an entry."""
    unseen = result.truncated or (result.output is None and result.error is None and result.failure is None)
    return Block(outcome(result), "output", partial=bool(unseen))


def outcome(result: ToolResult) -> str:
    """A tool's answer as text; a failure is named."""
    name = result.name or "tool"
    if result.error is None and result.failure is None:
        answer = "nothing was recorded" if result.output is None else told(result.output)
        text = f"{name} answers: {answer}"
    else:
        kind = f" ({result.failure})" if result.failure not in (None, "error") else ""
        text = f"{name} fails{kind}: {result.error or ''}".rstrip(": ")
        if result.output is not None:
            text += f"\nits output: {told(result.output)}"
    if result.exit_code not in (None, 0):
        text += f"\nexit code {result.exit_code}"
    return f"{text}\n[the recording holds only a part of this output]" if result.truncated else text


def told(value: object) -> str:
    """A text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else encode(value).decode()
