"""Assemble the spans of one conversation into a trajectory.

Traces are trees of spans; a trajectory is the history of one agent. Model calls and tools become steps, in the order of
their times. Models below a tool belong to a sub-agent, and so does an agent with a conversation of its own. An agent
that takes over from another continues the same trajectory, under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from pantrace.model import Agent, Invocation, Outcome, Score, Step, Text, Tool, Trajectory

from .span import Message, Span, SpanContent
from .span_tree import hand_down, models_in
from .thread import Draft, Thread

UNNAMED = "agent"


@dataclass
class Built:
    """A trajectory, and the spans it was made of."""

    trajectory: Trajectory
    spans: list[Span | None]
    """The span of each step."""
    loose: list[Span]
    """Spans that are not steps."""
    children: list[Built] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    silent: int = 0
    """Model calls that were recorded without text."""
    calls: int = 0


@dataclass
class _Known:
    """What is known about an agent so far."""

    model: str | None = None
    description: str | None = None
    instructions: str | None = None
    tools: dict[str, Tool] = field(default_factory=dict)


@dataclass
class _Moment:
    at: int
    order: int
    what: str
    """call, tool; hear and say: an agent's own input and output; conclude: its final output."""
    span: Span
    agent: str | None


def trajectory_of(roots: list[Span], name: str | None) -> Built:
    """One conversation: its traces one after another."""
    return _Scope(name).build(roots)


class _Scope:
    """Builds one trajectory while its spans are walked."""

    def __init__(self, name: str | None):
        self.name = name
        self.thread = Thread()
        self.agents: dict[str, _Known] = {}
        self.moments: list[_Moment] = []
        self.loose: list[Span] = []
        self.children: list[tuple[Span, list[Span]]] = []
        """Tools (or agents), each with the spans that they started."""
        self.inside: set[int] = set()
        self.order = 0

    def build(self, roots: list[Span], *, is_child: bool = False) -> Built:
        for root in roots:
            self._walk(root, None, root.told.conversation, is_inside=False)
        # Spans with equal times keep the order of the tree: the outer one first.
        self.moments.sort(key=lambda each: (each.at, each.order))
        callers: dict[int, str | None] = {}
        traces: dict[str, Span] = {}
        for root in roots:
            traces.setdefault(root.trace, root)
        for moment in self.moments:
            self.thread.invocation = moment.span.trace or None
            self._tell(moment, callers)
        self._name_the_only_one()
        children = [self._child(starter, spans, callers) for starter, spans in self.children]
        steps = tuple(_step(each) for each in self.thread.drafts)
        everything = [span for root in roots for span in (root, *root.below())]
        failed = next((root for root in reversed(roots) if root.told.failed), None)
        trajectory = Trajectory(
            id=self.name,
            created=min((span.at for span in everything if span.at is not None), default=None),
            ended=max((span.ended for span in everything if span.ended is not None), default=None),
            agents=self._agents(),
            steps=steps,
            invocations=() if is_child else tuple(_invocation(root) for root in traces.values() if root.trace),
            outcome=_failure(failed) if failed is not None else None,
            children=tuple(each.trajectory for each in children),
        )
        models = [each for each in self.thread.drafts if each.span is not None and each.span.told.kind == "model"]
        return Built(
            trajectory,
            [each.span for each in self.thread.drafts],
            self.loose,
            children,
            [score for span in everything if id(span) not in self.inside for score in span.told.scores],
            sum(not each.recorded for each in models),
            len(models),
        )

    def _walk(self, span: Span, agent: str | None, conversation: str | None, *, is_inside: bool) -> None:
        """Walk the spans below. `is_inside`: they are inside an agent's span."""
        told = span.told
        self.order += 1
        if told.kind == "tool":
            below = list(span.below())
            started = [each for each in below if each.told.kind in ("model", "agent")]
            self._note("tool", span, agent)
            # Without models or agents below it, a tool has only spans of its own work (HTTP, databases): no sub-agent.
            if started:
                self.children.append((span, span.children))
                self.inside.update(id(each) for each in below)
            else:
                self.loose += below
            return
        own = told.conversation
        # A handover stays in the conversation; an agent that is called as a tool has one of its own.
        if told.kind == "agent" and is_inside and own and conversation and own != conversation:
            self.children.append((span, [span]))
            self.inside.update(id(each) for each in (span, *span.below()))
            return
        within = list(models_in(span))
        # Some libraries wrap a model call in another one with the same tokens: only the innermost counts.
        if told.kind == "model" and not within:
            self._note("call", span, told.agent or agent)
        else:
            self.loose.append(span)
            if told.kind == "model":
                hand_down(told, within)
        if told.kind in ("agent", "setup"):
            name = told.name or agent or UNNAMED
            if told.kind == "agent":
                agent = told.name or agent
                conversation = own or conversation
                # The prompt is taken from the agent's span only if its model calls were recorded without text.
                if all(each.told.heard is None for each in within) and not self._is_told_above(span):
                    self._note("hear", span, agent)
                self._note("conclude" if within else "say", span, agent, at=span.end)
            self._meet(name if told.name else agent, told)
        for child in span.children:
            self._walk(child, agent, conversation, is_inside=is_inside or told.kind == "agent")

    def _is_told_above(self, span: Span) -> bool:
        """Whether an agent around this one has already stated the prompt."""
        return any(each.what == "hear" and each.span.told.heard and span in each.span.below() for each in self.moments)

    def _note(self, what: str, span: Span, agent: str | None, at: int | None = None) -> None:
        self.order += 1
        self.moments.append(_Moment(at or span.start or 0, self.order, what, span, agent))

    def _meet(self, name: str | None, told: SpanContent) -> _Known:
        known = self.agents.setdefault(name or UNNAMED, _Known())
        known.model = known.model or told.model
        if told.kind in ("agent", "setup"):
            known.description = known.description or told.description
        if told.instructions is not None and known.instructions is None:
            known.instructions = told.instructions
        for tool in told.tools or ():
            known.tools.setdefault(tool.name, tool)
        return known

    def _tell(self, moment: _Moment, callers: dict[int, str | None]) -> None:
        span, told, agent = moment.span, moment.span.told, moment.agent
        if moment.what == "tool":
            self._describe(agent, told)
            try:
                callers[id(span)] = self.thread.execute(told, span, agent)
            # A tool without a name cannot be a call.
            except KeyError:
                self.loose.append(span)
            return
        if moment.what == "hear":
            self._hear(told.heard or [], span, agent, told)
        elif moment.what == "conclude":
            self.thread.conclude(told, agent)
        elif moment.what == "say":
            if told.said and not self.thread.has_said(told):
                self.thread.say(told, span, agent, {"at": span.at, "ended": span.ended, "error": told.error})
                self.loose.remove(span)
        else:
            self._hear(told.heard or [], span, agent, told)
            self.thread.say(told, span, agent, _fields(span))

    def _describe(self, agent: str | None, told: SpanContent) -> None:
        """Complete a declared tool with the description and schema in its own span."""
        known = self.agents.get(agent or UNNAMED)
        tool = known.tools.get(told.name or "") if known is not None else None
        if known is not None and tool is not None:
            known.tools[tool.name] = msgspec.structs.replace(
                tool,
                description=tool.description or told.description,
                parameters=tool.parameters if tool.parameters is not None else told.schema,
            )

    def _hear(self, messages: list[Message], span: Span, agent: str | None, told: SpanContent) -> None:
        system = self.thread.hear(messages, span, agent)
        known = self._meet(agent, told) if (told.model or told.instructions or told.tools or system) else None
        if known is None:
            return
        given = told.instructions or ("\n\n".join(system) if system else None)
        if given is None or given == known.instructions:
            return
        if known.instructions is None:
            known.instructions = given
        # Instructions that change during the run; an agent has room for only one text.
        elif not any(each.role == "system" and _says(each, given) for each in self.thread.drafts):
            self.thread.add(Draft("system", [Text(text=given)], agent=agent))

    def _name_the_only_one(self) -> None:
        """If there is only one agent, give its name to model calls that are outside of its span."""
        named = [name for name in self.agents if name != UNNAMED]
        if len(named) != 1 or UNNAMED not in self.agents:
            return
        unnamed, known = self.agents.pop(UNNAMED), self.agents[named[0]]
        known.model = known.model or unnamed.model
        known.instructions = known.instructions or unnamed.instructions
        known.tools = known.tools or unnamed.tools
        for draft in self.thread.drafts:
            draft.agent = draft.agent or named[0]

    def _agents(self) -> tuple[Agent, ...]:
        found = []
        acting = dict.fromkeys(each.agent for each in self.thread.drafts if each.role == "agent" and each.agent)
        for name in dict.fromkeys((*acting, *self.agents)):
            known = self.agents.get(name, _Known())
            if name == UNNAMED and known == _Known():
                continue
            found.append(
                Agent(
                    name=name,
                    model=known.model,
                    description=known.description,
                    instructions=known.instructions,
                    tools=tuple(known.tools.values()) or None,
                )
            )
        return tuple(found)

    def _child(self, starter: Span, spans: list[Span], callers: dict[int, str | None]) -> Built:
        inner = [span for each in spans for span in (each, *each.below())]
        own = next((span.told.conversation for span in inner if span.told.conversation), None)
        above = starter.told.conversation if starter.told.kind == "tool" else None
        # A child needs an id of its own: most libraries give it the conversation id of its parent.
        scope = _Scope(own if own and own not in (above, self.name) else starter.id or None)
        built = scope.build(spans, is_child=True)
        built.trajectory = msgspec.structs.replace(built.trajectory, parent=self.name, caller=callers.get(id(starter)))
        return built


def _says(draft: Draft, text: str) -> bool:
    return any(getattr(part, "text", None) == text for part in draft.parts)


def _fields(span: Span) -> dict[str, Any]:
    told = span.told
    return {
        "at": span.at,
        "ended": span.ended,
        "model": told.model,
        "usage": told.usage,
        "stop": told.stop,
        "error": told.error,
        "settings": told.settings,
        "first_token": told.first_token,
    }


def _step(draft: Draft) -> Step:
    return Step(
        id=draft.span.id or None if draft.span is not None else None,
        role=draft.role,
        agent=draft.agent if draft.role != "user" else None,
        invocation=draft.invocation,
        parts=tuple(draft.parts),
        kind=draft.kind,
        **draft.fields,
    )


def _invocation(root: Span) -> Invocation:
    seconds = None if root.start is None or root.end is None else (root.end - root.start) / 1_000_000_000
    return Invocation(id=root.trace, at=root.at, seconds=seconds)


def _failure(root: Span) -> Outcome:
    error = root.told.error
    return Outcome(status="error", reason=(error.message or error.kind) if error is not None else None)
