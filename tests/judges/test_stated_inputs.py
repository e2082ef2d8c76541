"""The payloads of a case (`explain_inputs`): their words are what a judge reads, not those of the case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pantrace.engine.convert import convert
from pantrace.engine.judge import Access, Bench, bench, judge_all, plan_questions
from pantrace.engine.read import read
from pantrace.formats.explain.bundle import EVALS
from pantrace.judges import Absent, Settings, gather, load_rubric
from pantrace.model import Sample, Score
from scripted import Scripted, verdict

SETTINGS = Settings(models=("openai:m",))

CASE: dict[str, Any] = {
    "case_id": "planner-001",
    "agent_name": "planner",
    "question": "CASE question",
    "context": "CASE context",
    "model_answer": "CASE answer",
    "task_goal": "CASE goal",
    "relevant_context": "CASE relevant",
    "available_tools": ["CASE_tool"],
    "invoked_tool_calls": [{"tool": "CASE_call", "arguments": {"q": "CASE argument"}, "outcome": "CASE outcome"}],
    "required_evals": list(EVALS),
}
PAYLOAD: dict[str, Any] = {
    "input": "PAYLOAD answer",
    "question": "PAYLOAD question",
    "context": "PAYLOAD context",
    "rag_mode": "non-rag",
    "relevantContext": "PAYLOAD relevant",
    "availableTools": ["PAYLOAD_tool"],
    "invokedTools": [{"tool": "PAYLOAD_call", "arguments": {"q": "PAYLOAD argument"}, "outcome": "PAYLOAD outcome"}],
    "goal": "PAYLOAD goal",
}
KEYS = {
    "RelevanceExplain": ("input", "question", "context"),
    "PerceivedIntelligenceExplain": ("input", "question", "context", "rag_mode"),
    "IntentResolutionExplain": ("input", "question", "relevantContext"),
    "ToolCallAccuracyExplain": ("input", "question", "availableTools", "invokedTools"),
    "TaskAdherenceExplain": ("input", "question", "goal"),
}
WORDS = {
    "input": ["answer"],
    "question": ["question"],
    "context": ["context"],
    "relevantContext": ["relevant"],
    "availableTools": ["_tool"],
    "invokedTools": ["_call", " argument", " outcome"],
    "goal": ["goal"],
}


def _payload(name: str) -> dict[str, Any]:
    return {key: PAYLOAD[key] for key in KEYS.get(name, ("input", "question"))}


def _shown(name: str) -> list[str]:
    """Keys whose values a judge sees; without `rag` perceived intelligence is asked about without the context."""
    hidden = ("rag_mode", "context") if name == "PerceivedIntelligenceExplain" else ()
    return [key for key in _payload(name) if key not in hidden]


def _file(folder: Path, bundle: dict[str, Any], **more: Any) -> Path:
    path = folder / "cases.jsonl"
    row = {**CASE, "explain_inputs": bundle, **more}
    path.write_text(json.dumps({key: value for key, value in row.items() if value is not None}) + "\n")
    return path


def _prompts(path: Path, *names: str) -> tuple[dict[str, str], dict[str, Score]]:
    """What a judge was really asked, and what became of it, by rubric."""
    asked: dict[str, str] = {}
    scores: dict[str, Score] = {}
    for name in names:
        judge = Scripted(lambda _: verdict(4))
        ((_, (scores[name],)),) = judge_all(
            read(path).samples, [load_rubric(name)], bench(SETTINGS, Access(), judge=judge)
        )
        asked[name] = judge.requests[0].prompt if judge.requests else ""
    return asked, scores


@pytest.mark.parametrize("name", EVALS)
def test_the_words_of_the_payload_are_asked_about_and_those_of_the_case_are_not(name: str, tmp_path: Path) -> None:
    path = _file(tmp_path, {name: _payload(name)})
    asked, scores = _prompts(path, name)
    assert "CASE" not in asked[name]
    seen = [
        key
        for key in _payload(name)
        if key != "rag_mode" and (key, name) != ("context", "PerceivedIntelligenceExplain")
    ]
    for word in [word for key in seen for word in WORDS[key]]:
        assert f"PAYLOAD{word}" in asked[name] or f"PAYLOAD {word.strip()}" in asked[name]
    assert scores[name].value == 4.0
    # A dry run shows the same.
    (plan,) = plan_questions(read(path).samples, [load_rubric(name)], Bench(None, SETTINGS), None)
    assert plan.prompt is not None
    assert plan.prompt.text == asked[name]


@pytest.mark.parametrize("name", EVALS)
def test_other_evals_are_asked_about_the_case(name: str, tmp_path: Path) -> None:
    others = [each for each in EVALS if each != name]
    asked, _ = _prompts(_file(tmp_path, {each: _payload(each) for each in others}), name)
    assert "PAYLOAD" not in asked[name]
    assert "CASE answer" in asked[name]


@pytest.mark.parametrize("name", EVALS)
def test_only_keys_that_are_absent_come_from_the_case(name: str, tmp_path: Path) -> None:
    for key in _payload(name):
        payload = {each: value for each, value in _payload(name).items() if each != key}
        asked, _ = _prompts(_file(tmp_path, {name: payload}), name)
        from_case = set(re.findall(r"CASE[ _]\w+", asked[name]))
        assert len(from_case) == (len(WORDS[key]) if key in _shown(name) else 0)


def test_what_is_stated_to_be_absent_is_not_taken_from_the_case(tmp_path: Path) -> None:
    path = _file(tmp_path, {"RelevanceExplain": {**_payload("RelevanceExplain"), "context": None}})
    asked, _ = _prompts(path, "RelevanceExplain")
    assert "context" not in asked["RelevanceExplain"].lower().split("question:")[1]
    path = _file(tmp_path, {"FluencyExplain": {"input": None, "question": "PAYLOAD question"}})
    asked, scores = _prompts(path, "FluencyExplain")
    assert asked["FluencyExplain"] == ""
    assert scores["FluencyExplain"].status == "not_applicable"
    assert scores["FluencyExplain"].explanation == "its inputs for this eval say that there is no answer"


def test_a_case_that_has_not_been_run_is_judged_by_its_payload(tmp_path: Path) -> None:
    path = _file(tmp_path, {"FluencyExplain": _payload("FluencyExplain")}, model_answer=None, invoked_tool_calls=None)
    (sample,) = read(path).samples
    assert sample.trajectory is None
    asked, scores = _prompts(path, "FluencyExplain", "HelpfulnessExplain")
    assert "PAYLOAD answer" in asked["FluencyExplain"]
    assert scores["HelpfulnessExplain"].status == "not_applicable"


def test_the_mode_chooses_the_variant_and_a_named_variant_stays(tmp_path: Path) -> None:
    name = "PerceivedIntelligenceExplain"
    path = _file(tmp_path, {name: {**_payload(name), "rag_mode": "rag"}})
    asked, scores = _prompts(path, name, f"{name}:non-rag", f"{name}:rag")
    assert "PAYLOAD context" in asked[name]
    assert (scores[name].name, scores[name].details["variant"]) == (name, "rag")
    assert "PAYLOAD answer" in asked[f"{name}:non-rag"]
    assert "PAYLOAD context" not in asked[f"{name}:non-rag"]
    assert asked[f"{name}:rag"] == asked[name]
    plain, _ = _prompts(_file(tmp_path, {name: {**_payload(name), "rag_mode": "hybrid"}}), name)
    assert "PAYLOAD context" not in plain[name]


def test_names_and_keys_in_other_letters(tmp_path: Path) -> None:
    path = _file(tmp_path, {"fluencyexplain": {"Input": "PAYLOAD answer", "QUESTION": "PAYLOAD question"}})
    asked, _ = _prompts(path, "FluencyExplain")
    assert "CASE" not in asked["FluencyExplain"]
    assert "PAYLOAD answer" in asked["FluencyExplain"]


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("searched twice", ["searched twice"]),
        ([], None),
        (["a", {"name": "b"}], ["a", '{"name":"b"}']),
        ([{"tool": "t", "arguments": {}}], ["calls t {}", "no result was recorded"]),
        ([{"tool": "t", "arguments": "x", "outcome": "error"}], ["calls t x", "t fails\nits output: error"]),
        ([{"tool": "t", "outcome": {"error": "bad"}}], ["calls t null", "t fails: bad"]),
        ([{"tool": "t", "reason": "why"}], ['{"tool":"t","reason":"why"}']),
    ],
)
def test_calls_of_any_shape_are_told(calls: Any, told: list[str] | None, tmp_path: Path) -> None:
    name = "ToolCallAccuracyExplain"
    (sample,) = read(_file(tmp_path, {name: {**_payload(name), "invokedTools": calls}})).samples
    found = gather(sample, load_rubric(name))
    assert not isinstance(found, Absent)
    blocks = found.get("invoked_tools")
    assert (None if blocks is None else [block.text for block in blocks]) == told


def test_a_native_copy_keeps_the_payloads_and_is_asked_about_in_the_same_words(tmp_path: Path) -> None:
    bundle = {name: _payload(name) for name in EVALS if name != "EmpathyExplain"}
    bundle["TaskAdherenceExplain"].pop("goal")
    bundle["PerceivedIntelligenceExplain"]["rag_mode"] = "rag"
    path = _file(tmp_path, bundle)
    native, back = tmp_path / "copy.trace.jsonl", tmp_path / "back.jsonl"
    assert not convert(path, native, to="native").losses
    assert not convert(native, back, to="explain").losses
    assert json.loads(back.read_text())["explain_inputs"] == bundle
    first, second, third = (_prompts(each, *EVALS)[0] for each in (path, native, back))
    assert first == second == third
    assert "CASE goal" in first["TaskAdherenceExplain"]


def test_a_custom_rubric_gets_the_payload_of_its_name(tmp_path: Path) -> None:
    rubric = tmp_path / "polite.toml"
    grades = '[grades]\n1 = "no"\n2 = "yes"\n'
    head = 'name = "PolitenessExplain"\nversion = "1"\ntitle = "Polite"\ntemplate = "{{ question }} {{ answer }}"\n'
    rubric.write_text(f'{head}[inputs]\nquestion = "required"\nanswer = "required"\n{grades}')
    (sample,) = read(_file(tmp_path, {"PolitenessExplain": {"input": "PAYLOAD answer"}})).samples
    assert isinstance(sample, Sample)
    found = gather(sample, load_rubric(str(rubric)))
    assert not isinstance(found, Absent)
    assert [found[name][0].text for name in ("question", "answer")] == ["CASE question", "PAYLOAD answer"]


def test_secrets_in_a_payload_are_not_sent(tmp_path: Path) -> None:
    asked, _ = _prompts(_file(tmp_path, {"FluencyExplain": {"input": "the password: hunter22!"}}), "FluencyExplain")
    assert "hunter22" not in asked["FluencyExplain"]
    assert "password: [redacted:password]" in asked["FluencyExplain"]
