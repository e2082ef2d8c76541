"""`pantrace run` puts a question to a solver with `inspect eval`: calls and tokens equal the model's own log."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

from inspect_ai.dataset import csv_dataset

import pantrace
from pantrace.engine.read import Notes
from pantrace.engine.run_cases import dataset, questions
from pantrace.model import call_pairs, final_response, is_prompt, step_text, usage_total
from peers.agents.scripted_model import scripted_model

SOLVER = '''
from pathlib import Path

from inspect_ai.solver import chain, generate, solver, use_tools
from inspect_ai.tool import tool


@tool
def bash():
    async def execute(command: str) -> str:
        """Show a file.

        Args:
            command: The command, of which only the last word counts.
        """
        return Path(command.split()[-1]).read_text()

    return execute


@solver
def shop():
    return chain([use_tools([bash()]), generate()])
'''
QUESTION = "-- What does [the] note: say, 'please'?"


def test_a_solver_is_asked_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SOLVER)
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "note.txt").write_text("42\n")
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "note/1", "question": QUESTION, "reference": "42"}) + "\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with scripted_model() as model:
        given = {**os.environ, "PATH": path, "SCRIPTED_API_KEY": "x", "SCRIPTED_BASE_URL": f"{model.url}/v1"}
        agent = "inspect:--model openai-api/scripted/scripted-1 --solver shop.py@shop"
        command = [sys.executable, "-m", "pantrace", "run", "q.jsonl", "--agent", agent, "--fixtures", "fixtures"]
        done = subprocess.run(
            [*command, "--out", "out", "--no-eval", "--json", "--timeout", "300"],
            cwd=tmp_path,
            env=given,
            capture_output=True,
            check=True,
        )
    (ran,) = json.loads(done.stdout)["agents"]
    assert ran["failed"] == [], done.stderr
    (sample,) = pantrace.read(tmp_path / "out" / "recordings" / "run.trace.jsonl").samples
    told = sample.trajectory
    assert told is not None and sample.case is not None and sample.case.reference == "42"
    assert [step_text(step) for step in told.steps if is_prompt(step)] == [QUESTION]
    (pair,) = call_pairs(told)
    assert pair.result is not None and pair.result.output == "42\n"
    assert str(final_response(told)).startswith("The note says 42")
    total = usage_total(told)
    assert total is not None and len(model.calls) == 2
    assert total.input == sum(each["input"] for each in model.calls)
    assert total.output == sum(each["output"] for each in model.calls)


ROWS = [
    {"input": "2+2?", "target": "B", "choices": "3, 4,5", "id": "sum"},
    {"input": "3+3?", "target": "A", "choices": "6 7", "id": "9"},
    {"input": "Say hello, twice", "target": "hello", "choices": "", "id": "x"},
]


def test_a_csv_dataset_is_read_as_inspect_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    theirs = list(csv_dataset(str(path)))
    ours = list(questions(dataset([path], {}, Notes()), follow_up=False))
    assert [(str(each.id), each.input, each.target, tuple(each.choices or ())) for each in theirs] == [
        (each.id, each.case.question, each.case.reference, each.case.choices or ()) for each in ours
    ]
