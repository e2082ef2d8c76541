"""`python:module:function`: a function that takes a question.

Its parameters get values by name: `question`, `case`, `history` (the conversation so far, as OpenAI messages),
`workspace`, `recorder`. A single parameter of any other name gets the question. It may be async. It returns its answer
as text, or nothing if it used the recorder.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pantrace.errors import UsageError
from pantrace.model import Case, Sample, Step, Text
from pantrace.wire.openai_chat import messages_to

from .agent import AgentFailed, Answer, Trial

KNOWN = ("question", "case", "history", "workspace", "recorder")


class Recording(Protocol):
    """The recorder that a function is given."""

    def finish(self) -> Sample: ...


MakeRecorder = Callable[[Path, Case], Recording]


@dataclass(frozen=True)
class Function:
    """An agent that is a function in this process."""

    place: str
    """module:function."""
    recorder: MakeRecorder

    # A wrong name must fail before the first case is asked.
    def __post_init__(self) -> None:
        function(self.place)

    def ask(self, question: str, trial: Trial) -> Answer:
        target = function(self.place)
        wanted = _wanted(target, self.place)
        recorder = self.recorder(trial.notes, trial.case) if "recorder" in wanted else None
        given: dict[str, Any] = {
            "question": question,
            "case": trial.case,
            "history": messages_to(trial.history, "history"),
            "workspace": trial.workspace,
            "recorder": recorder,
        }
        # A thread of its own, so that a function that never returns can be left at its time limit.
        thread = _Call(target, {name: given[known] for known, name in wanted.items()})
        thread.start()
        until = time.monotonic() + trial.seconds
        while thread.is_alive() and not trial.stopped.is_set() and (left := until - time.monotonic()) > 0:
            thread.join(min(left, 0.2))
        steps = _steps(recorder)
        if thread.is_alive():
            # A thread cannot be ended from outside; this one is a daemon and ends with the program.
            if trial.stopped.is_set():
                raise AgentFailed("cancelled", f"{self.place} was stopped", Answer(steps=steps))
            raise AgentFailed("limit", f"{self.place} took longer than {trial.seconds:g} s", Answer(steps=steps))
        if thread.error is not None:
            why = f"{self.place}: {type(thread.error).__name__}: {thread.error}"
            raise AgentFailed("error", why, Answer(steps=steps))
        return _answer(thread.result, steps, self.place)


class _Call(threading.Thread):
    def __init__(self, target: Callable[..., Any], given: dict[str, Any]):
        super().__init__(daemon=True)
        self._call = target
        self._given = given
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._call(**self._given)
            if inspect.isawaitable(self.result):
                self.result = asyncio.run(_awaited(self.result))
        except BaseException as error:  # noqa: BLE001 -- SystemExit of an agent is its failure, not ours
            self.error = error


async def _awaited(result: Any) -> Any:
    return await result


def function(place: str) -> Callable[..., Any]:
    """The function named by `module:function`; modules in the current folder are found, as with `python -m`."""
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise UsageError(f"python:{place} names no function; write python:package.module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"python:{place} cannot be loaded: {error}") from None
    if not callable(found):
        raise UsageError(f"python:{place} is not a function")
    target: Callable[..., Any] = found
    return target


def _wanted(target: Callable[..., Any], place: str) -> dict[str, str]:
    """Which value goes to which parameter."""
    names = [
        each.name
        for each in inspect.signature(target).parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    required = {
        each.name for each in inspect.signature(target).parameters.values() if each.default is each.empty
    } & set(names)
    found = {name: name for name in names if name in KNOWN}
    unnamed = [name for name in names if name not in KNOWN and name in required]
    if unnamed and "question" not in found:
        # `def answer(prompt)` is an agent, too: people should not have to rename a parameter.
        found["question"] = unnamed.pop(0)
    if unnamed:
        raise UsageError(f"python:{place} wants {', '.join(unnamed)}; an agent is given {', '.join(KNOWN)}")
    return found


def _steps(recorder: Recording | None) -> tuple[Step, ...]:
    if recorder is None:
        return ()
    trajectory = recorder.finish().trajectory
    return trajectory.steps if trajectory is not None else ()


def _answer(result: Any, steps: tuple[Step, ...], place: str) -> Answer:
    # The trial has recorded the question already; a function that records it, too, means the same one.
    own = steps[1:] if steps and steps[0].role == "user" else steps
    if isinstance(result, Sample):
        return Answer(recording=result.trajectory)
    if isinstance(result, str):
        return Answer(steps=(*own, Step(role="agent", parts=(Text(text=result),))))
    if result is None and own:
        return Answer(steps=own)
    why = "nothing" if result is None else f"a {type(result).__name__} instead of text"
    raise AgentFailed("error", f"{place} returned {why}", Answer(steps=own))
