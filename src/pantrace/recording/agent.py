"""The recorder of one agent, or of one sub-agent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, TypeVar, overload

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Agent, Outcome, Part, Step, StepError, Text, Thinking, Tool, ToolCall, Usage, step_text
from pantrace.wire.journal import Did, State, SubAgent
from pantrace.wire.openai_chat import step_from
from pantrace.wire.usage_names import usage_of

from .file import Journal, plain
from .tool import ToolRun, calling, recorded

NAME = "recorder"
F = TypeVar("F", bound=Callable[..., Any])

_current: ContextVar[AgentRecorder | None] = ContextVar("pantrace_recorder", default=None)


def current() -> AgentRecorder | None:
    """The recorder whose `with` block this code runs in, in this thread or task; None outside of any."""
    return _current.get()


class AgentRecorder:
    """Records what one agent does. Several threads and tasks may use it at once."""

    def __init__(self, journal: Journal, name: str | None, own: str | None = None):
        self._journal = journal
        self._name = name
        self._own = own
        """Id of the sub-agent; None for the agent itself."""
        self._told: Counter[tuple[str, str | None]] = Counter()
        """How often each message was recorded: `model(messages=...)` may get the whole conversation again each time."""
        self._entered: list[Token[AgentRecorder | None]] = []

    def user(self, text: str, *, simulated: bool = False) -> str:
        """Something the user said; `simulated`: a model said it in the user's place. Returns the id of the step."""
        return self.add(Step(role="user", parts=(Text(text=text),), purpose="simulated_user" if simulated else None))

    def system(self, text: str) -> str:
        """Instructions that the model was given."""
        return self.add(Step(role="system", parts=(Text(text=text),)))

    def says(self, text: str) -> str:
        """Something the agent said without a recorded model call."""
        return self.add(Step(role="agent", agent=self._name, parts=(Text(text=text),)))

    def model(
        self,
        reply: Any = None,
        *,
        messages: Iterable[Any] = (),
        model: str | None = None,
        usage: Any = None,
        thinking: str | None = None,
        calls: Iterable[ToolCall] = (),
        settings: Mapping[str, Any] | None = None,
        stop: str | None = None,
        error: str | BaseException | None = None,
        seconds: float | None = None,
        first_token: float | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> str:
        """A call of a language model: what was sent, what it replied, what it cost.

        `messages` may be the whole conversation each time, as OpenAI messages: what was recorded already is not
        recorded again. `reply` is text, or an OpenAI assistant message with its tool calls. `usage` is in the
        format of OpenAI, Anthropic, Gemini or pantrace. `seconds`: how long the call took, until now."""
        self._converse(messages)
        parts: list[Part] = [Thinking(text=thinking)] if thinking is not None else []
        answer = plain(reply)
        if isinstance(answer, dict) and answer.keys() & {"content", "tool_calls"}:
            parts += step_from({**answer, "role": "assistant"}, NAME).parts
        elif answer is not None:
            parts.append(Text(text=answer if isinstance(answer, str) else str(reply)))
        ended = time.time()
        return self.add(
            Step(
                role="agent",
                agent=self._name,
                parts=(*parts, *calls),
                at=ended if seconds is None else ended - seconds,
                ended=ended,
                model=model,
                usage=usage if isinstance(usage, Usage) else usage_of(plain(usage), NAME),
                stop=stop,
                error=failure(error),
                settings=None if settings is None else plain(dict(settings)),
                first_token=first_token,
                extra={NAME: plain(dict(notes))} if notes else {},
            )
        )

    @overload
    def tool(self, name: F) -> F: ...
    @overload
    def tool(self, name: str, arguments: Any = None, *, id: str | None = None) -> ToolRun: ...
    def tool(self, name: Any, arguments: Any = None, *, id: str | None = None) -> Any:  # noqa: A002
        """A tool at work: `with rec.tool("search", {"q": "x"}) as run: run.output = ...`, or `@rec.tool` before a
        function, async ones too. Times, results and errors are recorded; exceptions are passed on.

        `id` names a call that a recorded reply asked for; it is not recorded a second time."""
        return recorded(self, name) if callable(name) else ToolRun(self, name, plain(arguments), id)

    def agent(
        self,
        name: str,
        *,
        model: str | None = None,
        instructions: str | None = None,
        tools: Iterable[Any] | None = None,
    ) -> SubAgentRecorder:
        """A sub-agent at work: `with rec.agent("researcher") as sub: sub.model(...)`. Inside a tool it belongs to its
        call."""
        return SubAgentRecorder(self, described(name, model, instructions, tools))

    def span(self, name: str, **notes: Any) -> Span:
        """A named stretch of work: `with rec.span("retrieval"): ...`."""
        return Span(self, name, notes)

    def state(self, **values: Any) -> str:
        """New values of keys in the agent's state."""
        new = {key: plain(value) for key, value in values.items()}
        self._journal.add(State(state=new, of=self._own))
        return self.add(Step(role="agent", agent=self._name, kind="note", state_delta=new))

    def note(self, text: str | None = None, **values: Any) -> str:
        """A remark beside the conversation: a milestone, progress, any values."""
        parts = (Text(text=text),) if text is not None else ()
        extra = {NAME: plain(values)} if values else {}
        return self.add(Step(role="agent", agent=self._name, kind="note", parts=parts, extra=extra))

    def add(self, step: Step) -> str:
        """Any step, for what the other methods cannot express. Returns its id."""
        number = self._journal.number()
        name = step.id or str(number)
        at = step.at if step.at is not None else time.time()
        agent = step.agent or (self._name if step.role == "agent" else None)
        self._journal.add(Did(step=msgspec.structs.replace(step, id=name, at=at, agent=agent), of=self._own))
        if step.kind == "message":
            # Notes do not count: a conversation that is passed again never contains them.
            self._told[_said(step)] += 1
        return name

    def new_call(self) -> str:
        """An id for a call that has none."""
        return f"call-{self._journal.number()}"

    def _converse(self, messages: Iterable[Any]) -> None:
        seen: Counter[tuple[str, str | None]] = Counter()
        for message in messages:
            told = plain(message)
            if not isinstance(told, dict):
                raise UsageError("a message must be a mapping with a role and content")
            step = step_from(told, NAME)
            key = _said(step)
            seen[key] += 1
            # Compared by count, not as a set: a user may say "yes" twice, and both are turns.
            if seen[key] > self._told[key]:
                self.add(step)

    def __enter__(self) -> AgentRecorder:
        self._entered.append(_current.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _current.reset(self._entered.pop())


class SubAgentRecorder(AgentRecorder):
    """Records what a sub-agent does inside a `with` block."""

    def __init__(self, parent: AgentRecorder, agent: Agent):
        super().__init__(parent._journal, agent.name, f"agent-{parent._journal.number()}")
        self._agent = msgspec.structs.replace(agent, parent=parent._name)
        self._parent = parent

    def __enter__(self) -> SubAgentRecorder:
        super().__enter__()
        assert self._own is not None
        # Written when it begins, too: after a crash inside the block its steps still have an owner.
        begun = SubAgent(id=self._own, of=self._parent._own, agent=self._agent, caller=calling(), at=time.time())
        self._journal.add(begun)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._own is not None
        # No outcome without an error: whether the sub-agent did well is not for us to say.
        outcome = None if error is None else Outcome(status="error", reason=f"{type(error).__name__}: {error}")
        self._journal.add(SubAgent(id=self._own, ended=time.time(), outcome=outcome))
        super().__exit__(kind, error, at)


class Span:
    """A stretch of work: a note where it begins and one where it ends."""

    def __init__(self, recorder: AgentRecorder, name: str, notes: Mapping[str, Any]):
        self._recorder = recorder
        self._name = name
        self._notes = notes
        self._begun = ""

    def __enter__(self) -> Span:
        self._begun = self._recorder.note(f"{self._name}: begin", span=self._name, **self._notes)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        failed = {"error": f"{type(error).__name__}: {error}"} if error is not None else {}
        self._recorder.note(f"{self._name}: end", span=self._name, began=self._begun, **failed)


def described(
    name: str, model: str | None = None, instructions: str | None = None, tools: Iterable[Any] | None = None
) -> Agent:
    """An agent with its tools: names, functions, or declarations as OpenAI has them."""
    return Agent(
        name=name,
        model=model,
        instructions=instructions,
        tools=None if tools is None else tuple(_tool(each) for each in tools),
    )


def _tool(given: Any) -> Tool:
    if isinstance(given, Tool):
        return given
    if isinstance(given, str):
        return Tool(name=given)
    if isinstance(given, Mapping):
        # OpenAI nests the declaration under `function`; Anthropic has it flat, with `input_schema`.
        inner = given.get("function", given)
        return Tool(
            name=inner["name"],
            description=inner.get("description"),
            parameters=plain(inner.get("parameters", inner.get("input_schema"))),
        )
    return Tool(name=given.__name__, description=(given.__doc__ or "").strip() or None)


def failure(error: str | BaseException | None) -> StepError | None:
    """An error as a step stores it."""
    if error is None or isinstance(error, str):
        return None if error is None else StepError(message=error)
    return StepError(kind=type(error).__name__, message=str(error))


def _said(step: Step) -> tuple[str, str | None]:
    """What identifies a repeated message: its role, and its text or the ids of its calls and results."""
    words = step_text(step)
    if words is None and step.parts:
        words = " ".join(getattr(part, "id", None) or getattr(part, "call_id", None) or "" for part in step.parts)
    return step.role, words
