"""trajectory_accuracy: short samples and their scores."""

from __future__ import annotations

from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace import read
from pantrace.errors import ReadError, UsageError
from pantrace.metrics import parse_settings
from pantrace.metrics.trajectory_accuracy import trajectory_accuracy
from pantrace.model import (
    Agent,
    Case,
    ExpectedCall,
    Part,
    Sample,
    Score,
    Step,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
)


def made(*turns: str, failed: tuple[str, ...] = ()) -> Trajectory:
    """Turns of one prompt and one answer; "read:1 bash" calls read(x=1) and bash()."""
    steps: list[Step] = []
    for number, turn in enumerate(turns):
        steps.append(Step(id=f"u{number}", role="user", parts=(Text(text="go"),)))
        for place, word in enumerate(turn.split()):
            name, _, value = word.partition(":")
            call = ToolCall(id=f"{number}.{place}", name=name, arguments={"x": int(value)} if value else {})
            failure = "no" if name in failed else None
            parts: tuple[Part, ...] = (call, ToolResult(call_id=call.id, output="ok", error=failure))
            steps.append(Step(id=f"s{number}.{place}", role="agent", parts=parts))
        steps.append(Step(id=f"a{number}", role="agent", parts=(Text(text="done"),)))
    return Trajectory(steps=tuple(steps))


def scored(sample: Sample, **settings: Any) -> Score:
    return trajectory_accuracy.score(sample, parse_settings(trajectory_accuracy, settings))


def against(trajectory: Trajectory, expected: Trajectory, **settings: Any) -> Score:
    return scored(Sample(id="x", trajectory=trajectory, expected=expected), **settings)


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (Sample(id="x", expected=made("read:1")), "has not been run"),
        (Sample(id="x", trajectory=made("read:1")), "no reference"),
        (Sample(id="x", trajectory=made("read:1"), case=Case(question="?")), "no reference"),
        (Sample(id="x", trajectory=made("read:1"), expected=made("")), "names no calls"),
        (Sample(id="x", trajectory=made("read:1"), case=Case(expected_calls=())), "names no calls"),
    ],
)
def test_not_applicable(sample: Sample, reason: str) -> None:
    score = scored(sample)
    assert (score.status, score.value) == ("not_applicable", None)
    assert reason in (score.explanation or "")


@pytest.mark.parametrize(
    ("did", "wanted", "settings", "value"),
    [
        ("read:1 bash", "read:1 bash", {}, 1.0),
        ("bash read:1", "read:1 bash", {}, 0.5),
        ("bash read:1", "read:1 bash", {"order": "any_order"}, 1.0),
        ("bash read:1", "read:1 bash", {"order": "exact"}, 0.0),
        ("", "read:1", {}, 0.0),
        ("read:2", "read:1", {}, 0.0),
        ("read:2", "read:1", {"ignore_arguments": True}, 1.0),
        ("read:2", "read:1", {"arguments": "ignore"}, 1.0),
        ("read:2", "read:1", {"tools": {"read": {"mode": "ignore"}}}, 1.0),
        ("read:2", "read:1", {"tools": {"bash": {"mode": "ignore"}}}, 0.0),
        ("read:101", "read:100", {"tolerance": 0.01}, 1.0),
        ("fs.read:1", "read_files:1", {"aliases": {"read": ["fs.read", "read_files"]}}, 1.0),
        ("read:2", "read:1", {"aliases": {"read": ["r"]}, "tools": {"r": {"mode": "ignore"}}}, 1.0),
        ("read:1 bash bash", "read:1", {}, 0.5),
        ("read:1 bash", "read:1", {"preset": "adk-in-order"}, 1.0),
        ("read:1 bash", "read:1", {"preset": "adk-exact"}, 0.0),
        ("read:1 bash", "", {"preset": "adk-in-order"}, 1.0),
        ("read:1 bash", "", {"preset": "deepeval-tool-correctness"}, 0.0),
        ("read:2", "read:1", {"preset": "deepeval-tool-correctness"}, 1.0),
        ("read:2", "read:1", {"preset": "deepeval-tool-correctness", "ignore_arguments": False}, 0.0),
        ("read:1 bash", "read:1", {"preset": "agentevals-superset"}, 1.0),
        ("read:1", "read:1", {"preset": "agentevals-strict"}, 1.0),
        ("read:1 bash", "read:1", {"preset": "agentevals-strict"}, 0.0),
        ("read:1 bash", "read:1", {"preset": "vertex-trajectory-precision"}, 0.5),
    ],
)
def test_one_turn(did: str, wanted: str, settings: dict[str, Any], value: float) -> None:
    assert against(made(did), made(wanted), **settings).value == pytest.approx(value)


def test_details_hold_every_number_and_evidence_the_strays() -> None:
    score = against(made("read:1 bash read:9 read:9"), made("read:1 read:2 grep"))
    assert score.evidence == ("s0.1", "s0.2", "s0.3")
    assert score.values | score.details == {
        "score": pytest.approx(2 / 7),
        "exact": False,
        "in_order": False,
        "any_order": False,
        "matched": 1,
        "precision": 0.25,
        "recall": pytest.approx(1 / 3),
        "f1": pytest.approx(2 / 7),
        "name_f1": pytest.approx(4 / 7),
        "argument_f1": 0.5,
        "extra": 3,
        "missing": 2,
        "duplicates": 1,
        "approximate": False,
        "calls": 4,
        "reference_calls": 3,
        "extra_names": ["bash", "read", "read"],
        "missing_names": ["read", "grep"],
        "order": "in_order",
        "reference": "expected",
    }


def test_the_expected_trajectory_comes_first_where_it_names_calls() -> None:
    case = Case(expected_calls=(ExpectedCall(name="bash"),))
    both = Sample(id="x", trajectory=made("bash"), expected=made("read:1"), case=case)
    assert (scored(both).value, scored(both).details["reference"]) == (0.0, "expected")
    silent = Sample(id="x", trajectory=made("bash"), expected=made(""), case=case)
    assert (scored(silent).value, scored(silent).details["reference"]) == (1.0, "expected_calls")


def test_expected_calls_without_arguments_ask_for_the_name_alone() -> None:
    case = Case(expected_calls=(ExpectedCall(name="read"), ExpectedCall(name="bash", arguments={})))
    assert scored(Sample(id="x", trajectory=made("read:5 bash"), case=case)).value == 1.0
    assert scored(Sample(id="x", trajectory=made("read:5 bash:1"), case=case)).value == 0.5


def test_arguments_as_text_are_what_they_say() -> None:
    step = Step(role="agent", parts=(ToolCall(name="read", arguments='{"x": 1}'),))
    assert against(Trajectory(steps=(step,)), made("read:1")).value == 1.0


def test_adk_goes_by_invocation() -> None:
    wanted = made("read:1", "bash")
    assert against(made("read:1", "grep"), wanted, preset="adk-exact").value == 0.5
    cut = against(made("read:1 bash"), wanted, preset="adk-exact")
    assert (cut.status, cut.value) == ("not_applicable", None)
    assert cut.values["matched"] == 2


def test_failed_calls_count_unless_the_library_leaves_them_out() -> None:
    did, wanted = made("read:1 bash", failed=("bash",)), made("read:1 bash")
    assert against(did, wanted).value == 1.0
    assert against(did, wanted, failed_calls=False).value == pytest.approx(2 / 3)
    assert against(did, wanted, preset="pydantic-evals-trajectory-match-any-order").value == pytest.approx(2 / 3)
    with_failed = {"preset": "pydantic-evals-trajectory-match-any-order", "failed_calls": True}
    assert against(did, wanted, **with_failed).value == 1.0


def test_a_call_that_failed_by_its_exit_code_or_payload_failed() -> None:
    wanted = made("bash")
    for fields in ({"exit_code": 2}, {"output": {"error": "no"}}):
        answer = ToolResult(name="bash", **fields)  # type: ignore[arg-type]
        did = Trajectory(steps=(Step(role="agent", parts=(ToolCall(name="bash"), answer)),))
        assert against(did, wanted, failed_calls=False).value == 0.0


def test_single_tool_use_needs_no_reference() -> None:
    sample = Sample(id="x", trajectory=made("read:1"))
    settings = {"preset": "vertex-trajectory-single-tool-use"}
    assert scored(sample, **settings, tool="read").value == 1.0
    assert scored(sample, **settings, tool="bash").value == 0.0


def test_bfcl_looks_at_the_declared_types() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": []}
    agents = (Agent(name="a", tools=(Tool(name="read", parameters=schema),)),)
    case = Case(expected_calls=(ExpectedCall(name="read", arguments={"x": ["one", 1]}),))
    plain = made("read:1")
    typed = Trajectory(steps=plain.steps, agents=agents)
    text = Step(role="agent", parts=(ToolCall(name="read", arguments={"x": "One."}),))
    rows = [(plain, 0.0), (typed, 0.0), (Trajectory(steps=(text,), agents=agents), 1.0)]
    for trajectory, value in rows:
        assert scored(Sample(id="x", trajectory=trajectory, case=case), preset="bfcl-ast").value == value


@needs_corpus
def test_scores_that_adk_stored_are_found_again() -> None:
    again = []
    for file in sorted((CORPUS / "own/adk").rglob("*.json")):
        try:
            samples = list(read(file, format="adk-history").samples)
        except ReadError:
            continue  # another format
        for sample in samples:
            for stored in sample.scores:
                if stored.name == "tool_trajectory_avg_score":
                    ours = scored(sample, preset="adk-exact").value
                    assert ours == stored.value, (file.name, sample.id)
                    again.append(ours)
    assert len(again) > 10
    assert {0.0, 1.0} <= set(again)


def test_settings_may_be_texts() -> None:
    texts = {
        "aliases": '{"read": ["fs.read"]}',
        "arguments": "keys",
        "keys": '["x"]',
        "tolerance": "0.5",
        "failed_calls": "false",
        "tools": '{"bash": {"mode": "ignore"}}',
    }
    assert against(made("fs.read:3 bash:7"), made("read:2 bash:1"), **texts).value == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "adk_inorder"}, "did you mean adk-in-order"),
        ({"preset": "ragas-tool-call-f1", "tolerance": 0.1}, "does not know the setting tolerance"),
        ({"preset": "vertex-trajectory-single-tool-use"}, "needs the setting tool"),
        ({"preset": "agentevals-subset", "arguments": "allowed"}, "exact, ignore, subset, superset"),
        ({"arguments": "keys"}, "needs the setting keys"),
        ({"order": "sideways"}, "order"),
        ({"keys": "[broken"}, "keys"),
        ({"ordre": "exact"}, "has no setting 'ordre'"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_settings(trajectory_accuracy, settings)


def test_a_run_of_which_nothing_was_recorded_did_not_miss_its_calls() -> None:
    case = Case(expected_calls=(ExpectedCall(name="read"),))
    silent = Trajectory(steps=(Step(role="user", parts=(Text(text="go"),)),))
    found = scored(Sample(id="s", case=case, trajectory=silent))
    assert (found.status, found.explanation) == (
        "not_applicable",
        "the recording has nothing that the agent did",
    )
    assert scored(Sample(id="s", case=case, trajectory=made(""))).value == 0.0, "it answered, and called nothing"
