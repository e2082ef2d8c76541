"""Builds the tree of spans: each is read by its dialect and put below its parent."""

from __future__ import annotations

from collections.abc import Iterator

from pantrace.model import Text

from .dialects import openllmetry, read_span
from .span import Span, SpanContent


def trees(spans: list[Span]) -> list[Span]:
    """Roots with their children, by time; a span whose parent was not recorded is a root."""
    by_id = {(span.trace, span.id): span for span in spans if span.id}
    roots = []
    for span in spans:
        above = by_id.get((span.trace, span.parent)) if span.parent and span.parent != span.id else None
        # A span whose parent was not recorded must not disappear.
        if above is None or _is_below(above, span, by_id):
            roots.append(span)
        else:
            above.children.append(span)
    for span in spans:
        span.children.sort(key=lambda each: each.start or 0)
    return sorted(roots, key=lambda each: each.start or 0)


def _is_below(above: Span, span: Span, by_id: dict[tuple[str, str], Span]) -> bool:
    """Whether a span's parent is its own descendant, as in a broken file."""
    seen = set()
    found: Span | None = above
    while found is not None and found.id not in seen:
        if found is span:
            return True
        seen.add(found.id)
        found = by_id.get((found.trace, found.parent))
    return found is not None


def read_trees(spans: list[Span]) -> list[Span]:
    """Spans read by their dialects, as trees."""
    for span in spans:
        read_span(span)
    roots = trees(spans)
    for span in spans:
        # OpenLLMetry's span of a model call lacks the reasoning tokens; LangChain's task around it has them.
        if "traceloop.entity.output" in span.attributes:
            for call in [each for each in span.children if each.told.kind == "model"]:
                openllmetry.complete(call, span)
    return _adopt_agents(roots)


def _adopt_agents(roots: list[Span]) -> list[Span]:
    """Move agents below the tools that started them; some libraries put them below the trace's root instead."""
    for root in roots:
        everything = [root, *root.below()]
        tools = [span for span in everything if span.told.kind == "tool" and span.told.arguments]
        for parent in everything:
            if parent.told.kind == "tool":
                continue
            for span in [each for each in parent.children if each.told.kind == "agent"]:
                starter = next((tool for tool in tools if _starts(tool, span)), None)
                if starter is not None:
                    parent.children.remove(span)
                    starter.children.append(span)
    return roots


def _starts(tool: Span, agent: Span) -> bool:
    """Whether a tool got the agent's first prompt as an argument, and was running all the time the agent ran."""
    if not tool.start or not tool.end or not agent.start or not agent.end:
        return False
    if not tool.start <= agent.start <= agent.end <= tool.end or tool in agent.below():
        return False
    first = next((each.told.heard for each in (agent, *agent.below()) if each.told.heard), None)
    asked = [part.text for each in first or () if each.role == "user" for part in each.parts if isinstance(part, Text)]
    given = tool.told.arguments
    return bool(asked) and asked[0] in (given.values() if isinstance(given, dict) else [given])


def models_in(span: Span) -> Iterator[Span]:
    """The innermost model calls inside a span, without those below tools."""
    for each in span.children:
        if each.told.kind == "tool":
            continue
        inner = list(models_in(each))
        if inner:
            yield from inner
        elif each.told.kind == "model":
            yield each


def hand_down(told: SpanContent, calls: list[Span]) -> None:
    """Give the inner of two nested model calls the content that only the outer one has: they are the same call."""
    for each in calls:
        if each.told.heard is None:
            each.told.heard = told.heard
    # With several inner calls, nothing says which of them the answer and the tokens belong to.
    if len(calls) == 1:
        inner = calls[0].told
        inner.said = told.said if inner.said is None else inner.said
        inner.instructions = inner.instructions or told.instructions
        inner.tools = inner.tools or told.tools
        inner.agent = inner.agent or told.agent
        inner.usage = inner.usage or told.usage
