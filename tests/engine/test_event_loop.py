"""Ctrl-C at any moment of the loop is one KeyboardInterrupt, and what has to be closed can be closed."""

from __future__ import annotations

import asyncio

import pytest

from pantrace.engine.event_loop import EventLoop


async def pressed() -> None:
    raise KeyboardInterrupt


async def closed() -> str:
    await asyncio.sleep(0)
    return "closed"


def test_while_the_coroutine_waits() -> None:
    async def asks() -> None:
        await asyncio.gather(asyncio.create_task(pressed()), asyncio.sleep(60))

    async def waits() -> None:
        await asyncio.gather(*(asyncio.create_task(asks()) for _ in range(3)))

    with EventLoop() as loop:
        with pytest.raises(KeyboardInterrupt):
            loop.run(waits())
        assert loop.run(closed()) == "closed"


def test_between_the_end_of_the_coroutine_and_the_end_of_the_loop(capfd: pytest.CaptureFixture[str]) -> None:
    tasks = []

    async def ends() -> None:
        tasks.append(asyncio.create_task(pressed()))

    with EventLoop() as loop:
        with pytest.raises(KeyboardInterrupt):
            loop.run(ends())
        assert loop.run(closed()) == "closed"
        tasks.clear()
    assert capfd.readouterr().err == ""
