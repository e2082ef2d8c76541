"""OTLP: what is peculiar to spans, their dialects and their files."""

from __future__ import annotations

import gzip
import json
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from corpus import needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert, write_run
from pantrace.engine.read import Notes, read, read_pile
from pantrace.errors import ReadError, SampleRefused, UsageError
from pantrace.formats import detect
from pantrace.formats.otlp import protobuf, samples_of_request
from pantrace.formats.otlp.write_spans import Options, dump
from pantrace.model import (
    Case,
    Outcome,
    Run,
    Sample,
    Score,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    all_trajectories,
    call_pairs,
    final_response,
    turns,
    usage_total,
)
from pantrace.wire.json import encode
from session_truth import FOLDER, counts, plain, told, truth

GOLDEN = ROOT / "otlp"


def one(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


@needs_corpus
def test_sums_of_agent_spans_are_not_counted_again() -> None:
    """Strands' agent spans repeat what their calls cost: 39,291 with them, 17,833 in truth."""
    folder = FOLDER / "otlp" / "strands" / "traces.otlp.json"
    every = [
        int(item["value"]["intValue"])
        for each in json.loads(folder.read_bytes())["resourceSpans"]
        for scope in each["scopeSpans"]
        for span in scope["spans"]
        for item in span["attributes"]
        if item["key"] == "gen_ai.usage.input_tokens"
    ]
    assert sum(every) == 39_291
    assert counts(usage_total(one(folder), children=True))["input"] == 17_833
    assert plain(truth("otlp/strands")["tokens_all_answered"])["input"] == 17_833


def test_sub_agents_stand_under_their_calls_and_parallel_tools_have_their_times() -> None:
    trajectory = one(GOLDEN / "two_turns.otlp.json")
    assert [(child.agents[0].name, child.parent) for child in trajectory.children] == [
        ("catalogue", trajectory.id),
        ("loans", trajectory.id),
    ]
    calls = {pair.call.id: pair for pair in call_pairs(trajectory)}
    assert [calls[child.caller].call.name for child in trajectory.children] == ["ask_catalogue", "ask_loans"]
    first, second = (calls[child.caller].result for child in trajectory.children)
    assert first.started < second.ended and second.started < first.ended, "they ran at the same time"
    assert [len(turn.steps) for turn in turns(trajectory) if turn.number] == [5, 2]
    assert len(trajectory.invocations) == 2


def test_what_was_asked_and_how_is_told() -> None:
    trajectory = one(GOLDEN / "strands.otlp.json")
    (agent,) = trajectory.agents
    assert (agent.name, agent.instructions) == ("garden_shop", "You help with orders of a garden shop.")
    first = next(step for step in trajectory.steps if step.usage)
    assert (first.model, first.stop, first.first_token) == ("gpt-5-mini", "tool_use", 3.964)
    declared = one(GOLDEN / "pydantic_ai.otlp.json").agents[0].tools
    assert declared is not None
    assert [tool.name for tool in declared] == ["get_order", "refund"]
    assert declared[0].parameters["required"] == ["order_id"]


def test_tools_are_described_where_they_are_used() -> None:
    """Strands names an agent's tools, and says what they are in their own spans."""
    tools = one(GOLDEN / "strands.otlp.json").agents[0].tools
    assert tools is not None
    assert [(tool.name, tool.description) for tool in tools] == [
        ("get_order", "Look up an order"),
        ("refund", "Refund an order"),
    ]
    assert tools[0].parameters["properties"]["order_id"]["type"] == "string"


# Spans, spelled in few words.


def span(
    name: str, number: int, above: int = 0, trace: str = "a", events: Any = (), **attributes: Any
) -> dict[str, Any]:
    given = {key.replace("__", "."): value for key, value in attributes.items()}
    row = {
        "trace_id": trace * 32,
        "span_id": f"{number:016x}",
        "parent_span_id": f"{above:016x}" if above else None,
        "name": name,
        "start_time": number * 1_000_000_000,
        "end_time": given.pop("end", number + 1) * 1_000_000_000,
        "attributes": given,
        "events": list(events),
    }
    return row if "status" not in given else {**row, "status": given.pop("status")}


def chat(number: int, heard: Any, said: Any, above: int = 0, trace: str = "a", **more: Any) -> dict[str, Any]:
    content = {"gen_ai__input__messages": json.dumps(heard), "gen_ai__output__messages": json.dumps(said)}
    shown = {key: value for key, value in content.items() if json.loads(value) is not None}
    return span(
        "chat m", number, above, trace, gen_ai__operation__name="chat", gen_ai__request__model="m", **shown, **more
    )


def says(role: str, *parts: Any) -> dict[str, Any]:
    return {
        "role": role,
        "parts": [{"type": "text", "content": each} if isinstance(each, str) else each for each in parts],
    }


def calls(name: str, call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": arguments, **({"id": call_id} if call_id else {})}


def answers(call_id: str, response: Any) -> dict[str, Any]:
    return says("tool", {"type": "tool_call_response", "id": call_id, "response": response})


def steps(*spans: dict[str, Any]) -> list[tuple[str, str, str]]:
    (sample,) = samples_of_request(list(spans))
    assert sample.trajectory is not None
    return [(step.role, step.kind, _words(step)) for step in sample.trajectory.steps]


def _words(step: Step) -> str:
    found = []
    for part in step.parts:
        if isinstance(part, ToolCall):
            found.append(f"{part.name}({part.arguments})")
        else:
            found.append(str(part.output) if isinstance(part, ToolResult) else getattr(part, "text", "?"))
    return " | ".join(found)


HELLO = says("user", "hello")


def test_history_is_told_once_and_repeated_words_are_not_lost() -> None:
    heard = [HELLO, says("assistant", "yes?"), HELLO]
    assert steps(chat(1, [HELLO], [says("assistant", "yes?")]), chat(3, heard, [says("assistant", "yes?")])) == [
        ("user", "message", "hello"),
        ("agent", "message", "yes?"),
        ("user", "message", "hello"),
        ("agent", "message", "yes?"),
    ]


def test_words_that_a_call_does_not_hold_are_found_in_what_the_next_was_given() -> None:
    """OpenLLMetry with OpenAI Agents in chat mode records no output."""
    asked = says("assistant", calls("look", "c1", at=1))
    assert steps(
        chat(1, [HELLO], None), chat(3, [HELLO, asked, answers("c1", "seen")], [says("assistant", "done")])
    ) == [
        ("user", "message", "hello"),
        ("agent", "message", "look({'at': 1})"),
        ("tool", "message", "seen"),
        ("agent", "message", "done"),
    ]


def test_what_a_framework_says_in_the_users_place_is_no_prompt() -> None:
    asked = says("assistant", calls("hand_over", "c1"))
    heard = [HELLO, asked, answers("c1", "ok"), says("user", "For the next agent: go on")]
    found = steps(chat(1, [HELLO], [asked]), chat(3, heard, [says("assistant", "done")]))
    assert [(role, kind) for role, kind, _ in found] == [
        ("user", "message"),
        ("agent", "message"),
        ("tool", "message"),
        ("user", "synthetic"),
        ("agent", "message"),
    ]


def test_calls_whose_ids_change_are_the_same_calls() -> None:
    said = says("assistant", calls("look", "call_1", at=1))
    again = says("assistant", calls("look", "fc_1", at=1))
    found = steps(chat(1, [HELLO], [said]), chat(3, [HELLO, again, answers("call_1", "x")], [says("assistant", "ok")]))
    assert [words for _, _, words in found] == ["hello", "look({'at': 1})", "x", "ok"]


def test_traces_are_joined_by_their_conversation_or_by_what_was_said() -> None:
    first = chat(1, [HELLO], [says("assistant", "hi, what is it?")], trace="a")
    later = [HELLO, says("assistant", "hi, what is it?"), says("user", "nothing")]
    second = chat(3, later, [says("assistant", "fine")], trace="b")
    other = chat(5, [says("user", "hello")], [says("assistant", "hi, what is it?")], trace="c")
    samples = samples_of_request([second, other, first])
    assert sorted(len(sample.trajectory.steps) for sample in samples if sample.trajectory) == [2, 4]
    named = [{**each, "attributes": {**each["attributes"], "session.id": "s"}} for each in (first, other)]
    (sample,) = samples_of_request(named)
    assert sample.id == "s"


def test_equal_questions_do_not_make_one_conversation_of_many() -> None:
    opening = [HELLO, says("assistant", "hi, what is it?")]
    spans = []
    for number, letter in enumerate("abcdef"):
        heard = [HELLO] if number % 2 == 0 else [*opening, says("user", f"more {number}")]
        answer = opening[1] if number % 2 == 0 else says("assistant", f"done {number}")
        spans.append(chat(1 + number, heard, [answer], trace=letter))
    samples = samples_of_request(spans)
    assert [len(sample.trajectory.steps) for sample in samples if sample.trajectory] == [4, 4, 4]
    fork = chat(9, [*opening, says("user", "again")], [says("assistant", "no")], trace="9")
    assert len(samples_of_request([*spans, fork])) == 4


def test_a_tool_nobody_asked_for_in_words_is_known_from_its_span() -> None:
    agent = span("invoke_agent", 1, end=20, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="x")
    tool = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "look",
        "gen_ai__tool__call__result": "seen",
    }
    spans = [
        agent,
        chat(2, None, None, 1),
        span("t", 4, 1, gen_ai__tool__call__id="c1", **tool),
        chat(6, None, None, 1),
    ]
    (sample,) = samples_of_request(spans)
    assert sample.trajectory is not None
    (pair,) = call_pairs(sample.trajectory)
    assert (pair.call.name, pair.call.id, pair.result.output if pair.result else None) == ("look", "c1", "seen")
    assert "2 of 2 model calls were recorded without" in str(sample.trajectory.steps[0].parts)


def test_a_model_call_that_wraps_another_is_one_call() -> None:
    usage = {"gen_ai__usage__input_tokens": 10, "gen_ai__usage__output_tokens": 2}
    outer = chat(1, [HELLO], [says("assistant", "hi")], end=9, **usage)
    inner = chat(2, None, None, 1, **usage)
    (sample,) = samples_of_request([outer, inner])
    assert sample.trajectory is not None
    total = usage_total(sample.trajectory)
    assert total is not None and total.input == 10
    assert final_response(sample.trajectory) == "hi"


def test_errors_of_calls_and_runs_are_told() -> None:
    exception = {"name": "exception", "attributes": {"exception.type": "Timeout", "exception.message": "too slow"}}
    failed = chat(2, [HELLO], None, 1, status={"code": 2}, events=[exception])
    root = span("invoke_agent", 1, gen_ai__operation__name="invoke_agent", status={"code": 2, "message": "gave up"})
    (sample,) = samples_of_request([root, failed])
    assert sample.trajectory is not None
    (error,) = [step.error for step in sample.trajectory.steps if step.error]
    assert (error.kind, error.message) == ("Timeout", "too slow")
    assert sample.trajectory.outcome == Outcome(status="error", reason="gave up")


def test_a_parent_that_is_its_own_child_does_not_hang() -> None:
    found = steps({**chat(1, [HELLO], [says("assistant", "a")]), "parent_span_id": f"{1:016x}"})
    assert found[-1] == ("agent", "message", "a")
    circle = [span("x", 1, 2), span("y", 2, 1), chat(3, [HELLO], [says("assistant", "b")], 2)]
    assert steps(*circle)[-1] == ("agent", "message", "b")


# Files.


def _request(*spans: dict[str, Any]) -> bytes:
    return json.dumps(list(spans)).encode()


@pytest.mark.parametrize("name", ["traces.jsonl", "traces.json", "traces.jsonl.gz", "traces.pb"])
def test_every_file_says_the_same(name: str, tmp_path: Path) -> None:
    source = GOLDEN / "two_turns.otlp.json"
    target = tmp_path / name
    convert([source], target, to="otlp")
    assert detect(target)[0].name == "otlp"
    assert told(one(target)) == told(one(source))


def test_a_trace_that_goes_on_in_the_next_file_is_one(tmp_path: Path) -> None:
    """A collector starts a new file when one is full; exports may be repeated, too."""
    document = json.loads((GOLDEN / "two_turns.otlp.json").read_bytes())
    (resource,) = document["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    every = scope["spans"]
    for number, part in enumerate((every[:7], every[5:])):
        row = {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": part}]}]}
        (tmp_path / f"traces-{number}.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode() + b"\n"))
    (sample,) = read_pile([tmp_path], notes=Notes()).samples
    assert sample.trajectory is not None
    assert told(sample.trajectory) == told(one(GOLDEN / "two_turns.otlp.json"))


def test_log_records_beside_spans_hold_their_words(tmp_path: Path) -> None:
    folder = GOLDEN / "spans_and_logs"
    whole = one(folder / "otel_openai_v2.otlp.json")
    assert len(call_pairs(whole)) == 3 and counts(usage_total(whole))["input"] == 680
    shutil.copy(folder / "otel_openai_v2.otlp.json", tmp_path / "alone.otlp.json")
    alone = list(read(tmp_path / "alone.otlp.json").samples)
    assert len(alone) == 3, "nothing tells that they belong together"
    assert all("recorded without their text" in str(each.trajectory) for each in alone)


@pytest.mark.parametrize("prefixed", [False, True])
def test_logs_and_lengths_in_protobuf(prefixed: bool, tmp_path: Path) -> None:
    folder = GOLDEN / "spans_and_logs"
    for name, message in (("otel_openai_v2.otlp.json", "Request"), ("otel_openai_v2.logs.otlp.json", "LogsRequest")):
        data = protobuf.encode(json.loads((folder / name).read_bytes()), message)
        target = tmp_path / ("traces.pb" if message == "Request" else "logs.pb")
        target.write_bytes((len(data).to_bytes(4, "big") + data) * 2 if prefixed and message == "Request" else data)
        assert detect(target)[0].name == "otlp"
    assert told(one(tmp_path / "traces.pb")) == told(one(folder / "otel_openai_v2.otlp.json"))


def test_judgements_in_log_records_are_scores() -> None:
    record = {
        "eventName": "gen_ai.evaluation.result",
        "attributes": {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.5},
        "trace_id": "a" * 32,
        "span_id": "",
    }
    rows = [chat(1, [HELLO], [says("assistant", "hi")]), {"scope": {}, "record": record}]
    (sample,) = samples_of_request(rows)
    assert sample.scores == (Score(name="tone", value=0.5),)


def test_many_traces_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Two passes; in the second, only conversations that are not complete yet are held."""
    text = "word " * 20_000

    def peak(count: int) -> int:
        path = tmp_path / f"{count}.otlp.jsonl"
        with path.open("wb") as file:
            for number in range(count):
                row = chat(1, [HELLO], [says("assistant", text)])
                file.write(_request({**row, "trace_id": f"{number:032x}"})[1:-1] + b"\n")
        tracemalloc.start()
        assert sum(1 for _ in read(path).samples) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak(10), peak(100)
    assert many < 2 * few
    assert few < 60 * len(text)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"resourceSpans": [{"scopeSpans": 5}]}', "must be an array"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "GET", "spanId": "1"}]}]}]}', "none of its spans"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans"', "cut off after 43 bytes"),
    ],
)
def test_bad_files_are_refused_in_words(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.otlp.json"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=words) as caught:
        list(read(path, format="otlp").samples)
    assert str(path) in str(caught.value)


def test_torn_protobuf_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "torn.otlp.pb"
    path.write_bytes((GOLDEN / "openllmetry_openai.otlp.pb").read_bytes()[:-40])
    with pytest.raises(ReadError, match="cut off"):
        list(read(path).samples)


# Writing.

SAMPLE = Sample(
    id="case-1",
    epoch=2,
    case=Case(id="case-1", question="what?"),
    trajectory=Trajectory(
        id="t",
        steps=(
            Step(role="user", parts=(Text(text="hello"),), at=1_700_000_000.25),
            Step(role="agent", parts=(ToolCall(name="look", arguments={"at": 1}),), usage=Usage(input=10, output=3)),
            Step(role="tool", parts=(ToolResult(name="look", output={"seen": True}, failure="timeout"),)),
            Step(role="agent", parts=(Text(text="done"),), model="m", settings={"temperature": 0.5}, first_token=0.2),
        ),
    ),
    scores=(
        Score(name="correct", value=True, explanation="it is"),
        Score(name="style", value=0.5, passed=False),
        Score(name="tone", value="kind"),
        Score(name="later", status="unscored"),
    ),
)


def _written(tmp_path: Path, sample: Sample = SAMPLE, **options: str) -> list[dict[str, Any]]:
    target = tmp_path / "out.otlp.json"
    write_run(Run(samples=[sample]), target, to="otlp", options=options, measure=False)
    found = []
    for each in json.loads(target.read_bytes())["resourceSpans"]:
        for scope in each["scopeSpans"]:
            found += scope["spans"]
    return found


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: next(iter(item["value"].values())) for item in row["attributes"]}


@pytest.mark.parametrize("options", [{}, {"version": "1.36"}, {"flavour": "openinference"}, {"history": "new"}])
def test_all_of_a_sample_comes_back(options: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "out.otlp.pb"
    report = write_run(Run(samples=[SAMPLE]), target, to="otlp", options=options)
    assert report.losses == {} or not list(report.losses)
    (sample,) = read(target).samples
    assert sample.trajectory is not None and SAMPLE.trajectory is not None
    assert (sample.id, sample.epoch, sample.case, sample.scores) == ("case-1", 2, SAMPLE.case, SAMPLE.scores)
    assert sample.trajectory.steps == SAMPLE.trajectory.steps


def test_scores_are_events_of_the_conventions(tmp_path: Path) -> None:
    root = _written(tmp_path)[0]
    found = [(event["name"], _attributes(event)) for event in root["events"]]
    assert {name for name, _ in found} == {"gen_ai.evaluation.result"}
    assert [values for _, values in found] == [
        {
            "gen_ai.evaluation.name": "correct",
            "gen_ai.evaluation.score.value": 1.0,
            "gen_ai.evaluation.score.label": "pass",
            "gen_ai.evaluation.explanation": "it is",
        },
        {
            "gen_ai.evaluation.name": "style",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.score.label": "fail",
        },
        {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.label": "kind"},
    ]


def test_ids_follow_from_the_sample(tmp_path: Path) -> None:
    once, again = _written(tmp_path), _written(tmp_path)
    assert [each["spanId"] for each in once] == [each["spanId"] for each in again]
    other = _written(tmp_path, Sample(id="case-2", trajectory=SAMPLE.trajectory))
    assert {each["traceId"] for each in once}.isdisjoint({each["traceId"] for each in other})
    assert len({each["spanId"] for each in [*once, *other]}) == len(once) + len(other)


def test_a_long_history_is_not_repeated_without_end() -> None:
    def long(count: int) -> Sample:
        talk = [
            Step(role=role, parts=(Text(text=f"{n} {'x' * 2_000}"),))
            for n in range(count)
            for role in ("user", "agent")
        ]
        return Sample(id="long", trajectory=Trajectory(steps=tuple(talk)))

    def size(sample: Sample, **options: Any) -> int:
        return len(encode(dump(sample, Options(**options))))

    short, longer = long(20), long(100)
    assert size(short) == size(short, history="full")
    assert size(longer) == size(longer, history="new") < 4 * 200 * 2_000
    assert size(longer, history="full") > 5 * size(longer)


def test_several_runs_of_a_case_stay_several(tmp_path: Path) -> None:
    target = tmp_path / "out.otlp.json"
    runs = [Sample(id="same", epoch=number, trajectory=SAMPLE.trajectory) for number in (1, 2, 3)]
    write_run(Run(samples=runs), target, to="otlp")
    assert [(sample.id, sample.epoch) for sample in read(target).samples] == [("same", 1), ("same", 2), ("same", 3)]


def test_what_cannot_be_spans_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SampleRefused, match="has not been run"):
        dump(Sample(id="x"), Options())
    with pytest.raises(UsageError, match="openinfrence"):
        convert([GOLDEN / "strands.otlp.json"], tmp_path / "x.json", to="otlp", options={"flavour": "openinfrence"})


def test_a_run_in_which_nothing_was_said_is_a_span_alone(tmp_path: Path) -> None:
    (root,) = _written(
        tmp_path, Sample(id="x", trajectory=Trajectory(outcome=Outcome(status="error", reason="no key")))
    )
    assert root["status"] == {"code": 2, "message": "no key"}


def test_a_sub_agent_that_began_before_its_parent_is_its_child_all_the_same(tmp_path: Path) -> None:
    """Claude Code's streams have times for sub-agents only."""
    child = Trajectory(
        id="child", caller="c", created=5.0, steps=(Step(role="agent", parts=(Text(text="hm"),), at=5.0),)
    )
    call, result = ToolCall(id="c", name="ask"), ToolResult(call_id="c", name="ask", output="hm", started=9.0)
    steps_ = (Step(role="agent", parts=(call,), at=8.0), Step(role="tool", parts=(result,), at=9.0))
    target = tmp_path / "out.otlp.json"
    sample = Sample(id="p", trajectory=Trajectory(id="p", steps=steps_, children=(child,)))
    write_run(Run(samples=[sample]), target, to="otlp", carry=False)
    assert [(each.id, each.caller) for each in all_trajectories(one(target))] == [("p", None), ("child", "c")]


def test_a_sub_agent_that_no_call_started_is_one_all_the_same(tmp_path: Path) -> None:
    child = Trajectory(id="child", steps=(Step(role="user", parts=(Text(text="you, go"),)),))
    parent = Trajectory(id="p", steps=SAMPLE.trajectory.steps, children=(child,)) if SAMPLE.trajectory else None
    target = tmp_path / "out.otlp.json"
    convert_of = write_run(Run(samples=[Sample(id="p", trajectory=parent)]), target, to="otlp", carry=False)
    assert convert_of is not None
    assert [each.id for each in all_trajectories(one(target))] == ["p", "child"]
