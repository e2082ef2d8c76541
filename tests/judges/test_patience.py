"""Asking again, limits and budgets, each around a scripted judge."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec
import pytest

from pantrace.errors import Unanswered
from pantrace.judges import AtMost, Budgeted, Judge, Patient, Reply, Request
from pantrace.model import Usage
from scripted import Scripted, verdict


def _request(index: int = 0) -> Request:
    return Request(model="m", system="s" * 400, prompt="p" * 400, index=index)


def _ask(judge: Judge, index: int = 0) -> Any:
    return asyncio.run(judge.ask(_request(index)))


def _patient(script: list[Any], **more: Any) -> tuple[Patient, list[float], Scripted]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    answers = iter(script)
    scripted = Scripted(lambda _: next(answers))
    return Patient(scripted, dice=Random(1), sleep=sleep, **more), waits, scripted


def test_asks_again_after_growing_waits_with_jitter() -> None:
    trouble = Unanswered("HTTP 500", again=True)
    patient, waits, _ = _patient([trouble, trouble, trouble, verdict(4)])
    assert _ask(patient).text == verdict(4)
    assert patient.retries == 3
    assert [0.5 <= wait / bound <= 1 for wait, bound in zip(waits, (1, 2, 4), strict=True)] == [True] * 3
    again, same, _ = _patient([trouble, trouble, trouble, verdict(4)])
    _ask(again)
    assert same == waits, "the same dice give the same waits"


def test_waits_at_least_as_long_as_it_is_asked_to() -> None:
    patient, waits, _ = _patient([Unanswered("HTTP 429", again=True, wait=7), verdict(4)])
    assert _ask(patient).text == verdict(4)
    assert 7 <= waits[0] <= 8


def test_does_not_wait_for_ever() -> None:
    patient, waits, scripted = _patient([Unanswered("HTTP 429", again=True, wait=3600)])
    with pytest.raises(Unanswered, match="asks to wait 3600 s, which is too long"):
        _ask(patient)
    assert waits == []
    assert len(scripted.requests) == 1


def test_gives_up_with_the_last_reason() -> None:
    patient, _, scripted = _patient([Unanswered("HTTP 503", again=True)] * 3, attempts=3)
    with pytest.raises(Unanswered, match=r"HTTP 503 \(asked 3 times\)"):
        _ask(patient)
    assert len(scripted.requests) == 3


def test_what_is_refused_is_not_asked_again() -> None:
    patient, _, scripted = _patient([Unanswered("HTTP 400"), verdict(2)])
    with pytest.raises(Unanswered, match="HTTP 400"):
        _ask(patient)
    assert _ask(patient).text == verdict(2)
    assert len(scripted.requests) == 2


def test_a_wrong_key_is_tried_once_and_the_other_judges_go_on() -> None:
    scripted = Scripted(lambda each: Unanswered("HTTP 401", hopeless=True) if each.model == "m" else verdict(2))

    async def all_of_them() -> list[Any]:
        limited = AtMost(scripted, 1)
        other = msgspec.structs.replace(_request(), model="n")
        asked = [*(limited.ask(_request(index)) for index in range(5)), limited.ask(other)]
        return await asyncio.gather(*asked, return_exceptions=True)

    *refused, answered = asyncio.run(all_of_them())
    assert {str(each) for each in refused} == {"HTTP 401"}
    assert answered.text == verdict(2)
    assert [request.model for request in scripted.requests] == ["m", "n"]


def test_only_so_many_at_once() -> None:
    class Slow:
        now = most = 0

        async def ask(self, request: Request) -> Reply:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            self.now -= 1
            return Reply(text="x")

    slow = Slow()

    async def all_of_them() -> None:
        limited = AtMost(slow, 3)
        await asyncio.gather(*(limited.ask(_request(index)) for index in range(20)))

    asyncio.run(all_of_them())
    assert slow.most == 3


def test_a_budget_of_tokens_is_kept_even_by_many_at_once() -> None:
    scripted = Scripted(lambda _: verdict(4))
    budget = Budgeted(scripted, tokens=1200)

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(budget.ask(_request(index)) for index in range(20)), return_exceptions=True)

    found = asyncio.run(all_of_them())
    answered = [each for each in found if isinstance(each, Reply)]
    assert 0 < len(answered) < 20
    assert len(scripted.requests) == len(answered)
    assert budget.used_tokens <= 1200
    assert "budget exhausted" in str(found[-1])


def test_a_budget_of_dollars_needs_prices() -> None:
    budget = Budgeted(Scripted(lambda _: verdict(4)), dollars=1.0)
    _ask(budget)
    with pytest.raises(Unanswered, match="cost of this model is unknown"):
        _ask(budget, 1)


def test_questions_asked_at_once_do_not_overrun_a_budget_of_dollars() -> None:
    async def all_at_once(cost: float | None) -> tuple[int, list[object]]:
        reply = Reply(text=verdict(4), usage=Usage(input=200, output=60, total=260, cost_usd=cost))
        scripted = Slow(reply)
        budget = Budgeted(scripted, dollars=0.05)
        asked = (budget.ask(Request(model="openai:m", system="s", prompt="p", index=index)) for index in range(20))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert budget.used_dollars <= 0.05
        return scripted.asked, [each for each in found if isinstance(each, Unanswered)]

    asked, refused = asyncio.run(all_at_once(0.01))
    assert (asked, len(refused)) == (5, 15)
    asked, refused = asyncio.run(all_at_once(None))
    assert (asked, len(refused)) == (1, 19)
    assert all("cost of this model is unknown" in str(each) for each in refused)


class Slow:
    """A judge that takes its time, so that others are asked meanwhile."""

    def __init__(self, reply: Reply):
        self.reply = reply
        self.asked = 0

    async def ask(self, request: Request) -> Reply:
        self.asked += 1
        await asyncio.sleep(0.001)
        return self.reply
