"""Seed document 4, Explain datasets: its fields and payloads, its authors' cases, comparisons and prompts."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT as GOLDEN
from pantrace import read, validate
from pantrace.engine.comparative import compare_evaluated, samples_of
from pantrace.engine.compare import compare_pairs
from pantrace.engine.compare_side import Side, case_of
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.judge import Access, bench
from pantrace.engine.pairwise import add_preferences, prefer
from pantrace.engine.plan import MeasureTable, Plan, prepare
from pantrace.engine.rubric_selection import rubrics_named
from pantrace.engine.summary import summarise
from pantrace.errors import UsageError
from pantrace.judges import Request, Rubric, Settings, load_rubric, prompt_for
from pantrace.judges.cut import Block
from pantrace.model import Sample
from pantrace.wire.json import decode, encode
from scripted import Scripted, verdict
from seeds.recordings import pantrace

LEAGUE = CORPUS / "public/explain/agentsleague"
CURATOR = LEAGUE / "curator/learning-path-curator.explain.jsonl"
EVALS = ["RelevanceExplain", "HelpfulnessExplain"]


def _evaluated(cases: Path, tmp_path: Path, judge: Scripted, *metrics: str) -> Path:
    out = tmp_path / "results"
    ready = prepare(Plan(measure=MeasureTable(metrics=metrics)), Path())
    judging = bench(Settings(models=("openai:m",)), Access(), cache=tmp_path / "cache.sqlite", judge=judge)
    evaluate_into([cases], out, ready, "", judging=judging)
    return out


@needs_corpus
def test_the_curators_cases_can_pass(tmp_path: Path) -> None:
    judge = Scripted(lambda _: verdict(5))
    out = _evaluated(CURATOR, tmp_path, judge, "output_contract")
    assert len(judge.requests) == 30 * 5
    assert [(each.profile, each.passed, each.failed) for each in summarise(out).decisions] == [("prep_default", 30, 0)]


def _workflow(mode: str, number: int, answer: str) -> dict[str, Any]:
    return {
        "case_id": f"prep-workflow-{mode.partition('-')[0]}-{number:03}",
        "scenario_id": f"FW-{number:03}",
        "agent_name": f"preparation-workflow-{mode}",
        "workflow_mode": mode,
        "threshold_profile": "prep_default",
        "required_evals": EVALS,
        "question": f"Plan {number} weeks.",
        "context": "Eight hours a week.",
        "model_answer": answer,
    }


def comparative(tmp_path: Path, cases: int = 12) -> Path:
    """Each question twice: the workflow's answers are good, the single agent's are good every third time."""
    rows = []
    for number in range(1, cases + 1):
        rows.append(_workflow("multi-agent", number, "A good plan."))
        rows.append(_workflow("single-agent", number, "A good plan." if number % 3 == 0 else "A poor plan."))
    path = tmp_path / "cases.explain.jsonl"
    path.write_bytes(b"".join(encode(row) + b"\n" for row in rows))
    return path


def _graded(request: Request) -> str:
    return verdict(5 if "A good plan." in request.prompt else 2)


def test_comparative_cases_give_the_answer_per_case_and_over_all(tmp_path: Path) -> None:
    results = _evaluated(comparative(tmp_path), tmp_path, Scripted(_graded))
    found = compare_evaluated(results)
    assert found is not None
    assert found.runs == ("single-agent", "multi-agent")
    by_metric = {each.metric: each for each in found.comparisons}
    helpful = by_metric["HelpfulnessExplain"]
    assert (helpful.common, helpful.wins, helpful.losses, helpful.ties) == (12, 8, 0, 4)
    assert helpful.first is not None
    assert helpful.second is not None
    assert (helpful.first.value, helpful.second.value, helpful.verdict) == (3, 5, "better")
    assert [flip.case for flip in helpful.flips] == [f"FW-{n:03}" for n in range(1, 13) if n % 3]
    assert (by_metric["passed"].wins, by_metric["passed"].losses) == (8, 0)
    told = pantrace("compare", results, "--metric", "HelpfulnessExplain")
    assert told.stdout.startswith("multi-agent is 2 higher than single-agent on HelpfulnessExplain")
    assert "8 cases got better" in told.stdout


def test_cases_that_nobody_ran_or_judged_have_no_answer(tmp_path: Path) -> None:
    bare = GOLDEN / "explain/comparative.explain.jsonl"
    found = pantrace("eval", bare, "--out", tmp_path / "out", "--json")
    assert found.returncode == 0, found.stderr
    assert "comparison" not in decode(found.stdout.encode())


@needs_corpus
def test_a_report_of_comparative_cases_is_compared_by_agent() -> None:
    report = LEAGUE / "reports/eval-report-20260225-001835.json"
    found = decode(pantrace("compare", report, "--metric", "passed", "--json").stdout.encode())
    assert found["runs"] == ["preparation-workflow-single-agent", "preparation-workflow-multi-agent"]
    raw = {case["caseId"]: case for case in decode(report.read_bytes())["cases"] if case["metrics"]}
    by_side = {
        side: {case["scenarioId"]: case["passed"] for case in raw.values() if side in case["agentName"]}
        for side in ("single", "multi")
    }
    both = by_side["single"].keys() & by_side["multi"].keys()
    (passed,) = found["comparisons"]
    assert passed["common"] == len(both) == 4
    assert passed["losses"] == sum(by_side["single"][name] and not by_side["multi"][name] for name in both) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--split", "nothing"], "--split nothing: the samples have no value for it"),
        (["--split", "phase"], "--split phase: the samples have no value for it"),
        (["--rubric", "HelpfulnessExplain", "--judge", "openai:x"], "HelpfulnessExplain grades one answer at a time"),
        (["--rubric", "pairwise_quality"], "--rubric pairwise_quality needs --judge"),
        (["--judge", "openai:x"], "--judge needs --rubric"),
    ],
)
def test_what_cannot_be_compared_is_told(arguments: list[str], why: str, tmp_path: Path) -> None:
    os.environ.setdefault("OPENAI_API_KEY", "none")
    found = pantrace("compare", comparative(tmp_path, 2), *arguments)
    assert found.returncode == 2
    assert why in found.stderr


def _prefers_good(request: Request) -> str:
    """Finds the better answer wherever it stands; of two equal ones it takes the first, as judges do."""
    text = request.prompt
    first, second = text.index("First answer:"), text.index("Second answer:")
    good = ["good plan" in text[first:second], "good plan" in text[second:]]
    return verdict(-1 if good[0] >= good[1] else 1)


def _sides(cases: Path) -> list[list[Sample]]:
    return [list(samples_of(read(cases), "workflow_mode", name)) for name in ("single-agent", "multi-agent")]


def test_a_pairwise_rubric_sees_both_sides_blind_and_in_both_orders(tmp_path: Path) -> None:
    judge = Scripted(_prefers_good)
    rubric = load_rubric("pairwise_quality")
    one, two = _sides(comparative(tmp_path))
    found = prefer(one, two, case_of, rubric, bench(Settings(models=("openai:m",)), Access(), judge=judge))
    assert (found.pairs, found.swayed, found.unscored) == (12, 4, 0)
    assert len(judge.requests) == 2 * 12
    told = [request.prompt for request in judge.requests]
    assert not any(word in prompt for prompt in told for word in ("multi", "single", "workflow", "FW-", "prep"))
    assert sum(sum(each) for each in found.preferred.values()) == 8
    first, second = (Side(name=name) for name in ("single-agent", "multi-agent"))
    add_preferences([first, second], found, rubric, "openai:m")
    (each,) = compare_pairs([(first, second)])
    assert (each.wins, each.losses, each.ties, each.verdict) == (8, 0, 4, "better")
    assert each.difference is not None
    assert each.difference.value == pytest.approx(8 / 12)


def test_a_verdict_in_one_order_alone_is_none(tmp_path: Path) -> None:
    def once(request: Request) -> str:
        return verdict(1) if "A poor plan" in request.prompt.partition("Second answer:")[2] else "no verdict"

    one, two = _sides(comparative(tmp_path, 1))
    judging = bench(Settings(models=("openai:m",)), Access(), judge=Scripted(once))
    found = prefer(one, two, case_of, load_rubric("pairwise_quality"), judging)
    assert (found.pairs, found.unscored, found.preferred) == (1, 1, {})


@pytest.mark.parametrize(
    ("grades", "inputs", "why"),
    [
        ("1 = 'a'\n2 = 'b'", ("first_answer", "second_answer"), "grades around 0"),
        ("-1 = 'a'\n0 = 'b'\n1 = 'c'", ("first_answer",), "needs the input second_answer, too"),
    ],
)
def test_a_pairwise_rubric_that_could_not_be_swapped_is_refused(
    grades: str, inputs: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    shown = "\\n".join(f"{{{{ {name} }}}}" for name in inputs)
    needed = "\n".join(f"{name} = 'required'" for name in inputs)
    head = f'name = "own"\nversion = "1"\ntitle = "x"\ntemplate = "{shown}\\n"'
    path = tmp_path / "own.toml"
    path.write_text(f"{head}\n[inputs]\n{needed}\n[grades]\n{grades}\n")
    with pytest.raises(UsageError, match=why):
        load_rubric(str(path))


PROMPT = """\
name: PlanQuality
description: Grades a plan, using a score of 1-5
execution_settings:
  default:
    max_tokens: 128
input_variables:
- name: question
  default: ''
- name: answer
  default: ''
- name: relevantContext
  is_required: false
template: |
    System:
    You grade study plans.

    User:
    One star: useless
    Two stars: weak
    Three stars: fair
    Four stars: good
    Five stars: excellent

    Reply with {"score": [number 1 - 10]}.

    context: {{$relevantContext}}
    question: {{$question}}
    answer: {{$answer}}
"""


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_prompt_of_semantic_kernel_is_a_rubric(coding: str, tmp_path: Path) -> None:
    path = tmp_path / "PlanQuality.yaml"
    path.write_text(PROMPT, coding)
    (rubric,) = rubrics_named(str(path))
    assert isinstance(rubric, Rubric)
    assert (rubric.name, rubric.inputs) == (
        "PlanQuality",
        {"relevant_context": "optional", "question": "required", "answer": "required"},
    )
    assert next(iter(rubric.grades.items())) == ("1", "useless")
    assert rubric.choices == [1, 2, 3, 4, 5]
    text = prompt_for(rubric, {"question": [Block("Why?")], "answer": [Block("So.")]}).text
    assert '{"score": [number 1 - 10]}' in text
    assert "| Why?" in text
    shown = pantrace("rubrics", path)
    assert "PlanQuality" in shown.stdout


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("{{$answer}}", "{{$anser}}", "{{$anser}} cannot be filled in"),
        ("name: PlanQuality", "title: PlanQuality", "the prompt has no name"),
        ("template: |", "template_format: liquid\ntemplate: |", "template_format 'liquid' is not read"),
    ],
)
def test_a_prompt_that_cannot_be_asked_is_one_sentence(old: str, new: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "prompt.yaml"
    path.write_text(PROMPT.replace(old, new))
    with pytest.raises(UsageError) as caught:
        rubrics_named(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)


def test_a_name_that_the_factory_does_not_make_is_warned_of_once(tmp_path: Path) -> None:
    rows = [_workflow("multi-agent", number, "x") | {"agent_name": name} for number, name in enumerate("aab")]
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"".join(encode(row) + b"\n" for row in rows))
    told = [each for each in validate(path) if (each.place or "").endswith("agent_name")]
    assert [(each.level, (each.place or "").partition(",")[0]) for each in told] == [
        ("warning", "line 1"),
        ("warning", "line 3"),
    ]
    assert not [each for each in validate(comparative(tmp_path)) if (each.place or "").endswith("agent_name")]


@needs_corpus
def test_the_published_cases_are_of_the_factorys_agents_and_joined_with_their_scenarios() -> None:
    assert not [each for each in validate(CURATOR) if "agent_name" in (each.place or "")]
    catalogue = [
        decode(line.encode()) for line in (LEAGUE / "common/scenario-catalog.jsonl").read_text("utf-8-sig").splitlines()
    ]
    by_id = {row["scenario_id"]: row for row in catalogue}
    samples = list(read(CURATOR).samples)
    assert len(samples) == 30
    for sample in samples:
        assert sample.case is not None
        scenario = by_id[str(sample.case.scenario)]
        assert sample.case.labels["noise_factor"] == scenario["noise_factor"]
        assert sample.case.extra["explain"]["scenario"]["weekly_hours"] == scenario["weekly_hours"]
    bands = Counter(sample.case.labels["quality_band"] for sample in samples if sample.case is not None)
    assert set(bands) == {"excellent", "good", "mixed", "poor"}
