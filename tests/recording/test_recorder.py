"""The recorder: what is said is recorded, in order, from threads and tasks, and survives a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import pantrace
from pantrace.errors import UsageError
from pantrace.model import Sample, ToolResult, call_pairs, final_response, usage_total
from pantrace.recording import current


def only(path: Path) -> Sample:
    (sample,) = pantrace.read(path).samples
    return sample


def test_a_conversation(tmp_path: Path) -> None:
    path = tmp_path / "today.trace.jsonl"
    with pantrace.recorder(path, case={"id": "q1", "question": "hi"}, agent="shop", tools=["look"]) as rec:
        rec.user("hi")
        asked = {
            "content": "Let me see.",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
        }
        said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]
        rec.model(asked, messages=said, model="m", usage={"prompt_tokens": 10, "completion_tokens": 2})
        with rec.tool("look", id="c1") as run:
            run.output = {"x": 1}
        later = [*said, {"role": "assistant", **asked}, {"role": "tool", "tool_call_id": "c1", "content": '{"x": 1}'}]
        rec.model("Here it is.", messages=later, model="m", usage={"input_tokens": 5, "output_tokens": 1})
        rec.outcome("passed")
    sample = only(path)
    told = sample.trajectory
    assert told is not None and sample.case is not None
    assert [step.role for step in told.steps] == ["user", "system", "agent", "tool", "agent"]
    ((pair),) = call_pairs(told)
    assert (pair.call.name, pair.result and pair.result.output) == ("look", {"x": 1})
    assert final_response(told) == "Here it is."
    total = usage_total(told)
    assert total is not None and (total.input, total.output) == (15, 3)
    assert told.outcome is not None and told.outcome.status == "passed"
    assert [each.name for each in tmp_path.iterdir()] == ["today.trace.jsonl"]


def test_tools_as_decorators_sub_agents_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.jsonl"
    with pytest.raises(ValueError, match="no luck"), pantrace.recorder(path, id="x") as rec:

        @rec.tool
        def search(query: str, limit: int = 3) -> list[str]:
            with rec.agent("reader", model="small") as sub:
                sub.model("read", usage={"input": 1, "output": 1})
                assert current() is sub
            assert current() is rec
            return [query] * limit

        @rec.tool
        async def fail() -> None:
            raise ValueError("no luck")

        assert search("a", limit=2) == ["a", "a"]
        asyncio.run(fail())
    told = only(path).trajectory
    assert told is not None and current() is None
    first, second = call_pairs(told)
    assert first.call.arguments == {"query": "a", "limit": 2}
    assert second.result is not None and second.result.error == "ValueError: no luck"
    (child,) = told.children
    assert (child.caller, child.agents[0].name) == (first.call.id, "reader")
    assert told.outcome is not None and told.outcome.reason == "ValueError: no luck"


def test_many_threads_and_tasks(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.jsonl"
    with pantrace.recorder(path) as rec:

        def work(number: int) -> None:
            for each in range(50):
                with rec.tool("t", {"n": number, "i": each}) as run:
                    run.output = f"{number}.{each}"

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        async def tasks() -> None:
            async def one(number: int) -> None:
                async with rec.tool("u", {"n": number}) as run:
                    await asyncio.sleep(0)
                    run.output = number

            await asyncio.gather(*(one(number) for number in range(20)))

        asyncio.run(tasks())
    told = only(path).trajectory
    assert told is not None
    pairs = call_pairs(told)
    assert len(pairs) == 420 and len({pair.call.id for pair in pairs}) == 420
    for pair in pairs:
        assert pair.result is not None
        arguments = pair.call.arguments
        assert pair.result.output == (f"{arguments['n']}.{arguments['i']}" if "i" in arguments else arguments["n"])


KILLED = """
import os, signal, pantrace
rec = pantrace.recorder("today.trace.jsonl", case="k")
rec.__enter__()
for number in range(1000):
    rec.note(str(number))
    if number == 700:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_said_before_a_kill_is_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    (journal,) = tmp_path.iterdir()
    told = only(journal).trajectory
    assert told is not None and told.outcome is not None
    assert len(told.steps) == 701
    assert told.outcome.status == "error" and "not finished" in str(told.outcome.reason)
    # The next recording begins its own journal, and leaves the killed one where it is.
    with pantrace.recorder(tmp_path / "today.trace.jsonl", case="l") as rec:
        rec.user("again")
    assert {sample.id for sample in pantrace.read(tmp_path).samples} == {"k", "l"}


def test_a_native_file_takes_one_sample_after_another(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "today.trace.jsonl"
    for number in range(3):
        with pantrace.recorder(path, case=str(number)) as rec:
            rec.user("hello")
    assert [sample.id for sample in pantrace.read(path).samples] == ["0", "1", "2"]
    assert not list(pantrace.validate(path))


@pytest.mark.parametrize(("name", "to"), [("a.eval", "inspect"), ("a.trajectory.json", "atif")])
def test_other_formats(tmp_path: Path, name: str, to: str) -> None:
    path = tmp_path / name
    with pantrace.recorder(path, case="q", agent="shop", to=to) as rec:
        rec.user("hi")
        rec.model("hello", model="m", usage={"input": 3, "output": 1})
    told = only(path).trajectory
    assert told is not None and final_response(told) == "hello"
    with pytest.raises(UsageError, match="already exists"):
        pantrace.recorder(path, to=to)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"input": 7, "output": 2, "cache_read": 3}, (7, 2, 3)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}, (7, 2, 3)),
        ({"input_tokens": 4, "output_tokens": 2, "cache_read_input_tokens": 3}, (7, 2, 3)),
        ({"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}, (7, 2, 3)),
        ({"promptTokenCount": 7, "candidatesTokenCount": 2, "cachedContentTokenCount": 3}, (7, 2, 3)),
    ],
)
def test_usage_in_anybodys_words(tmp_path: Path, given: dict[str, Any], told: tuple[int, int, int]) -> None:
    path = tmp_path / "a.trace.jsonl"
    with pantrace.recorder(path) as rec:
        rec.model("x", usage=given)
    trajectory = only(path).trajectory
    assert trajectory is not None
    usage = trajectory.steps[0].usage
    assert usage is not None and (usage.input, usage.output, usage.cache_read) == told


def test_usage_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of the counts"), pantrace.recorder(tmp_path / "a.trace.jsonl") as rec:
        rec.model("x", usage={"tokens": 5})


class Odd:
    def __str__(self) -> str:
        return "odd thing"


def test_values_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.jsonl"
    with pantrace.recorder(path) as rec, rec.tool("t", {"a": Odd(), "b": {1, 2}, "c": "\ud800", 3: b"x"}) as run:
        run.output = float("nan")
    told = only(path).trajectory
    assert told is not None
    ((pair),) = call_pairs(told)
    assert pair.call.arguments["a"] == "odd thing"
    assert pair.call.arguments["c"] == "\ud800"
    assert isinstance(pair.result, ToolResult) and pair.result.output == "nan"


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_no_value_stops_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    endless: dict[str, Any] = {}
    endless["itself"] = endless
    with pantrace.recorder(path) as rec:
        rec.note("values", endless=endless, huge=10**5000, odd=Unspeakable(), raw=b"\xff", **{"\ud800": "\ud800"})
        with rec.tool("look", endless):
            pass
    assert only(path).trajectory is not None
    (step, *_) = only(path).trajectory.steps  # type: ignore[union-attr]
    told = step.extra["recorder"]
    assert told["odd"] == "(Unspeakable, without a text: RuntimeError)" and told["huge"].startswith("0x")
    assert "nested deeper than 100 levels" in str(told["endless"])


def test_a_mistake_is_refused_where_it_is_made_and_costs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    with pantrace.recorder(path) as rec:
        rec.user("before")
        for mistake in (
            lambda: rec.user(7),  # type: ignore[arg-type]
            lambda: rec.says(None),  # type: ignore[arg-type]
            lambda: rec.model("x", model=7),  # type: ignore[arg-type]
            lambda: rec.score("s", [1]),  # type: ignore[arg-type]
            lambda: rec.outcome("weird"),  # type: ignore[arg-type]
            lambda: rec.response(7),  # type: ignore[arg-type]
        ):
            with pytest.raises(UsageError):
                mistake()
        rec.says("after")
    trajectory = only(path).trajectory
    assert trajectory is not None and len(trajectory.steps) == 2


def test_a_thread_that_was_left_behind_writes_into_no_other_file(tmp_path: Path) -> None:
    rec = pantrace.recorder(tmp_path / "x.trace.jsonl")
    rec.finish()
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)  # gets the number that the journal had
    with pytest.raises(UsageError, match="finished"):
        rec.says("too late")
    os.close(other)
    assert (tmp_path / "other").read_bytes() == b""
