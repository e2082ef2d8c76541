"""Judges inside an evaluation: exactly what a case requires, decided by its profile, asked once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from goldens import ROOT
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import Engine
from pantrace.engine.judge import Access, Bench, bench
from pantrace.engine.plan import JudgeTable, MeasureTable, Plan, load_plan, prepare
from pantrace.engine.read import read
from pantrace.engine.summary import summarise
from pantrace.errors import UsageError
from pantrace.judges import Project, Request, Settings, Unanswered
from pantrace.model import Scale
from pantrace.policy import Profile
from pantrace.store import query
from scripted import Scripted, verdict

CASES = ROOT / "explain/cases.explain.jsonl"
READY = prepare(Plan(measure=MeasureTable(metrics=())), Path())


def judging(judge: Any, cache: Path) -> Bench:
    return bench(Settings(models=("openai:m",)), Access(), cache=cache, judge=judge)


def test_each_case_runs_exactly_what_it_requires_and_is_decided_by_its_profile(tmp_path: Path) -> None:
    scripted = Scripted(lambda _: verdict(5))
    # The built-in profiles want to know whether the contract that a case names is kept.
    ready = prepare(Plan(measure=MeasureTable(metrics=("output_contract",))), Path())
    evaluate_into([CASES], tmp_path / "out", ready, "", judging=judging(scripted, tmp_path / "cache.sqlite"))
    judged = "select sample, name, status from scores where name != 'output_contract' order by sample, name"
    rows = query(tmp_path / "out", judged).rows
    by_case: dict[str, dict[str, str]] = {}
    for sample, name, status in rows:
        by_case.setdefault(sample, {})[name] = status
    required = {sample.id: set(sample.case.required_evals or ()) for sample in read(CASES).samples if sample.case}
    assert {sample: set(scores) for sample, scores in by_case.items()} == required
    unknown = next(scores for scores in by_case.values() if "PolitenessExplain" in scores)
    assert unknown["PolitenessExplain"] == "unscored"
    assert len(scripted.requests) == sum(
        status == "scored" for scores in by_case.values() for status in scores.values()
    )
    decisions = {
        each.profile: (each.passed, each.failed, each.undecided) for each in summarise(tmp_path / "out").decisions
    }
    assert decisions["prep_default"] == (1, 0, 0)
    assert decisions["unheard_of"] == (0, 0, 1)


def test_a_second_run_asks_nothing_and_a_new_directory_takes_the_cache(tmp_path: Path) -> None:
    first, second, third = (Scripted(lambda _: verdict(4)) for _ in range(3))
    cache = tmp_path / "cache.sqlite"
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(first, cache))
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(second, cache))
    evaluate_into([CASES], tmp_path / "new", READY, "", judging=judging(third, cache))
    assert first.requests
    assert second.requests == []
    assert third.requests == []
    scores = [
        query(tmp_path / name, "select sample, name, value, status from scores order by all").rows
        for name in ("out", "new")
    ]
    assert scores[0] == scores[1]


def test_rubrics_of_the_plan_are_for_every_sample(tmp_path: Path) -> None:
    plan = Plan(measure=MeasureTable(metrics=()), judge=JudgeTable(rubrics=["HelpfulnessExplain"]))
    scripted = Scripted(lambda _: verdict(3))
    source = ROOT / "opencode/bad_tool_calls.json"
    evaluate_into(
        [source], tmp_path / "out", prepare(plan, Path()), "", judging=judging(scripted, tmp_path / "c.sqlite")
    )
    rows = query(tmp_path / "out", "select name, value, maker_kind, maker_model from scores").rows
    assert rows == [("HelpfulnessExplain", 3.0, "rubric", "openai:m")]


def rows_of(out: Path) -> list[tuple[Any, ...]]:
    return query(out, "select sample, name, value, status, explanation, details from scores order by all").rows


def test_what_a_budget_left_unasked_is_asked_by_the_next_run_in_the_same_directory(tmp_path: Path) -> None:
    whole, first, second = (Scripted(lambda _: verdict(4)) for _ in range(3))
    evaluate_into([CASES], tmp_path / "whole", READY, "", judging=judging(whole, tmp_path / "whole.sqlite"))
    cache, models = tmp_path / "cache.sqlite", ("openai:m",)
    scarce = bench(Settings(models=models), Access(tokens=2_000), cache=cache, judge=first)
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=scarce)
    assert 0 < len(first.requests) < len(whole.requests)
    assert any("budget exhausted" in (row[4] or "") for row in rows_of(tmp_path / "out"))
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(second, cache))
    assert len(first.requests) + len(second.requests) == len(whole.requests)
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "whole")


def test_however_many_processes_there_are_judges_have_one_budget_and_one_cache(tmp_path: Path) -> None:
    for number in range(3):
        shutil.copy(CASES, tmp_path / f"cases{number}.jsonl")
    found = {}
    for jobs in (1, 3):
        cache, models = tmp_path / f"{jobs}.sqlite", ("openai:m",)
        asked = [Scripted(lambda _: verdict(4)) for _ in range(3)]
        for scripted, tokens in zip(asked, (2_000, None, None), strict=True):
            scarce = bench(Settings(models=models), Access(tokens=tokens), cache=cache, judge=scripted)
            engine = Engine(jobs=jobs)
            done = evaluate_into(
                [tmp_path / f"cases{number}.jsonl" for number in range(3)],
                tmp_path / f"out{jobs}",
                READY,
                "",
                judging=scarce,
                engine=engine,
            )
            assert done.by == ([] if jobs == 1 or scripted is asked[2] else ["3 processes"])
        first, rest, none = (len(each.requests) for each in asked)
        assert first > 0 and rest > 0 and none == 0
        # Three times the same cases: each question is put once.
        texts = [(request.prompt, request.exchanges) for each in asked for request in each.requests]
        assert len(texts) == len({repr(each) for each in texts})
        found[jobs] = (first, rest, rows_of(tmp_path / f"out{jobs}"))
    assert found[1] == found[3]


def test_a_server_that_was_down_is_asked_again_but_an_unusable_reply_is_not(tmp_path: Path) -> None:
    down = Scripted(lambda _: Unanswered("the server cannot be reached"))
    cache = tmp_path / "cache.sqlite"
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(down, cache))
    odd = Scripted(lambda _: "I would rather not say.")
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(odd, cache))
    assert odd.requests
    again = Scripted(lambda _: verdict(4))
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(again, cache))
    assert again.requests == []


@pytest.mark.parametrize("trouble", [Unanswered("HTTP 500"), Unanswered("budget exhausted", unasked=True)])
def test_a_second_question_that_never_got_through_is_asked_by_the_next_run(tmp_path: Path, trouble: Unanswered) -> None:
    cache = tmp_path / "cache.sqlite"
    first = Scripted(lambda request: trouble if request.exchanges else "Let me think.")
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(first, cache))
    second = Scripted(lambda _: verdict(4))
    evaluate_into([CASES], tmp_path / "out", READY, "", judging=judging(second, cache))
    assert second.requests and all(request.exchanges for request in second.requests)
    found = query(tmp_path / "out", "select count(*) from scores where status = 'scored' and maker_kind = 'rubric'")
    assert found.rows[0][0] == len(second.requests)


def _case_file(path: Path, **fields: Any) -> Path:
    from pantrace.engine.convert import write_run
    from pantrace.model import Case, Run, Score
    from scripted import sample_of

    stored = Score(name="HelpfulnessExplain", value=5.0, scale=Scale(low=1, high=5))
    sample = replace(sample_of(), case=Case(id="c", **fields), scores=(stored,))
    write_run(Run(name="r", samples=(sample,)), path, to="native", measure=False)
    return path


def test_a_recording_does_not_bring_the_words_and_the_profile_that_judge_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rubric = 'name = "safety"\nversion = "1"\ntitle = "Say pass"\ntemplate = "{{ answer }}"\n'
    rubric += '[inputs]\nanswer = "required"\n[grades]\npass = "always"\nfail = "never"\n'
    (tmp_path / "mild.md").write_text(rubric)
    (tmp_path / "mild.toml").write_text(rubric)
    (tmp_path / "mild").write_text('name = "mild"\nversion = "1"\n[thresholds]\nHelpfulnessExplain = 0\n')
    monkeypatch.chdir(tmp_path)
    path = _case_file(tmp_path / "c.trace.jsonl", required_evals=("mild.toml", "x" * 5000), profile="mild")
    judge = Scripted(lambda _: verdict("pass"))
    evaluate_into([path], tmp_path / "out", READY, "", judging=judging(judge, tmp_path / "cache.sqlite"))
    assert judge.requests == []
    (decision,) = query(tmp_path / "out", "select passed, reasons from decisions").rows
    assert decision[0] is None and "no profile 'mild'" in decision[1]
    long = _case_file(tmp_path / "d.trace.jsonl", profile="x" * 5000)
    evaluate_into([long], tmp_path / "long", READY, "")
    assert query(tmp_path / "long", "select passed from decisions").rows == [(None,)]


def test_a_stored_grade_does_not_stand_in_for_a_judge_that_did_not_answer(tmp_path: Path) -> None:
    profile = Profile(name="p", version="1", thresholds={"HelpfulnessExplain": 3})
    ready = replace(prepare(Plan(measure=MeasureTable(metrics=())), Path()), default=profile)
    path = _case_file(tmp_path / "c.trace.jsonl", required_evals=("HelpfulnessExplain",))
    down = Scripted(lambda _: Unanswered("the server cannot be reached"))
    evaluate_into([path], tmp_path / "out", ready, "", judging=judging(down, tmp_path / "cache.sqlite"))
    assert query(tmp_path / "out", "select passed from decisions").rows == [(None,)]
    evaluate_into([path], tmp_path / "unjudged", ready, "")
    assert query(tmp_path / "unjudged", "select passed from decisions").rows == [(True,)]


@pytest.mark.parametrize(
    "line",
    ["concurrency = 0", "retries = -1", "samples = 0", "timeout = nan", "max_chars = 0", "budget_usd = nan"],
)
def test_numbers_that_no_judge_could_work_with_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "plan.toml").write_text(f"[judge]\n{line}\n")
    with pytest.raises(UsageError, match=r"line 2: expected"):
        load_plan(tmp_path / "plan.toml")


MANAGED = Plan(
    measure=MeasureTable(metrics=()),
    judge=JudgeTable(rubrics=["HelpfulnessExplain", "vertex:multi_turn_general_quality_v1"]),
)
SESSIONS = ROOT / "vertex-agent/sessions.jsonl"
STATUSES = "select name, status, count(*) from scores group by all order by all"


def test_what_nobody_judges_is_unscored_in_the_run_directory(tmp_path: Path) -> None:
    """A plan that names rubrics promises scores: without judges each of them says so."""
    unasked = bench(Settings(), Access())
    evaluate_into([SESSIONS], tmp_path / "out", prepare(MANAGED, Path()), "", judging=unasked)
    assert query(tmp_path / "out", STATUSES).rows == [
        ("HelpfulnessExplain", "unscored", 3),
        ("vertex:multi_turn_general_quality_v1", "not_applicable", 1),
        ("vertex:multi_turn_general_quality_v1", "unscored", 2),
    ]


def test_managed_metrics_of_a_plan_beside_rubrics_and_a_run_that_gets_a_project_later(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return '{"score": 0.25}' if request.model.startswith("vertex:") else verdict(3)

    def judged_by(**access: Any) -> Bench:
        models = Settings(models=("openai:m",))
        return bench(models, Access(**access), cache=tmp_path / "cache.sqlite", judge=Scripted(script))

    ready, out = prepare(MANAGED, Path()), tmp_path / "out"
    evaluate_into([SESSIONS], tmp_path / "without", ready, "", judging=judged_by())
    project = Project(project="p", location="l")
    with pytest.raises(UsageError, match="something that it names has changed"):
        evaluate_into([SESSIONS], tmp_path / "without", ready, "", judging=judged_by(vertex=project))
    evaluate_into([SESSIONS], out, ready, "", judging=judged_by(vertex=project))
    rows = query(out, "select name, value, maker_kind, maker_version from scores where status = 'scored' order by all")
    assert rows.rows == [
        *[("HelpfulnessExplain", 3.0, "rubric", ready.rubrics[0].version)] * 3,  # type: ignore[union-attr]
        ("vertex:multi_turn_general_quality_v1", 0.25, "rubric", "v1"),
        ("vertex:multi_turn_general_quality_v1", 0.25, "rubric", "v1"),
    ]


def test_a_rubric_that_there_is_not_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('name = "p"\n\n[judge]\nrubrics = ["RelevnceExplain"]\n')
    plan, text, folder = load_plan(tmp_path / "plan.toml")
    with pytest.raises(UsageError, match=r"plan\.toml: line 4: unknown rubric 'RelevnceExplain'; did you mean"):
        prepare(plan, folder, text, "plan.toml")
