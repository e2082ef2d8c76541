"""What is peculiar to vertex-seed: turns that are told right, every historical shape, answers that are none."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples
from corpus import CORPUS, needs_corpus
from pantrace.engine.convert import parse_options, write_run
from pantrace.engine.measure import choose, scores_of
from pantrace.engine.read import read
from pantrace.errors import SampleRefused, UsageError
from pantrace.formats import by_name
from pantrace.model import (
    Loss,
    Part,
    Run,
    Sample,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
    merged_turns,
)
from pantrace.wire.json import decode, encode
from pantrace.wire.tool_map import tool_names

SEED = by_name("vertex-seed")
GOLDEN = Path(__file__).parents[1] / "golden" / "vertex-seed"

KEYS = [
    *("session_id", "title", "created", "request", "response", "intermediate_events", "prompt", "prompt_concat"),
    *("response_concat", "conversation_history", "generated_trajectory", "metadata"),
]


def said(role: Any, *texts: str, **fields: Any) -> Step:
    return Step(role=role, parts=tuple(Text(text=text) for text in texts), **fields)


def used(*calls: str, text: str | None = None, **fields: Any) -> Step:
    parts: list[Part] = []
    for name in calls:
        parts += [ToolCall(id=name, name=name, arguments={}), ToolResult(call_id=name, name=name, output=f"{name}!")]
    return Step(role="agent", parts=(*parts, *([Text(text=text)] if text else [])), **fields)


def sample_of(*steps: Step, **fields: Any) -> Sample:
    return Sample(id="s1", trajectory=Trajectory(id="s1", steps=steps, **fields))


def dumped(*steps: Step, **options: Any) -> dict[str, Any]:
    row: dict[str, Any] = SEED.dump(sample_of(*steps), SEED.options(**options))
    return row


def contents(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["role"], each["parts"][0]["text"]) for each in row["request"]["contents"]]


def answer(row: dict[str, Any]) -> str:
    text: str = row["response"]["candidates"][0]["content"]["parts"][0]["text"]
    return text


# What is not there


def test_a_case_that_was_not_run_is_refused() -> None:
    with pytest.raises(SampleRefused, match="nothing was run"):
        SEED.dump(Sample(id="s1"), SEED.options())


def test_an_unanswered_prompt_has_no_response_and_says_so() -> None:
    row = dumped(said("user", "One?"), said("agent", "Yes."), said("user", "Two?"))
    assert answer(row) == ""
    assert row["metadata"]["response_absent"] is True
    assert contents(row)[-1] == ("user", "Two?")
    assert "response_absent" not in dumped(said("user", "One?"), said("agent", "Yes."))["metadata"]


def test_an_older_answer_is_never_the_response() -> None:
    assert answer(dumped(said("user", "One?"), said("agent", "Old."), said("user", "Two?"))) == ""


def test_summaries_inserted_texts_and_user_commands_are_neither_prompts_nor_answers() -> None:
    attached = Step(role="user", parts=(Text(text="<file>", synthetic=True), Text(text="Look.")))
    row = dumped(
        said("user", "The user ran a command", kind="user_shell"),
        used("bash", kind="user_shell"),
        attached,
        said("agent", "Seen."),
        said("user", "Continue", kind="synthetic"),
        said("agent", "## Goal", kind="compaction"),
    )
    assert contents(row) == [("user", "Look."), ("model", "Seen.")]
    assert (row["prompt"], answer(row), row["intermediate_events"]) == ("Look.", "Seen.", [])


def test_a_call_without_a_result_differs_from_an_empty_result() -> None:
    silent = Step(role="agent", parts=(ToolCall(id="a", name="read", arguments={}),))
    empty = Step(
        role="agent",
        parts=(ToolCall(id="b", name="read", arguments={}), ToolResult(call_id="b", name="read", output="")),
    )
    row = dumped(said("user", "Go."), silent, empty)
    assert [event["function_response"]["response"] for event in row["intermediate_events"]] == [
        {"output": None},
        {"output": ""},
    ]
    pairs = call_pairs(SEED.load(row).trajectory)
    assert [pair.result and pair.result.output for pair in pairs] == [None, ""]
    assert pairs[0].result is None


# The document


def test_a_row_has_exactly_the_documents_keys_in_its_order() -> None:
    row = SEED.dump(sample_of(said("user", "Hi."), used("read", text="Ho.")), SEED.options())
    assert list(row) == KEYS
    assert list(row["intermediate_events"][0]) == ["function_call", "function_response", "turn"]
    assert list(row["generated_trajectory"][0]) == ["tool", "args", "output", "turn"]
    assert list(row["metadata"]) == ["total_turns", "total_tools", "user_turns", "model_turns"]


def test_created_is_iso_8601_in_utc() -> None:
    row = SEED.dump(sample_of(said("user", "Hi."), created=1794766800.25), SEED.options())
    assert row["created"] == "2026-11-15T18:20:00.250000+00:00"
    assert SEED.load(row).trajectory.created == 1794766800.25
    assert dumped(said("user", "Hi."))["created"] is None


def test_messages_of_one_side_are_joined_and_the_flat_strings_follow() -> None:
    row = dumped(
        said("user", "One?"), said("user", "Really?"), said("agent", "Well,"), said("agent", "yes."), said("user", "Ok")
    )
    assert contents(row) == [("user", "One?\n\nReally?"), ("model", "Well,\n\nyes."), ("user", "Ok")]
    assert row["prompt_concat"] == "One?\n\nReally?\n\nOk"
    assert row["response_concat"] == "Well,\n\nyes."
    assert row["conversation_history"] == row["request"]["contents"][:2]
    assert row["metadata"] == {
        "total_turns": 3,
        "total_tools": 0,
        "user_turns": 2,
        "model_turns": 1,
        "response_absent": True,
    }


def test_a_turn_of_tools_only_is_a_content_and_keeps_its_calls() -> None:
    row = dumped(said("user", "One"), used("read"), said("user", "Two"), used("bash", text="Done."))
    assert contents(row) == [("user", "One"), ("model", ""), ("user", "Two"), ("model", "Done.")]
    assert [event["turn"] for event in row["intermediate_events"]] == [2, 4]


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_roles_alternate_and_every_turn_is_the_models(sample: Sample) -> None:
    try:
        row = decode(encode(SEED.dump(sample, SEED.options())))
    except SampleRefused:
        return
    roles = [content["role"] for content in row["request"]["contents"]]
    assert all(one != other for one, other in pairwise(roles))
    assert all(roles[event["turn"] - 1] == "model" for event in row["intermediate_events"])
    assert not [violation for violation in SEED.check(row) if violation.level == "error"]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(sample=samples())
@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("final", [True, False])
def test_every_variant_reads_back_with_the_same_turns(base: int, final: bool, sample: Sample) -> None:
    try:
        row = SEED.dump(sample, SEED.options(turn_base=base, include_final=final))
    except SampleRefused:
        return
    if sample.trajectory is None or not any(turn.role == "user" for turn in merged_turns(sample.trajectory)):
        return  # without a prompt the shorter shape has no contents
    back = SEED.load(decode(encode(row))).trajectory
    told = [(turn.role, turn.text, [_call(pair) for pair in turn.pairs]) for turn in merged_turns(back)]
    assert told == [
        (turn.role, turn.text, [_call(pair) for pair in turn.pairs]) for turn in merged_turns(sample.trajectory)
    ]


def _call(pair: Any) -> Any:
    result = pair.result
    return pair.call.name, pair.call.arguments, result and (result.output, result.error, result.failure)


@pytest.mark.parametrize(
    ("fields", "response"),
    [
        ({"error": "gone"}, {"output": "", "error": "gone"}),
        ({"output": "half", "error": "gone"}, {"output": "half", "error": "gone"}),
        ({"output": "x", "failure": "exit_code", "exit_code": 3}, {"output": "x", "error": "exit code 3"}),
        ({"output": "x", "failure": "invalid_tool"}, {"output": "x", "error": "invalid_tool"}),
        ({"output": {"rows": [1]}}, {"output": {"rows": [1]}}),
    ],
)
def test_failures_stand_beside_the_output(fields: dict[str, Any], response: dict[str, Any]) -> None:
    step = Step(role="agent", parts=(ToolCall(id="c", name="run", arguments={}), ToolResult(call_id="c", **fields)))
    row = dumped(said("user", "Go."), step)
    assert row["intermediate_events"][0]["function_response"]["response"] == response
    result = call_pairs(SEED.load(row).trajectory)[0].result
    assert result is not None
    failure = fields.get("failure", "error" if "error" in fields else None)
    assert (result.output, result.error, result.failure, result.exit_code) == (
        fields.get("output"),
        fields.get("error"),
        failure,
        fields.get("exit_code"),
    )


@pytest.mark.parametrize(("arguments", "args"), [(None, {}), ("ls", {"_arguments": "ls"}), ({"a": 1}, {"a": 1})])
def test_args_are_always_an_object(arguments: Any, args: dict[str, Any]) -> None:
    row = dumped(said("user", "Go."), Step(role="agent", parts=(ToolCall(id="c", name="run", arguments=arguments),)))
    assert row["intermediate_events"][0]["function_call"]["args"] == args
    assert row["generated_trajectory"][0]["args"] == args


# Reading what others wrote


def turns_read(row: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    told = merged_turns(SEED.load(row).trajectory)
    return [(turn.role, turn.text, [pair.call.name for pair in turn.pairs]) for turn in told]


def row_of(roles: str, turns: list[int], answer: str = "", **keys: Any) -> dict[str, Any]:
    """A row whose contents have these roles (u, m) and whose calls t0, t1, ... carry these turns."""
    told = [
        {"role": {"u": "user", "m": "model"}[role], "parts": [{"text": f"{role}{place}"}]}
        for place, role in enumerate(roles)
    ]
    events = [
        {
            "function_call": {"name": f"t{place}", "args": {}},
            "function_response": {"name": f"t{place}", "response": {"output": ""}},
            "turn": turn,
        }
        for place, turn in enumerate(turns)
    ]
    content = {"role": "model", "parts": [{"text": answer}]}
    return {
        "session_id": "s",
        "request": {"contents": told},
        "response": {"candidates": [{"content": content}]},
        "intermediate_events": events,
        **keys,
    }


@pytest.mark.parametrize(
    ("roles", "turns", "answer", "expected"),
    [
        ("um", [2], "m1", [[], ["t0"]]),  # the rule as written
        ("um", [1], "m1", [[], ["t0"]]),  # the document's own example counts from 0
        ("umum", [2, 4], "m3", [[], ["t0"], [], ["t1"]]),
        ("umum", [1, 3], "m3", [[], ["t0"], [], ["t1"]]),
        ("u", [1], "end", [[], ["t0"]]),  # cut off: the final turn is not in contents
        ("umu", [1, 3], "end", [[], ["t0"], [], ["t1"]]),
        ("umu", [2, 4], "end", [[], ["t0"], [], ["t1"]]),  # cut off, counted from 1
        ("u", [1], "", [[], ["t0"]]),  # the final turn has tools and no text
        ("uu", [1, 2], "end", [[], ["t0"], [], ["t1"]]),  # a silent turn the script left out
    ],
)
def test_turn_base_is_decided_by_where_model_turns_are(
    roles: str, turns: list[int], answer: str, expected: list[list[str]]
) -> None:
    assert [calls for _, _, calls in turns_read(row_of(roles, turns, answer))] == expected


def test_a_turn_that_cannot_be_told_is_kept_and_said() -> None:
    sample = SEED.load(row_of("ummm", [2], "m3"))
    assert sample.trajectory.extra["vertex-seed"]["turn_base"] == "undecided"
    call = call_pairs(sample.trajectory)[0].call
    assert call.extra["vertex-seed"]["turn"] == 2
    found = SEED.check(row_of("ummm", [2], "m3", prompt="u0"))
    assert [each.place for each in found if "is ambiguous" in each.message] == ["intermediate_events[0].turn"]


def test_the_oldest_flat_shapes() -> None:
    old = {
        "session_id": "s",
        "prompt": "Fix it.",
        "response": "Fixed.",
        "tool_use": [{"tool_name": "fs.read", "tool_input": {"p": 1}, "tool_output": "x"}],
        "_response_length": 6,
    }
    assert turns_read(old) == [("user", "Fix it.", []), ("agent", "Fixed.", ["fs.read"])]
    raw = {
        "session_id": "s",
        "prompt": "Fix it.",
        "response": "Fixed.",
        "generated_trajectory": [{"tool": "fs.read", "tool_raw": "read_files", "args": {"p": 1}, "output": "x"}],
    }
    pair = call_pairs(SEED.load(raw).trajectory)[0]
    assert (pair.call.arguments, pair.result and pair.result.output) == ({"p": 1}, "x")
    assert turns_read({"session_id": "s", "generated_trajectory": raw["generated_trajectory"]}) == [
        ("agent", "", ["fs.read"])
    ]


def test_statements_that_the_contents_do_not_bear_out_are_kept() -> None:
    row = row_of("um", [2], "m1", prompt="something else", metadata={"total_turns": 9, "mood": "good"})
    kept = SEED.load(row).trajectory.extra["vertex-seed"]
    assert kept["stated"] == {"prompt": "something else", "metadata": {"total_turns": 9}}
    assert kept["metadata"] == {"mood": "good"}


def test_unknown_keys_come_back() -> None:
    row = SEED.dump(sample_of(said("user", "Hi."), used("read", text="Ho.")), SEED.options())
    row["project"] = "p"
    row["request"]["system_instruction"] = {"parts": [{"text": "Be kind."}]}
    row["intermediate_events"][0]["ms"] = 12
    row["intermediate_events"][0]["function_response"]["response"]["exit"] = 0
    row["response"]["candidates"][0]["finish_reason"] = "STOP"
    assert SEED.dump(SEED.load(row), SEED.options()) == row


def test_check_names_the_place() -> None:
    row = SEED.dump(sample_of(said("user", "Hi."), used("read", text="Ho.")), SEED.options())
    assert [violation.level for violation in SEED.check(row)] == ["warning", "warning"]  # no title, no time
    row["metadata"]["total_tools"] = 5
    row["prompt"] = "Hello."
    row["request"]["contents"][0]["role"] = "assistant"
    places = {violation.place for violation in SEED.check(row) if violation.level == "error"}
    assert places == {"request.contents[0].role"}
    row["request"]["contents"][0]["role"] = "user"
    places = {violation.place for violation in SEED.check(row) if violation.level == "error"}
    assert places == {"metadata.total_tools", "prompt"}


# Options


def test_options_are_given_as_texts() -> None:
    options = parse_options(SEED, {"turn_base": "0", "include_final": "false", "output_limit": "2000"})
    assert options == SEED.options(turn_base=0, include_final=False, output_limit=2000)
    with pytest.raises(UsageError, match="turn_base"):
        parse_options(SEED, {"turn_base": "2"})


def test_output_limit_cuts_and_the_loss_is_reported(tmp_path: Path) -> None:
    step = Step(
        role="agent", parts=(ToolCall(id="c", name="run", arguments={}), ToolResult(call_id="c", output="x" * 50))
    )
    row = dumped(said("user", "Go."), step, output_limit=10)
    assert row["intermediate_events"][0]["function_response"]["response"]["output"] == "x" * 10
    assert row["generated_trajectory"][0]["output"] == "x" * 10
    losses: list[Loss] = []
    run = Run(samples=[sample_of(said("user", "Go."), step)])
    write_run(run, tmp_path / "out.json", to="vertex-seed", options={"output_limit": "10"}, on_loss=losses.append)
    result = "trajectory.steps[1].parts[1]"
    assert [loss.what.partition(":")[0] for loss in losses if loss.path == result] == ["absent"]
    losses.clear()
    write_run(run, tmp_path / "out.json", to="vertex-seed", on_loss=losses.append)
    assert not [loss for loss in losses if loss.path == result and loss.what.startswith("absent")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.yaml", 'tool_mappings:\n  # files\n  fs.read:\n    - "read"  # ours\n    - remote-fs_read\n'),
        ("map.json", '{"tool_mappings": {"fs.read": ["read", "remote-fs_read"]}}'),
        ("map.toml", '[tool_mappings]\n"fs.read" = ["read", "remote-fs_read"]\n'),
        ("plain.yaml", "fs.read:\n  - read\n  - 'remote-fs_read'\n"),
    ],
)
def test_tool_maps_in_every_spelling(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert tool_names(str(path)) == {"read": "fs.read", "remote-fs_read": "fs.read"}
    row = dumped(said("user", "Go."), used("read", "bash"), tool_map=str(path))
    assert [event["function_call"]["name"] for event in row["intermediate_events"]] == ["fs.read", "raw.bash"]
    assert [item["tool_raw"] for item in row["generated_trajectory"]] == ["read", "bash"]
    again = SEED.dump(SEED.load(row), SEED.options(tool_map=str(path)))
    assert again["generated_trajectory"] == row["generated_trajectory"]


@pytest.mark.parametrize("text", ["a: {b: c}\n", "- x\n", '{"a": 5}', "just words\n"])
def test_a_tool_map_that_is_none_is_refused_in_words(text: str, tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"map\.yaml"):
        tool_names(str(path))
    with pytest.raises(UsageError, match=r"nowhere\.yaml"):
        tool_names("nowhere.yaml")


@needs_corpus
def test_the_original_tool_map_is_read_whole() -> None:
    path = CORPUS / "public" / "opencode" / "gsd-lite" / "eval_config.yaml"
    found = tool_names(str(path))
    assert found["bash"] == "default.bash"
    assert found["remote-fs-mcp_read_files"] == "fs.read"
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    assert len(set(found.values())) == len([line for line in lines if line.endswith(":")]) - 1
    assert len(found) == len({line.strip() for line in lines if line.strip().startswith("- ")})


@needs_corpus
def test_all_sessions_of_the_original_script_are_read_and_told_right() -> None:
    path = CORPUS / "own" / "opencode" / "reference-gsd-lite" / "eval_run_reference_1.18.33.json"
    rows = json.loads(path.read_bytes())
    found = list(read(path).samples)
    assert [sample.id for sample in found] == [row["session_id"] for row in rows]
    for sample, row in zip(found, rows, strict=True):
        assert sample.trajectory is not None
        assert "vertex-seed" not in sample.trajectory.extra
        pairs = call_pairs(sample.trajectory)
        assert [pair.call.name for pair in pairs] == [
            event["function_call"]["name"] for event in row["intermediate_events"]
        ]
        rewritten = SEED.dump(sample, SEED.options())
        assert not list(SEED.check(rewritten))
        assert rewritten["response_concat"] == row["response_concat"]


def test_the_golden_rows_of_the_script_violate_only_what_is_known() -> None:
    rows = json.loads((GOLDEN / "script_24604da.json").read_bytes())
    errors = [violation.message for row in rows for violation in SEED.check(row) if violation.level == "error"]
    assert errors == ["1 is a turn of the user"]


# A response that is not the last model turn

EXAMPLE = GOLDEN / "document_example.json"


def test_a_response_that_differs_from_the_last_turn_is_kept_beside_it() -> None:
    (sample,) = read(EXAMPLE).samples
    trajectory = sample.trajectory
    assert trajectory is not None
    assert final_response(trajectory) == "Final agent response"
    assert [turn.text for turn in merged_turns(trajectory)] == ["User input...", "Agent response..."]
    row = SEED.dump(sample, SEED.options())
    stated = json.loads(EXAMPLE.read_text())
    for key in ("response", "prompt", "prompt_concat", "response_concat", "conversation_history", "metadata"):
        assert row[key] == stated[key], key
    assert contents(row) == [("user", "User input..."), ("model", "Agent response...")]


@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("response", ["Other.", "Said.", ""])
@pytest.mark.parametrize("last", [said("agent", "Said."), used("read")])
def test_the_stated_response_returns_in_every_variant(last: Step, response: str, final: bool) -> None:
    sample = sample_of(said("user", "Go."), last, response=response)
    row = decode(encode(SEED.dump(sample, SEED.options(include_final=final))))
    assert answer(row) == response
    back = SEED.load(row).trajectory
    assert (final_response(back) or "") == response
    if response != "":
        assert [turn.text for turn in merged_turns(back)] == [turn.text for turn in merged_turns(sample.trajectory)]


def test_a_response_of_several_parts_comes_back_as_it_was() -> None:
    row = row_of("um", [], "m1")
    parts = [{"text": "One."}, {"text": "Two."}]
    row["response"] = {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "id": "r"}
    sample = SEED.load(row)
    assert sample.trajectory.response == "One.\n\nTwo."
    assert SEED.dump(sample, SEED.options())["response"] == row["response"]


def test_rules_metrics_and_other_formats_take_the_stated_response(tmp_path: Path) -> None:
    (sample,) = read(EXAMPLE).samples
    (score,) = scores_of(sample, choose(["contains"], ["contains.text=Final agent"], []))
    assert score.value == 1
    flat = by_name("vertex-flat").dump(sample, by_name("vertex-flat").options())  # type: ignore[misc]
    assert flat["response"] == "Final agent response"
    assert "Agent response..." in json.dumps(flat["intermediate_events"])
    report = write_run(Run(samples=[sample]), tmp_path / "out.jsonl", to="vertex-flat")
    assert not [loss for loss in report.losses if loss[0] == "trajectory.response" or "parts" in loss[0]]
    assert [each.trajectory.response for each in read(tmp_path / "out.jsonl").samples if each.trajectory] == [
        "Final agent response"
    ]
    report = write_run(Run(samples=[sample]), tmp_path / "out", to="opencode", carry=False)
    assert ("trajectory.response", "absent") in {loss[:2] for loss in report.losses}


def agent_said(*parts: Part) -> Sample:
    asked = Step(role="user", parts=(Text(text="Where is it?"),))
    return Sample(id="s", trajectory=Trajectory(id="s", steps=(asked, Step(role="agent", parts=parts))))


CALLED = (ToolCall(id="event_1", name="find", arguments={}), ToolResult(call_id="event_1", name="find", output="here"))


@pytest.mark.parametrize(
    "parts", [(Text(text="I look."), *CALLED), (*CALLED, Text(text="Here.")), CALLED, (Text(text="I look."), CALLED[0])]
)
@pytest.mark.parametrize("base", [0, 1])
def test_words_and_calls_come_back_in_their_order(parts: tuple[Part, ...], base: int) -> None:
    sample = agent_said(*parts)
    back = SEED.load(SEED.dump(sample, SEED.options(turn_base=base)))
    assert back.trajectory.steps == sample.trajectory.steps  # type: ignore[union-attr]


def test_two_epochs_of_one_session_are_one_session_with_two_epochs(tmp_path: Path) -> None:
    sample = agent_said(Text(text="Here."))
    run = Run(samples=[msgspec.structs.replace(sample, epoch=epoch) for epoch in (1, 2)])
    report = write_run(run, tmp_path / "out.json", to="vertex-seed")
    assert not report.losses
    assert [(each.id, each.epoch) for each in read(tmp_path / "out.json").samples] == [("s", 1), ("s", 2)]
