"""Every recording of own/sessions is held against the log of the model that answered it.

The recordings are the 29 of `expected.json`; what is true of them was not taken from the recordings. Where pantrace
counts by another rule than that file, both counts are compared: the calls that the model made and the commands that
a script nested, the answered tokens on the path that was gone and on a branch that was given up. What a recording
does not hold stands in `NOT_RECORDED` below and in docs/corpus.md, and that it is not there is asserted, too.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpus import needs_corpus
from pantrace.engine.contents import absent_in
from pantrace.engine.read import Notes, read_pile
from pantrace.matching.recorded_data import Recording
from pantrace.matching.sub_agents import SubAgent, sub_agents
from pantrace.metrics import by_name
from pantrace.model import (
    CallPair,
    Sample,
    Step,
    Trajectory,
    Unknown,
    Usage,
    agent_trajectories,
    all_trajectories,
    call_pairs,
    final_response,
    given_up_steps,
    has_failed,
    is_prompt,
    pair_up,
    step_text,
    total_tokens,
    turns,
)
from session_truth import FOLDER, RECORDINGS, truth

NUMBERS = ("input", "output", "cache_read", "cache_write", "reasoning")
NOT_RECORDED: dict[str, dict[str, Any]] = {
    "claude_code": {"numbers": ["reasoning"]},
    "claude_code/long": {"numbers": ["reasoning"], "calls": [5]},
    "otlp/strands": {"numbers": ["reasoning"]},
    "otlp/strands_latest": {"numbers": ["reasoning"]},
    "otlp/adk": {"words": True, "failures": 1},
    "otlp/adk_latest": {"failures": 1},
}
"""By recording, or by its folder: numbers of usage that no file tells, calls that are in none of them, whether words
are missing, and how many failed calls nothing marks as failed."""
LEFT_OUT_IF_ZERO = ("otlp/pydantic_ai", "otlp/pydantic_ai_v2")
"""Their spans have no attribute for a number that is zero."""
NAMELESS = ("otlp/openinference_langgraph", "codex", "claude_code", "gemini_cli", "openhands_v1")
"""Their agents have no name in the recording, or one of the tool's own making."""
_REASONING = (b"reasoning_tokens", b"reasoning.output_tokens", b"details.reasoning", b"thoughtsTokenCount")
"""Keys under which tools write how many tokens were reasoning."""
_INTERRUPTED, _DENIED = "cancelled", "denied"


def missing(name: str) -> dict[str, Any]:
    return NOT_RECORDED.get(name) or NOT_RECORDED.get(name.partition("/")[0]) or {}


def files_of(name: str) -> list[Path]:
    """What is read: spans have a file for each encoding, everything else is its folder, as people have it."""
    if name.startswith(("otlp/", "agent_framework/")):
        return sorted((FOLDER / name).glob("traces.otlp.*"))
    return [FOLDER / name]


CASES = [(name, path) for name in RECORDINGS for path in files_of(name)]


class Read:
    """A recording as pantrace reads it, what was given up beside what counts."""

    def __init__(self, path: Path):
        self.samples: list[Sample] = list(read_pile([path], notes=Notes()).samples)
        self.tops: list[Trajectory] = [each.trajectory for each in self.samples if each.trajectory is not None]
        self.recordings = [Recording(each) for each in self.tops]
        self.whole = [each for top in self.tops for each in all_trajectories(top)]
        self.given_up: list[Step] = [step for each in self.whole for step in given_up_steps(each)]
        self.pairs: list[CallPair] = [pair for top in self.tops for pair in call_pairs(top, children=True)]
        self.pairs_given_up = pair_up([(part, step) for step in self.given_up for part in step.parts])
        self.steps = [step for each in self.whole for step in each.steps if step.kind != "copied"]
        self.agents: list[SubAgent] = [each for top in self.tops for each in sub_agents(top)]

    def calls(self, which: str) -> list[Usage]:
        return [usage for each in self.recordings for _, _, usage in getattr(each, which)]


@pytest.fixture(scope="module")
def read() -> Any:
    """Each recording is read once for all tests of it."""
    known: dict[Path, Read] = {}
    return lambda path: known.get(path) or known.setdefault(path, Read(path))


@needs_corpus
def test_all_29_are_here() -> None:
    assert len(RECORDINGS) == 29
    assert all(files_of(name) and all(path.exists() for path in files_of(name)) for name in RECORDINGS)
    assert all(key in RECORDINGS or any(name.startswith(f"{key}/") for name in RECORDINGS) for key in NOT_RECORDED)


each_recording = [
    needs_corpus,
    pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}:{path.suffix or 'folder'}" for name, path in CASES]),
]


def of_each(test: Any) -> Any:
    for mark in each_recording:
        test = mark(test)
    return test


@of_each
def test_turns(name: str, path: Path, read: Any) -> None:
    known, found = truth(name), read(path)
    asked = sum(turn.number > 0 for top in found.tops for turn in turns(top))
    taken_back = sum(is_prompt(step) for step in found.given_up)
    if missing(name).get("words"):
        # Nobody's words are there; that the user asked twice is known from the traces.
        assert asked == 0 and [len(top.invocations) for top in found.tops] == [known["user_turns"]]
        return
    assert asked + taken_back == known["user_turns"]
    abandoned = [turn for turn in known["turns"] if str(turn.get("outcome")).startswith("abandoned")]
    assert taken_back == len(abandoned)


def nested(call: dict[str, Any]) -> list[dict[str, Any]]:
    return call.get("nested") or []


def is_nested(pair: CallPair) -> bool:
    return bool(pair.call.extra.get("codex", {}).get("nested"))


def outcomes(pairs: list[CallPair]) -> Counter[str]:
    """How calls ended, in the words of the truth."""
    found: Counter[str] = Counter()
    for pair in pairs:
        failure = pair.result.failure if pair.result is not None else None
        if pair.result is not None and has_failed(pair.result):
            found[{_DENIED: "denied", _INTERRUPTED: "interrupted"}.get(failure or "", "failed")] += 1
    return found


@of_each
def test_calls_and_how_they_ended(name: str, path: Path, read: Any) -> None:
    known, found = truth(name), read(path)
    made = [call for each in known["calls"] if each["status"] == "ok" for call in each["tool_calls"]]
    pairs = found.pairs + found.pairs_given_up
    # What the model itself called: a script of code mode stands in the recording and gives way to its commands,
    # unless it has failed itself.
    own = [pair for pair in pairs if not is_nested(pair)]
    scripts = [
        part
        for step in found.steps
        for part in step.parts
        if isinstance(part, Unknown) and part.kind == "codex:script" and "call" in part.raw
    ]
    assert len(own) + len(scripts) == known["tool_calls"]
    unmarked = missing(name).get("failures", 0)
    for word in ("failed", "denied", "interrupted"):
        untold = unmarked if word == "failed" else 0
        assert outcomes(own)[word] + untold == known[f"tool_calls_{word}"], word
    # What pantrace counts: the commands in place of the script that ran them.
    inner = [pair for pair in pairs if is_nested(pair)]
    assert Counter(pair.call.name for pair in inner) == Counter(each["name"] for call in made for each in nested(call))
    assert outcomes(inner)["failed"] == sum(each["outcome"] == "failed" for call in made for each in nested(call))
    assert len(pairs) == sum(len(nested(call) or [call]) for call in made)
    # Of a branch that was given up nothing is counted.
    left = [call for each in known["calls"] if each["call"] in known["abandoned_calls"] for call in each["tool_calls"]]
    assert len(found.pairs_given_up) == len(left)
    assert outcomes(found.pairs_given_up)["failed"] == sum(call["outcome"] == "failed" for call in left)


@needs_corpus
@pytest.mark.parametrize(("name", "words"), [("otlp/adk", None), ("otlp/adk_latest", "Error: book M-9 is reserved")])
def test_a_failure_that_nothing_marks(name: str, words: str | None, read: Any) -> None:
    """The tool gave back a text: no status, no exception, no event is in its span, so that nobody can tell it from any
    other answer; with content switched off not even the words are there."""
    [failed] = [
        call
        for each in truth(name)["calls"]
        for call in each.get("tool_calls", ())
        if call["outcome"] not in ("ok", None)
    ]
    for path in files_of(name):
        [pair] = [pair for pair in read(path).pairs if pair.call.name == failed["name"] == "lend_book"]
        assert pair.result is not None and not has_failed(pair.result)
        assert pair.result.output == (words and {"result": words})


def plain(usage: Usage | dict[str, Any] | None, name: str) -> dict[str, int]:
    """The numbers of a usage that a recording tells."""
    untold = missing(name).get("numbers", ())
    # Of what is written to a cache only Anthropic's API tells.
    keys = [key for key in NUMBERS if key not in untold and (key != "cache_write" or name.startswith("claude_code/"))]
    told = [(key, usage.get(key) if isinstance(usage, dict) else getattr(usage, key)) for key in keys]
    if name in LEFT_OUT_IF_ZERO:
        return {key: value for key, value in told if value}
    return dict(told)


def by_size(usages: list[Any], name: str) -> list[list[tuple[str, int]]]:
    return sorted([*plain(usage, name).items()] for usage in usages)


def summed(usages: list[Any], name: str) -> dict[str, int]:
    return dict(sum((Counter(plain(usage, name)) for usage in usages), Counter()))


@of_each
def test_tokens_of_each_call_and_in_total(name: str, path: Path, read: Any) -> None:
    known, found = truth(name), read(path)
    answered = {each["call"]: each["usage"] for each in known["calls"] if each["status"] == "ok"}
    lost = missing(name).get("calls", [])
    assert lost == known["calls_not_recorded"]
    counted, given_up = found.calls("model_calls"), found.calls("given_up")
    here = [usage for call, usage in answered.items() if call not in lost]
    assert by_size(counted + given_up, name) == by_size(here, name)
    assert by_size(given_up, name) == by_size([answered[call] for call in known["abandoned_calls"]], name)
    assert summed(counted + given_up, name) == {key: n for key, n in plain(known["tokens_recorded"], name).items() if n}
    if not lost:
        assert known["tokens_recorded"] == known["tokens_all_answered"]
    # Numbers that are not there are said to be missing, not zero.
    for key in missing(name).get("numbers", ()):
        assert all(getattr(usage, key) is None for usage in counted)
        texts = [each.read_bytes() for each in sorted(path.rglob("*.json*") if path.is_dir() else [path])]
        assert texts and not [1 for text in texts for word in _REASONING if word in text]
    for call in lost:
        [untold] = [step for step in found.steps if step.kind == "compaction" and step.usage == Usage()]
        assert untold.role == "user" and call in known["compaction_calls"]


@of_each
def test_interrupted_responses_are_in_no_total(name: str, path: Path, read: Any) -> None:
    known, found = truth(name), read(path)
    announced = known.get("tokens_interrupted_announced")
    interrupted = found.calls("interrupted")
    if announced is None or name == "codex/trouble":
        # Codex writes nothing of a response that the user stops, as the truth says.
        assert not interrupted and ("codex" not in name or "Codex records nothing" in str(known) or announced is None)
        return
    [usage] = interrupted
    assert {key: getattr(usage, key) for key in ("input", "cache_read", "cache_write")} == {
        key: announced[key] for key in ("input", "cache_read", "cache_write")
    }
    assert usage.partial == ("output",) and usage.output < announced["output"]


@of_each
def test_what_is_told_to_somebody_who_asks_for_the_cost(name: str, path: Path, read: Any) -> None:
    """All that was spent: what counts, what was given up, and the least that an interrupted response took."""
    known, found = truth(name), read(path)
    interrupted = sum(total_tokens(usage) or 0 for usage in found.calls("interrupted"))
    scores = [by_name("token_usage").score(sample).values for sample in found.samples]
    spent = sum(each["spent_tokens"] for each in scores)
    recorded = known["tokens_recorded"]
    assert spent == recorded["input"] + recorded["output"] + interrupted
    assert len(known["abandoned_calls"]) == len(found.calls("given_up"))
    if not known["abandoned_calls"] and not interrupted:
        assert spent == sum(each["total_tokens"] for each in scores)


@of_each
def test_sub_agents(name: str, path: Path, read: Any) -> None:
    """Agents that were started and agents that took over; their tokens, names and last words."""
    known, found = truth(name)["sub_agents"], read(path)
    assert by_size([each.usage for each in found.agents], name) == by_size([each["tokens"] for each in known], name)
    if not name.startswith(NAMELESS):
        assert sorted(str(each.name) for each in found.agents) == sorted(each["agent"] for each in known)
    measured = [by_name("agent_handoffs").score(sample).values.get("sub_agents") for sample in found.samples]
    assert sum(measured) == len(known)
    answers = {str(plain(each["tokens"], name)): each["final_text"] for each in known}
    for top in found.tops:
        for child in [*agent_trajectories(top)][1:]:
            wanted = answers[str(summed([step.usage for step in child.steps if step.usage], name))]
            # Where the truth has none, the agent ended with a call of a tool that takes the answer.
            if wanted is not None and not missing(name).get("words"):
                assert final_response(child) == wanted


@of_each
def test_the_final_answer(name: str, path: Path, read: Any) -> None:
    known, found = truth(name), read(path)
    last = max(found.tops, key=lambda top: max((step.at or 0 for step in top.steps), default=0))
    if missing(name).get("words"):
        assert final_response(last) is None
        assert all(absent_in(sample) or "without their text" in str(sample) for sample in found.samples)
    elif "final_answer_note" in known:
        # The last question was never answered; what the truth calls the answer was the one before it.
        assert known["final_answer_note"] == "answer to turn 1; turn 2 ended in an error"
        assert final_response(last) is None and last.outcome is not None and last.outcome.status == "error"
        assert [text for step in last.steps if step.role == "agent" and (text := step_text(step))][-1] == known[
            "final_answer"
        ]
    else:
        assert final_response(last) == known["final_answer"]


def test_all_that_is_not_recorded_stands_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "corpus.md").read_text()
    section = page.partition("## Compared with the model's log")[2].partition("\n## ")[0]
    for name in (*NOT_RECORDED, *LEFT_OUT_IF_ZERO, "openhands_v1/errors", "codex/codemode", "codex/agents2"):
        assert f"`{name}" in section, name
