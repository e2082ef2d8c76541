"""Inputs of rubrics, from samples of any format."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from any_sample import samples
from goldens import ROOT
from pantrace.engine.read import read
from pantrace.formats.explain import explain_inputs
from pantrace.judges import INPUTS, Absent, Rubric, gather, load_rubric, prompt_for, rubric_names
from pantrace.judges.cut import Material
from pantrace.model import (
    Case,
    Citation,
    ExpectedCall,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
)
from scripted import sample_of

RUBRICS = [load_rubric(name) for name in rubric_names()]


def _all_of(sample: Sample) -> Material:
    everything = Rubric(
        name="x", version="1", title="x", inputs=dict.fromkeys(INPUTS, "optional"), grades={}, template=""
    )
    found = gather(sample, everything)
    assert not isinstance(found, Absent)
    return found


def _texts(sample: Sample, name: str) -> list[str] | None:
    blocks = _all_of(sample).get(name)
    return None if blocks is None else [block.text for block in blocks]


ABSENT = [
    (Sample(id="s"), "HelpfulnessExplain", "it has not been run: there is no trajectory"),
    (sample_of(answer=None), "HelpfulnessExplain", "the agent gave no answer after the last prompt"),
    (sample_of(question=None), "HelpfulnessExplain", "it has no question and no prompt"),
    (sample_of(), "PerceivedIntelligenceExplain:rag", "it has no context"),
    (sample_of(), "state_variable_fidelity_judge", "the recording keeps no state"),
    (
        Sample(id="s", trajectory=Trajectory(steps=(Step(role="user", parts=(Text(text="q"),)),))),
        "ToolCallAccuracyExplain",
        "the recording does not say which tools there were and no tool was called",
    ),
    (
        Sample(
            id="s",
            trajectory=Trajectory(
                steps=(Step(role="user", parts=(Text(text="q"),)), Step(role="agent", parts=(Text(text="a"),)))
            ),
        ),
        "hallucination",
        "it has no context, tool output or citation",
    ),
]


@pytest.mark.parametrize(("sample", "name", "why"), ABSENT, ids=range(len(ABSENT)))
def test_what_is_missing_is_said(sample: Sample, name: str, why: str) -> None:
    assert gather(sample, load_rubric(name)) == Absent(why)


def test_the_inputs_of_a_short_run() -> None:
    sample = sample_of()
    assert _texts(sample, "question") == ["How many are left?"]
    assert _texts(sample, "answer") == ["Three are left."]
    assert _texts(sample, "available_tools") == ["count: counts things", "weigh"]
    assert _texts(sample, "invoked_tools") == ['calls count {"what":"apples"}', "count answers: 3"]
    assert _texts(sample, "conversation") == ["user: How many are left?", "agent: Three are left."]
    assert _texts(sample, "trajectory") == [
        "user: How many are left?",
        'agent calls count {"what":"apples"}',
        "count answers: 3",
        "agent: Three are left.",
    ]
    assert _texts(sample, "evidence") == ['calls count {"what":"apples"}', "count answers: 3"]
    assert _texts(sample, "calls_made") == ["count: 1"]
    assert _texts(sample, "reference") is None


def test_the_case_speaks_first_and_the_reference_run_second() -> None:
    case = Case(
        question="Q",
        context="C",
        goal="G",
        reference="R",
        expected_calls=(ExpectedCall(name="count", arguments={"what": "pears"}, reason="asked"),),
        expected_state={"n": 3},
    )
    sample = msgspec.structs.replace(sample_of(), case=case)
    assert _texts(sample, "question") == ["Q"]
    assert _texts(sample, "goal") == ["G"]
    assert _texts(sample, "reference") == ["R"]
    assert _texts(sample, "expected") == ['calls count {"what":"pears"} because asked']
    assert _texts(sample, "expected_state") == ["n = 3"]
    other = msgspec.structs.replace(sample_of(), expected=sample_of(answer="Four.").trajectory)
    assert _texts(other, "reference") == ["Four."]
    assert "agent: Four." in (_texts(other, "expected") or [])


def test_thoughts_and_copied_context_are_not_shown_and_failures_are() -> None:
    trajectory = Trajectory(
        steps=(
            Step(role="user", parts=(Text(text="old"),), kind="copied"),
            Step(role="user", parts=(Text(text="q"), Text(text="file content", synthetic=True))),
            Step(role="agent", parts=(Thinking(text="secret plan"), ToolCall(id="1", name="run", arguments="ls"))),
            Step(
                role="tool",
                parts=(
                    ToolResult(call_id="1", name="run", output="no", error="denied", failure="denied", exit_code=2),
                ),
            ),
            Step(role="agent", parts=(Citation(uri="u", text="passage"), Text(text="done"))),
        )
    )
    found = _texts(Sample(id="s", trajectory=trajectory), "trajectory")
    assert found == [
        "user: q",
        "user (inserted by the program): file content",
        "agent calls run ls",
        "run fails (denied): denied\nits output: no\nexit code 2",
        "agent cites u : passage",
        "agent: done",
    ]


def test_a_sub_agent_stands_behind_its_call() -> None:
    child = Trajectory(id="kid", caller="c1", title="kid", steps=(Step(role="agent", parts=(Text(text="inner"),)),))
    parent = sample_of()
    assert parent.trajectory is not None
    sample = msgspec.structs.replace(parent, trajectory=msgspec.structs.replace(parent.trajectory, children=(child,)))
    found = _texts(sample, "trajectory") or []
    place = found.index("[sub-agent kid begins]")
    assert found[place - 1] == "count answers: 3"
    assert found[place + 1 : place + 3] == ["sub-agent kid: inner", "[sub-agent kid ends]"]


def test_the_inputs_of_explain_cases_are_those_of_their_bundle() -> None:
    names = {"input": "answer", "question": "question", "context": "context", "goal": "goal"}
    names["relevantContext"] = "relevant_context"
    checked = 0
    for sample in read(ROOT / "explain" / "cases.explain.jsonl").samples:
        for name, payload in explain_inputs(sample).items():
            found = gather(sample, load_rubric(name))
            assert not isinstance(found, Absent)
            for key, value in payload.items():
                if names.get(key) in found:
                    assert "".join(block.text for block in found[names[key]]) == (value or "(empty)")
                    checked += 1
    assert checked > 40


@settings(max_examples=60)
@given(samples())
def test_every_rubric_takes_any_sample(sample: Sample) -> None:
    for rubric in RUBRICS:
        material = gather(sample, rubric)
        if isinstance(material, Absent):
            assert material.reason
        else:
            prompt = prompt_for(rubric, material, budget=3_000)
            assert prompt.text.encode()
            assert prompt.text.endswith("}")


def test_secrets_are_cleaned_before_anything_is_cut() -> None:
    rubric = load_rubric("HelpfulnessExplain")
    material = gather(sample_of(answer="key " + "k" * 50 + "!" * 5_000), rubric)
    assert not isinstance(material, Absent)
    prompt = prompt_for(rubric, material, budget=2_000, clean=lambda text: text.replace("k" * 50, "[gone]"))
    assert "kkk" not in prompt.text
    assert "key [gone]!" in prompt.text
    assert prompt.cut
    assert f"Cut to fit: {prompt.cut[0]}." in prompt.text
