"""The recorder: a recording from its first line to its last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args
from uuid import uuid4

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Case, Maker, Outcome, Sample, Scale, Score
from pantrace.wire.journal import VERSION, Begin, End, Scored

from .agent import AgentRecorder, described
from .file import Journal, add_to_native, plain

Status = Literal["passed", "failed", "error", "cancelled", "limit", "unscored"]


class Recorder(AgentRecorder):
    """The recording of one run of an agent.

    While it runs, everything is in a journal next to the target, which every command of pantrace can read. Finishing
    moves it to its place: a native file gets one more sample, any other target is written once. Leaving the `with`
    block finishes; an exception that leaves it becomes the outcome."""

    def __init__(
        self,
        path: str | Path,
        *,
        case: str | Mapping[str, Any] | Case | None = None,
        id: str | None = None,  # noqa: A002
        epoch: int | None = None,
        title: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        instructions: str | None = None,
        tools: Iterable[Any] | None = None,
        keep: Callable[[Sample, Path], None] = add_to_native,
    ):
        self.path = Path(path)
        self.case = _case(case)
        self.id = id or (self.case.id if self.case else None) or uuid4().hex[:12]
        # Next to the target, with a random name: readers find it, and two runs of the same agent do not share it.
        stem = self.path.name.partition(".")[0] or "run"
        super().__init__(Journal(self.path.with_name(f"{stem}.{uuid4().hex[:12]}.recording.jsonl")), agent)
        self._keep = keep
        self._outcome: Outcome | None = None
        self._response: str | None = None
        self._finished = False
        agents = (described(agent, model, instructions, tools),) if agent is not None else ()
        self._journal.add(
            Begin(
                recording=VERSION,
                id=self.id,
                epoch=epoch,
                case=self.case,
                at=time.time(),
                title=title,
                agents=agents,
            )
        )

    def score(
        self,
        name: str,
        value: float | bool | str,
        *,
        explanation: str | None = None,
        low: float | None = None,
        high: float | None = None,
        better: Literal["higher", "lower"] = "higher",
    ) -> None:
        """A score that the recorded program gives itself."""
        scale = Scale(low=low, high=high, better=better) if low is not None or high is not None else None
        maker = Maker(name="recorder", kind="stored")
        self._journal.add(
            Scored(score=Score(name=name, value=value, scale=scale, explanation=explanation, maker=maker))
        )

    def outcome(self, status: Status, reason: str | None = None, *, reward: float | None = None) -> None:
        """How it ended, as the program sees it."""
        if status not in get_args(Status):
            raise UsageError(f"{status!r} is not an outcome; there are {', '.join(get_args(Status))}")
        self._outcome = Outcome(status=status, reason=reason, reward=reward)

    def response(self, text: str) -> None:
        """The final answer, if it is not the last message."""
        if not isinstance(text, str):
            raise UsageError(f"the response must be text, is a {type(text).__name__}")
        self._response = text

    def finish(self) -> Sample:
        """Move the recording to its place; returns it as a sample. The journal is deleted."""
        if self._finished:
            raise UsageError("the recording is finished already")
        self._finished = True
        self._journal.add(End(at=time.time(), outcome=self._outcome, response=self._response))
        self._journal.close()
        # Read back from the file, not collected in memory: the sample is exactly what a crash would have left.
        sample = self._journal.sample()
        self._keep(sample, self.path)
        # Only now: if writing the target failed, the journal still has everything.
        self._journal.path.unlink()
        return sample

    def __enter__(self) -> Recorder:
        super().__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        super().__exit__(kind, error, at)
        if error is not None and self._outcome is None:
            # The user ended the program, which is not the agent's failure.
            stopped = isinstance(error, (KeyboardInterrupt, SystemExit))
            status: Status = "cancelled" if stopped else "error"
            self.outcome(status, f"{type(error).__name__}: {error}")
        if not self._finished:
            self.finish()

    async def __aenter__(self) -> Recorder:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, at)


def _case(given: str | Mapping[str, Any] | Case | None) -> Case | None:
    if given is None or isinstance(given, Case):
        return given
    if isinstance(given, str):
        return Case(id=given)
    try:
        return msgspec.convert(plain(dict(given)), Case)
    except msgspec.ValidationError as error:
        raise UsageError(f"not a case: {error}") from None
