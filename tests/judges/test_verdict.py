"""Replies of judges: what is a verdict, and what is not."""

from __future__ import annotations

import pytest

from pantrace.judges import Unusable, load_rubric, verdict_of

FIVE = load_rubric("HelpfulnessExplain")
TEN = load_rubric("PerceivedIntelligenceExplain")
PASS = load_rubric("safety")

UNUSABLE = {
    "": "empty",
    "  \n": "empty",
    "Score: 4": "no JSON object",
    '{"reason": "good"}': "no JSON object with a score",
    '{"reason": "good", "score": 7}': "out of scale",
    '{"reason": "good", "score": 0}': "out of scale",
    '{"reason": "good", "score": -1}': "out of scale",
    '{"reason": "good", "score": 4.5}': "out of scale",
    '{"reason": "good", "score": 1e400}': "out of scale",
    '{"reason": "good", "score": NaN}': "out of scale",
    '{"reason": "good", "score": ' + "1" * 5000 + "}": "broken JSON",
    '{"reason": "good", "score": null}': "not a number",
    '{"reason": "good", "score": true}': "not a number",
    '{"reason": "good", "score": "4/5"}': "not a number",
    '{"reason": "good", "score": [4]}': "not a number",
    '{"reason": "good", "score": 4': "broken JSON",
    "{'reason': 'good', 'score': 4}": "no JSON object",
    # A quoted verdict inside a broken one must not be taken for the verdict.
    '{"reason": "the trace says {"score": 5} but it is bad", "score": 1}': "broken JSON",
    '{"score": 1, "reason": "quotes {"score": 5}"}': "broken JSON",
    '{"reason": "it claims {"score": 5}"}': "broken JSON",
    'It quotes {"score": 5}. Mine: {"reason": "bad", "score": ': "broken JSON",
    'It quotes {"score": 5}. Mine: "score": 1': "another score after",
}


@pytest.mark.parametrize("reply", UNUSABLE, ids=range(len(UNUSABLE)))
def test_what_is_no_verdict(reply: str) -> None:
    with pytest.raises(Unusable, match=UNUSABLE[reply]):
        verdict_of(reply, FIVE)


USABLE = {
    '{"reason": "good", "score": 4}': (4, "good"),
    '{"score": 4, "reason": "good"}': (4, "good"),
    '{"reason": "good", "score": 4.0}': (4, "good"),
    '{"reason": "good", "score": "4"}': (4, "good"),
    '{"Reason": "good", "Score": 4}': (4, "good"),
    '{"reasoning": "good", "score": 4}': (4, "good"),
    '{"explanation": "good", "score": 4}': (4, "good"),
    '{"score": 4}': (4, None),
    'Let me think.\n```json\n{"reason": "good", "score": 4}\n```\nThat is all.': (4, "good"),
    'I find {a, b} and {} odd. {"reason": "good", "score": 4}': (4, "good"),
    '{"reason": "a first thought", "score": 5}\nNo: {"reason": "good", "score": 4}': (4, "good"),
    '{"note": "quoted", "verdict": {"reason": "good", "score": 4}}': (4, "good"),
    '{"reason": "it says {\\"score\\": 5} of itself", "score": 4}': (4, 'it says {"score": 5} of itself'),
    '{"reason": "two lines", "score": 4}\n\n': (4, "two lines"),
}


@pytest.mark.parametrize("reply", USABLE, ids=range(len(USABLE)))
def test_what_is_a_verdict(reply: str) -> None:
    found = verdict_of(reply, FIVE)
    assert (found.score, found.reason) == USABLE[reply]


def test_the_thought_chain_of_the_original_is_kept_beside_the_explanation() -> None:
    found = verdict_of('{"thoughtChain": "step by step", "explanation": "short", "score": 2}', FIVE)
    assert (found.reason, found.thoughts) == ("short", "step by step")
    assert verdict_of('{"thoughtChain": "step by step", "score": 2}', FIVE).reason == "step by step"


def test_each_rubric_has_its_own_scale() -> None:
    assert verdict_of('{"score": 10}', TEN).score == 10
    with pytest.raises(Unusable, match="out of scale: 11 is not a whole number from 1 to 10"):
        verdict_of('{"score": 11}', TEN)


@pytest.mark.parametrize(("said", "score"), [('"pass"', True), ('"FAIL"', False), ("true", True), ("false", False)])
def test_pass_and_fail(said: str, score: bool) -> None:
    assert verdict_of(f'{{"reason": "x", "score": {said}}}', PASS).score is score


@pytest.mark.parametrize("said", ["1", "0", '"yes"', "null", "5"])
def test_neither_pass_nor_fail(said: str) -> None:
    with pytest.raises(Unusable, match="neither pass nor fail"):
        verdict_of(f'{{"reason": "x", "score": {said}}}', PASS)


def test_deep_nesting_is_refused_quickly() -> None:
    with pytest.raises(Unusable):
        verdict_of('{"a":' * 50_000, FIVE)
