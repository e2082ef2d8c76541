"""A trajectory as text for the terminal."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text as Line

from pantrace.engine.contents import absent_in
from pantrace.matching.sub_agents import sub_agents
from pantrace.metrics.token_usage import cost_of, token_usage
from pantrace.model import (
    Action,
    Citation,
    Media,
    Part,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
    active_steps,
    add_usage,
    agent_trajectories,
    all_trajectories,
    given_up_steps,
    has_failed,
    in_words,
    turns,
    usage_total,
)
from pantrace.wire.json import encode
from pantrace.wire.times import time_text

from .output import harmless, harmless_lines

_SHORT = 12
"""Maximum lines of a text without --full."""

_ROLES = {"user": "bold cyan", "agent": "bold green", "tool": "yellow", "system": "dim"}


def transcript(sample: Sample, out: Console, *, full: bool) -> None:
    """Print a sample: what was asked, what was done, how it was scored."""
    out.print(Line(f"sample {harmless(sample.id)}", style="bold"))
    if sample.case is not None:
        for name in ("question", "goal", "reference", "profile"):
            if value := getattr(sample.case, name):
                _block(out, f"{name}: ", value, "dim", full)
    if absent := absent_in(sample):
        out.print(Line(harmless(f"the source does not hold: {', '.join(absent)}"), style="yellow"))
    if sample.trajectory is None:
        out.print(Line("not run: there is no trajectory", style="dim"))
    else:
        _trajectory(sample.trajectory, _numbers(sample.trajectory), out, full, "")
        _by_agent(sample.trajectory, out)
        _grand_total(sample, sample.trajectory, out)
    if sample.expected is not None:
        out.print(Line("\nexpected", style="bold"))
        _trajectory(sample.expected, _numbers(sample.expected), out, full, "  ")
    for score in sample.scores:
        value = score.status if score.value is None else score.value
        reason = f"  {harmless_lines(score.explanation)}" if score.explanation else ""
        out.print(Line(f"score {harmless(score.name)}: {value}{reason}", style="magenta"))


def _grand_total(sample: Sample, trajectory: Trajectory, out: Console) -> None:
    """Print tokens and cost of the main thread with all sub-agents, and of everything that was spent."""
    score = token_usage.score(sample)
    total = usage_total(trajectory)
    others = sum(1 for _ in agent_trajectories(trajectory)) - 1
    # Without sub-agents it would repeat the line above it.
    if others and total is not None:
        words = usage_words(replace(total, cost_usd=None))
        named = "1 sub-agent" if others == 1 else f"{others} sub-agents"
        cost = _cost_words(*cost_of(sample))
        out.print(Line(f"\ngrand total with {named}: {words}, {cost}", style="bold"))
    spent = score.values.get("spent_tokens")
    if spent is not None and spent != score.values.get("total_tokens"):
        cost = _cost_words(*cost_of(sample, spent=True))
        out.print(
            Line(f"\nspent in total, including what is not counted: {in_words(spent, 'tokens')}, {cost}", style="bold")
        )


def _cost_words(cost: float | None, estimated: bool) -> str:
    return "cost not known" if cost is None else "~" * estimated + in_words(cost, "USD") + " (estimated)" * estimated


def _numbers(trajectory: Trajectory) -> dict[int, int]:
    """Steps counted in the order recorded, those of sub-agents after their parent's; other commands use the same
    numbers. Abandoned branches count, too."""
    steps = (step for each in all_trajectories(trajectory) for step in each.steps)
    return {id(step): number for number, step in enumerate(steps, 1)}


def _trajectory(trajectory: Trajectory, numbers: dict[int, int], out: Console, full: bool, indent: str) -> None:
    facts = [
        trajectory.title,
        created[:19] + "Z" if (created := time_text(trajectory.created)) is not None else None,
        trajectory.source and f"{trajectory.source.format} {trajectory.source.version or ''}".strip(),
    ]
    out.print(Line(indent + harmless("  ".join(fact for fact in facts if fact)), style="dim"))
    if trajectory.outcome is not None:
        reason = f": {trajectory.outcome.reason}" if trajectory.outcome.reason else ""
        style = "bold red" if trajectory.outcome.status in ("failed", "error", "limit") else "bold"
        _block(out, f"{indent}outcome: ", f"{trajectory.outcome.status}{reason}", style, full=True)
    # Active steps only: abandoned branches are counted below, and shown by `view`.
    for turn in turns(trajectory):
        out.print(Line(f"\n{indent}── turn {turn.number} ", style="dim"))
        for quiet, steps in groupby(turn.steps, key=lambda step: not full and _is_quiet(step)):
            found = list(steps)
            # Programs write many notes that have nothing to read; one line for each would bury the conversation.
            if quiet and len(found) > 1:
                out.print(Line(f"{indent}{len(found)} notes (--full shows them)", style="dim"))
                continue
            for step in found:
                _step(step, numbers[id(step)], out, full, indent)
    if trajectory.response is not None:
        out.line()
        _block(out, f"{indent}response as stated: ", trajectory.response, "", full)
    total = usage_total(trajectory, children=False)
    if total is not None:
        out.print(Line(f"\n{indent}total: {usage_words(total)}", style="dim"))
    _aside(trajectory, out, indent)
    for child in trajectory.children:
        out.print(Line(f"\n{indent}sub-agent {harmless(child.id or '')}", style="bold"))
        _trajectory(child, numbers, out, full, indent + "    ")


def _aside(trajectory: Trajectory, out: Console, indent: str) -> None:
    """Print what the recording contains but no total includes: abandoned branches, which are not shown, and responses
    that were stopped. Both were paid for."""
    left = given_up_steps(trajectory)
    stopped = [step for step in active_steps(trajectory) if step.usage is not None and step.usage.interrupted]
    for steps, words in ((left, "given up"), (stopped, "interrupted")):
        if not steps:
            continue
        spent = add_usage([step.usage for step in steps if step.usage is not None])
        told = f": {'at least ' * (steps is stopped)}{usage_words(spent)}" if spent is not None else ""
        number = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
        out.print(Line(f"{indent}{words}, and not counted: {number}{told}", style="dim"))


def _by_agent(trajectory: Trajectory, out: Console) -> None:
    """Print the usage of each agent that control was handed to; agents that were started have their own total."""
    for each in sub_agents(trajectory):
        if each.took_over and each.usage is not None:
            name = harmless(each.name or "")
            out.print(Line(f"{name} took over: {usage_words(each.usage)}", style="dim"))


def _is_quiet(step: Step) -> bool:
    """Whether a step is a note of which only its own line would be printed."""
    return step.kind == "note" and step.error is None and all(isinstance(part, Unknown) for part in step.parts)


def _step(step: Step, number: int, out: Console, full: bool, indent: str) -> None:
    who = step.agent if step.role == "agent" and step.agent else step.role
    facts = [
        step.kind if step.kind != "message" else None,
        step.model,
        _seconds(step),
        usage_words(step.usage) + " (interrupted)" * step.usage.interrupted if step.usage else None,
        f"stop: {step.stop}" if step.stop else None,
    ]
    line = Line(f"{indent}{harmless(who)}", style=_ROLES[step.role])
    told = harmless("  ".join([f"step {number}", *(fact for fact in facts if fact)]))
    # Broken between two facts and not inside one, so that "1,234 in" stays together.
    room = out.width - len(indent) - len(who) - 2
    if len(told) > room:
        told = told[: told.rfind("  ", 0, room)] + "\n" + indent + "  " + told[told.rfind("  ", 0, room) + 2 :]
    line.append("  " + told, style="not bold dim")
    out.print(line)
    for part in step.parts:
        _part(part, out, full, indent + "  ")
    if step.error is not None:
        message = f"error {step.error.kind or ''}: {step.error.message or ''}"
        _block(out, indent + "  ", message, "bold red", full)


def _seconds(step: Step) -> str | None:
    """How long a step took; None if that is not known, or less than can be shown."""
    if step.at is None or step.ended is None:
        return None
    words = f"{step.ended - step.at:.1f} s"
    return words if words not in ("0.0 s", "-0.0 s") else None


def _part(part: Part, out: Console, full: bool, indent: str) -> None:
    match part:
        case Text(text=text, synthetic=synthetic):
            _block(out, indent + ("[inserted] " if synthetic else ""), text, "dim" if synthetic else "", full)
        case Thinking():
            _block(out, f"{indent}thinks: ", part.text or part.summary or "(hidden)", "italic dim", full)
        case ToolCall():
            _block(out, f"{indent}→ {part.name} ", _value(part.arguments), "blue", full)
        case ToolResult():
            failed = has_failed(part)
            mark = "✗" if failed else "←"
            notes = [part.failure, f"exit {part.exit_code}" if part.exit_code else None]
            notes.append("truncated" if part.truncated else None)
            words = " ".join(f"[{note}]" for note in notes if note)
            lead = f"{indent}{mark} {words + ' ' if words else ''}"
            if part.error is not None:
                # Always in full: it says what went wrong.
                _block(out, lead, part.error, "red", full=True)
                lead = f"{indent}  "
            # Many tools repeat the error in their output; it is not printed twice.
            if part.error is None or (part.output is not None and part.error not in _value(part.output)):
                _block(out, lead, _value(part.output), "red" if failed else "yellow", full)
        case Media():
            _block(out, f"{indent}media ", " ".join(filter(None, (part.mime, part.uri or part.name))), "dim", full)
        case Action():
            raw = part.raw if isinstance(part.raw, str) else encode(_without_extra(part)).decode()
            _block(out, f"{indent}acts: {part.kind} ", raw, "blue", full)
        case Citation():
            _block(out, f"{indent}cites ", " ".join(filter(None, (part.title, part.uri))), "dim", full)
        case Unknown():
            if full:
                _block(out, f"{indent}{part.kind} ", _value(part.raw), "dim", full)


def _without_extra(action: Action) -> dict[str, Any]:
    names = ("target", "end", "text", "key", "modifiers", "direction", "url", "app", "seconds")
    return {name: value for name in names if (value := getattr(action, name)) not in (None, ())}


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value).decode("utf-8", "replace")


def _block(out: Console, lead: str, text: str, style: str, full: bool) -> None:
    """Print a text with all lines indented like the first; long texts are cut, with a note of how much is missing."""
    lines = harmless_lines(text).splitlines() or [""]
    left = 0
    if not full and len(lines) > _SHORT:
        left, lines = len(lines) - _SHORT, lines[:_SHORT]
    margin = " " * (len(lead) - len(lead.lstrip()))
    for number, line in enumerate(lines):
        if not full and len(line) > 2000:
            line = f"{line[:2000]} … {len(line) - 2000} more characters"
        _hanging(out, (harmless(lead) if number == 0 else margin) + line, style)
    if left:
        out.print(Line(f"{margin}… {left} more lines (--full)", style="dim"))


def _hanging(out: Console, text: str, style: str) -> None:
    """Print a line; if it wraps, the rest is indented below its start."""
    margin = len(text) - len(text.lstrip())
    folded = Line(text[margin:], style=style).wrap(out, max(out.width - margin - 2, 20))
    for number, line in enumerate(folded):
        line.rstrip()
        out.print(Line(" " * (margin + 2 * (number > 0))) + line, soft_wrap=True)


def usage_words(usage: Usage) -> str:
    """Tokens and cost in a few words."""
    words = []
    if usage.input is not None:
        cached = f" ({usage.cache_read} cached)" if usage.cache_read else ""
        words.append(f"{usage.input} in{cached}")
    if usage.output is not None:
        thought = f" ({usage.reasoning} reasoning)" if usage.reasoning else ""
        words.append(f"{usage.output} out{thought}")
    if usage.cost_usd is not None:
        words.append(f"${usage.cost_usd:.4f}")
    return ", ".join(words) or "usage reported empty"
