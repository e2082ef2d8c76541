"""What is peculiar to vertex-flat: the last turn's events, a history with tools, and rows that would spoil a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pantrace.engine.convert import write, write_run
from pantrace.errors import ReadError, SampleRefused
from pantrace.formats import by_name
from pantrace.model import (
    Agent,
    Case,
    Media,
    Part,
    Run,
    Sample,
    Step,
    StepError,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
    step_text,
)

FORMAT = by_name("vertex-flat")


def sample_of(*steps: Step, case: Case | None = None, **fields: Any) -> Sample:
    return Sample(id="s1", case=case, trajectory=Trajectory(id="s1", steps=steps, **fields))


def dumped(*steps: Step, **fields: Any) -> dict[str, Any]:
    row: dict[str, Any] = FORMAT.dump(sample_of(*steps, **fields), FORMAT.options())
    return row


def asked(text: str) -> Step:
    return Step(role="user", parts=(Text(text=text),))


def replied(text: str, **fields: Any) -> Step:
    return Step(role="agent", parts=(Text(text=text),), **fields)


def used(name: str, **fields: Any) -> Step:
    call = ToolCall(id=name, name=name, arguments={"n": 1})
    return Step(role="agent", parts=(call, ToolResult(call_id=name, name=name, output="ok")), **fields)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ((), "no prompt"),
        ((replied("Hello."),), "no prompt"),
        ((asked("One?"), replied("Yes."), asked("Two?")), "said nothing after the last prompt"),
        ((asked("One?"), used("read")), "said nothing after the last prompt"),
        ((asked("One?"), replied("## Goal", kind="compaction")), "said nothing after the last prompt"),
    ],
)
def test_rows_the_client_would_refuse_are_refused_by_name(steps: tuple[Step, ...], why: str) -> None:
    with pytest.raises(SampleRefused, match=why):
        dumped(*steps)


def test_refused_rows_are_named_and_the_others_written(tmp_path: Path) -> None:
    good = sample_of(asked("One?"), replied("Yes."))
    bad = Sample(id="s2", trajectory=Trajectory(id="s2", steps=(asked("Two?"),)))
    report = write(Run(samples=[good, bad]), tmp_path / "rows.jsonl", to="vertex-flat")
    assert (report.samples, [name for name, _ in report.refused]) == (1, ["s2"])
    assert len((tmp_path / "rows.jsonl").read_bytes().splitlines()) == 1


def test_events_are_those_of_the_last_turn_and_earlier_calls_stand_in_the_history() -> None:
    row = dumped(asked("One"), used("read"), replied("Read."), asked("Two"), used("bash"), replied("Ran."))
    assert (row["prompt"], row["response"]) == ("Two", "Ran.")
    kinds = [(content["role"], next(iter(content["parts"][0]))) for content in row["conversation_history"]]
    assert kinds == [("user", "text"), ("model", "function_call"), ("user", "function_response"), ("model", "text")]
    assert [next(iter(event["content"]["parts"][0])) for event in row["intermediate_events"]] == [
        "function_call",
        "function_response",
    ]
    assert "request" not in row
    back = FORMAT.load(row).trajectory
    assert back is not None
    assert [pair.call.id for pair in call_pairs(back)] == ["read", "bash"]
    assert not list(FORMAT.check(row))


def test_the_response_is_the_last_thing_said_and_the_rest_are_events() -> None:
    first = Step(
        role="agent",
        parts=(Text(text="I look."), ToolCall(id="c", name="read", arguments={}), ToolResult(call_id="c", output="x")),
    )
    last = Step(role="agent", agent="agent", parts=(Thinking(text="Clear."), Text(text="It is x.")))
    row = dumped(asked("What?"), first, last)
    assert row["response"] == "It is x."
    assert [event["content"]["parts"][0].get("text") for event in row["intermediate_events"]] == [
        "I look.",
        None,
        "Clear.",
    ]
    back = FORMAT.load(row).trajectory
    assert back is not None
    assert back.steps[-1].parts == last.parts


def test_an_unanswered_message_before_the_last_one_is_history() -> None:
    aborted = Step(role="agent", error=StepError(kind="MessageAbortedError"))
    for between in ((), (aborted,)):
        row = dumped(asked("Slow."), *between, asked("Quick."), replied("Done."))
        assert (row["prompt"], len(row["conversation_history"])) == ("Quick.", 1)
        assert FORMAT.dump(FORMAT.load(row), FORMAT.options()) == row


@pytest.mark.parametrize("text", ["42", " 1e5", "nan", "Infinity"])
def test_a_text_that_pandas_would_make_a_number_is_a_content(text: str) -> None:
    row = dumped(asked(text), replied(text), case=Case(reference=text))
    assert row["prompt"] == {"role": "user", "parts": [{"text": text}]}
    assert row["response"] == row["reference"] == {"role": "model", "parts": [{"text": text}]}
    assert FORMAT.load(row).case == Case(reference=text)
    assert not list(FORMAT.check(row))
    assert [each.level for each in FORMAT.check({**row, "response": text})] == ["warning"]


def test_pictures_make_the_prompt_a_content() -> None:
    picture = Media(mime="image/png", uri="shot.png")
    row = dumped(Step(role="user", parts=(picture, Text(text="What is it?"))), replied("A cat."))
    assert row["prompt"]["parts"] == [
        {"file_data": {"mime_type": "image/png", "file_uri": "shot.png"}},
        {"text": "What is it?"},
    ]
    back = FORMAT.load(row).trajectory
    assert back is not None
    assert back.steps[0].parts == (picture, Text(text="What is it?"))


def test_instruction_reference_context_and_own_columns() -> None:
    sample = sample_of(
        asked("One?"),
        replied("Yes."),
        case=Case(reference="Yes!", context="All is one."),
        agents=(Agent(name="a"), Agent(name="b", instructions="Be kind.")),
        title="T",
        created=1794766800.0,
    )
    row = FORMAT.dump(sample, FORMAT.options())
    assert (row["instruction"], row["reference"], row["context"]) == ("Be kind.", "Yes!", "All is one.")
    assert (row["title"], row["created"]) == ("T", "2026-11-15T18:20:00+00:00")
    row["rubric_groups"] = {"g": []}
    back = FORMAT.load(row)
    assert back.extra == {"vertex-flat": {"rubric_groups": {"g": []}}}
    assert FORMAT.dump(back, FORMAT.options()) == row
    plain = dumped(asked("One?"), replied("Yes."))
    assert not plain.keys() & {"instruction", "reference", "context", "title", "created"}


def test_other_spellings_of_the_client_are_read() -> None:
    history = '[{"role": "user", "content": "Hi"}, {"role": "model", "parts": [{"text": "Hello"}]}]'
    sample = FORMAT.load({"source": "One?", "response": {"parts": [{"text": "Yes."}]}, "history": history})
    assert sample.trajectory is not None
    assert [(step.role, step.parts) for step in sample.trajectory.steps] == [
        ("user", (Text(text="Hi"),)),
        ("agent", (Text(text="Hello"),)),
        ("user", (Text(text="One?"),)),
        ("agent", (Text(text="Yes."),)),
    ]


@pytest.mark.parametrize("row", [{}, {"prompt": "x"}, {"prompt": 5, "response": "x"}, {"response": "x", "a": 1}])
def test_rows_without_prompt_and_response_are_refused_in_words(row: Any) -> None:
    with pytest.raises(ReadError):
        FORMAT.load(row)


def test_check_finds_what_the_client_would_drop() -> None:
    row = dumped(asked("One"), used("read"), replied("Read."))
    seed_event = {"content": {"parts": []}, "turn": 1}
    found = [(each.level, each.place) for each in FORMAT.check({**row, "intermediate_events": [seed_event]})]
    assert found == [("error", "intermediate_events[0].turn")]
    assert [each.place for each in FORMAT.check({**row, "response": ""})] == ["response"]
    assert [each.place for each in FORMAT.check({**row, "request": {}})] == ["request"]


CALL, RESULT = used("find").parts


@pytest.mark.parametrize(
    "parts",
    [
        (Text(text="I look."), CALL, RESULT),
        (Text(text="I look."), CALL),
        (Thinking(text="hm"), Text(text="I look."), CALL, RESULT),
    ],
)
def test_words_before_a_call_are_not_told_behind_it(parts: tuple[Part, ...]) -> None:
    row = dumped(asked("Where?"), Step(role="agent", parts=parts))
    assert row["response"] == "I look."
    assert FORMAT.load is not None
    back = FORMAT.load(row).trajectory
    assert back is not None
    assert [step.parts for step in back.steps] == [(Text(text="Where?"),), parts]
    assert back.response is None


def test_a_response_that_is_only_stated_is_no_step() -> None:
    row = dumped(asked("Where?"), replied("Let me see."), response="Here.")
    assert FORMAT.load is not None
    back = FORMAT.load(row).trajectory
    assert back is not None
    assert [step_text(step) for step in back.steps] == ["Where?", "Let me see."]
    assert final_response(back) == "Here."


def test_a_text_that_stands_in_the_response_is_not_reported_as_absent(tmp_path: Path) -> None:
    sample = sample_of(asked("Where?"), Step(role="agent", parts=(CALL, RESULT, Text(text="Here."))))
    report = write_run(Run(samples=[sample]), tmp_path / "out.jsonl", to="vertex-flat")
    assert {loss[:2] for loss in report.losses} == {("trajectory.steps[]", "merged")}


def test_a_stated_answer_that_was_said_is_no_event_with_a_name() -> None:
    """The first trip gave the agent a name that the second one lost."""
    assert FORMAT.dump is not None and FORMAT.load is not None
    asked, said = Step(role="user", parts=(Text(text="ask"),)), Step(role="agent", parts=(Text(text="say"),))
    sample = Sample(id="s", trajectory=Trajectory(steps=(asked, said), response="say"))
    row = FORMAT.dump(sample, FORMAT.options())
    assert (row["response"], row["intermediate_events"]) == ("say", [])
    once = FORMAT.load(row)
    assert once.trajectory is not None and [step.agent for step in once.trajectory.steps] == [None, None]
    assert FORMAT.load(FORMAT.dump(once, FORMAT.options())) == once
