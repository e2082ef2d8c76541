"""Judging a pile: in order, resumable, replayable, nothing asked twice, secrets kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pantrace.engine.judge import Access, bench, judge_all, plan_questions
from pantrace.errors import MissingExtra, Unanswered
from pantrace.judges import Reply, Request, Settings, load_rubric
from pantrace.model import Score, Step, Text
from scripted import Scripted, sample_of, verdict

RUBRICS = [load_rubric("HelpfulnessExplain"), load_rubric("CoherenceExplain")]
SETTINGS = Settings(models=("openai:m",), samples=2)
SAMPLES = [sample_of(name=f"s{number}", answer=f"Answer {number}.") for number in range(30)]


def _by_prompt(request: Request) -> str:
    return verdict(1 + (len(request.prompt) + request.index + request.prompt.count("3")) % 5)


def _scores(run: Any, samples: Any = SAMPLES) -> list[tuple[str, list[Score]]]:
    return [(sample.id, scores) for sample, scores in judge_all(samples, RUBRICS, run)]


def _bench(tmp_path: Path, script: Any, **more: Any) -> tuple[Any, Scripted]:
    scripted = Scripted(script)
    access = Access(first_wait=0.0, longest_wait=0.0, **more)
    return bench(SETTINGS, access, cache=tmp_path / "cache.sqlite", judge=scripted), scripted


def test_the_order_is_kept_although_answers_come_in_any(tmp_path: Path) -> None:
    class Late:
        async def ask(self, request: Request) -> Reply:
            await asyncio.sleep((len(request.prompt) * 7919 % 13) / 1000)
            return Reply(text=_by_prompt(request))

    run = bench(SETTINGS, Access(), cache=tmp_path / "c", judge=Late())
    assert [name for name, _ in _scores(run)] == [sample.id for sample in SAMPLES]


def test_second_run_and_replay_give_the_same_and_ask_nothing(tmp_path: Path) -> None:
    run, first = _bench(tmp_path, _by_prompt)
    scores = _scores(run)
    assert len(first.requests) == 30 * 2 * 2
    assert run.summary()["calls"] == 120
    assert run.summary()["tokens"] == 120 * 120
    run, second = _bench(tmp_path, _by_prompt)
    assert _scores(run) == scores
    assert second.requests == []
    assert run.summary()["cached"] == 120
    replay = bench(SETTINGS, Access(), cache=tmp_path / "cache.sqlite", replay=True)
    assert _scores(replay) == scores
    assert replay.summary()["missing"] == 0


def test_replay_says_what_is_missing(tmp_path: Path) -> None:
    _scores(_bench(tmp_path, _by_prompt)[0], SAMPLES[:20])
    replay = bench(SETTINGS, Access(), cache=tmp_path / "cache.sqlite", replay=True)
    found = _scores(replay)
    assert replay.summary()["missing"] == 40
    assert [score.status for _, scores in found[20:] for score in scores] == ["unscored"] * 20
    assert "--replay uses only the cache" in (found[-1][1][0].explanation or "")


def test_a_budget_stops_cleanly_and_the_next_run_goes_on(tmp_path: Path) -> None:
    whole = _scores(bench(SETTINGS, Access(), judge=Scripted(_by_prompt)))
    run, first = _bench(tmp_path, _by_prompt, tokens=6_000)
    found = _scores(run)
    assert run.summary()["tokens"] <= 6_000
    assert run.summary()["unscored"] > 0
    assert all("budget exhausted" in why for why in run.summary()["unscored_because"])
    for (_, made), (_, wanted) in zip(found, whole, strict=True):
        assert all(a.status == "unscored" or a == b for a, b in zip(made, wanted, strict=True))
    run, second = _bench(tmp_path, _by_prompt)
    assert _scores(run) == whole
    assert len(first.requests) + len(second.requests) == 120


def test_a_wrong_key_ends_the_asking_at_once(tmp_path: Path) -> None:
    run, scripted = _bench(tmp_path, lambda _: Unanswered("HTTP 401: wrong key", hopeless=True), concurrency=2)
    found = _scores(run)
    assert {score.explanation for _, scores in found for score in scores} == {"HTTP 401: wrong key"}
    assert len(scripted.requests) <= 2


def test_without_a_judge_everything_is_unscored() -> None:
    run = bench(Settings(), Access())
    assert {(score.status, score.explanation) for _, scores in _scores(run) for score in scores} == {
        ("unscored", "no judge configured")
    }


SECRET = "sk-proj-" + "a1B2" * 10


def test_secrets_are_not_sent_unless_that_is_asked_for(tmp_path: Path) -> None:
    sample = sample_of(answer=f"Use {SECRET} and go.")
    assert sample.trajectory is not None
    stated = Step(role="user", parts=(Text(text="my password: hunter22!"),))
    trajectory = msgspec.structs.replace(sample.trajectory, steps=(stated, *sample.trajectory.steps))
    sample = msgspec.structs.replace(sample, trajectory=trajectory)
    run, scripted = _bench(tmp_path, _by_prompt)
    _scores(run, [sample])
    sent = "".join(request.prompt for request in scripted.requests)
    assert SECRET not in sent
    assert "hunter22" not in sent
    assert "[redacted:openai-key]" in sent
    open_run = bench(SETTINGS, Access(), redact=False, judge=(open_judge := Scripted(_by_prompt)))
    _scores(open_run, [sample])
    assert SECRET in open_judge.requests[0].prompt


def test_a_dry_run_counts_what_would_be_asked(tmp_path: Path) -> None:
    run, scripted = _bench(tmp_path, _by_prompt)
    found = list(plan_questions(SAMPLES, RUBRICS, run, tmp_path / "cache.sqlite"))
    assert sum(each.calls for each in found) == 120
    assert scripted.requests == []
    estimate = sum(each.estimated_tokens for each in found)
    assert estimate > 120 * 250
    _scores(run, SAMPLES[:10])
    found = list(plan_questions(SAMPLES, RUBRICS, run, tmp_path / "cache.sqlite"))
    assert (sum(each.calls for each in found), sum(each.cached for each in found)) == (80, 40)


def test_trouble_of_the_run_ends_it(tmp_path: Path) -> None:
    run, _ = _bench(tmp_path, lambda _: MissingExtra("the judge", "judge"))
    with pytest.raises(MissingExtra):
        _scores(run)
