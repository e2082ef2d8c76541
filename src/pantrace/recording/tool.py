"""Records a running tool: its call when it begins, its result when it ends."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Protocol

from pantrace.model import Step, ToolCall, ToolResult

from .file import plain

_calling: ContextVar[str | None] = ContextVar("pantrace_call", default=None)


def calling() -> str | None:
    """Id of the call whose tool runs here; None outside of any."""
    return _calling.get()


class Recording(Protocol):
    """What a tool records into."""

    def add(self, step: Step) -> str: ...

    def new_call(self) -> str: ...


class ToolRun:
    """One run of a tool. Set `output` before the block ends; an exception that leaves the block is its error."""

    def __init__(self, recorder: Recording, name: str, arguments: Any, id: str | None = None):  # noqa: A002
        self.output: Any = None
        self.error: str | None = None
        """Why it failed, if the tool reports it without an exception."""
        self.exit_code: int | None = None
        self._recorder = recorder
        self._name = name
        self._arguments = arguments
        self._id = id
        self._started = 0.0
        self._entered: Token[str | None] | None = None

    def __enter__(self) -> ToolRun:
        self._started = time.time()
        if self._id is None:
            self._id = self._recorder.new_call()
            # The call is recorded before the tool runs, so that a tool that kills the process is still named.
            call = ToolCall(id=self._id, name=self._name, arguments=self._arguments)
            self._recorder.add(Step(role="agent", parts=(call,), at=self._started))
        self._entered = _calling.set(self._id)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._entered is not None:
            _calling.reset(self._entered)
        ended = time.time()
        why = self.error if error is None else f"{type(error).__name__}: {error}"
        failed = why is not None or bool(self.exit_code)
        result = ToolResult(
            call_id=self._id,
            name=self._name,
            output=plain(self.output),
            error=why,
            failure=("error" if why is not None else "exit_code") if failed else None,
            exit_code=self.exit_code,
            started=self._started,
            ended=ended,
        )
        self._recorder.add(Step(role="tool", parts=(result,), at=self._started, ended=ended))

    async def __aenter__(self) -> ToolRun:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, at)


def recorded(recorder: Recording, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that records its calls, under its own name and with its arguments by name."""
    signature = inspect.signature(function)

    def begun(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolRun:
        try:
            arguments: Any = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:
            # Wrong arguments: the call below raises the function's own error, with its own message.
            arguments = {"args": args, **kwargs}
        return ToolRun(recorder, function.__name__, plain(arguments))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            with begun(args, kwargs) as run:
                run.output = await function(*args, **kwargs)
                return run.output

        return later

    @functools.wraps(function)
    def now(*args: Any, **kwargs: Any) -> Any:
        with begun(args, kwargs) as run:
            run.output = function(*args, **kwargs)
            return run.output

    return now
