"""Discretion: a key that a provider echoes is not kept, not printed and not counted, wherever it stands."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pantrace.engine.judge import Access, Bench, bench, judge_all
from pantrace.judges import Cache, Discreet, Reply, Request, Settings, Unanswered, asked_as, load_rubric, requests_for
from pantrace.judges.cut import Absent
from pantrace.judges.inputs import gather
from pantrace.judges.prompt import prompt_for
from pantrace.model import Score, Usage
from pantrace.wire.json import encode
from scripted import Scripted, sample_of, verdict

KEY = "open sesame 4711"
"""No rule knows its form."""
OTHER = "ghp_Zx9Kq2Lm7Pv4Rt8Wb3Nc6Hd1Jf5Gs0Yaabcd"
RUBRIC = load_rubric("HelpfulnessExplain")
SETTINGS = Settings(models=("openai:m",))
ACCESS = Access(keys={"openai": KEY}, attempts=1)


def _asked(script: Any, cache: Path | None = None, access: Access = ACCESS) -> tuple[Score, Bench]:
    run = bench(SETTINGS, access, cache=cache, judge=Scripted(script))
    ((_, (score,)),) = judge_all([sample_of()], [RUBRIC], run)
    return score, run


ECHOES = {
    "the reason": verdict(4, f"the key is {KEY}, or {OTHER}"),
    "no verdict": f"{KEY} and {OTHER} are no verdict",
    "escapes": 'Well: {"reason": "' + "".join(f"\\u{ord(letter):04x}" for letter in KEY) + '", "score": 4}',
    "the model": Reply(text=verdict(4), model=f"{KEY}"),
    "the end": Reply(text=verdict(4), stop=KEY),
    "an error": Unanswered(f"HTTP 500: wrong key {KEY} {OTHER}"),
    "an error that is cut": Unanswered("x" * 225 + f" {KEY} {OTHER}"),
    "a wrong key": Unanswered(f"HTTP 401: {KEY}", hopeless=True),
}


@pytest.mark.parametrize("name", ECHOES)
def test_an_echoed_key_is_neither_in_the_score_nor_in_the_cache(name: str, tmp_path: Path) -> None:
    score, run = _asked(lambda _: ECHOES[name], tmp_path / "c.sqlite")
    told = encode(score).decode() + str(run.summary()) + str(run.counts.problems)
    with sqlite3.connect(tmp_path / "c.sqlite") as database:
        kept = str(database.execute("select * from replies").fetchall())
    for text in (told, kept):
        for secret in (KEY, KEY[:-1], OTHER, OTHER[:20]):
            assert secret not in text
    assert score.status == ("scored" if name in ("the reason", "escapes", "the model", "the end") else "unscored")


def test_what_else_an_error_says_stays() -> None:
    script = Scripted(lambda _: Unanswered(f"HTTP 429: {KEY}", again=True, wait=7.0, code=429))
    with pytest.raises(Unanswered) as caught:
        asyncio.run(
            Discreet(script, lambda text: text.replace(KEY, "[gone]")).ask(Request(model="m", system="", prompt=""))
        )
    error = caught.value
    assert (error.reason, error.again, error.wait, error.code) == ("HTTP 429: [gone]", True, 7.0, 429)


def test_tokens_that_spell_a_key_are_dropped_and_others_are_kept() -> None:
    innocent = [{"token": "4", "logprob": -0.5, "top_logprobs": [{"token": "4", "logprob": -0.5}]}]
    spelt = [{"token": piece, "logprob": 0.0, "top_logprobs": []} for piece in ("open ", "ses", "ame ", "4711")]
    hidden = [{"token": "4", "logprob": 0.0, "top_logprobs": [{"token": KEY, "logprob": -1.0}]}]
    for logprobs, kept in ((innocent, innocent), (spelt, None), (hidden, None)):
        script = Scripted(lambda _, logprobs=logprobs: Reply(text=verdict(4), logprobs=logprobs))
        judge = Discreet(script, lambda text: text.replace(KEY, "[gone]"))
        assert asyncio.run(judge.ask(Request(model="m", system="", prompt=""))).logprobs == kept


def test_keys_that_lie_beside_the_one_in_use_are_not_told_either() -> None:
    score, _ = _asked(lambda _: verdict(4, f"and {KEY} too"), access=Access(keys={"openai": "none"}, secrets=(KEY,)))
    assert score.explanation == "and [redacted:configured-key] too"
    # A server of one's own is asked without a key, which its client calls "none".
    assert _asked(lambda _: verdict(4, "none is missing"), access=Access(keys={"openai": "none"}))[0].explanation == (
        "none is missing"
    )


def test_a_cache_from_before_is_read_with_discretion(tmp_path: Path) -> None:
    asked = asked_as(sample_of(), RUBRIC)
    material = gather(sample_of(), asked)
    assert not isinstance(material, Absent)
    (request,) = requests_for(prompt_for(asked, material), SETTINGS)
    cache = Cache(tmp_path / "c.sqlite")
    cache.put(request, Reply(text=verdict(3, f"it was {KEY}"), usage=Usage(input=1, output=1, total=2)))
    run = bench(SETTINGS, Access(secrets=(KEY,)), cache=tmp_path / "c.sqlite", replay=True)
    ((_, (score,)),) = judge_all([sample_of()], [RUBRIC], run)
    assert (score.value, score.explanation) == (3.0, "it was [redacted:configured-key]")


def test_a_key_in_a_recording_is_not_sent() -> None:
    asked = Scripted(lambda _: verdict(4))
    run = bench(SETTINGS, ACCESS, judge=asked)
    list(judge_all([sample_of(answer=f"The key is {KEY}.")], [RUBRIC], run))
    (request,) = asked.requests
    assert KEY not in request.prompt
    assert "The key is [redacted:configured-key]." in request.prompt
