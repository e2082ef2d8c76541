"""What is peculiar to Inspect logs: containers, pools, crashed runs, threads of sub-agents, the id rule."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples as any_samples
from corpus import CORPUS, needs_corpus
from goldens import ROOT, as_native, without_source
from pantrace.engine.convert import convert, write_run
from pantrace.engine.read import read
from pantrace.engine.select import Selection
from pantrace.engine.validate import validate
from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.formats.inspect import FORMAT, resolved_events, summaries
from pantrace.formats.inspect.samples import dump, load
from pantrace.model import (
    Action,
    Aggregate,
    Case,
    Media,
    Point,
    Run,
    Sample,
    Score,
    Step,
    Target,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
    call_pairs,
    final_response,
    usage_total,
    with_samples,
)
from pantrace.wire import zip_archive
from pantrace.wire.json import decode, encode, to_plain
from pantrace.wire.zip_archive import Compression

GOLDEN = ROOT / "inspect"
OWN = CORPUS / "own" / "inspect"
PUBLIC = CORPUS / "public" / "inspect" / "upstream"


def log(tmp_path: Path, members: dict[str, Any], compression: Compression = "zstd") -> Path:
    path = tmp_path / "log.eval"
    with path.open("wb") as file:
        writer = zip_archive.Writer(file, compression)
        for name, value in members.items():
            writer.add(name, value if isinstance(value, bytes) else encode(value))
        writer.finish()
    return path


HEADER: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {
        "eval_id": "e",
        "created": "2026-01-01T00:00:00+00:00",
        "task": "t",
        "model": "m",
        "dataset": {"sample_ids": [1]},
        "config": {},
    },
}


def row(**fields: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "input": "hi", "target": "", "messages": [], "events": [], **fields}


def only(path: Path) -> Sample:
    (sample,) = read(path).samples
    return sample


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event": kind, "timestamp": "2026-01-01T00:00:01+00:00", **fields}


def model_event(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    output = {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}], **fields.pop("output", {})}
    return event("model", model="m", input=[], tools=[], tool_choice="auto", config={}, output=output, **fields)


# Containers


@pytest.mark.parametrize("compression", ["zstd", "deflate", "stored"])
def test_every_compression_is_read(compression: Compression, tmp_path: Path) -> None:
    path = log(tmp_path, {"samples/1_epoch_1.json": row(), "header.json": HEADER}, compression)
    assert only(path).case == Case(id="1", question="hi")


def test_zstd_in_several_frames_is_read(tmp_path: Path) -> None:
    import zlib

    import zstandard

    content = encode(row(target="x" * 5000))
    packed = b"".join(zstandard.ZstdCompressor().compress(part) for part in (content[:700], content[700:]))
    path = tmp_path / "log.eval"
    with path.open("wb") as file:
        writer = zip_archive.Writer(file, "stored")
        writer.add("samples/1_epoch_1.json", packed)
        first = writer.members[0]
        writer.members[0] = first._replace(method=zip_archive.ZSTD, crc=zlib.crc32(content), size=len(content))
        writer.add("header.json", encode(HEADER))
        writer.finish()
    assert only(path).case is not None
    assert only(path).case.reference == "x" * 5000  # type: ignore[union-attr]


def test_of_members_with_one_name_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with path.open("wb") as file:
        writer = zip_archive.Writer(file)
        writer.add("samples/1_epoch_1.json", encode(row(target="old")))
        writer.add("header.json", encode(HEADER))
        writer.add("samples/1_epoch_1.json", encode(row(target="new")))
        writer.finish()
    assert [sample.case.reference for sample in read(path).samples if sample.case] == ["new"]


def test_an_unknown_compression_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("header.json", encode(HEADER))
    with pytest.raises(ReadError, match="method 12"):
        read(path)


def test_a_damaged_member_is_left_out_and_named(tmp_path: Path) -> None:
    members = {"samples/1_epoch_1.json": row(), "samples/2_epoch_1.json": row(id=2), "header.json": HEADER}
    path = log(tmp_path, members, "stored")
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"input":"hi"', b'"input":"ho"', 1))
    broken: list[ReadError] = []
    assert [sample.id for sample in read(path, on_broken=broken.append).samples] == ["2"]
    assert "samples/1_epoch_1.json" in str(broken[0])
    assert "checksum" in str(broken[0])


def test_written_archives_are_plain_zips(tmp_path: Path) -> None:
    target = tmp_path / "out.eval"
    convert(GOLDEN / "basic.eval", target, to="inspect", options={"compression": "deflate"})
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        names = archive.namelist()
    assert {"header.json", "summaries.json", "reductions.json", "_journal/start.json"} <= set(names)
    assert "_journal/summaries/1.json" in names


def test_ids_may_hold_slashes_and_spaces(tmp_path: Path) -> None:
    name = "samples/parallel calls/odd id_epoch_1.json"
    path = log(tmp_path, {name: row(id="parallel calls/odd id"), "header.json": HEADER})
    assert only(path).id == "parallel calls/odd id"
    target = tmp_path / "out.eval"
    convert(path, target, to="inspect")
    with zip_archive.reading(target) as archive:
        assert name in archive
    assert [summary["id"] for summary in summaries(target)] == ["parallel calls/odd id"]


HOSTILE = ["../../up", "a/../b", "..", "", "a\0b", "a\nb", "\ud800", "x" * 300, "語" * 100, "a\\..\\b"]


def test_ids_that_no_member_can_be_named_after(tmp_path: Path) -> None:
    """Inspect finds a sample by its id in the member's name: both change alike, and pantrace knows the real one."""
    path = tmp_path / "out.eval"
    report = write_run(Run(samples=[Sample(id=each) for each in HOSTILE]), path, to="inspect")
    assert not report.losses
    assert report.carried["id"] == len(HOSTILE)
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.startswith("samples/")]
    assert len(set(members)) == len(HOSTILE)
    for name in members:
        assert len(name.encode()) <= 255
        assert name.isprintable()
        assert ".." not in re.split(r"[/\\]", name)
    assert {f"samples/{each['id']}_epoch_1.json" for each in summaries(path)} == set(members)
    assert [sample.id for sample in read(path).samples] == HOSTILE
    assert not [each for each in validate(path) if each.level == "error"]


def test_nan_is_read_as_unscored_and_written_again(tmp_path: Path) -> None:
    text = encode(row(scores={"s": {"value": None}})).replace(b"null", b"NaN")
    path = log(tmp_path, {"samples/1_epoch_1.json": text, "header.json": HEADER})
    score = only(path).scores[0]
    assert (score.status, score.value) == ("unscored", None)
    convert(path, tmp_path / "out.eval", to="inspect")
    with zip_archive.reading(tmp_path / "out.eval") as archive:
        assert b'"value":NaN' in archive.read("samples/1_epoch_1.json")


def test_a_crashed_log_reads_as_started_and_stays_one(tmp_path: Path) -> None:
    run = read(GOLDEN / "partial_kill.eval")
    assert run.status == "started"
    assert len(list(run.samples)) == 3
    assert [summary["id"] for summary in summaries(GOLDEN / "partial_kill.eval")] == [1, 2, 3]
    convert(GOLDEN / "partial_kill.eval", tmp_path / "out.eval", to="inspect")
    with zip_archive.reading(tmp_path / "out.eval") as archive:
        assert "header.json" not in archive
        assert "_journal/start.json" in archive


def test_the_start_of_seed_document_5_gives_a_header(tmp_path: Path) -> None:
    start = {"eval_id": "e", "run_id": "r", "task": "t", "model": "m", "created": "2024-01-01T00:00:00+00:00"}
    run = read(log(tmp_path, {"_journal/start.json": start, "samples/1_epoch_1.json": row()}))
    assert (run.id, run.task, run.model, run.status) == ("e", "t", "m", "started")


def test_summaries_that_are_no_list_are_refused_in_words(tmp_path: Path) -> None:
    path = log(tmp_path, {"header.json": HEADER, "summaries.json": {"samples": 1}})
    with pytest.raises(ReadError, match="expected a list"):
        summaries(path)


def test_repeated_summaries_count_once(tmp_path: Path) -> None:
    first, again = {"id": 1, "epoch": 1, "target": "a"}, {"id": "1", "epoch": 1, "target": "b"}
    path = log(
        tmp_path,
        {
            "_journal/start.json": {"eval": HEADER["eval"], "plan": {}, "version": 2},
            "_journal/summaries/2.json": [again],
            "_journal/summaries/10.json": [],
            "_journal/summaries/1.json": [first],
        },
    )
    assert summaries(path) == [again]


def test_the_header_does_not_touch_samples(tmp_path: Path) -> None:
    path = log(tmp_path, {"samples/1_epoch_1.json": b"not json", "header.json": HEADER})
    assert read(path).task == "t"


# Pools and attachments


def test_pools_and_attachments_are_resolved(tmp_path: Path) -> None:
    long = "a long text " * 20
    question = {"id": "q", "role": "user", "content": "attachment://aa"}
    answer = {"id": "a", "role": "assistant", "content": "yes"}
    call = {"request": {"model": "m"}, "call_refs": [[0, 1]], "call_key": "messages"}
    sample = row(
        messages=[{"id": "q", "role": "user", "content": "tc://aa"}, answer],
        events=[model_event(answer, input_refs=[[0, 1]], call=call), event("info", data="attachment://bb")],
        events_data={"messages": [question], "calls": [{"role": "user", "content": "attachment://aa"}]},
        attachments={"aa": long, "bb": "note"},
    )
    path = log(tmp_path, {"samples/1_epoch_1.json": sample, "header.json": HEADER})
    found = only(path)
    assert found.trajectory is not None
    assert found.trajectory.steps[0].parts == (Text(text=long, extra={"inspect": {"attachment": "aa"}}),)
    model, info = resolved_events(found)
    assert model["input"] == [{**question, "content": long}]
    assert model["call"]["request"]["messages"] == [{"role": "user", "content": long}]
    assert info["data"] == "note"
    kept = found.trajectory.extra["inspect"]
    assert encode(to_plain(found)).count(long.strip().encode()) == 1, "a text lies in one place only"
    assert kept["attachments"] == {"bb": "note"}


def test_an_inline_picture_stays_inline_and_an_attached_one_attached(tmp_path: Path) -> None:
    uri = "data:image/png;base64,aGk="
    content = [{"type": "image", "image": uri}, {"type": "image", "image": "attachment://aa", "detail": "low"}]
    sample = row(messages=[{"id": "q", "role": "user", "content": content}], attachments={"aa": uri})
    path = log(tmp_path, {"samples/1_epoch_1.json": sample, "header.json": HEADER})
    parts = only(path).trajectory.steps[0].parts  # type: ignore[union-attr]
    assert [(part.mime, part.data) for part in parts if isinstance(part, Media)] == [("image/png", "aGk=")] * 2
    written = FORMAT.dump(only(path), FORMAT.options())  # type: ignore[misc]
    assert written["messages"][0]["content"] == content
    assert written["attachments"] == {"aa": uri}


# Messages and events


def test_events_give_usage_time_and_errors_once() -> None:
    call = {"id": "c", "function": "f", "arguments": {"x": 1}, "type": "function"}
    asks = {"id": "a", "role": "assistant", "content": "", "tool_calls": [call], "model": "m-2026"}
    answer = {"id": "t", "role": "tool", "content": "no", "tool_call_id": "c", "function": "f"}
    answer["error"] = {"type": "timeout", "message": "too slow"}  # type: ignore[assignment]
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 115, "input_tokens_cache_read": 100}
    tool = event("tool", id="c", function="f", arguments={"x": 1}, result="no", completed="2026-01-01T00:00:03+00:00")
    sample = FORMAT.load(  # type: ignore[misc]
        row(
            messages=[asks, answer],
            events=[model_event(asks, output={"usage": usage}), tool],
            model_usage={"m": usage},
        )
    )
    agent, answered = sample.trajectory.steps
    assert agent.usage == Usage(input=110, output=5, cache_read=100, total=115)
    assert (agent.at, agent.model, agent.stop) == (1767225601.0, "m-2026", "stop")
    (pair,) = call_pairs(sample.trajectory)
    assert pair.result is not None
    assert (pair.result.error, pair.result.failure) == ("too slow", "timeout")
    assert (pair.result.started, pair.result.ended) == (1767225601.0, 1767225603.0)
    assert answered.role == "tool"
    assert usage_total(sample.trajectory) == agent.usage, "calls are not counted twice"


def test_early_logs_count_cached_tokens_in_the_input() -> None:
    usage = {"input_tokens": 110, "output_tokens": 5, "total_tokens": 115, "input_tokens_cache_read": 100}
    sample = FORMAT.load(row(model_usage={"m": usage}))  # type: ignore[misc]
    assert sample.trajectory.usage["m"].input == 110
    assert FORMAT.dump(sample, FORMAT.options())["model_usage"] == {"m": usage}  # type: ignore[misc]


def test_a_sub_agent_is_a_child_with_its_own_conversation() -> None:
    call = {"id": "c", "function": "helper", "arguments": {}, "type": "function"}
    asks = {"id": "a", "role": "assistant", "content": "", "tool_calls": [call]}
    told = {"id": "t", "role": "tool", "content": "done", "tool_call_id": "c", "function": "helper"}
    inner_question = {"id": "iq", "role": "user", "content": "inner question"}
    inner_answer = {"id": "ia", "role": "assistant", "content": "inner answer"}
    usage = {"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}
    sample = FORMAT.load(  # type: ignore[misc]
        row(
            messages=[asks, told],
            events=[
                event("span_begin", id="main", type="agent", name="boss"),
                model_event(asks, span_id="main"),
                event("tool", id="c", function="helper", arguments={}, span_id="main", agent_span_id="sub"),
                event("span_begin", id="sub", parent_id="main", type="agent", name="helper"),
                model_event(inner_answer, span_id="sub", input_refs=[[0, 1]], output={"usage": usage}),
                event("span_end", id="sub"),
                event("span_end", id="main"),
            ],
            events_data={"messages": [inner_question], "calls": []},
        )
    )
    (child,) = sample.trajectory.children
    assert (child.id, child.title, child.caller) == ("sub", "helper", "c")
    assert [step.id for step in child.steps] == ["iq", "ia"]
    assert [step.id for step in sample.trajectory.steps] == ["a", "t"]
    assert sample.trajectory.steps[0].agent == "boss"
    total = usage_total(sample.trajectory, children=True)
    assert total is not None
    assert total.input == 7


def test_what_compaction_removed_from_the_messages_is_still_told() -> None:
    early = {"id": "early", "role": "assistant", "content": "an early answer"}
    late = {"id": "late", "role": "assistant", "content": "a late answer"}
    summary = {"id": "sum", "role": "user", "content": "summary"}
    original = row(messages=[summary, late], events=[model_event(early), event("compaction"), model_event(late)])
    sample = FORMAT.load(original)  # type: ignore[misc]
    assert [step.id for step in sample.trajectory.steps] == ["sum", "early", "late"]
    written = FORMAT.dump(sample, FORMAT.options())  # type: ignore[misc]
    assert [message["id"] for message in written["messages"]] == ["sum", "late"]
    assert written["events"] == original["events"]


def test_a_log_with_events_only_still_shows_its_tool_calls(tmp_path: Path) -> None:
    tool = event("tool", id="c", function="list_documents", arguments={"a": 1}, result='{"rows": 3}')
    sample = FORMAT.load(row(events=[tool, event("zebra", stripes=7)]))  # type: ignore[misc]
    (pair,) = call_pairs(sample.trajectory)
    assert (pair.call.name, pair.call.arguments) == ("list_documents", {"a": 1})
    assert sample.trajectory.extra["inspect"]["events"][1]["stripes"] == 7
    assert FORMAT.dump(sample, FORMAT.options())["messages"] == []  # type: ignore[misc]


def test_composite_scores_edits_and_invalidation_survive() -> None:
    history = [{"value": 0.5, "provenance": {"author": "me"}}]
    original = row(
        scores={
            "multi": {"value": {"a": 1, "b": "C"}, "metadata": {"value": 2}},
            "plain": {"value": "C", "history": history},
        },
        invalidation={"author": "me", "reason": "leaked"},
        limit={"type": "token", "limit": 100.0},
        error_retries=[{"message": "once", "traceback": "", "traceback_ansi": ""}],
    )
    sample = FORMAT.load(original)  # type: ignore[misc]
    assert sample.scores[0].details == {"value": {"a": 1, "b": "C"}}
    assert sample.scores[1].passed is True
    assert sample.trajectory.outcome.status == "limit"
    written = FORMAT.dump(sample, FORMAT.options())  # type: ignore[misc]
    for key in ("invalidation", "limit", "error_retries"):
        assert written[key] == original[key]
    assert written["scores"]["plain"]["history"] == history
    assert written["scores"]["multi"]["metadata"] == {"value": 2}


@needs_corpus
def test_aggregates_name_metric_reducer_and_scorer() -> None:
    results = read(OWN / "generated" / "epochs.eval").results
    assert Aggregate(
        name="quality", metric="mean", value=0.425, n=12, labels={"scorer": "multi", "reducer": "mean"}
    ) in [Aggregate(name=a.name, metric=a.metric, value=a.value, n=12, labels=a.labels) for a in results]
    assert len({(a.name, a.metric, a.labels.get("reducer")) for a in results}) == len(results)


# Early versions


def test_early_shapes_are_read(tmp_path: Path) -> None:
    header = {
        **HEADER,
        "results": {
            "scorer": {"name": "match"},
            "metrics": {"accuracy": {"name": "accuracy", "value": 1}},
            "sample_reductions": [{"scorer": "match", "samples": []}],
        },
        "eval": {**HEADER["eval"], "sandbox": ["docker", "compose.yaml"], "config": {"max_messages": 5}},
    }
    sample = row(
        score={"value": "C"},
        transcript={"events": [event("info", data="tc://aa")], "content": {"aa": "text"}},
        message_pool=[{"id": "q", "role": "user", "content": "hi"}],
        sandbox=["docker", "c.yaml"],
    )
    del sample["events"]
    run = read(log(tmp_path, {"samples/1_epoch_1.json": sample, "header.json": header}))
    assert run.config == {"message_limit": 5}
    assert run.results == (Aggregate(name="match", metric="accuracy", value=1, labels={"scorer": "match"}),)
    assert run.extra["inspect"]["eval"]["sandbox"] == {"type": "docker", "config": "compose.yaml"}
    (found,) = run.samples
    assert [score.name for score in found.scores] == ["match"]
    assert next(resolved_events(found))["data"] == "text"
    assert found.trajectory is not None
    assert found.trajectory.extra["inspect"]["events_data"]["messages"][0]["id"] == "q"


# Writing other formats' samples


def foreign() -> Sample:
    shot = Media(id="shot", mime="image/png", data="aGk=")
    click = Action(kind="click", id="click1", target=Target(point=Point(x=0.5, y=0.25, space="normalised")))
    child = Trajectory(
        id="sub",
        caller="c2",
        parent="main",
        steps=(
            Step(role="user", parts=(Text(text="find the file"),)),
            Step(role="agent", parts=(Text(text="found"),), usage=Usage(input=3, output=1)),
        ),
    )
    steps = (
        Step(id="u1", role="user", parts=(Text(text="Run the tests."), shot), at=100.0),
        Step(
            id="a1",
            role="agent",
            parts=(
                Unknown(kind="elsewhere:step-start", raw={"snapshot": "abc"}),
                Text(text="Running."),
                ToolCall(id="c1", name="bash", arguments={"command": "pytest"}),
                ToolResult(call_id="c1", name="bash", output={"lines": ["1 failed"]}, failure="exit_code", exit_code=1),
            ),
            model="m",
            usage=Usage(input=110, output=5, cache_read=100),
            at=101.0,
            ended=102.5,
            stop="tool-calls",
        ),
        Step(id="n1", role="agent", kind="note", parts=(Text(text="a note"),)),
        Step(id="a2", role="agent", parts=(click, ToolCall(id="c2", name="task", arguments={})), at=103.0),
        Step(id="a3", role="agent", parts=(Text(text="The tests are red."),), at=104.0, model="m"),
    )
    trajectory = Trajectory(id="main", created=100.0, ended=105.0, steps=steps, state={"k": 1}, children=(child,))
    return Sample(id="s/1", trajectory=trajectory, scores=(Score(name="ok", value=False),))


def test_a_foreign_sample_becomes_messages_and_events() -> None:
    written = FORMAT.dump(foreign(), FORMAT.options())  # type: ignore[misc]
    assert [message["role"] for message in written["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    tool = written["messages"][2]
    assert (tool["content"], tool.get("error")) == ('{"lines":["1 failed"]}', None)
    kinds = [each["event"] for each in written["events"]]
    assert kinds.count("model") == 4
    assert kinds.count("tool") == 3
    assert kinds.count("span_begin") == kinds.count("span_end")
    models = [each for each in written["events"] if each["event"] == "model"]
    assert [each["input_refs"] for each in models[:2]] == [[[0, 1]], [[0, 3]]]
    assert models[0]["output"]["usage"]["input_tokens"] == 10, "Inspect counts cached tokens apart"
    assert written["messages"][1]["content"] == "Running.", "what only another format knows stands beside"
    click = next(each for each in written["events"] if each.get("function") == "computer")
    assert click["arguments"] == {"action": "click", "coordinate": [0.5, 0.25], "space": "normalised"}
    (picture,) = written["attachments"].values()
    assert picture == "data:image/png;base64,aGk="
    assert written["model_usage"] == {
        "m": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 115, "input_tokens_cache_read": 100}
    }
    assert written["store"] == {"k": 1}
    assert not list(FORMAT.check(written))  # type: ignore[misc]


def test_a_foreign_sample_returns_whole() -> None:
    row = decode(encode(FORMAT.dump(foreign(), FORMAT.options())))  # type: ignore[misc]
    assert FORMAT.load(row) == foreign()  # type: ignore[misc]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(sample=any_samples())
def test_any_sample_returns_whole(sample: Sample) -> None:
    row = decode(encode(FORMAT.dump(sample, FORMAT.options())))  # type: ignore[misc]
    assert to_plain(FORMAT.load(row)) == to_plain(sample)  # type: ignore[misc]


def test_ids_that_look_like_made_ones_do_not_collide() -> None:
    call, answer = ToolCall(id="c", name="f", arguments={}), ToolResult(call_id="c", name="f", output="x")
    steps = (
        Step(id="a", role="agent", parts=(call, answer)),
        Step(id="a.1", role="agent", parts=(Text(text="one"),)),
        Step(id="a", role="agent", parts=(Text(text="two"),)),
        Step(role="user", parts=(Text(text="three"),)),
        Step(id="step4", role="user", parts=(Text(text="four"),)),
    )
    sample = Sample(id="s", trajectory=Trajectory(id="t", steps=steps))
    written = decode(encode(FORMAT.dump(sample, FORMAT.options())))  # type: ignore[misc]
    assert len({message["id"] for message in written["messages"]}) == len(written["messages"]) == 6
    assert FORMAT.load(written) == sample  # type: ignore[misc]


def test_texts_are_not_kept_a_second_time_beside_the_log() -> None:
    written = FORMAT.dump(foreign(), FORMAT.options())  # type: ignore[misc]
    remainder = encode(written["metadata"]["pantrace"])
    for text in (b"Run the tests.", b"The tests are red.", b"find the file", b"aGk="):
        assert text not in remainder
    assert b"1 failed" not in remainder


def test_events_that_another_program_added_are_not_lost() -> None:
    written = FORMAT.dump(foreign(), FORMAT.options())  # type: ignore[misc]
    written["events"] = [*written["events"], event("info", source="later", data="added")]
    written["scores"] = {**written["scores"], "later": {"value": 1}}
    again = FORMAT.dump(FORMAT.load(written), FORMAT.options())  # type: ignore[misc]
    assert again["events"] == written["events"]
    assert again["attachments"] == written["attachments"]
    assert again["messages"][1:] == written["messages"][1:]
    assert again["scores"]["later"]["value"] == 1


def test_a_log_whose_remainder_was_removed_keeps_its_message_ids() -> None:
    written = FORMAT.dump(foreign(), FORMAT.options())  # type: ignore[misc]
    del written["metadata"]["pantrace"]
    again = FORMAT.dump(FORMAT.load(written), FORMAT.options())  # type: ignore[misc]
    assert [each["id"] for each in again["messages"]] == [each["id"] for each in written["messages"]]
    assert again["events"] == written["events"]


def test_inputs_do_not_grow_quadratically() -> None:
    def size(turns: int) -> int:
        steps = []
        for turn in range(turns):
            steps.append(Step(id=f"u{turn}", role="user", parts=(Text(text="question " * 50),)))
            steps.append(Step(id=f"a{turn}", role="agent", parts=(Text(text="answer " * 50),)))
        sample = Sample(id="s", trajectory=Trajectory(id="t", steps=tuple(steps)))
        return len(encode(FORMAT.dump(sample, FORMAT.options())))  # type: ignore[misc]

    assert size(40) < 4.5 * size(10)


def test_written_logs_keep_the_id_rule_and_every_demand(tmp_path: Path) -> None:
    target = tmp_path / "out.eval"
    write_run(Run(name="mixed", samples=[foreign(), Sample(id="2", epoch=2)]), target, to="inspect")
    assert [each for each in validate(target) if each.level == "error"] == []
    assert {each.message for each in validate(target)} <= {"is empty: the Models tab shows nothing", "is missing"}
    with zip_archive.reading(target) as archive:
        start = json.loads(archive.read("_journal/start.json"))
        header = json.loads(archive.read("header.json"))
    assert set(start) == {"version", "eval", "plan"}
    assert header["eval"]["dataset"]["sample_ids"] == ["s/1", "2"]
    assert header["results"]["scores"][0]["metrics"]["mean"]["value"] == 0.0


def test_writing_is_deterministic_and_logs_have_task_ids_of_their_own(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.eval" for number in range(3)]
    for path, name in zip(paths, ("s", "s", "other"), strict=True):
        write_run(Run(samples=[Sample(id=name, trajectory=foreign().trajectory)]), path, to="inspect")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    ids = {read(path).extra["inspect"]["eval"]["task_id"] for path in paths}
    assert len(ids) == 2


def test_a_part_of_a_log_lists_only_its_samples(tmp_path: Path) -> None:
    run = read(GOLDEN / "basic.eval")
    target = tmp_path / "out.eval"
    write_run(with_samples(run, list(run.samples)[:2]), target, to="inspect")
    with zip_archive.reading(target) as archive:
        assert json.loads(archive.read("header.json"))["eval"]["dataset"]["sample_ids"] == [1, 2]
    assert [each for each in validate(target) if each.level == "error"] == []


def test_json_logs_hold_the_header_in_front_of_the_samples(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    convert(GOLDEN / "basic.eval", target, to="inspect")
    keys = list(json.loads(target.read_bytes()))
    assert keys.index("stats") < keys.index("samples") < keys.index("reductions")
    after, before = as_native(read(target)), as_native(read(GOLDEN / "basic.eval"))
    assert before[0]["run"]["extra"]["inspect"].pop("start"), "a document has no journal"
    assert without_source(after) == without_source(before)


# Validation


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"events": [event("zebra")]}, "events[0].event"),
        ({"events": [event("tool", id="c", function="f", arguments={}, result={"a": 1})]}, "events[0].result"),
        ({"events": [event("tool", id="c", function="f", arguments={}, view="markdown")]}, "events[0].view"),
        ({"error": {"message": "no traceback"}}, "error.traceback"),
        ({"messages": [{"role": "tool", "content": "x", "error": {"message": "m"}}]}, "messages[0].error.type"),
        ({"model_usage": {"input_tokens": 1}}, "model_usage"),
        ({"scores": {"s": {}}}, "scores.s.value"),
    ],
)
def test_what_a_reader_would_refuse_is_an_error(change: dict[str, Any], place: str) -> None:
    found = [each.place for each in FORMAT.check(row(**change)) if each.level == "error"]  # type: ignore[misc]
    assert any(each is not None and each.startswith(place) for each in found)


def test_what_only_the_document_demands_is_a_warning(tmp_path: Path) -> None:
    header = {**HEADER, "eval": {**HEADER["eval"], "dataset": {"sample_ids": [1]}}}
    summary = {"id": 1, "epoch": 1, "input": "hi", "target": ""}
    found = validate(
        log(tmp_path, {"samples/1_epoch_1.json": row(), "header.json": header, "summaries.json": [summary]})
    )
    assert {each.level for each in found} == {"warning"}
    assert "header.json, eval.packages" in {each.place for each in found}
    assert "_journal/start.json" in {each.place for each in found}


@pytest.mark.parametrize(
    ("summary_id", "member", "listed"),
    [(1, "1", ["other"]), (1, "2", [1]), ("1", "1", [1]), (2, "1", [1])],
    ids=["not in sample_ids", "other member name", "other type", "other summary"],
)
def test_a_broken_id_rule_is_an_error(summary_id: Any, member: str, listed: list[Any], tmp_path: Path) -> None:
    header = {**HEADER, "eval": {**HEADER["eval"], "dataset": {"sample_ids": listed}}}
    summary = {"id": summary_id, "epoch": 1, "input": "hi", "target": ""}
    members = {f"samples/{member}_epoch_1.json": row(), "header.json": header, "summaries.json": [summary]}
    errors = [each for each in validate(log(tmp_path, members)) if each.level == "error"]
    assert any(f"samples/{member}_epoch_1.json, id" == each.place for each in errors)


# The corpus


def _files(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in (".eval", ".json")]
    return [path for path in found if path.name != "expected.json"]


@needs_corpus
@pytest.mark.parametrize("path", _files(OWN), ids=lambda path: path.name)
def test_own_recordings_read_as_the_table_says(path: Path) -> None:
    expected = json.loads((OWN / "expected.json").read_bytes())["files"][str(path.relative_to(OWN))]
    run = read(path)
    found = list(run.samples)
    if "status" in expected:
        assert run.status == expected["status"]
    if expected.get("samples") is not None:
        told = sorted(expected["samples"], key=lambda each: (each["epoch"], str(each["id"])))
        mine = sorted(found, key=lambda each: (each.epoch or 0, each.id))
        assert [each.id for each in mine] == [str(each["id"]) for each in told]
        for sample, want in zip(mine, told, strict=True):
            assert sample.trajectory is not None
            steps = [step for step in sample.trajectory.steps if not step.extra.get("inspect", {}).get("beside")]
            assert len(steps) == want["messages"]
            assert len(sample.trajectory.extra["inspect"]["events"]) == want["events"]
            assert [score.name for score in sample.scores] == list(want["scores"])
            assert (sample.trajectory.outcome is not None) == (want["error"] or want["limit"] is not None)
            usage = sample.trajectory.usage or {}
            assert sum(each.total or 0 for each in usage.values()) == want["total_tokens"]
    if expected["reads"]["summaries"] == "ok":
        assert path.suffix == ".json" or len(summaries(path)) == len(found)
    else:
        with pytest.raises(ReadError):
            summaries(path)


def written_in(path: Path) -> dict[str, Any]:
    """Everything a log says, member by member."""
    if path.suffix == ".json":
        return {"document": json.loads(path.read_bytes())}
    with zip_archive.reading(path) as archive:
        return {name: json.loads(bytes(archive.read(name))) for name in archive.members}


@needs_corpus
@pytest.mark.parametrize("path", [*_files(OWN), *_files(PUBLIC)], ids=lambda path: path.name)
def test_a_log_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    """Header, samples, summaries, reductions and journal; only a log with errors is repaired, as the report says."""
    target = tmp_path / f"out{path.suffix}"
    report = convert(path, target, to="inspect")
    if any(each.level == "error" for each in validate(path)):
        assert report.losses or written_in(target) == written_in(path)
        assert [each.id for each in read(target).samples] == [each.id for each in read(path).samples]
    else:
        assert not report.losses
        assert repr(written_in(target)) == repr(written_in(path)) or written_in(target) == written_in(path)


@pytest.mark.parametrize("name", ["basic.eval", "basic_cut.json", "crafted_minimal.eval", "partial_kill.eval"])
def test_a_log_comes_back_through_the_native_format(name: str, tmp_path: Path) -> None:
    native, target = tmp_path / "x.trace.jsonl", tmp_path / f"out{Path(name).suffix}"
    convert(GOLDEN / name, native, to="native")
    convert(native, target, to="inspect")
    assert written_in(target) == written_in(GOLDEN / name)


@pytest.mark.parametrize("ids", [list(range(1, 80)), [1, 2, 3, 4, 5], None])
def test_the_size_of_a_dataset_is_not_the_number_of_samples(ids: list[int] | None, tmp_path: Path) -> None:
    members = written_in(GOLDEN / "basic.eval")
    for name in ("header.json", "_journal/start.json"):
        members[name]["eval"]["dataset"] |= {"samples": 79, "sample_ids": ids}
    path, target, part = log(tmp_path, members), tmp_path / "out.eval", tmp_path / "part.eval"
    assert not convert(path, target, to="inspect").losses
    assert written_in(target) == members
    convert(path, part, to="inspect", selection=Selection(limit=2))
    dataset = written_in(part)["header.json"]["eval"]["dataset"]
    assert dataset["samples"] == 79
    assert dataset["sample_ids"] == ([1, 2] if ids else None), "readers walk this list"


EMPTIES: list[Any] = [None, [], {}, "", "absent"]


@pytest.mark.parametrize("empty", EMPTIES, ids=repr)
def test_what_is_empty_stays_empty_and_what_is_absent_absent(empty: Any, tmp_path: Path) -> None:
    """Put nothing in the place of something, key by key: whatever can still be read comes back as it stood."""
    (row,) = written_in(GOLDEN / "basic_cut.json")["document"]["samples"][:1]
    message = {"id": "m" * 20, "role": "assistant", "model": "m", "source": "generate", "metadata": {"a": 1}}
    call = {"id": "c1", "function": "f", "arguments": {"x": 1}, "type": "function"}
    thought = {"type": "reasoning", "reasoning": "r", "summary": "s", "signature": "t", "redacted": True}
    cited = {"type": "text", "text": "t", "citations": [{"type": "url", "url": "u", "cited_text": "c", "title": "t"}]}
    picture = {"type": "image", "image": "data:image/png;base64,aGk=", "detail": "auto"}
    answer = {"id": "n" * 20, "role": "tool", "content": "o", "tool_call_id": "c1", "function": "f"}
    answer["error"] = {"type": "timeout", "message": "late"}
    row = {**row, "messages": [{**message, "content": [thought, cited, picture], "tool_calls": [call]}, answer]}
    tried = 0
    for place in objects(row):
        if place[:1] in (("events",), ("events_data",), ("output",)):
            continue  # kept whole
        for key in inner_of(row, place).keys() - (set() if place else {"id", "epoch"}):
            changed = deepcopy(row)
            inner = inner_of(changed, place)
            if empty == "absent":
                del inner[key]
            else:
                inner[key] = empty
            try:
                sample = load(deepcopy(changed))
            except (ReadError, KeyError, TypeError, ValueError, AttributeError):
                continue
            tried += 1
            written = json.loads(encode(dump(sample)))
            if errors_of(changed):
                # inspect_ai would refuse it as it stands: it comes back set right.
                assert not errors_of(written), (*place, key)
            else:
                assert written == changed, (*place, key)
    assert tried > 60


def errors_of(row: dict[str, Any]) -> list[Any]:
    assert FORMAT.check is not None
    return [each for each in FORMAT.check(row) if each.level == "error"]


def objects(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from objects(item, (*place, key))


def inner_of(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


@needs_corpus
def test_model_calls_of_a_grader_are_a_child_of_their_own() -> None:
    name = "scout_security-guide_2025-09-23.eval"
    sample = next(iter(read(PUBLIC / name).samples))
    assert sample.trajectory is not None
    (grader,) = sample.trajectory.children
    assert grader.extra["inspect"]["span"] == "scorer"
    assert final_response(sample.trajectory) != final_response(grader)


def test_registered_by_name() -> None:
    assert by_name("inspect") is FORMAT


@needs_corpus
@pytest.mark.corpus
def test_the_grader_of_a_log_without_spans_is_not_the_agent() -> None:
    [file] = (CORPUS / "public/inspect").rglob("*input-task_hxs*.eval")
    [sample] = read(file).samples
    trajectory = sample.trajectory
    assert trajectory is not None
    assert (final_response(trajectory) or "").startswith("Yo, fam!")
    [grader] = trajectory.children
    assert (grader.title, grader.purpose == "grader") == ("model_graded_fact", True)
    assert (final_response(grader) or "").startswith("The submission")
