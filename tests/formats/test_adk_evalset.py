"""What is peculiar to ADK eval sets: conversations, scenarios, and the lists of older versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.errors import ReadError
from pantrace.formats import by_name, detect
from pantrace.model import Case, ExpectedCall, Sample, ToolCall, step_text

FORMAT = by_name("adk-evalset")
GOLDEN = ROOT / "adk-evalset"


def cases(name: str) -> dict[str, Sample]:
    return {sample.id: sample for sample in read(GOLDEN / name).samples}


def test_a_case_has_not_been_run() -> None:
    for sample in cases("shop_set.evalset.json").values():
        assert sample.trajectory is None
        assert sample.scores == ()
        assert sample.expected is not None


def test_expected_calls_and_answer_are_the_case() -> None:
    case = cases("shop_set.evalset.json")["stock_parallel"].case
    assert case is not None
    assert case.agent == "garden_shop"
    assert case.question == "Is potting soil and fertilizer in stock?"
    assert [call.arguments["product_id"] for call in case.expected_calls or ()] == ["SOIL-1", "FERT-9"]
    assert case.reference == "SOIL-1 has 12 bags in stock; FERT-9 is sold out."
    assert case.extra["adk"]["session_input"]["state"] == {"tier": "gold", "__private_key__": "x"}


def test_a_scenario_has_a_question_and_a_plan() -> None:
    for name in ("scenarios.evalset.json", "conversation_scenarios.json"):
        (sample,) = cases(name).values()
        assert sample.case is not None
        assert sample.case.question
        assert sample.case.goal
        assert sample.expected is None
        assert sample.case.expected_calls is None


def test_old_lists_say_the_same_as_eval_sets() -> None:
    (turns,) = cases("turns.test.json").values()
    named = cases("named_cases.test.json")["stock_two_turns"]
    assert turns.expected == named.expected
    assert turns.id == "turns"
    assert named.case is not None
    assert named.case.agent == "garden_shop"
    assert named.expected is not None
    assert [invocation.id for invocation in named.expected.invocations] == ["invocation-1", "invocation-2"]
    told = [(step.role, step.agent) for step in named.expected.steps]
    assert told == [
        ("user", None),
        ("agent", None),
        ("tool", None),
        ("agent", "stock_agent"),
        ("agent", None),
        ("user", None),
        ("agent", None),
    ]


def test_a_case_in_words_becomes_one_turn() -> None:
    sample = Sample(
        id="a",
        case=Case(
            question="Is it there?", reference="Yes.", expected_calls=(ExpectedCall(name="look", arguments={"x": 1}),)
        ),
    )
    assert FORMAT.dump is not None
    (turn,) = FORMAT.dump(sample, FORMAT.options())["conversation"]
    assert turn["user_content"]["parts"] == [{"text": "Is it there?"}]
    assert turn["intermediate_data"]["tool_uses"] == [{"name": "look", "args": {"x": 1}}]
    assert turn["final_response"]["parts"] == [{"text": "Yes."}]


def test_a_session_becomes_an_expected_conversation(tmp_path: Path) -> None:
    target = tmp_path / "out.evalset.json"
    report = convert(ROOT / "adk-session" / "saved_refund.session.json", target, to="adk-evalset")
    assert {path for path, _, _ in report.losses} == {"trajectory"}
    (sample,) = read(target).samples
    assert sample.expected is not None
    calls = [part.name for step in sample.expected.steps for part in step.parts if isinstance(part, ToolCall)]
    assert calls == ["transfer_to_agent", "lookup_order", "lookup_order", "issue_refund"]
    assert len(sample.expected.invocations) == 2


def test_validate_wants_exactly_one_kind_of_conversation(tmp_path: Path) -> None:
    assert validate(GOLDEN / "shop_set.evalset.json") == []
    assert [each.level for each in validate(GOLDEN / "turns.test.json")] == ["warning"]
    row = json.loads((GOLDEN / "scenarios.evalset.json").read_bytes())
    row["eval_cases"][0]["conversation"] = []
    path = tmp_path / "x.json"
    path.write_text(json.dumps(row))
    (violation,) = validate(path)
    assert violation.place == "eval_cases[0]"
    assert "exactly one" in violation.message


@needs_corpus
@pytest.mark.parametrize("folder", ["adk_repo", "workshop"])
def test_real_eval_sets_of_others_are_recognised_and_read(folder: str) -> None:
    found = 0
    for path in sorted((CORPUS / "public" / "adk" / folder).iterdir()):
        if path.name.endswith((".evalset.json", ".test.json", "scenarios.json")):
            assert detect(path)[0].name == "adk-evalset", path.name
            samples = list(read(path).samples)
            assert samples
            assert all(sample.case and sample.case.question for sample in samples)
            found += 1
    assert found >= 4


def test_old_turns_may_state_only_names_and_words(tmp_path: Path) -> None:
    turn = {
        "query": "Is it sunny?",
        "expected_tool_use": ["get_weather", {"tool_name": "tell", "tool_input": {"loud": True}, "note": "aside"}],
        "expected_intermediate_agent_responses": ["Let me look.", {"agent": "helper", "contains": "sun"}],
        "reference": {"kind": "sunny"},
    }
    path = tmp_path / "weather.test.json"
    path.write_text(json.dumps([turn]))
    (sample,) = read(path).samples
    assert sample.expected is not None
    assert sample.case is not None
    assert sample.case.expected_calls == (
        ExpectedCall(name="get_weather"),
        ExpectedCall(name="tell", arguments={"loud": True}),
    )
    told = [step for step in sample.expected.steps if step.extra.get("adk", {}).get("intermediate")]
    assert [(step.agent, step_text(step)) for step in told] == [(None, "Let me look."), ("helper", None)]
    native = tmp_path / "out.trace.jsonl"
    convert(path, native, to="native")
    for word in ("aside", "contains", "sunny"):
        assert word in native.read_text(), f"{word} is kept"
    report = convert(path, tmp_path / "out.evalset.json", to="adk-evalset")
    assert not report.losses


def test_a_turn_without_a_query_is_named(tmp_path: Path) -> None:
    path = tmp_path / "named.test.json"
    good, bad = {"query": "a", "reference": "b"}, {"question": "a"}
    path.write_text(json.dumps([{"name": "one", "data": [good]}, {"name": "two", "data": [good, bad]}, 7]))
    broken: list[ReadError] = []
    assert [sample.id for sample in read(path, on_broken=broken.append).samples] == ["one"]
    assert [error.place for error in broken] == ["case 2, turn 2", "case 3"]
