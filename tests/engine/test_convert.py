"""Conversions as a whole: outputs, collisions, strictness, what rides along."""

from __future__ import annotations

from pathlib import Path

import pytest

import pantrace
from goldens import ROOT
from pantrace.engine.convert import convert, write_run
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.select import Selection
from pantrace.errors import LossRefused, NothingWritten, ReadError, UsageError, WriteError
from pantrace.formats import all_formats, by_name
from pantrace.model import Aggregate, Loss, Purpose, Run, Sample, Step, Text, ToolCall, Trajectory, Usage, step_text

SESSION = ROOT / "opencode/bad_tool_calls.json"
EVALUATION = ROOT / "openadapt-eval/v1_full.json"


def test_a_loss_with_strict_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(LossRefused):
        convert(SESSION, tmp_path / "new" / "out.json", to="vertex-seed", strict=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "to"),
    [
        (SESSION, "vertex-seed"),  # lines: values of a sample are lost
        (ROOT / "native/every_part.trace.jsonl", "explain"),  # a container: the header is lost
        (EVALUATION, "explain"),  # nothing can be written at all
        (SESSION, "openadapt-episodes"),  # one file per sample
    ],
)
def test_what_was_there_stays_when_strict_refuses(tmp_path: Path, source: Path, to: str) -> None:
    target = tmp_path / "out.json"
    target.write_text("mine")
    with pytest.raises((LossRefused, NothingWritten), match="nothing was written"):
        convert(source, target, to=to, strict=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"out.json": "mine"}


def test_what_was_there_stays_when_a_sample_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "in.trace.jsonl").write_text('{"pantrace": "1"}\n{"id": "a"}\n{"id": 3}\n')
    for to, name in (("native", "out.trace.jsonl"), ("adk-jsonl", "out.jsonl"), ("inspect", "out.eval")):
        (tmp_path / name).write_text("mine")
        with pytest.raises(ReadError, match="not a sample"):
            convert(tmp_path / "in.trace.jsonl", tmp_path / name, to=to, strict=True)
        assert (tmp_path / name).read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 4


def test_strict_needs_losses_to_be_measured(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="measured"):
        convert(SESSION, tmp_path / "out.json", to="vertex-seed", strict=True, measure=False)


def test_nothing_lost_with_strict_is_written(tmp_path: Path) -> None:
    report = convert(SESSION, tmp_path / "out.trace.jsonl", to="native", strict=True)
    assert report.outputs == [tmp_path / "out.trace.jsonl"]


def test_what_rides_along_is_told_apart_from_what_is_kept(tmp_path: Path) -> None:
    report = convert(SESSION, tmp_path / "out.eval", to="inspect")
    assert not report.losses
    assert report.carried["trajectory.steps[].turn"] == 5


def test_one_sample_per_file(tmp_path: Path) -> None:
    report = convert([SESSION, ROOT / "opencode/api_error_400.json"], tmp_path / "out", to="opencode")
    assert sorted(path.name for path in report.outputs) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(report.outputs) == 2
    with pytest.raises(UsageError, match="one sample per file: name a directory"):
        convert([SESSION, ROOT / "opencode/api_error_400.json"], tmp_path / "one.json", to="opencode")
    assert not (tmp_path / "one.json").exists()


def test_sub_agents_are_rows_of_their_own_where_the_target_cannot_nest(tmp_path: Path) -> None:
    child = Trajectory(id="child", parent="p", steps=(Step(role="agent", parts=(Text(text="done"),)),))
    parent = Trajectory(id="p", children=(child,), steps=(Step(role="agent", parts=(ToolCall(name="task"),)),))
    run = Run(samples=[Sample(id="p", trajectory=parent)])
    assert write_run(run, tmp_path / "flat.json", to="vertex-seed").samples == 2
    assert write_run(run, tmp_path / "nested.trace.jsonl", to="native").samples == 1


def test_a_read_only_format_cannot_be_written(tmp_path: Path) -> None:
    for format_ in all_formats():
        if not format_.writes:
            with pytest.raises(UsageError, match="can be read but not written"):
                convert(SESSION, tmp_path / "out", to=format_.name)


def test_an_unwritable_target_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        convert(SESSION, tmp_path / "file" / "out.json", to="vertex-seed")


def test_the_public_functions(tmp_path: Path) -> None:
    run = pantrace.read(SESSION)
    report = pantrace.write(run, tmp_path / "out.json", to="vertex-seed")
    assert report.samples == 1
    assert pantrace.validate(tmp_path / "out.json") == []
    broken = pantrace.validate({"session_id": 3}, "vertex-seed")
    assert any(violation.place == "session_id" for violation in broken)
    with pytest.raises(ReadError, match="no such file"):
        pantrace.read(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="needs the name of its format"):
        pantrace.validate({"a": 1})


def test_a_directory_of_mixed_formats_is_one_pile(tmp_path: Path) -> None:
    run = pantrace.read(ROOT.parent.parent / "examples")
    formats = {
        sample.trajectory.source.format for sample in run.samples if sample.trajectory and sample.trajectory.source
    }
    assert formats == {"opencode", "adk-history", "inspect", "openadapt-episodes", "explain"}


WITHOUT_HEADER = [each.name for each in all_formats() if each.dump is not None and each.save is None]


@pytest.mark.parametrize("to", WITHOUT_HEADER)
def test_a_header_is_lost_value_by_value_where_there_is_no_place_for_it(tmp_path: Path, to: str) -> None:
    action = ROOT / "openadapt-episodes/legacy.json"
    source = action if to == "openadapt-episodes" else SESSION
    (sample,) = pantrace.read(source).samples
    results = (Aggregate(name="accuracy", value=0.5, n=4), Aggregate(name="f1", value=0.25))
    run = Run(name="nightly", model="m", config={"a": 1, "b": {"c": 2}}, results=results, samples=[sample])
    losses: list[Loss] = []
    target = tmp_path / f"out{by_name(to).suffix}"
    write_run(run, target, to=to, on_loss=losses.append)
    assert sorted(loss.path for loss in losses if loss.path.startswith("run.")) == [
        "run.config.a",
        "run.config.b.c",
        "run.model",
        "run.name",
        "run.results[0].n",
        "run.results[0].name",
        "run.results[0].value",
        "run.results[1].name",
        "run.results[1].value",
    ]
    assert {loss.why for loss in losses if loss.path.startswith("run.")} == {
        f"{to} holds samples, and nothing about the run"
    }


@pytest.mark.parametrize("to", WITHOUT_HEADER)
def test_the_name_of_a_file_is_no_value_of_it(tmp_path: Path, to: str) -> None:
    source = ROOT / ("openadapt-episodes/legacy.json" if to == "openadapt-episodes" else "vertex-seed/document.json")
    report = convert(source, tmp_path / ("out" if by_name(to).is_split else "out.jsonl"), to=to)
    assert not [path for path, _, _ in report.losses if path.startswith("run")]


def test_a_pile_loses_the_header_of_each_of_its_inputs(tmp_path: Path) -> None:
    for name, values in (("a", 2), ("b", 1)):
        run = Run(model=name, config=dict.fromkeys("xyz"[:values], 1), samples=[Sample(id=name)])
        write_run(run, tmp_path / "in" / f"{name}.trace.jsonl", to="native")
    losses: list[Loss] = []
    report = convert(tmp_path / "in", tmp_path / "all.trace.jsonl", to="native", on_loss=losses.append)
    assert report.headers == {"a.trace.jsonl": 3, "b.trace.jsonl": 2}
    assert [(loss.input, loss.path) for loss in losses] == [
        ("a.trace.jsonl", "run.model"),
        ("a.trace.jsonl", "run.config.x"),
        ("a.trace.jsonl", "run.config.y"),
        ("b.trace.jsonl", "run.model"),
        ("b.trace.jsonl", "run.config.x"),
    ]
    with pytest.raises(LossRefused, match="5 values would be lost"):
        convert(tmp_path / "in", tmp_path / "strict.trace.jsonl", to="native", strict=True)


@pytest.mark.parametrize("to", [each.name for each in all_formats() if each.writes])
def test_results_without_samples_are_kept_readable_or_not_written(tmp_path: Path, to: str) -> None:
    """An evaluation that stores numbers only must not become an empty file of which nothing was lost."""
    target = tmp_path / f"out{by_name(to).suffix}"
    losses: list[Loss] = []
    try:
        report = convert(EVALUATION, target, to=to, on_loss=losses.append)
    except NothingWritten as error:
        assert error.exit_code == 1
        values = [each.value for each in pantrace.read(EVALUATION).results if each.value is not None]
        assert sum(loss.path.endswith(".value") for loss in losses) == len(values)
        assert to in str(error)
        assert not list(tmp_path.iterdir())
    else:
        assert pantrace.read(target).results == pantrace.read(EVALUATION).results
        assert not report.losses
        assert by_name(to).save is not None


def test_samples_that_are_all_refused_leave_nothing_to_write(tmp_path: Path) -> None:
    losses: list[Loss] = []
    for target in ("out.json", "folder"):
        with pytest.raises(NothingWritten, match=r"the only sample cannot be written as opencode: .*has not been run"):
            convert(ROOT / "adk-evalset/turns.test.json", tmp_path / target, to="opencode", on_loss=losses.append)
    assert not list(tmp_path.iterdir())
    assert [loss.what for loss in losses if loss.path == "sample"] == ["refused", "refused"]


@pytest.mark.parametrize("to", ["adk-evalset", "adk-golden"])
def test_a_case_that_was_run_twice_is_stated_once(tmp_path: Path, to: str) -> None:
    prompt = Trajectory(steps=(Step(role="user", parts=(Text(text="hello"),)),))
    samples = [Sample(id=name, epoch=epoch, trajectory=prompt) for name in "ab" for epoch in (1, 2)]
    target = tmp_path / f"out{by_name(to).suffix}"
    report = write_run(Run(samples=samples), target, to=to)
    assert [name for name, _ in report.refused] == ["a", "b"]
    assert all(why.startswith("epoch 2: ") for _, why in report.refused)
    assert [sample.id for sample in pantrace.read(target).samples] == ["a", "b"]


def test_a_sample_that_a_log_has_no_word_for_does_not_sink_the_others(tmp_path: Path) -> None:
    """A step of Qwen Code is a message; of a sample without any, its reader would make nothing."""
    prompt = Trajectory(steps=(Step(role="user", parts=(Text(text="hello"),)),))
    samples = [Sample(id="empty", trajectory=Trajectory()), Sample(id="full", trajectory=prompt)]
    for carry in (True, False):
        report = write_run(Run(samples=samples), tmp_path / str(carry), to="qwen-code", carry=carry)
        assert [name for name, _ in report.refused] == ["empty"]
        assert report.samples == 1


def test_a_choice_of_no_sample_leaves_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(NothingWritten, match="1 sample was read, but none was selected"):
        convert(SESSION, tmp_path / "out", to="native", selection=Selection(since=4e9))
    assert not list(tmp_path.iterdir())


def test_several_evaluations_without_samples_do_not_become_one_empty_run(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(EVALUATION.read_bytes())
    with pytest.raises(NothingWritten, match="2 inputs have no samples"):
        convert([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "out.trace.jsonl", to="native")
    assert not (tmp_path / "out.trace.jsonl").exists()


HOSTILE = [
    "task/1",
    "task:1",
    "task_1",
    "..",
    "",
    ".",
    "a\0b",
    "\x1b[31m",
    "A",
    "a",
    "x" * 300,
    "語" * 150,
    "CON",
    "-rf",
]


def written_by(ids: list[str]) -> Run:
    trajectory = Trajectory(steps=(Step(role="user", parts=(Text(text="hi"),)), Step(role="agent")))
    return Run(samples=[Sample(id=each, trajectory=trajectory) for each in ids])


@pytest.mark.parametrize("to", ["opencode", "adk-session"])
def test_ids_that_are_no_file_names(tmp_path: Path, to: str) -> None:
    report = write_run(written_by(HOSTILE), tmp_path / "out", to=to)
    found = {path.name: path for path in (tmp_path / "out").iterdir()}
    assert len(found) == len({name.casefold() for name in found}) == len(HOSTILE)
    assert sorted(path.name for path in report.outputs) == sorted(found)
    assert {sample for sample, _ in report.named} >= {*HOSTILE} - {"task_1", "A", "a"}
    for sample, name in report.named:
        (read,) = pantrace.read(found[name], format=to).samples
        assert read.id == sample
    assert {sample.id for sample in read_pile([tmp_path / "out"], notes=Notes()).samples} == {*HOSTILE}


def test_the_same_samples_have_the_same_files_in_a_folder_that_is_written_again(tmp_path: Path) -> None:
    write_run(written_by(["task/1", "task:1"]), tmp_path, to="opencode")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_run(written_by(["task:1"]), tmp_path, to="opencode")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_no_epoch_is_the_first_one(tmp_path: Path) -> None:
    """An archive would hold two members of one name, of which only the last is read."""
    run = Run(samples=[Sample(id="a", epoch=epoch) for epoch in (None, 1, 2)])
    report = write_run(run, tmp_path / "out.eval", to="inspect")
    assert report.renamed == [("a", "other/a")]
    assert len(list(pantrace.read(tmp_path / "out.eval").samples)) == 3


def _graded() -> Sample:
    """An agent with a sub-agent, a grader, and a simulated user inside the sub-agent."""

    def talk(
        name: str, purpose: Purpose = "agent", tokens: int = 1, children: tuple[Trajectory, ...] = ()
    ) -> Trajectory:
        usage = Usage(input=tokens, output=tokens, total=2 * tokens)
        steps = (
            Step(role="user", parts=(Text(text=f"ask {name}"),)),
            Step(role="agent", parts=(Text(text=f"words of {name}"),), usage=usage),
        )
        return Trajectory(id=name, purpose=purpose, steps=steps, children=children)

    helper = talk("helper", tokens=10, children=(talk("customer", "simulated_user", 1000),))
    return Sample(id="main", trajectory=talk("main", children=(helper, talk("judge", "grader", 1000))))


@pytest.mark.parametrize("to", ["opencode", "explain", "vertex-seed", "adk-session"])
def test_graders_and_simulated_users_are_no_rows_of_their_own(tmp_path: Path, to: str) -> None:
    target = tmp_path / ("out" if by_name(to).layout == "document" else f"out{by_name(to).suffix}")
    report = write_run(Run(samples=[_graded()]), target, to=to)
    assert report.samples == 2
    samples = list(read_pile([target], notes=Notes()).samples)
    assert {sample.id for sample in samples} == {"main", "helper"}
    spoken = [step_text(step) for sample in samples if sample.trajectory for step in sample.trajectory.steps]
    assert not [text for text in spoken if text and ("judge" in text or "customer" in text)]
    kept = b"words of judge" in b"".join(path.read_bytes() for path in report.outputs)
    lost = [path for path, _, _ in report.losses if path.startswith("trajectory.children")]
    assert kept or lost


def test_a_grader_stays_a_scorer_in_a_log_of_inspect(tmp_path: Path) -> None:
    target = tmp_path / "out.eval"
    assert not write_run(Run(samples=[_graded()]), target, to="inspect").losses
    (sample,) = read_pile([target], notes=Notes()).samples
    assert sample.trajectory is not None
    assert [child.purpose for child in sample.trajectory.children] == ["agent", "grader"]


COPIES = [
    *("vertex-seed/document.json", "vertex-flat/sessions.jsonl", "explain/report.json"),
    "adk-session/api_run_response.events.json",
]


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_compared_with_its_source_record_by_record(name: str, tmp_path: Path) -> None:
    """Items of a list, lines and documents: a copy that says the same is said to."""
    source = ROOT / name
    report = convert(source, tmp_path / source.name, to=name.partition("/")[0])
    assert not [loss for loss in report.losses if "copy" in loss[2]]


def test_a_copy_with_its_lines_in_another_order_says_so(tmp_path: Path) -> None:
    """Lines of sub-agents stand between those of the session; in the copy they follow it."""
    report = convert(ROOT / "claude-code/stream_json_subagent_stdout.jsonl", tmp_path / "out.jsonl", to="claude-code")
    why = "the copy differs from its source here"
    assert [(path, what) for path, what, reason in report.losses if reason == why] == [("[]", "moved")]
    assert report.lost == 0


@pytest.mark.parametrize("named", [None, "inspect"])
def test_a_copy_is_compared_even_if_the_user_names_the_format(named: str | None, tmp_path: Path) -> None:
    report = convert(ROOT / "inspect/crafted_stored.eval", tmp_path / "out.eval", to="inspect", format=named)
    assert ("eval.dataset.sample_ids[]", "changed", "the copy differs from its source here") in report.losses


def test_a_copy_that_says_it_otherwise_is_found_out(tmp_path: Path) -> None:
    """The document's own example counts its turns in another way than its conversation does."""
    report = convert(ROOT / "vertex-seed/document_example.json", tmp_path / "out.json", to="vertex-seed")
    why = "the copy differs from its source here"
    assert report.losses[("generated_trajectory[].turn", "changed", why)] == 1
