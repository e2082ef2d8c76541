"""How notebooks show a sample (a transcript) and a run (the facts in its file)."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement

from pantrace.engine.table import Table, html_text
from pantrace.model import (
    Action,
    Citation,
    Media,
    Part,
    Run,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    has_failed,
    turns,
)
from pantrace.wire.json import encode
from pantrace.wire.sample_name import sample_name

_LONG = 1_000
"""Maximum characters of one text; the rest is only counted."""
_MANY = 60
"""Maximum steps of one trajectory; the rest are only counted."""


def html_of(shown: Sample | Run) -> str:
    """A sample as a transcript; a run as a table of facts."""
    return html_text(transcript(shown)) if isinstance(shown, Sample) else run_table(shown).as_html()


def run_table(run: Run) -> Table:
    """The facts that a file has about its run."""
    facts: list[tuple[str, Any]] = [
        ("name", run.name),
        ("created", run.created_datetime),
        ("task", run.task),
        ("agent", run.agent),
        ("model", run.model),
        ("status", run.status),
        ("format", run.source.format if run.source is not None else None),
        ("file", run.source.path if run.source is not None else None),
    ]
    rows = [(name, str(value)) for name, value in facts if value is not None]
    rows += [
        (each.name if each.metric is None else f"{each.name}.{each.metric}", str(each.value)) for each in run.results
    ]
    return Table({"run": str, "": str}, [*rows], notes=["samples are read as you iterate run.samples"])


# Built as elements, never as strings of HTML: texts of a recording are hostile, and elements escape them.
def transcript(sample: Sample) -> Element:
    """A sample as headings and labelled lines."""
    root = Element("div")
    _line(root, "h4", f"sample {sample_name(sample.id, sample.epoch)}")
    if sample.case is not None:
        for name in ("question", "goal", "reference"):
            if value := getattr(sample.case, name):
                _labelled(root, name, str(value))
    if sample.trajectory is None:
        _line(root, "p", "not run: there is no trajectory")
    else:
        _trajectory(root, sample.trajectory)
    for score in sample.scores:
        value = score.status if score.value is None else score.value
        _labelled(root, f"score {score.name}", f"{value}{f' ({score.explanation})' if score.explanation else ''}")
    return root


def _trajectory(root: Element, trajectory: Trajectory) -> None:
    if trajectory.outcome is not None:
        reason = f": {trajectory.outcome.reason}" if trajectory.outcome.reason else ""
        _labelled(root, "outcome", f"{trajectory.outcome.status}{reason}")
    left = _MANY
    for turn in turns(trajectory):
        _line(root, "h5", f"turn {turn.number}")
        # A notebook stores its outputs: a recording of 10,000 steps would make the file unusable.
        for step in turn.steps[:left]:
            _step(root, step)
        left = max(0, left - len(turn.steps))
    if (more := len(trajectory.steps) - _MANY) > 0:
        _line(root, "p", f"and {more:,} more steps")
    for child in trajectory.children:
        inner = SubElement(root, "details")
        _line(inner, "summary", f"sub-agent {child.title or child.id or ''}")
        _trajectory(inner, child)


def _step(root: Element, step: Step) -> None:
    who = step.agent if step.role == "agent" and step.agent else step.role
    for part in step.parts:
        if (told := _told(part)) is not None:
            _labelled(root, f"{who} {told[0]}".strip(), told[1])
    if step.error is not None:
        _labelled(root, f"{who} error", step.error.message or step.error.kind or "")


def _told(part: Part) -> tuple[str, str] | None:
    """A part's label and its text."""
    match part:
        case Text():
            return ("(inserted)" if part.synthetic else "", part.text)
        case Thinking():
            return "thinks", part.text or part.summary or "(hidden)"
        case ToolCall():
            return f"calls {part.name}", _value(part.arguments)
        # The error alone if nothing else was recorded; otherwise the output, which usually contains it.
        case ToolResult():
            answer = part.error if part.error is not None and part.output is None else _value(part.output)
            return f"{part.name or 'tool'} {'failed' if has_failed(part) else 'answers'}", answer or ""
        case Action():
            return f"acts: {part.kind}", part.raw if isinstance(part.raw, str) else part.text or part.key or ""
        case Media():
            return "media", part.uri or part.name or part.mime or ""
        case Citation():
            return "cites", part.uri or part.title or ""
    return None


def _value(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return encode(value).decode("utf-8", "replace")


def _labelled(root: Element, label: str, text: str) -> None:
    line = SubElement(root, "p", style="white-space: pre-wrap; margin: 0.2em 0")
    strong = SubElement(line, "strong")
    strong.text = f"{label}: "
    strong.tail = text if len(text) <= _LONG else f"{text[:_LONG]} … {len(text) - _LONG:,} more characters"


def _line(root: Element, kind: str, text: str) -> None:
    SubElement(root, kind).text = text
