"""Functions as agents."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from agents.asking import trial
from pantrace.agents import AgentFailed, Surroundings, agent_of
from pantrace.engine.run import function_recorder
from pantrace.errors import UsageError
from pantrace.model import ToolCall, step_text

AROUND = Surroundings(recorder=function_recorder)
HANGING = threading.Event()


def shout(text: str) -> str:
    return text.upper()


async def later(question: str, case: Any, workspace: Path, history: list[Any]) -> str:
    return f"{case.id} {workspace.name} {len(history)} {question}"


def records(question: str, recorder: Any) -> None:
    recorder.user(question)
    with recorder.tool("look", {"for": question}) as run:
        run.output = 1
    recorder.model("seen", usage={"input": 2, "output": 1})


def fails(question: str) -> str:
    sys.exit("gone")


def hangs(question: str) -> None:
    HANGING.wait(60)


def numbers(question: str) -> int:
    return 4


def wants(question: str, database: Any) -> str:
    return ""


def asked(name: str, folder: Path, seconds: float = 30.0) -> Any:
    return agent_of(f"python:{__name__}:{name}", AROUND).ask("hi", trial(folder, seconds=seconds))


def test_plain_and_async_functions(tmp_path: Path) -> None:
    assert [step_text(step) for step in asked("shout", tmp_path).steps] == ["HI"]
    assert [step_text(step) for step in asked("later", tmp_path).steps] == ["c workspace 0 hi"]


def test_a_function_that_records_itself(tmp_path: Path) -> None:
    steps = asked("records", tmp_path).steps
    assert [step.role for step in steps] == ["agent", "tool", "agent"]
    assert isinstance(steps[0].parts[0], ToolCall) and steps[2].usage is not None


def test_functions_that_fail(tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match="SystemExit: gone"):
        asked("fails", tmp_path)
    with pytest.raises(AgentFailed, match="returned a int instead of text"):
        asked("numbers", tmp_path)
    try:
        with pytest.raises(AgentFailed, match=r"took longer than 0\.2 s"):
            asked("hangs", tmp_path, seconds=0.2)
    finally:
        HANGING.set()


def test_names_that_lead_nowhere() -> None:
    for spec, why in {
        "python:nosuchmodule:f": "cannot be loaded",
        "python:json:nosuch": "cannot be loaded",
        "python:json": "names no function",
        f"python:{__name__}:HANGING": "is not a function",
        "pyton:x:y": "did you mean python:",
        "nothing": "known: cmd:COMMAND",
    }.items():
        with pytest.raises(UsageError, match=why):
            agent_of(spec, AROUND)


def test_a_parameter_that_nobody_can_give(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="wants database"):
        asked("wants", tmp_path)


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="known: recording, format, resume"):
        agent_of("cmd:ls", Surroundings(recorder=function_recorder, options={"recordng": "x"}))
    with pytest.raises(UsageError, match="takes none"):
        agent_of(f"python:{__name__}:shout", Surroundings(recorder=function_recorder, options={"a": "x"}))
