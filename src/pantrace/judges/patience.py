"""Patience and limits: asking again, not too many at once, not beyond a budget. Each is a judge around a judge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from .ask import Judge, Reply, Request, Unanswered


class Patient:
    """Asks again where that may help, each time after a longer wait."""

    def __init__(
        self,
        judge: Judge,
        *,
        dice: Random,
        attempts: int = 5,
        first_wait: float = 1.0,
        longest_wait: float = 60.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ):
        self.judge = judge
        self.dice = dice
        self.attempts = attempts
        self.first_wait = first_wait
        self.longest_wait = longest_wait
        self.sleep = sleep
        self.retries = 0

    async def ask(self, request: Request) -> Reply:
        for attempt in range(1, self.attempts + 1):
            try:
                return await self.judge.ask(request)
            except Unanswered as error:
                if not error.again:
                    raise
                if attempt == self.attempts:
                    raise Unanswered(
                        f"{error.reason} (asked {'once' if attempt == 1 else f'{attempt} times'})", code=error.code
                    ) from None
                if error.wait is not None and error.wait > self.longest_wait:
                    why = f"{error.reason}; it asks to wait {error.wait:g} s, which is too long"
                    raise Unanswered(why, code=error.code) from None
                self.retries += 1
                await self.sleep(self._wait(attempt, error.wait))
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, asked: float | None) -> float:
        # Spread out, so that many who failed together do not return together.
        own: float = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait) * self.dice.uniform(0.5, 1.0)
        return own if asked is None else asked + own * 0.25


class AtMost:
    """Lets only so many questions wait for their answers at once, and none any more when it is hopeless."""

    def __init__(self, judge: Judge, limit: int):
        self.judge = judge
        self._free = asyncio.Semaphore(limit)
        self._hopeless: dict[str, Unanswered] = {}
        """By model: each judge of a panel has its own fate."""

    async def ask(self, request: Request) -> Reply:
        async with self._free:
            if request.model in self._hopeless:
                raise self._hopeless[request.model]
            try:
                return await self.judge.ask(request)
            except Unanswered as error:
                if error.hopeless:
                    self._hopeless[request.model] = error
                raise


class Budgeted:
    """Stops asking when tokens, dollars or questions are used up; what was answered stays."""

    def __init__(
        self,
        judge: Judge,
        *,
        tokens: int | None = None,
        dollars: float | None = None,
        questions: int | None = None,
    ):
        self.judge = judge
        self.tokens = tokens
        self.dollars = dollars
        self.questions = questions
        self.asked = 0
        """Questions that went out, answered or not."""
        self.used_tokens = 0
        self.used_dollars = 0.0
        self.calls = 0
        self.unpriced = 0
        """Replies of unknown cost."""
        self.uncounted = 0
        """Replies that do not say how many tokens they took: an estimate stands in."""
        self._waiting = 0
        """Estimated tokens of the questions that are being asked."""
        self._first = asyncio.Lock()

    async def ask(self, request: Request) -> Reply:
        if self.dollars is not None and not self.calls:
            # What a question costs, and whether that is known at all, only the first reply tells.
            async with self._first:
                if not self.calls:
                    return await self._asked(request)
        return await self._asked(request)

    async def _asked(self, request: Request) -> Reply:
        estimate = request.estimated_tokens
        if self.tokens is not None and self.used_tokens + self._waiting + estimate > self.tokens:
            raise Unanswered(f"budget exhausted: {self.used_tokens} of {self.tokens} tokens are used", unasked=True)
        if self.dollars is not None and self.unpriced:
            raise Unanswered(
                "budget exhausted: the cost of this model is unknown, so it cannot be held to a budget", unasked=True
            )
        if self.dollars is not None and self.used_dollars + self._price(self._waiting + estimate) > self.dollars:
            raise Unanswered(
                f"budget exhausted: {self.used_dollars:.4f} of {self.dollars:g} USD are used", unasked=True
            )
        if self.questions is not None and self.asked >= self.questions:
            raise Unanswered(f"budget exhausted: {self.asked} of {self.questions} calls are made", unasked=True)
        self.asked += 1
        self._waiting += estimate
        try:
            reply = await self.judge.ask(request)
        finally:
            self._waiting -= estimate
        self.calls += 1
        tokens = tokens_of(reply)
        self.uncounted += not tokens
        self.used_tokens += tokens or estimate
        cost = reply.usage.cost_usd if reply.usage is not None else None
        self.unpriced += cost is None
        self.used_dollars += cost or 0.0
        return reply

    def _price(self, tokens: int) -> float:
        """About what so many tokens cost, by what was paid so far."""
        return self.used_dollars / self.used_tokens * tokens if self.used_tokens else 0.0


def tokens_of(reply: Reply) -> int | None:
    """Tokens of a question and its reply, where reported."""
    usage = reply.usage
    if usage is None:
        return None
    if usage.total is not None:
        return usage.total
    known = [number for number in (usage.input, usage.output) if number is not None]
    return sum(known) if known else None
