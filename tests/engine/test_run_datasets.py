"""Datasets of Inspect and of tau-bench: what is asked, what is expected, which files are there, who plays the user."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import pantrace
from goldens import ROOT
from pantrace.engine.read import Notes
from pantrace.engine.run import Ran, read_recording, run_cases
from pantrace.engine.run_cases import Asked, dataset, questions
from pantrace.engine.run_files import place_files
from pantrace.engine.run_trial import Conditions
from pantrace.engine.select import Selection
from pantrace.engine.simulated_user import BEFORE, END, SimulatedUser
from pantrace.engine.where import parse_where
from pantrace.errors import ReadError, UsageError
from pantrace.judges import Reply
from pantrace.model import Sample, Usage, final_response, is_prompt, step_text, usage_total
from scripted import Scripted


def asked_of(path: Path, **columns: str) -> list[Asked]:
    return list(questions(dataset([path], columns, Notes()), follow_up=False))


def ran(folder: Path, asked: list[Asked], agent: str, **given: Any) -> tuple[Ran, Sample]:
    conditions = Conditions(folder=folder / "w", read=read_recording, environment=dict(os.environ), **given)
    (found,) = run_cases(asked, {"": agent}, folder / "out", conditions)
    (sample,) = pantrace.read(found.recordings).samples
    return found, sample


INSPECT = {
    "id": 7,
    "input": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is in the note?"}]},
        {"role": "user", "content": "And how long is it?"},
    ],
    "target": ["forty-two", "42"],
    "metadata": {"level": "easy", "points": 3},
    "files": {"note.txt": "forty-two", "deep/copy.txt": "beside.txt", "raw": "data:text/plain;base64,AP8="},
    "setup": "touch owned",
    "sandbox": ["docker", "compose.yaml"],
}


def test_a_sample_of_inspect_is_asked_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "beside.txt").write_text("from beside")
    (tmp_path / "data.json").write_text(json.dumps([INSPECT]))
    (asked,) = asked_of(tmp_path / "data.json")
    assert asked.turns == ("What is in the note?", "And how long is it?")
    assert (asked.id, asked.case.reference) == ("7", "forty-two\n42")
    assert asked.case.labels == {"level": "easy"} and asked.case.extra["inspect"]["metadata"] == {"points": 3}
    code = "import os; print(open('note.txt').read(), open('deep/copy.txt').read(), open('raw', 'rb').read())"
    found, sample = ran(tmp_path, [asked], f"cmd:{sys.executable} -c {json.dumps(code)}")
    assert sample.trajectory is not None
    assert final_response(sample.trajectory) == r"forty-two from beside b'\x00\xff'"
    # They were there before the agent began: it changed nothing.
    assert [step.kind for step in sample.trajectory.steps] == ["message"] * 4
    told = "\n".join(found.remarks)
    assert "setup script is not run" in told and "sandbox docker" in told and "not the user's" in told
    assert not (tmp_path / "owned").exists()


def test_a_csv_of_inspect_is_read_as_inspect_reads_it(tmp_path: Path) -> None:
    rows = ["input,target,choices,metadata,level", '2+2?,B,"3, 4,5","{""topic"": ""sums""}",easy', "3+3?,A,6 7,,hard"]
    (tmp_path / "q.csv").write_text("\n".join(rows) + "\n")
    first, second = asked_of(tmp_path / "q.csv")
    (turn,) = first.turns
    assert turn.startswith("2+2?\n\nA) 3\nB) 4\nC) 5\n\n") and "letter" in turn
    assert first.case.question == "2+2?" and first.case.reference == "B"
    assert first.case.labels == {"level": "easy", "topic": "sums"} and second.case.choices == ("6", "7")
    wanted = Selection(where=(parse_where("label.level=hard"),), limit=1)
    samples = wanted.apply(dataset([tmp_path / "q.csv"], {}, Notes()))
    assert [each.id for each in questions(samples, follow_up=False)] == ["2"]
    (tmp_path / "q.csv").write_text("input,target,files\nq,a,not json\n")
    with pytest.raises(ReadError, match="files is not JSON") as failed:
        asked_of(tmp_path / "q.csv")
    assert failed.value.place == "row 1"


def test_the_dataset_of_a_log_is_asked_again() -> None:
    """Each sample once, whatever the number of its epochs, with target and choices."""
    logs = sorted((ROOT / "inspect").glob("*.eval"))
    assert logs
    for path in logs:
        asked = asked_of(path)
        samples = list(pantrace.read(path).samples)
        assert len(asked) == len({each.id for each in samples})
        targets = {each.id: each.case.reference for each in samples if each.case}
        assert {each.id: each.case.reference for each in asked} == targets


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("../out.txt", "x", "outside the workspace"),
        ("/elsewhere/out.txt", "x", "outside the workspace"),
        ("a", "/etc/hostname", "not next to the dataset"),
        ("a", "../secret.txt", "not next to the dataset"),
        ("a", "link.txt", "not next to the dataset"),
        ("a", "https://example.org/x", "nothing is downloaded"),
        ("linked/a", "x", "through a link"),
        ("linked/new/a", "x", "through a link"),
        ("a", "data:;base64,%%%", "could not be written"),
    ],
)
def test_a_dataset_reads_and_writes_nowhere_else(name: str, value: str, why: str, tmp_path: Path) -> None:
    beside, workspace, outside = tmp_path / "data", tmp_path / "workspace", tmp_path / "outside"
    for each in (beside, workspace, outside):
        each.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (beside / "link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "linked").symlink_to(outside)
    (remark,) = place_files(workspace, {name: value}, str(beside))
    assert why in remark
    assert [each.name for each in workspace.iterdir()] == ["linked"] and not list(outside.iterdir())
    assert not (tmp_path / "out.txt").exists()


def answers(question: str, recorder: Any) -> None:
    recorder.model(f"about: {question}", model="m", usage={"input": 100, "output": 10})


def test_a_task_of_tau_bench_is_played_by_a_simulated_user(tmp_path: Path) -> None:
    refused, booked = asked_of(ROOT / "tau-tasks" / "garden_2.json")
    assert refused.is_scenario and refused.turns == () and refused.case.question is None
    assert [call.name for call in refused.case.expected_calls or ()] == ["find_order"]
    assert refused.case.labels == {"domain": "garden_shop", "persona": "Friendly, in a hurry"}
    lines = iter(["Can I book a visit?", "On Monday.", END])
    user = Scripted(lambda _: Reply(text=next(lines), usage=Usage(input=50, output=5), model="u"))
    played = SimulatedUser("openai:u", lambda: user)
    _, sample = ran(tmp_path, [booked], f"python:{__name__}:answers", user=played)
    told = sample.trajectory
    assert told is not None and BEFORE in user.requests[0].prompt
    assert "visit the garden on Monday" in user.requests[0].system
    prompts = [step for step in told.steps if is_prompt(step)]
    assert [step_text(step) for step in prompts] == ["Can I book a visit?", "On Monday."]
    assert {step.purpose for step in prompts} == {"simulated_user"}
    total = usage_total(told)
    assert total is not None and (total.input, total.output) == (200, 20)
    # What is expected goes along, so that calls are measured against it.
    assert sample.case is not None and sample.case.expected_calls == booked.case.expected_calls
    with pytest.raises(UsageError, match="name a model with user"):
        ran(tmp_path / "x", [booked], f"python:{__name__}:answers")


def test_a_user_who_says_nothing_is_no_silent_pass(tmp_path: Path) -> None:
    (first, _) = asked_of(ROOT / "tau-tasks" / "garden_1.json")
    assert first.id.startswith("alex_moor_71-") and first.case.reference == "12"
    user = SimulatedUser("openai:u", lambda: Scripted(lambda _: Reply(text=END, model="u")))
    found, _ = ran(tmp_path, [first], f"python:{__name__}:answers", user=user)
    assert "the simulated user said nothing" in found.failed[0][1]
