"""From a question to a recording: datasets, trials, resuming, budgets, simulated users, two agents compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from base64 import b64decode
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pantrace
from pantrace.agents import AgentFailed, Answer, Trial
from pantrace.engine.read import Notes
from pantrace.engine.run import Budget, Ran, read_recording, run_cases
from pantrace.engine.run_cases import Asked, dataset, questions
from pantrace.engine.run_trial import Conditions, try_case
from pantrace.engine.simulated_user import END, SimulatedUser
from pantrace.errors import ReadError, UsageError
from pantrace.judges import Reply
from pantrace.model import Case, Media, Sample, Step, Text, Usage, final_response, step_text, usage_total
from scripted import Scripted

CALLS: Counter[str] = Counter()
LOCK = threading.Lock()


def counting(question: str) -> str:
    with LOCK:
        CALLS[question] += 1
    if question == "break":
        raise RuntimeError("broken")
    return f"answer to {question}"


def spends(question: str, recorder: Any) -> None:
    recorder.model("done", model="gpt-4.1-mini", usage={"input": 1000, "output": 100})


def cases(*names: str) -> list[Asked]:
    return [Asked(id=name, case=Case(id=name, question=name), turns=(name,)) for name in names]


def conditions(folder: Path, **given: Any) -> Conditions:
    return Conditions(folder=folder / "workspaces", read=read_recording, environment=dict(os.environ), **given)


def ran(folder: Path, asked: list[Asked], function: str = "counting", **given: Any) -> Ran:
    (found,) = run_cases(asked, {"": f"python:{__name__}:{function}"}, folder, conditions(folder), **given)
    return found


def recorded(found: Ran) -> list[Sample]:
    return list(pantrace.read(found.recordings).samples)


def test_every_trial_is_recorded_once_and_failures_are_samples(tmp_path: Path) -> None:
    CALLS.clear()
    first = ran(tmp_path, cases("a", "break", "b/c"), trials=2, jobs=3)
    assert (first.ran, first.reused, len(first.failed)) == (6, 0, 2)
    samples = recorded(first)
    assert {(each.id, each.epoch) for each in samples} == {(name, n) for name in ("a", "break", "b/c") for n in (1, 2)}
    broken = next(each for each in samples if each.id == "break")
    assert broken.trajectory is not None and broken.trajectory.outcome is not None
    assert broken.trajectory.outcome.status == "error" and "RuntimeError: broken" in str(
        broken.trajectory.outcome.reason
    )
    again = ran(tmp_path, cases("a", "break", "b/c"), trials=3)
    assert (again.ran, again.reused) == (3, 6)
    assert CALLS == {"a": 3, "break": 3, "b/c": 3}
    assert not list((tmp_path / "workspaces").iterdir())


def test_a_case_that_has_changed_is_run_again(tmp_path: Path) -> None:
    ran(tmp_path, cases("a", "b"))
    changed = [*cases("a"), Asked(id="b", case=Case(id="b", question="other"), turns=("other",))]
    again = ran(tmp_path, changed)
    assert (again.ran, again.reused, again.superseded) == (1, 1, 1)
    answers = {each.id: final_response(each.trajectory) for each in recorded(again) if each.trajectory}
    assert answers == {"a": "answer to a", "b": "answer to other"}


def test_what_is_not_asked_for_now_is_not_set_aside(tmp_path: Path) -> None:
    ran(tmp_path, cases("a", "break"))
    few = ran(tmp_path, cases("a"), again=True)
    assert (few.ran, few.reused, few.answered, few.unanswered, few.superseded) == (0, 1, 1, 0, 0)
    whole = ran(tmp_path, cases("a", "break"))
    assert (whole.ran, whole.reused, whole.answered, whole.unanswered) == (0, 2, 1, 1)


def test_another_agent_needs_another_directory(tmp_path: Path) -> None:
    ran(tmp_path, cases("a"))
    with pytest.raises(UsageError, match="holds recordings of"):
        ran(tmp_path, cases("a"), "spends")


def test_budgets_stop_before_the_next_trial(tmp_path: Path) -> None:
    few = ran(tmp_path / "a", cases("a", "b", "c"), budget=Budget(trials=2))
    assert (few.ran, few.left, few.stopped) == (2, 1, "--budget-trials")
    rest = ran(tmp_path / "a", cases("a", "b", "c"))
    assert (rest.ran, rest.reused) == (1, 2)
    spent = ran(tmp_path / "b", cases("a", "b", "c"), "spends", budget=Budget(tokens=2000))
    assert (spent.ran, spent.tokens, spent.left) == (2, 2200, 1)
    assert spent.usd == pytest.approx(2 * (1000 * 0.4 + 100 * 1.6) / 1e6)
    called = ran(tmp_path / "c", cases("a", "b", "c"), "spends", budget=Budget(calls=1))
    assert (called.ran, called.calls, called.stopped) == (1, 1, "--budget-calls")


def test_a_program_that_is_not_there_is_said_before_anything_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-agent cannot be found: is it installed"):
        run_cases(cases("a"), {"": "cmd:no-such-agent {question}"}, tmp_path, conditions(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--where", "label.level=hrad"], "none matches --where 'label.level=hrad'"),
        (["--plan", "plan.toml"], "did you mean contains?"),
        (["--user", "openai:m"], "--user openai:m: it needs a key: set OPENAI_API_KEY"),
        (["--no-eval", "--junit", "x.xml"], "--junit has nothing to report"),
        (["--markdown", "q.csv"], "q.csv is an input"),
        (["--agent", "b=cmd:cat", "--junit", "x.xml"], "several agents need names"),
        (["--plan", "judged.toml"], "the judge needs a key: set OPENAI_API_KEY"),
        (["--plan", "two.toml", "--report", "x.json"], "these agents have a run directory each"),
        (["--plan", "named.toml", "--markdown", "q.csv"], "q.csv is an input"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_is_asked(words: list[str], why: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,level\na,hard\n")
    (tmp_path / "plan.toml").write_text('[measure]\nmetrics = ["contians"]\n')
    (tmp_path / "judged.toml").write_text('[judge]\nmodels = ["openai:m"]\n')
    (tmp_path / "two.toml").write_text('[run]\nagents = { a = "cmd:cat", b = "cmd:cat" }\n')
    (tmp_path / "named.toml").write_text('[run]\ndataset = ["q.csv"]\nagent = "cmd:touch asked"\n')
    given = [] if "two.toml" in words else ["--agent", "cmd:touch asked"]
    dataset = [] if "named.toml" in words else ["q.csv"]
    command = [sys.executable, "-m", "pantrace", "run", *dataset, *given, "--out", "out", *words]
    around = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI")}
    done = subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and why in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_workspaces_and_what_changed_in_them(tmp_path: Path) -> None:
    fixtures = tmp_path / "fixtures"
    (fixtures / "a").mkdir(parents=True)
    (fixtures / "a" / "notes.txt").write_text("one\ntwo\n")
    code = "open('notes.txt', 'a').write('three\\n'); open('new.txt', 'w').write('x'); print('ok')"
    command = f"cmd:{sys.executable} -c {json.dumps(code)}"
    given = conditions(tmp_path / "out", fixtures=fixtures)
    (found,) = run_cases(cases("a"), {"": command}, tmp_path / "out", given)
    ((sample),) = recorded(found)
    assert sample.trajectory is not None
    part = sample.trajectory.steps[-1].parts[0]
    assert isinstance(part, Media) and part.data is not None
    difference = b64decode(part.data).decode()
    assert "+three" in difference and "+++ b/new.txt" in difference and "-one" not in difference
    assert final_response(sample.trajectory) == "ok"
    assert (fixtures / "a" / "notes.txt").read_text() == "one\ntwo\n"
    assert sample.trajectory.invocations[0].seconds is not None


class Flaky:
    """Cannot be reached twice, then answers."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: str, trial: Trial) -> Answer:
        self.asked += 1
        if self.asked < 3:
            raise AgentFailed("error", "nobody listens", again=True)
        return Answer(steps=(Step(role="agent", parts=(Text(text="here"),)),))


def test_only_what_did_not_arrive_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pantrace.engine.run_trial.PAUSES", (0.0,))
    agent = Flaky()
    sample = try_case(cases("a")[0], 1, agent, conditions(tmp_path))
    assert sample.trajectory is not None and final_response(sample.trajectory) == "here"
    sample = try_case(cases("a")[0], 1, Flaky(), conditions(tmp_path, retries=1))
    assert sample.trajectory is not None and sample.trajectory.outcome is not None


def test_a_simulated_user_plays_on_and_pays_for_itself(tmp_path: Path) -> None:
    lines = iter(["Blue, please.", END])
    judge = Scripted(lambda _: Reply(text=next(lines), usage=Usage(input=50, output=5), model="u"))
    asked = Asked(
        id="s", case=Case(id="s", question="A hat", goal="buy a blue hat"), turns=("A hat",), is_scenario=True
    )
    user = SimulatedUser("openai:u", lambda: judge)
    (found,) = run_cases([asked], {"": f"python:{__name__}:spends"}, tmp_path, conditions(tmp_path, user=user))
    ((sample),) = recorded(found)
    assert sample.trajectory is not None
    prompts = [step for step in sample.trajectory.steps if step.role == "user"]
    assert [step_text(step) for step in prompts] == ["A hat", "Blue, please."]
    assert [step.purpose for step in prompts] == [None, "simulated_user"]
    total = usage_total(sample.trajectory)
    assert total is not None and total.input == 2000
    assert "buy a blue hat" in judge.requests[0].system and "Assistant: done" in judge.requests[0].prompt
    with pytest.raises(UsageError, match="name a model with user"):
        run_cases([asked], {"": f"python:{__name__}:spends"}, tmp_path / "x", conditions(tmp_path))


def good(question: str) -> str:
    return "yes" if int(question) % 10 < 9 else "no"


def poor(question: str) -> str:
    return "yes" if int(question) % 10 < 4 else "no"


def test_two_agents_take_turns_and_compare_finds_the_difference(tmp_path: Path) -> None:
    asked = [
        Asked(id=f"q{n}", case=Case(id=f"q{n}", question=str(n), reference="yes"), turns=(str(n),)) for n in range(40)
    ]
    agents = {"old": f"python:{__name__}:poor", "new": f"python:{__name__}:good"}
    old, new = run_cases(asked, agents, tmp_path, conditions(tmp_path))
    from pantrace.engine.evaluate import evaluate_into
    from pantrace.engine.plan import load_plan, prepare

    plan, text, folder = load_plan(None)
    for each in (old, new):
        evaluate_into([each.recordings], each.out, prepare(plan, folder, text, "plan"), text)
    found = pantrace.compare(old.out, new.out, metrics=["exact_match"])
    (row,) = found.comparisons
    assert row.difference is not None and row.difference.value == pytest.approx(0.5)
    assert row.verdict == "better"


def asked_of(path: Path, **columns: str) -> list[Asked]:
    return list(questions(dataset([path], columns, Notes()), follow_up=False))


def test_datasets(tmp_path: Path) -> None:
    table = tmp_path / "q.csv"
    table.write_text("id,question,answer,level\n1,How?,So,easy\n2,Why?,,hard\n")
    first, second = asked_of(table)
    assert (first.turns, first.case.reference, first.case.labels) == (("How?",), "So", {"level": "easy"})
    assert second.case.reference is None
    lines = tmp_path / "q.jsonl"
    lines.write_text('{"input": "How?", "target": "So", "metadata": {"a": 1}}\n')
    ((row),) = asked_of(lines)
    assert (row.id, row.case.question, row.case.reference) == ("1", "How?", "So")
    lines.write_text('{"frage": "Wie?"}\n')
    ((row),) = asked_of(lines, question="frage")
    assert row.turns == ("Wie?",)
    with pytest.raises(ReadError, match="no column has the question; there are frage"):
        asked_of(lines)
    with pytest.raises(ReadError, match="there is no column 'nosuch'"):
        asked_of(lines, question="nosuch")


def test_prompts_of_recordings_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "old.trace.jsonl"
    with pantrace.recorder(path, case="c") as rec:
        rec.user("first")
        rec.says("hm")
        rec.user("second")
    samples = list(pantrace.read(path).samples)
    ((one),) = questions(samples, follow_up=False)
    ((all_),) = questions(samples, follow_up=True)
    assert (one.turns, all_.turns) == (("first",), ("first", "second"))


def test_a_plan_names_dataset_and_agents(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "run"
    for each in ("questions.csv", "shop.py"):
        (tmp_path / each).write_bytes((example / each).read_bytes())
    table = 'dataset = ["questions.csv"]\nagents = { a = "python:shop:answer", b = "python:shop:answer" }\ntrials = 2'
    (tmp_path / "plan.toml").write_text(f'[run]\n{table}\n[measure]\nmetrics = ["contains"]\n[gate]\n')
    command = [sys.executable, "-m", "pantrace", "run", "--plan", "plan.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    # No profile decides anything, which is not a pass.
    assert done.returncode == 3, done.stderr
    assert "a: 6 trials run" in done.stderr and "3 pairs" in done.stdout + done.stderr
    assert (tmp_path / "out" / "b" / "run.json").exists()


def test_what_lies_in_a_run_directory_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question\nq\n")
    code = "import shutil, sys; shutil.copy(sys.argv[1], 'copy.csv'); print('ok')"
    agent = f"cmd:{sys.executable} -c {json.dumps(code)} {tmp_path / 'q.csv'}"
    command = [
        sys.executable,
        "-m",
        "pantrace",
        "run",
        "q.csv",
        "--agent",
        agent,
        "--out",
        "runs/one",
        "--keep-workspaces",
    ]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    kept = tmp_path / "runs" / "one" / "workspaces" / "1-1" / "workspace"
    (kept / "deep").mkdir()
    (kept / "deep" / "s.trace.jsonl").write_bytes((tmp_path / "runs/one/recordings/run.trace.jsonl").read_bytes())
    assert len(list(pantrace.read(tmp_path / "runs").samples)) == 1


def test_a_mended_agent_is_asked_again_where_it_did_not_answer(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question\na\nb\n")
    script = tmp_path / "agent.py"
    script.write_text("import sys\nsys.exit(3 if sys.argv[1] == 'b' else print('ok'))\n")
    # The script is named as it lies beside whoever types this; the agent works in a directory of its own.
    command = [sys.executable, "-m", "pantrace", "run", "q.csv", "--out", "out", "--no-eval", "--json"]
    command += ["--agent", f"cmd:{sys.executable} agent.py {{question}}"]

    def run(*more: str) -> dict[str, Any]:
        done = subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, check=True)
        (found,) = json.loads(done.stdout)["agents"]
        return {name: found[name] for name in ("ran", "reused")} | {"failed": len(found["failed"])}

    assert run() == {"ran": 2, "reused": 0, "failed": 1}
    script.write_text("print('mended')\n")
    assert run() == {"ran": 0, "reused": 2, "failed": 0}
    assert run("--again") == {"ran": 1, "reused": 1, "failed": 0}
    answers = [each.trajectory for each in pantrace.read(tmp_path / "out/recordings/run.trace.jsonl").samples]
    assert sorted(str(final_response(each)) for each in answers if each) == ["mended", "ok"]


def test_an_agent_that_answered_nothing_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question\na\nb\n")
    (tmp_path / "agent.py").write_text("import sys\nsys.exit(3)\n")
    command = [sys.executable, "-m", "pantrace", "run", "q.csv", "--no-eval", "--out", "out"]
    command += ["--agent", "good=cmd:cat", "--agent", f"bad=cmd:{sys.executable} agent.py"]

    def run(*more: str) -> tuple[int, bool]:
        done = subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "good: none" not in done.stderr
        return done.returncode, "bad: none of 2 trials was answered; once the agent works, --again" in done.stderr

    assert run() == (1, True)
    assert run() == (1, True)  # recorded before, and still not answered
    (tmp_path / "agent.py").write_text("import sys\nsys.exit(3 if sys.stdin.read() == 'a' else print('ok'))\n")
    assert run("--again") == (0, False)  # one of two is an answer


def test_with_json_the_files_are_written_too(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,reference\na,a\n")
    command = [sys.executable, "-m", "pantrace", "run", "q.csv", "--agent", "cmd:cat", "--out", "out", "--json"]
    command += ["--junit", "x.xml", "--markdown", "x.md"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["agents"][0]["ran"] == 1 and found["out"] == "out"
    assert "<testsuite" in (tmp_path / "x.xml").read_text()
    assert "# Evaluation of out" in (tmp_path / "x.md").read_text()


@pytest.mark.parametrize("more", [[], ["--no-eval"]])
def test_a_run_that_nobody_answered_is_no_success(tmp_path: Path, more: list[str]) -> None:
    table = tmp_path / "q.csv"
    table.write_text("id,question\na,hello\n")
    words = ["run", str(table), "--agent", "cmd:false", "--out", str(tmp_path / "out"), "--json", *more]
    done = subprocess.run([sys.executable, "-m", "pantrace", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, "the trial was not answered" in done.stderr) == (1, True)
    told = json.loads(done.stdout)["agents"][0]
    assert (told["tokens"], told["usd"], len(told["failed"])) == (None, None, 1)
