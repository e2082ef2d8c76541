"""What is peculiar to ADK sessions: who speaks, streamed pieces, odd parts, stores, old shapes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.read import read
from pantrace.engine.validate import validate
from pantrace.errors import ReadError
from pantrace.formats import by_name, detect
from pantrace.model import (
    Citation,
    Media,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
    is_prompt,
    usage_total,
)
from pantrace.wire.adk.recase import SESSION, to_camel
from pantrace.wire.head import Head
from pantrace.wire.json import decode, encode, to_plain
from pantrace.wire.loss import sample_losses

FORMAT = by_name("adk-session")
GOLDEN = ROOT / "adk-session"


def session(*events: dict[str, Any], **fields: Any) -> dict[str, Any]:
    told = [{"invocation_id": "e-1", "id": f"ev-{number}", **event} for number, event in enumerate(events)]
    return {"id": "s", "app_name": "app", "user_id": "u", "state": {}, "events": told, **fields}


def load(row: Any) -> Trajectory:
    assert FORMAT.load is not None
    trajectory = FORMAT.load(row).trajectory
    assert trajectory is not None
    return trajectory


def model(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"author": "root", "content": {"role": "model", "parts": list(parts)}, **fields}


def returns(row: dict[str, Any]) -> None:
    """Written and read again, in both cases, a session says the same."""
    assert FORMAT.load is not None
    assert FORMAT.dump is not None
    sample = FORMAT.load(row)
    for snake_case in (False, True):
        written = decode(encode(FORMAT.dump(sample, FORMAT.options(snake_case=snake_case))))
        assert to_plain(FORMAT.load(written)) == to_plain(sample)


def test_roles_come_from_author_and_parts_not_from_the_content() -> None:
    call = {"function_call": {"id": "c", "name": "f", "args": {}}}
    answer = {"function_response": {"id": "c", "name": "f", "response": {"result": None}}}
    row = session(
        {"author": "user", "content": {"role": "user", "parts": [{"text": "go"}]}},
        model(call),
        {"author": "root", "content": {"role": "user", "parts": [answer]}},
        {"author": "root", "content": {"role": "user", "parts": [{"text": "odd role"}]}},
        {"author": "user", "content": {"role": "user", "parts": [answer]}},
    )
    steps = load(row).steps
    assert [(step.role, step.agent) for step in steps] == [
        ("user", None),
        ("agent", "root"),
        ("tool", "root"),
        ("agent", "root"),
        ("tool", None),
    ]
    assert [step for step in steps if is_prompt(step)] == [steps[0]]
    returns(row)


def test_streamed_pieces_are_notes_and_count_once() -> None:
    usage = [{"prompt_token_count": 10, "candidates_token_count": n, "total_token_count": 10 + n} for n in (1, 2, 3)]
    row = session(
        {"author": "user", "content": {"role": "user", "parts": [{"text": "go"}]}},
        model({"text": "On"}, partial=True, usage_metadata=usage[0]),
        model({"text": "ce"}, partial=True, usage_metadata=usage[1]),
        model({"text": "Once"}, usage_metadata=usage[2]),
    )
    trajectory = load(row)
    assert [step.kind for step in trajectory.steps] == ["message", "note", "note", "message"]
    total = usage_total(trajectory)
    assert total is not None
    assert total.total == 13
    assert final_response(trajectory) == "Once"
    returns(row)


def test_a_stream_that_broke_off_keeps_its_last_report() -> None:
    row = session(
        model({"text": "On"}, partial=True, usage_metadata={"total_token_count": 11}),
        model({"text": "ce"}, partial=True, usage_metadata={"total_token_count": 12}),
    )
    trajectory = load(row)
    assert [step.kind for step in trajectory.steps] == ["message", "message"]
    total = usage_total(trajectory)
    assert total is not None
    assert total.total == 12
    returns(row)


def test_tokens_that_are_null_are_not_zero() -> None:
    row = session(
        model({"text": "a"}, usage_metadata={"prompt_token_count": 7, "cached_content_token_count": None}),
        model({"text": "b"}, usage_metadata={"prompt_token_count": None, "total_token_count": None}),
        model(
            {"text": "c"},
            usage_metadata={
                "prompt_token_count": 100,
                "tool_use_prompt_token_count": 20,
                "candidates_token_count": 5,
                "thoughts_token_count": 4,
                "total_token_count": 129,
            },
        ),
    )
    first, second, third = load(row).steps
    assert first.usage is not None
    assert (first.usage.input, first.usage.cache_read, first.usage.total) == (7, None, None)
    assert second.usage is None
    assert third.usage is not None
    assert (third.usage.input, third.usage.output, third.usage.reasoning, third.usage.total) == (120, 9, 4, 129)
    returns(row)


def test_odd_parts_find_their_words() -> None:
    row = session(
        model(
            {"thought": True, "thought_signature": "c2ln"},
            {"text": "said", "thought_signature": "AB_-"},
            {"inline_data": {"mime_type": "image/png", "data": "_-8="}},
            {"file_data": {"mime_type": "text/plain", "file_uri": "gs://b/f"}},
            {"executable_code": {"code": "print(1)", "language": "PYTHON"}},
            {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "Traceback"}},
            {"brand_new": {"a": 1}},
            long_running_tool_ids=["c9"],
            branch="root.helper",
            actions={"artifact_delta": {"a.txt": 2}, "escalate": True, "state_delta": {"k_ey": {"inner_key": None}}},
        )
    )
    (step,) = load(row).steps
    hidden, said, image, file, code, result, unknown = step.parts
    assert isinstance(hidden, Thinking)
    assert hidden.text is None
    assert isinstance(said, Text)
    assert isinstance(image, Media)
    assert image.data == "/+8="
    assert isinstance(file, Media)
    assert file.uri == "gs://b/f"
    assert isinstance(code, ToolCall)
    assert code.arguments == {"code": "print(1)", "language": "PYTHON"}
    assert isinstance(result, ToolResult)
    assert (result.failure, result.output) == ("error", "Traceback")
    assert type(unknown).__name__ == "Unknown"
    assert step.state_delta == {"k_ey": {"inner_key": None}}
    assert step.extra["adk"]["actions"] == {"artifact_delta": {"a.txt": 2}, "escalate": True}
    assert step.extra["adk"]["long_running_tool_ids"] == ["c9"]
    pair = call_pairs(load(row))[0]
    assert pair.result == result
    returns(row)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"status": "error", "error_message": "upstream timeout"}, "upstream timeout"),
        ({"error": {"code": 5}}, '{"code":5}'),
        ({"status": "error"}, None),
    ],
)
def test_failures_hide_in_responses(response: Any, error: str | None) -> None:
    row = session(model({"function_response": {"id": "c", "name": "f", "response": response}}))
    part = load(row).steps[0].parts[0]
    assert isinstance(part, ToolResult)
    assert (part.failure, part.error, part.output) == ("error", error, response)
    returns(row)


def test_an_empty_error_is_no_failure() -> None:
    row = session(model({"function_response": {"name": "f", "response": {"error": None, "status": "ok"}}}))
    part = load(row).steps[0].parts[0]
    assert isinstance(part, ToolResult)
    assert part.failure is None


def test_grounding_becomes_citations_and_keeps_its_supports() -> None:
    grounding = {
        "grounding_chunks": [
            {"web": {"uri": "https://example.org/a", "title": "A", "domain": "example.org"}},
            {"retrieved_context": {"uri": "doc-1", "text": "passage"}},
            {"maps": {"place_id": "p", "title": "Shop"}},
        ],
        "grounding_supports": [{"grounding_chunk_indices": [0], "segment": {"end_index": 3, "text": "abc"}}],
    }
    row = session(model({"text": "abc"}, grounding_metadata=grounding))
    step = load(row).steps[0]
    cited = [part for part in step.parts if isinstance(part, Citation)]
    assert [(each.uri, each.title, each.text) for each in cited] == [
        ("https://example.org/a", "A", None),
        ("doc-1", None, "passage"),
        (None, "Shop", None),
    ]
    assert step.extra["adk"]["grounding_metadata"]["grounding_supports"] == grounding["grounding_supports"]
    assert FORMAT.dump is not None
    assert FORMAT.load is not None
    written = FORMAT.dump(FORMAT.load(row), FORMAT.options(snake_case=True))
    assert written["events"][0]["grounding_metadata"] == grounding
    returns(row)


def test_a_compaction_is_told_apart_from_messages() -> None:
    summary = {"role": "model", "parts": [{"text": "so far"}]}
    event = {
        "author": "user",
        "actions": {"compaction": {"start_timestamp": 1.0, "end_timestamp": 2.0, "compacted_content": summary}},
    }
    row = session({"author": "user", "content": {"role": "user", "parts": [{"text": "go"}]}}, event)
    prompt, compaction = load(row).steps
    assert is_prompt(prompt)
    assert not is_prompt(compaction)
    assert compaction.kind == "compaction"
    assert compaction.parts == (Text(text="so far"),)
    returns(row)


def test_data_keys_are_never_recased() -> None:
    call = {"function_call": {"id": "c", "name": "f", "args": {"order_id": 1, "camelCase": {"inner_key": 2}}}}
    row = session(model(call, actions={"state_delta": {"my_key": {"a_b": 1}}}), state={"my_key": 1, "Other_Key": 2})
    assert FORMAT.load is not None
    assert FORMAT.dump is not None
    written = FORMAT.dump(FORMAT.load(to_camel(row, SESSION)), FORMAT.options())
    assert written["appName"] == "app"
    assert written["state"] == {"my_key": 1, "Other_Key": 2}
    event = written["events"][0]
    assert event["content"]["parts"][0]["functionCall"]["args"] == call["function_call"]["args"]
    assert event["actions"]["stateDelta"] == {"my_key": {"a_b": 1}}
    returns(row)


def test_agents_and_parents_come_from_node_paths() -> None:
    row = session(
        model({"text": "a"}, node_info={"path": "root@1"}, model_version="m1"),
        {**model({"text": "b"}, node_info={"path": "root@1/helper@2"}), "author": "helper"},
    )
    agents = load(row).agents
    assert [(agent.name, agent.parent, agent.model) for agent in agents] == [
        ("root", None, "m1"),
        ("helper", "root", None),
    ]


def test_state_of_app_and_user_comes_back_with_its_prefix() -> None:
    for name in ("database_session_service.sqlite", "sqlite_session_service.sqlite"):
        (sample,) = read(GOLDEN / name).samples
        assert sample.trajectory is not None
        state = sample.trajectory.state
        assert state is not None
        assert (state["app:shop"], state["user:lang"], state["tier"]) == ("lv", "en", "gold")
        with sqlite3.connect(f"file:{GOLDEN / name}?mode=ro&immutable=1", uri=True) as database:
            count = database.execute("select count(*) from events").fetchone()[0]
        assert len(sample.trajectory.steps) == count


def test_one_broken_event_of_a_store_does_not_sink_the_others(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes((GOLDEN / "sqlite_session_service.sqlite").read_bytes())
    with sqlite3.connect(path) as database:
        row = database.execute("select app_name, user_id, state, create_time, update_time from sessions").fetchone()
        database.execute("insert into sessions values (?, ?, 'broken', ?, ?, ?)", row)
        event = (row[0], row[1], "broken", "e-1", 1.0, "{torn")
        database.execute("insert into events values ('x', ?, ?, ?, ?, ?, ?)", event)
    broken: list[ReadError] = []
    assert len(list(read(path, on_broken=broken.append).samples)) == 1
    assert [error.place for error in broken] == ["session broken, line 1, column 2"]


def test_a_trace_of_the_dev_server_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"name": "invocation", "span_id": 1, "trace_id": 2, "attributes": {}}]')
    assert FORMAT.detect(Head(path)) is None


@needs_corpus
def test_the_real_trace_is_not_claimed() -> None:
    found, _ = detect(CORPUS / "own" / "adk" / "dev_server.trace.json")
    assert found.name == "otlp"


@needs_corpus
def test_sessions_from_before_one_point_zero_are_read() -> None:
    folder = CORPUS / "public" / "adk" / "adk_repo"
    found = {path.name: next(iter(read(path).samples)).trajectory for path in sorted(folder.glob("*.session.json"))}
    old = found["context_update_test__successful_test.session.json"]
    assert old is not None
    assert old.state is not None
    assert old.state["data_one"] == "RRRR"
    total = usage_total(old)
    assert total is not None
    assert total.total
    empty = found["trip_planner_agent__initial.session.json"]
    assert empty is not None
    assert empty.steps == ()
    for path in folder.glob("*.session.json"):
        assert FORMAT.load is not None
        assert FORMAT.dump is not None
        sample = FORMAT.load(json.loads(path.read_bytes()))
        if sample.trajectory is not None and sample.trajectory.steps:
            again = FORMAT.load(FORMAT.dump(sample, FORMAT.options()))
            assert not sample_losses(sample, again, {}, "adk-session")


def test_a_long_document_on_one_line_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps(session(*[model({"text": "x" * 500}) for _ in range(300)])))
    assert detect(path)[0].name == "adk-session"
    assert len(next(iter(read(path).samples)).trajectory.steps) == 300  # type: ignore[union-attr]


def test_foreign_words_for_stopping_become_geminis() -> None:
    assert FORMAT.dump is not None
    steps = tuple(
        Step(role="agent", parts=(Text(text="x"),), stop=stop) for stop in ("tool-calls", "length", "because", "SAFETY")
    )
    row = FORMAT.dump(Sample(id="s", trajectory=Trajectory(id="s", steps=steps)), FORMAT.options())
    assert [event["finishReason"] for event in row["events"]] == ["STOP", "MAX_TOKENS", "OTHER", "SAFETY"]
    assert [step.stop for step in load(row).steps] == ["tool-calls", "length", "because", "SAFETY"]


def test_validate_names_the_event(tmp_path: Path) -> None:
    assert not [each for each in validate(GOLDEN / "saved_refund.session.json") if each.level == "error"]
    row = session(model({"text": "a"}), {"content": {"parts": [{"function_call": {"name": 1}}]}})
    path = tmp_path / "s.json"
    path.write_text(json.dumps(row))
    errors = [(each.place, each.message) for each in validate(path) if each.level == "error"]
    assert ("events[1].author", "is missing") in errors
    assert ("events[1].content.parts[0].function_call.name", "must be text, is an integer") in errors


CODE = {"executable_code": {"code": "print(1+1)", "language": "PYTHON"}}
PRINTED = {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2\n"}}
ASKED = {"function_call": {"id": "c", "name": "f", "args": {}}}
ANSWERED = {"function_response": {"id": "c", "name": "f", "response": {"result": 1}}}


@pytest.mark.parametrize(
    "parts",
    [
        [CODE, PRINTED, {"text": "The answer is 2."}],
        [{"text": "thinking", "thought": True}, CODE, PRINTED, CODE, PRINTED, {"text": "Two."}, {"text": "Really."}],
        [PRINTED, {"text": "It was run before."}],
        [{"text": "I ran it."}, CODE, PRINTED],
        [ASKED, ANSWERED, {"text": "One event, as it was told."}],
        [ANSWERED, {"text": "The answer first."}],
    ],
)
def test_an_event_with_code_its_result_and_words_is_written_as_the_event_it_was(parts: list[Any]) -> None:
    event = model(
        *parts,
        timestamp=1700000001.0,
        model_version="gemini-2.5-flash",
        usage_metadata={"prompt_token_count": 7, "candidates_token_count": 3, "total_token_count": 10},
    )
    row = session(
        {"author": "user", "content": {"role": "user", "parts": [{"text": "run it"}]}}, event, last_update_time=2.0
    )
    assert FORMAT.load is not None
    assert FORMAT.dump is not None
    written = FORMAT.dump(FORMAT.load(row), FORMAT.options(snake_case=True))
    assert written["events"][1] == row["events"][1]
    assert len(written["events"]) == 2
    returns(row)


def test_words_behind_a_tools_answer_are_the_models_wherever_the_step_comes_from() -> None:
    """Other formats hold a call, its answer and the final words in one step; ADK tells the answer apart."""
    parts = (
        ToolCall(id="c", name="f", arguments={}),
        ToolResult(call_id="c", name="f", output={"result": 1}, ended=12.0),
        Text(text="Done."),
    )
    sample = Sample(
        id="s", trajectory=Trajectory(steps=(Step(id="a", role="agent", agent="root", parts=parts, at=9.0),))
    )
    assert FORMAT.dump is not None
    events = FORMAT.dump(sample, FORMAT.options(snake_case=True))["events"]
    assert [event["content"]["role"] for event in events] == ["model", "user", "model"]
    assert [event["timestamp"] for event in events] == [9.0, 12.0, 12.0]
    assert {event["author"] for event in events} == {"root"}
