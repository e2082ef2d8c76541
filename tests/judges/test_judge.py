"""One sample, one rubric: from replies to a score."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

from pantrace.errors import Unanswered
from pantrace.judges import NO_JUDGE, Reply, Request, Settings, asked_as, judged, load_rubric
from pantrace.model import Maker, Sample, Scale, Score
from scripted import Scripted, sample_of, verdict

HELPFUL, SAFE = load_rubric("HelpfulnessExplain"), load_rubric("safety")


def _judged(replies: list[Any], rubric: Any = HELPFUL, **settings: Any) -> tuple[Score, Scripted]:
    left = list(replies)
    scripted = Scripted(lambda _: left.pop(0))
    models = settings.pop("models", ("openai:m",))
    return asyncio.run(judged(sample_of(), rubric, scripted, Settings(models=models, **settings))), scripted


def test_what_does_not_apply_is_not_asked() -> None:
    scripted = Scripted(lambda _: verdict(4))
    found = asyncio.run(judged(Sample(id="s"), HELPFUL, scripted, Settings(models=("openai:m",))))
    assert (found.status, found.value) == ("not_applicable", None)
    assert scripted.requests == []


def test_without_a_judge_nothing_is_scored() -> None:
    found = asyncio.run(judged(sample_of(), HELPFUL, None, Settings()))
    assert (found.status, found.value, found.explanation) == ("unscored", None, NO_JUDGE)


def test_a_verdict_becomes_a_score() -> None:
    found, scripted = _judged([verdict(4, "because")])
    assert (found.name, found.value, found.status, found.explanation) == (
        "HelpfulnessExplain",
        4.0,
        "scored",
        "because",
    )
    assert found.scale == Scale(low=1, high=5)
    assert found.maker == Maker(name="HelpfulnessExplain", kind="rubric", version="2", model="openai:m")
    assert found.details["rubric_hash"] == asked_as(sample_of(), HELPFUL).hash
    assert found.details["tokens"] == 120
    assert "spread" not in found.details
    request = scripted.requests[0]
    assert request.temperature == 0.0
    assert request.schema is not None
    assert list(request.schema["properties"]) == ["reason", "steps", "quotes", "score"]
    assert request.schema["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]


def test_an_unusable_reply_is_answered_once() -> None:
    found, scripted = _judged(["I would say four.", verdict(4)])
    assert found.value == 4.0
    (reply, complaint), *more = scripted.requests[1].exchanges
    assert more == []
    assert reply == "I would say four."
    assert "no JSON object with a score" in complaint
    assert found.details["samples"][0]["replies"] == ["I would say four."]
    assert found.details["tokens"] == 240


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        (["nonsense", "more nonsense"], "no JSON object with a score"),
        ([verdict(7), verdict(7)], "out of scale: 7"),
        ([Unanswered("HTTP 500")], "HTTP 500"),
        (["nonsense", Unanswered("HTTP 500")], "no JSON object with a score; then HTTP 500"),
        ([Reply(text=verdict(5), stop="length")] * 2, "cut off at 2000 tokens"),
        (["", ""], "the reply is empty"),
    ],
)
def test_a_failure_is_unscored_with_its_reason_and_the_raw_reply(replies: list[Any], why: str) -> None:
    found, _ = _judged(replies)
    assert (found.status, found.value) == ("unscored", None)
    assert why in (found.explanation or "")
    raw = [reply if isinstance(reply, str) else reply.text for reply in replies if not isinstance(reply, Exception)]
    assert found.details["samples"][0].get("replies", []) == raw


def test_several_samples_are_averaged_and_all_kept() -> None:
    found, scripted = _judged([verdict(2, "low"), verdict(4, "high"), verdict(3, "middle")], samples=3)
    assert found.value == 3.0
    assert found.explanation == "middle"
    assert [each["score"] for each in found.details["samples"]] == [2, 4, 3]
    assert found.details["spread"] == {
        "asked": 3,
        "scored": 3,
        "low": 2.0,
        "high": 4.0,
        "stdev": 0.816497,
        "agreement": 1 / 3,
    }
    assert [request.index for request in scripted.requests] == [0, 1, 2]
    assert {request.temperature for request in scripted.requests} == {0.7}


def test_one_failed_sample_does_not_sink_the_score() -> None:
    found, _ = _judged([verdict(2), Unanswered("HTTP 500"), verdict(3)], samples=3)
    assert found.value == 2.5
    assert found.details["spread"]["scored"] == 2
    assert found.details["samples"][1]["problem"] == "HTTP 500"


def test_all_failed_is_unscored() -> None:
    found, _ = _judged([Unanswered("HTTP 500"), Unanswered("no reply"), Unanswered("HTTP 500")], samples=3)
    assert (found.status, found.explanation) == ("unscored", "HTTP 500; no reply")


@pytest.mark.parametrize(
    ("words", "value"),
    [(["pass", "pass", "fail"], True), (["pass", "fail"], False), (["fail", "fail", "pass"], False)],
)
def test_pass_and_fail_by_majority_and_a_tie_fails(words: list[str], value: bool) -> None:
    found, _ = _judged([verdict(word) for word in words], SAFE, samples=len(words))
    assert found.value is value
    assert found.scale == Scale(low=0, high=1)


def test_a_majority_of_grades_and_the_worse_of_a_tie() -> None:
    assert _judged([verdict(5), verdict(5), verdict(2)], samples=3, combine="majority")[0].value == 5.0
    assert _judged([verdict(5), verdict(2)], samples=2, combine="majority")[0].value == 2.0


def test_each_judge_of_a_panel_counts_the_same() -> None:
    replies = [verdict(5), verdict(5), verdict(2), Unanswered("HTTP 500")]
    found, scripted = _judged(replies, models=("openai:a", "anthropic:b"), samples=2)
    assert found.value == 3.5
    assert found.details["by_judge"] == {"openai:a": 5.0, "anthropic:b": 2.0}
    assert [request.model for request in scripted.requests] == ["openai:a", "openai:a", "anthropic:b", "anthropic:b"]
    assert found.maker is not None
    assert found.maker.model == "openai:a, anthropic:b"


def _tokens(*choices: tuple[str, float]) -> list[dict[str, Any]]:
    text = ['{"', "reason", '":', ' "', 'a \\"score\\": 5', '",', ' "', "score", '":', " "]
    found: list[dict[str, Any]] = [{"token": each, "logprob": 0.0, "top_logprobs": []} for each in text]
    top = [{"token": token, "logprob": math.log(p)} for token, p in choices]
    return [*found, {"token": choices[0][0], "logprob": top[0]["logprob"], "top_logprobs": top}, {"token": "}"}]


def test_grades_are_weighed_by_their_probabilities() -> None:
    reply = Reply(text=verdict(4), logprobs=_tokens(("4", 0.6), ("3", 0.2), ("5", 0.1), ("x", 0.05), ("9", 0.05)))
    found, scripted = _judged([reply], weighted=True)
    assert scripted.requests[0].logprobs
    assert found.value == pytest.approx((4 * 0.6 + 3 * 0.2 + 5 * 0.1) / 0.9)
    assert found.details["weighted"] == 1
    assert set(found.details["samples"][0]["probabilities"]) == {"3", "4", "5"}


def test_a_majority_is_one_of_grades_also_where_they_are_weighed() -> None:
    shares = [("4", 0.7), ("4", 0.8), ("3", 0.9)]
    replies = [Reply(text=verdict(int(g)), logprobs=_tokens((g, p), ("1", 1 - p))) for g, p in shares]
    found, _ = _judged(replies, weighted=True, samples=3, combine="majority")
    assert found.value == 4.0
    assert found.details["spread"]["agreement"] == 2 / 3
    assert [each["grade"] for each in found.details["samples"]] == [4, 4, 3]


def test_in_a_majority_each_judge_of_a_panel_counts_the_same() -> None:
    replies = [verdict("pass"), verdict("pass"), verdict("fail"), verdict("fail"), *[Unanswered("HTTP 400")] * 2]
    found, _ = _judged(replies, rubric=SAFE, models=("openai:a", "openai:b"), samples=3)
    assert found.value is False


def test_without_probabilities_the_grade_stands_as_it_is() -> None:
    wrong = Reply(text=verdict(2), logprobs=_tokens(("4", 0.6), ("3", 0.4)))
    for reply in (verdict(2), wrong):
        found, _ = _judged([reply], weighted=True)
        assert found.value == 2.0
        assert "weighted" not in found.details


def test_details_can_be_written_and_read() -> None:
    found, _ = _judged([verdict(2), "nonsense", verdict(3)], samples=2)
    assert json.loads(json.dumps(found.details)) == found.details


def test_the_seed_differs_for_each_sample() -> None:
    _, scripted = _judged([verdict(3)] * 2, samples=2, seed=7)
    assert [request.seed for request in scripted.requests] == [7, 8]


def test_the_request_is_the_same_every_time() -> None:
    keys: list[Request] = []
    for _ in range(2):
        _, scripted = _judged([verdict(3)])
        keys += scripted.requests
    assert keys[0].key == keys[1].key
