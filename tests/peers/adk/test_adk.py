"""google-adk's own models load what pantrace writes: eval histories, sessions, eval sets, of any origin."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation._eval_set_results_manager_utils import parse_eval_set_result_json
from google.adk.evaluation.eval_case import get_all_tool_calls, get_all_usage_metadata
from google.adk.evaluation.eval_result import EvalCaseResult, EvalSetResult
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.evaluation_generator import EvaluationGenerator
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from google.adk.events.event import Event
from google.adk.sessions.session import Session

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import UnknownFormat
from pantrace.formats import by_name, detect
from pantrace.model import agent_trajectories, call_pairs, usage_total

FOREIGN = ROOT / "native" / "every_part.trace.jsonl"
HISTORY = ROOT / "adk-history" / "two_cases.evalset_result.json"
OLD = ROOT / "adk-history" / "double_encoded_1.21.evalset_result.json"
WRONG_APP = ROOT / "adk-history" / "wrong_app.evalset_result.json"


def goldens(name: str, *endings: str) -> list[Path]:
    found = sorted((ROOT / name).iterdir())
    return [path for path in found if path.suffix in endings and ".native." not in path.name]


SESSIONS = goldens("adk-session", ".json", ".sqlite")
SETS = goldens("adk-evalset", ".json")


def written(source: Path, folder: Path, to: str, name: str) -> bytes:
    report = convert(source, folder / name, to=to)
    assert not report.refused
    return (folder / name).read_bytes()


def history(source: Path, folder: Path) -> EvalSetResult:
    return parse_eval_set_result_json(written(source, folder, "adk-history", "out.evalset_result.json"))


@pytest.mark.parametrize("source", [HISTORY, WRONG_APP, OLD, FOREIGN, *SESSIONS, *SETS], ids=lambda path: path.name)
def test_adk_loads_our_history(source: Path, tmp_path: Path) -> None:
    result = history(source, tmp_path)
    ours = list(read(source).samples)
    # Sub-agents are cases of their own; graders and simulated users are no runs of the agent.
    runs = [len(list(agent_trajectories(sample.trajectory))) if sample.trajectory else 1 for sample in ours]
    assert len(result.eval_case_results) == sum(runs)


def test_adk_reads_its_own_history_back_unchanged(tmp_path: Path) -> None:
    before = {case.eval_id: case for case in parse_eval_set_result_json(HISTORY.read_bytes()).eval_case_results}
    after = history(HISTORY, tmp_path)
    assert len(after.eval_case_results) == len(before)
    for case in after.eval_case_results:
        assert plain(case) == plain(before[case.eval_id])


def test_adk_reads_format_two_back_unchanged(tmp_path: Path) -> None:
    before = {case.eval_id: case for case in parse_eval_set_result_json(WRONG_APP.read_bytes()).eval_case_results}
    for case in history(WRONG_APP, tmp_path).eval_case_results:
        assert case.session_details is None
        assert plain(case) == plain(before[case.eval_id])


def plain(case: EvalCaseResult) -> Any:
    """A case as ADK writes it, without differences that say nothing: null, empty list, empty object."""
    return without_nothing(json.loads(case.model_dump_json()))


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item != {} and item != []}
    return [without_nothing(item) for item in value] if isinstance(value, list) else value


@needs_corpus
def test_adk_counts_the_same_calls_and_tokens_in_our_history(tmp_path: Path) -> None:
    source = next((CORPUS / "own" / "adk").glob("garden_shop_shop_set_1794767056*.json"))
    samples = {sample.id: sample for sample in read(source).samples}
    for case in history(source, tmp_path).eval_case_results:
        trajectory = samples[case.eval_id].trajectory
        assert trajectory is not None
        invocations = [block.actual_invocation for block in case.eval_metric_result_per_invocation]
        calls = [call for each in invocations for call in get_all_tool_calls(each.intermediate_data)]
        assert [call.name for call in calls] == [pair.call.name for pair in call_pairs(trajectory)]
        tokens = sum(usage.total_token_count for each in invocations for usage in get_all_usage_metadata(each))
        total = usage_total(trajectory)
        assert total is not None
        # ADK drops the blocked event of `blocked`, the session has it.
        assert tokens == (0 if case.eval_id == "blocked" else total.total)


@needs_corpus
def test_adk_refuses_what_it_wrote_before_and_loads_it_from_us(tmp_path: Path) -> None:
    folder = CORPUS / "own" / "adk" / "adk_1.21.0"
    for path in folder.iterdir():
        with pytest.raises(Exception, match="judge_model_options"):
            parse_eval_set_result_json(path.read_bytes())
    assert len(history(folder, tmp_path).eval_case_results) == 7


@pytest.mark.parametrize("source", [*SESSIONS, FOREIGN, HISTORY, WRONG_APP], ids=lambda path: path.name)
def test_adk_loads_our_sessions(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "out", to="adk-session")
    found = sorted((tmp_path / "out").iterdir())
    assert found
    for path in found:
        value = json.loads(path.read_bytes())
        if isinstance(value, list):
            assert all(Event.model_validate(event) for event in value)
        else:
            Session.model_validate_json(path.read_bytes())


def test_adk_finds_a_saved_session_unchanged(tmp_path: Path) -> None:
    source = ROOT / "adk-session" / "saved_refund.session.json"
    convert(source, tmp_path / "out", to="adk-session")
    before = Session.model_validate_json(source.read_bytes())
    after = Session.model_validate_json(next((tmp_path / "out").iterdir()).read_bytes())
    assert without_nothing(json.loads(after.model_dump_json())) == without_nothing(json.loads(before.model_dump_json()))


def test_a_database_session_is_what_adk_makes_of_it(tmp_path: Path) -> None:
    source = ROOT / "adk-session" / "database_session_service.sqlite"
    convert(source, tmp_path / "out", to="adk-session")
    session = Session.model_validate_json(next((tmp_path / "out").iterdir()).read_bytes())
    with sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True) as database:
        rows = database.execute("select event_data from events order by timestamp, rowid").fetchall()
    expected = [without_nothing(json.loads(Event.model_validate_json(row[0]).model_dump_json())) for row in rows]
    found = [without_nothing(json.loads(event.model_dump_json())) for event in session.events]
    # The first event carries our note of the session's creation time, for which a saved session has no field.
    assert found[0].pop("custom_metadata")["pantrace"]
    assert found == expected
    assert session.state["app:shop"] == "lv"


@pytest.mark.parametrize("source", [*SETS, FOREIGN, HISTORY, *SESSIONS], ids=lambda path: path.name)
def test_adk_loads_our_eval_sets(source: Path, tmp_path: Path) -> None:
    found = EvalSet.model_validate_json(written(source, tmp_path, "adk-evalset", "out.evalset.json"))
    assert found.eval_cases


def test_legacy_lists_become_what_adk_makes_of_them(tmp_path: Path) -> None:
    source = ROOT / "adk-evalset" / "named_cases.test.json"
    theirs = load_eval_set_from_file(str(source), "named_cases")
    ours = EvalSet.model_validate_json(written(source, tmp_path, "adk-evalset", "out.evalset.json"))
    assert [case.eval_id for case in ours.eval_cases] == [case.eval_id for case in theirs.eval_cases]
    for mine, other in zip(ours.eval_cases, theirs.eval_cases, strict=True):
        for told, expected in zip(mine.conversation or [], other.conversation or [], strict=True):
            assert told.user_content == expected.user_content
            assert told.final_response == expected.final_response
            assert get_all_tool_calls(told.intermediate_data) == get_all_tool_calls(expected.intermediate_data)


CODE_EVENT = {
    "id": "e1",
    "author": "root",
    "timestamp": 1700000001.0,
    "invocation_id": "i",
    "model_version": "gemini-2.5-flash",
    "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3, "total_token_count": 10},
    "content": {
        "role": "model",
        "parts": [
            {"executable_code": {"code": "print(1+1)", "language": "PYTHON"}},
            {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2\n"}},
            {"text": "The answer is 2."},
        ],
    },
}
ASKED = {"author": "user", "content": {"role": "user", "parts": [{"text": "run it"}]}}
CODE_SESSION = {
    "id": "s1",
    "app_name": "a",
    "user_id": "u",
    "state": {},
    "last_update_time": 1700000001.0,
    "events": [{"id": "e0", "timestamp": 1700000000.0, "invocation_id": "i", **ASKED}, CODE_EVENT],
}


def test_adk_sees_code_its_result_and_the_answer_in_one_event_of_the_model(tmp_path: Path) -> None:
    source = tmp_path / "in.session.json"
    source.write_text(json.dumps(CODE_SESSION))
    before = Session.model_validate(CODE_SESSION)
    after = Session.model_validate_json(written(source, tmp_path, "adk-session", "out.session.json"))
    assert after.events == before.events
    (case,) = history(source, tmp_path).eval_case_results
    assert case.session_details is not None
    assert case.session_details.events == before.events
    (block,) = case.eval_metric_result_per_invocation
    (expected,) = EvaluationGenerator.convert_events_to_eval_invocations(before.events)
    assert block.actual_invocation.final_response == expected.final_response
    assert block.actual_invocation.intermediate_data == expected.intermediate_data
    assert [usage.total_token_count for usage in get_all_usage_metadata(block.actual_invocation)] == [10]


def test_adk_loads_what_trpc_agent_go_wrote_from_us(tmp_path: Path) -> None:
    source = ROOT / "adk-history" / "trpc_agent_go.evalset_result.json"
    with pytest.raises(ValueError, match="tools"):
        parse_eval_set_result_json(source.read_bytes())
    cases = {case.eval_id: case for case in history(source, tmp_path).eval_case_results}
    first, _ = (block.actual_invocation for block in cases["book"].eval_metric_result_per_invocation)
    assert [call.name for call in get_all_tool_calls(first.intermediate_data)] == ["findTable", "bookTable"]
    assert first.final_response is not None
    assert [part.text for part in first.final_response.parts or () if not part.thought] == [
        "Good evening! Table 4 is yours at eight. See you then."
    ]
    assert [cases[name].final_eval_status.value for name in ("book", "cancel", "menu")] == [2, 2, 3]


REFUSED = {
    # ADK 1.21 wrote a field that 2.13 does not know.
    "own/adk/adk_1.21.0": 7,
    # Two sessions from before 1.0, which have `context` and `event_logs`, and a list of turns.
    "public/adk/adk_repo": 3,
    # Two lists of turns and a list of scenarios, which are no eval sets.
    "public/adk/workshop": 3,
}
"""Files of the corpus that today's google-adk itself refuses, by folder."""


def theirs(path: Path, name: str) -> Any:
    """A file as google-adk's own models read it, as they would write it again."""
    data = path.read_bytes()
    if name == "adk-history":
        found: Any = parse_eval_set_result_json(data)
    elif name == "adk-evalset":
        found = EvalSet.model_validate_json(data)
    elif data.lstrip().startswith(b"["):
        return [without_nothing(json.loads(Event.model_validate(each).model_dump_json())) for each in json.loads(data)]
    else:
        found = Session.model_validate_json(data)
    return without_nothing(json.loads(found.model_dump_json()))


@needs_corpus
def test_adk_finds_every_file_of_the_corpus_unchanged(tmp_path: Path) -> None:
    """Read and written again in its own format, each file is to google-adk what it was before."""
    compared, refused = 0, Counter[str]()
    folders = [CORPUS / "own" / "adk", CORPUS / "public" / "adk", CORPUS / "own" / "sessions"]
    for number, path in enumerate(sorted(each for folder in folders for each in folder.rglob("*.json"))):
        try:
            name = detect(path)[0].name
        except UnknownFormat:
            continue
        if name not in ("adk-history", "adk-evalset", "adk-session"):
            continue
        target = tmp_path / f"{number}{by_name(name).suffix}"
        convert(path, target, to=name)
        after = theirs(target, name)
        try:
            before = theirs(path, name)
        except ValueError:
            refused[str(path.parent.relative_to(CORPUS))] += 1
            continue
        assert after == before, path
        compared += 1
    assert dict(refused) == REFUSED
    assert compared > 15
