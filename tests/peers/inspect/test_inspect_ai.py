"""inspect_ai reads what pantrace writes: rewritten logs equal the originals, foreign samples work in every reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.analysis import events_df, messages_df, samples_df
from inspect_ai.log import (
    EvalLog,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
    write_eval_log,
)

from corpus import CORPUS, needs_corpus
from pantrace.engine.convert import convert, write_run
from pantrace.engine.read import read
from pantrace.formats.inspect import resolved_events
from pantrace.model import (
    Action,
    Agent,
    Media,
    Point,
    Run,
    Sample,
    Score,
    Step,
    StepError,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)

GENERATED = CORPUS / "own" / "inspect" / "generated"
NATIVE = Path(__file__).parents[2] / "golden" / "native" / "every_part.trace.jsonl"


def _logs() -> list[Path]:
    return [path for path in sorted(GENERATED.glob("*")) if path.suffix in (".eval", ".json")]


def content(log: EvalLog) -> dict[str, Any]:
    """All that a log says, samples in one order."""
    told = log.model_dump()
    told["samples"] = sorted(told["samples"] or [], key=lambda each: (each["epoch"], str(each["id"])))
    return told


@needs_corpus
@pytest.mark.parametrize("suffix", [".eval", ".json"])
@pytest.mark.parametrize("compression", ["zstd", "deflate"])
@pytest.mark.parametrize("path", _logs(), ids=lambda path: path.name)
def test_a_rewritten_log_equals_the_original(path: Path, compression: str, suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"out{suffix}"
    convert(path, target, to="inspect", options={"compression": compression})
    before, after = read_eval_log(str(path)), read_eval_log(str(target))
    assert repr(content(after)) == repr(content(before))
    header = read_eval_log(str(target), header_only=True)
    assert header.eval == read_eval_log(str(path), header_only=True).eval
    assert header.status == before.status


def _corpus() -> list[Path]:
    found = [path for pattern in ("own/inspect/*/*", "public/inspect/*/*") for path in CORPUS.glob(pattern)]
    return sorted(path for path in found if path.suffix in (".eval", ".json"))


@needs_corpus
@pytest.mark.parametrize("path", _corpus(), ids=lambda path: path.name)
def test_every_log_is_the_same_to_inspect_after_writing_it_anew(path: Path, tmp_path: Path) -> None:
    """A log that inspect_ai refuses is repaired, and the report says so."""
    target = tmp_path / f"out{path.suffix}"
    report = convert(path, target, to="inspect")
    after = read_eval_log(str(target))
    try:
        before, again = read_eval_log(str(path)), read_eval_log(str(path))
    except ValueError:
        assert report.losses
        return
    if repr(content(before)) == repr(content(again)):  # else Inspect itself invents ids and times, anew each time
        assert repr(content(after)) == repr(content(before))
    assert len(after.samples or ()) == len(before.samples or ())
    assert after.results == before.results
    # A list of ids that does not name the samples is repaired, as the report says.
    assert after.eval == before.eval or any("sample_ids" in path for path, _, _ in report.losses)


@needs_corpus
@pytest.mark.parametrize("path", [path for path in _logs() if path.suffix == ".eval"], ids=lambda path: path.name)
def test_summaries_say_the_same(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.eval"
    convert(path, target, to="inspect")
    before = {(each.id, each.epoch): each for each in read_eval_log_sample_summaries(str(path))}
    after = {(each.id, each.epoch): each for each in read_eval_log_sample_summaries(str(target))}
    assert after.keys() == before.keys()
    for key, summary in after.items():
        told, meant = summary.model_dump(), before[key].model_dump()
        for each in (told, meant):
            each["retries"] = each["retries"] or 0  # Inspect itself writes null or 0
        assert repr(told) == repr(meant)


@needs_corpus
@pytest.mark.parametrize("path", _logs(), ids=lambda path: path.name)
def test_pools_resolve_as_inspect_resolves_them(path: Path) -> None:
    theirs = {(str(s.id), s.epoch): s for s in read_eval_log(str(path), resolve_attachments=True).samples or []}
    for sample in read(path).samples:
        other = theirs[(sample.id, sample.epoch or 0)]
        ours = [each for each in resolved_events(sample) if each["event"] == "model"]
        models = [each for each in other.events if each.event == "model"]
        assert len(ours) == len(models)
        for mine, model in zip(ours, models, strict=True):
            assert [message["content"] for message in mine["input"]] == [message.content for message in model.input]
            if model.call is not None:
                assert mine["call"]["request"] == model.call.request


def multi_turn() -> Sample:
    """A sample as other agents give them: answers in the step of their call, objects, errors, clicks."""
    shot = Media(id="shot", mime="image/png", data="aGk=", size=(800, 600))
    child = Trajectory(
        id="child",
        parent="main",
        caller="c3",
        created=105.0,
        agents=(Agent(name="explorer"),),
        steps=(
            Step(role="user", parts=(Text(text="look around"),)),
            Step(
                role="agent", model="m/two", parts=(Text(text="I looked."),), usage=Usage(input=5, output=2), at=105.5
            ),
        ),
    )
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return Sample(
        id="odd id/with slash",
        trajectory=Trajectory(
            id="main",
            created=100.0,
            ended=110.0,
            agents=(Agent(name="build", model="m/one", tools=(Tool(name="read", parameters=schema),)),),
            steps=(
                Step(role="system", parts=(Text(text="Be brief."),)),
                Step(id="u1", role="user", parts=(Text(text="Read the file."), shot), at=100.0),
                Step(
                    id="a1",
                    role="agent",
                    agent="build",
                    model="m/one",
                    at=101.0,
                    ended=102.0,
                    usage=Usage(input=50, output=10, cache_read=30, reasoning=4),
                    parts=(
                        Thinking(text="I will read it."),
                        ToolCall(id="c1", name="read", arguments={"path": "a.txt"}),
                        ToolResult(call_id="c1", name="read", output={"text": "hello"}, started=101.5, ended=101.9),
                        ToolCall(id="c2", name="read", arguments="not an object"),
                        ToolResult(call_id="c2", error="no such file", failure="error"),
                    ),
                ),
                Step(id="u2", role="user", parts=(Text(text="Now click."),), at=103.0),
                Step(
                    id="a2",
                    role="agent",
                    at=104.0,
                    parts=(
                        Action(kind="click", target=Target(point=Point(x=0.5, y=0.5, space="normalised")), raw="CLICK"),
                        ToolCall(id="c3", name="task", arguments={}),
                    ),
                    error=StepError(kind="APIError", message="503"),
                ),
                Step(id="a3", role="agent", model="m/one", parts=(Text(text="A known sentence."),), at=109.0),
            ),
            state={"files": ["a.txt"]},
            children=(child,),
        ),
        scores=(
            Score(name="accuracy", value=0.5, explanation="half"),
            Score(name="safety", status="unscored"),
            Score(name="ok", value=True),
        ),
    )


@pytest.fixture(params=["native golden", "multi turn"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A log that pantrace made from samples of another format."""
    target = tmp_path / "out.eval"
    if request.param == "native golden":
        convert(NATIVE, target, to="inspect")
    else:
        again = Sample(id="second", epoch=2, trajectory=multi_turn().trajectory)
        write_run(Run(name="made", samples=[multi_turn(), again]), target, to="inspect")
    return target


def test_every_reader_reads_foreign_samples(written: Path) -> None:
    log = read_eval_log(str(written), resolve_attachments="full")
    assert log.status == "success"
    assert log.samples
    header = read_eval_log(str(written), header_only=True)
    assert header.eval == log.eval
    assert header.eval.dataset.sample_ids == list(dict.fromkeys(sample.id for sample in log.samples))
    summaries = read_eval_log_sample_summaries(str(written))
    assert {(each.id, each.epoch) for each in summaries} == {(each.id, each.epoch) for each in log.samples}
    for sample in log.samples:
        alone = read_eval_log_sample(str(written), id=sample.id, epoch=sample.epoch)
        assert len(alone.events) == len(sample.events)
        assert read_eval_log_sample(str(written), uuid=sample.uuid).id == sample.id
    streamed = list(read_eval_log_samples(str(written), all_samples_required=False))
    assert len(streamed) == len(log.samples)


def test_dataframes_of_foreign_samples_are_whole(written: Path) -> None:
    log = read_eval_log(str(written))
    samples = log.samples or []
    assert len(samples_df(str(written), quiet=True)) == len(samples)
    told = 0
    for sample in samples:
        models = [event for event in sample.events if event.event == "model"]
        told += len({message.id for event in models for message in [*event.input, event.output.message]})
    assert len(messages_df(str(written), quiet=True)) == told
    assert len(events_df(str(written), quiet=True)) == sum(len(sample.events) for sample in samples)


def test_actions_in_a_row_are_not_taken_for_repetitions(tmp_path: Path) -> None:
    clicks = tuple(
        Step(role="agent", parts=(Action(kind="click", target=Target(point=Point(x=x, y=0.5, space="normalised"))),))
        for x in (0.1, 0.2, 0.3)
    )
    steps = (Step(role="user", parts=(Text(text="Click three times."),)), *clicks)
    target = tmp_path / "out.eval"
    write_run(Run(samples=[Sample(id="gui", trajectory=Trajectory(id="t", steps=steps))]), target, to="inspect")
    roles = messages_df(str(target), quiet=True)["role"].tolist()
    assert roles.count("assistant") == 3
    assert [step.parts for sample in read(target).samples for step in sample.trajectory.steps] == [  # type: ignore[union-attr]
        step.parts for step in steps
    ]


def test_model_calls_have_their_real_inputs_and_tools_their_answers(tmp_path: Path) -> None:
    target = tmp_path / "out.eval"
    write_run(Run(samples=[multi_turn()]), target, to="inspect")
    (sample,) = read_eval_log(str(target), resolve_attachments="full").samples or []
    models = [event for event in sample.events if event.event == "model"]
    assert [len(event.input) for event in models] == [2, 6, 1, 8]
    assert [message.role for message in models[1].input][-3:] == ["tool", "tool", "user"]
    assert models[0].output.usage is not None
    assert models[0].output.usage.input_tokens == 20
    assert models[0].output.usage.total_tokens == 60
    assert models[0].tools[0].parameters.required == ["path"]
    assert models[1].error == "503"
    assert models[-1].output.completion == "A known sentence."
    assert sample.output.completion == "A known sentence."
    tools = {event.id: event for event in sample.events if event.event == "tool"}
    assert tools["c1"].result == '{"text":"hello"}'
    assert tools["c2"].error is not None
    assert tools["c2"].error.message == "no such file"
    assert tools["c3"].agent_span_id == "child"
    assert next(event for event in tools.values() if event.function == "computer").arguments["action"] == "click"
    picture = sample.messages[1].content[1]
    assert not isinstance(picture, str)
    assert picture.type == "image"
    assert picture.image == "data:image/png;base64,aGk="
    assert sample.store == {"files": ["a.txt"]}
    assert sample.scores is not None
    assert sample.scores["accuracy"].value == 0.5
    assert sample.model_usage["m/one"].output_tokens == 10


def test_a_log_that_inspect_wrote_anew_still_gives_the_whole_sample(tmp_path: Path) -> None:
    """Inspect condenses and orders a log its own way; what pantrace put beside it must survive that."""
    first, second = tmp_path / "first.eval", tmp_path / "second.eval"
    write_run(Run(samples=[multi_turn()]), first, to="inspect")
    write_eval_log(read_eval_log(str(first)), str(second))
    (before,), (after,) = read(first).samples, read(second).samples
    assert before.trajectory is not None
    assert after.trajectory is not None
    assert [step.parts for step in after.trajectory.steps] == [step.parts for step in before.trajectory.steps]
    assert after.scores == before.scores
    assert after.trajectory.state == before.trajectory.state
