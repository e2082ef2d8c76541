"""`pantrace eval` as a user runs it, with judges behind real HTTP: required evals, kills, a second run, a replay."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from loopback import Act, Loopback, loopback, verdict
from pantrace.engine.read import read
from pantrace.engine.reports import decided_run
from pantrace.policy import decide, load_profile
from pantrace.store import RunDirectory, query

ROOT = Path(__file__).parents[3]

PLAN = """
name = "nightly"

[judge]
models = ["openai:scripted"]
rubrics = ["HelpfulnessExplain", "tool_use_quality"]
concurrency = 4

[decide]
profile = "prep_default"
"""


def by_content(_: int, body: dict[str, Any]) -> Act:
    """A grade that follows from the prompt alone, so that every run gets the same."""
    prompt = body["messages"][-1]["content"]
    grades = json.loads(re.search(r'"enum": (\[[^\]]*\])', json.dumps(body["response_format"]))[1])  # type: ignore[index]
    return verdict(grades[int(sha256(prompt.encode()).hexdigest(), 16) % len(grades)])


def command(
    server: Loopback | None, tmp_path: Path, out: str, *more: object, cache: str = "replies.sqlite"
) -> list[str]:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    address = ["--base-url", server.url] if server is not None else []
    words = ["eval", *more, "--plan", plan, "--out", tmp_path / out, "--cache", tmp_path / cache, *address]
    return [sys.executable, "-m", "pantrace", *map(str, words)]


def run(words: list[str], tmp_path: Path, *, code: int = 0) -> str:
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath, "HOME": str(tmp_path)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def rows(out: Path) -> list[tuple[Any, ...]]:
    columns = "sample, name, value, status, explanation, details, maker, maker_model"
    decisions = query(out, "select sample, profile, passed, composite, reasons from decisions order by all").rows
    return [*query(out, f"select {columns} from scores order by all").rows, *decisions]


@needs_corpus
def test_each_case_of_the_explain_corpus_gets_its_evals_and_its_decision(tmp_path: Path) -> None:
    folder = CORPUS / "public/explain/agentsleague"
    cases = [folder / "curator/learning-path-curator.explain.jsonl"]
    cases += sorted((folder / "full-workflow").glob("*.jsonl"))
    report = tmp_path / "report.json"
    with loopback(by_content) as server:
        told = run(command(server, tmp_path, "out", *cases, "--gate", "--report", report), tmp_path, code=1)
        asked = len(server.requests)
    assert "not calibrated" in told
    results = {each.sample.id: each for each in RunDirectory.open(tmp_path / "out").results()}
    samples = [sample for path in cases for sample in read(path).samples]
    assert set(results) == {sample.id for sample in samples}
    scored = 0
    for sample in samples:
        assert sample.case is not None and sample.case.required_evals
        result = results[sample.id]
        judged = {
            score.name: score for score in result.scores if score.maker is not None and score.maker.kind == "rubric"
        }
        assert set(judged) == {*sample.case.required_evals, "HelpfulnessExplain", "tool_use_quality"}
        scored += sum(score.status == "scored" for score in judged.values())
        (decision,) = result.decisions
        assert decision.profile == sample.case.profile
        profile = load_profile(sample.case.profile or "")
        wanted = {"required": sample.case.required_evals, "contract": sample.case.contract}
        assert decision == decide(sample.id, result.scores, profile, **wanted)
    assert scored == asked > 100
    # The report says what the run directory says, and comes back as it was written.
    kept = {sample.id: sample.scores for sample in decided_run(tmp_path / "out").samples}
    assert {sample.id: sample.scores for sample in read(report).samples} == kept
    again = tmp_path / "again.json"
    converting = ["convert", str(report), "--to", "explain", "-o", str(again), "--strict"]
    run([sys.executable, "-m", "pantrace", *converting], tmp_path)
    assert json.loads(again.read_bytes()) == json.loads(report.read_bytes())


@needs_corpus
@pytest.mark.parametrize("source", ["own/opencode", "own/adk"])
def test_the_same_plan_judges_runs_of_other_systems(source: str, tmp_path: Path) -> None:
    with loopback(by_content) as server:
        told = run(command(server, tmp_path, "out", CORPUS / source, "--json"), tmp_path)
        asked = len(server.requests)
    judging = json.loads(told[: told.rindex("}") + 1])["judging"]
    assert judging["unscored"] == 0 and judging["scored"] > 10
    assert 10 < asked <= judging["scored"]
    rubrics = query(tmp_path / "out", "select distinct name from scores where maker_kind = 'rubric'").rows
    assert {name for (name,) in rubrics} >= {"HelpfulnessExplain", "tool_use_quality"}


def recordings(path: Path, count: int) -> Path:
    """Short runs with a question, an answer, and the same eval required of each."""
    lines: list[dict[str, Any]] = [{"pantrace": "1"}]
    for number in range(count):
        steps = [
            {"role": "user", "parts": [{"type": "text", "text": f"Question {number}?"}]},
            {"role": "agent", "parts": [{"type": "text", "text": f"Answer {number}."}]},
        ]
        case = {"id": f"s{number}", "required_evals": ["CoherenceExplain"], "profile": "prep_default"}
        lines.append({"id": f"s{number}", "case": case, "trajectory": {"steps": steps}})
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


def test_killed_at_twenty_moments_it_asks_little_twice_and_ends_the_same(tmp_path: Path) -> None:
    source = recordings(tmp_path / "runs.trace.jsonl", 500)
    with loopback(by_content) as server:
        run(command(server, tmp_path, "whole", source, cache="whole.sqlite"), tmp_path)
        undisturbed = len(server.requests)
    assert undisturbed == 1000
    dice = random.Random(11)
    kills, in_flight = 0, 0
    with loopback(lambda number, body: Act(by_content(number, body).text, delay=0.004)) as server:
        words = command(server, tmp_path, "torn", source)
        environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath, "HOME": str(tmp_path)}
        while kills < 20:
            wanted = len(server.requests) + dice.randint(5, 45)
            process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(server.requests) < wanted and process.poll() is None:
                time.sleep(0.002)
            time.sleep(dice.uniform(0, 0.02))
            assert process.poll() is None, "it ended before it could be killed"
            process.kill()
            process.wait()
            kills += 1
            in_flight += 4
        run(words, tmp_path)
        asked = Counter(request["messages"][-1]["content"] for request in server.requests)
        assert len(asked) == undisturbed
        assert len(server.requests) <= undisturbed + in_flight
        # A second run asks nothing.
        before = len(server.requests)
        run(words, tmp_path)
        run(command(server, tmp_path, "second", source), tmp_path)
        assert len(server.requests) == before
    assert rows(tmp_path / "torn") == rows(tmp_path / "whole") == rows(tmp_path / "second")
    # Nobody is there any more: the cache knows everything.
    run(command(None, tmp_path, "replayed", source, "--replay"), tmp_path)
    assert rows(tmp_path / "replayed") == rows(tmp_path / "whole")
    missing = run(command(None, tmp_path, "nothing", source, "--replay", cache="empty.sqlite"), tmp_path)
    assert "1000 replies are missing in the cache" in missing
