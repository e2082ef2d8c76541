"""Relay: a worker's judge. It puts every question to the process that the user started, which has the cache, the
budget and the keys (`listener`)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from typing import Any

from pantrace.errors import PantraceError
from pantrace.wire.json import decode_as

from .ask import Reply, Request
from .relay_messages import Answer, Line, greet_as_asking, packed, received

_ATTEMPTS = 3
"""How often a question is put where the connection is lost. The other side has it in its cache, or is asking."""
_PAUSE = 0.5


class Relay:
    """Asks over one connection, opened with the first question; many questions may wait for their answers. Between
    two calls of `close` it is used in one event loop."""

    def __init__(self, line: Line):
        self.line = line
        self._connection: _Connection | None = None
        self._opening = asyncio.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process as what it takes to connect."""
        return Relay, (self.line,)

    async def ask(self, request: Request) -> Reply:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                answer = await (await self._connected()).ask(request)
                return answer.unpacked()
            except OSError as error:  # among them ConnectionError and TimeoutError
                if attempt == _ATTEMPTS:
                    raise PantraceError(f"the process that asks the judges cannot be reached: {error}") from None
                await asyncio.sleep(_PAUSE * attempt)
        raise AssertionError("unreachable")

    async def close(self) -> None:
        """Hang up; the next question connects again, perhaps in another event loop."""
        connection, self._connection = self._connection, None
        self._opening = asyncio.Lock()
        if connection is not None:
            await connection.close()

    async def _connected(self) -> _Connection:
        async with self._opening:
            if self._connection is not None and self._connection.is_lost:
                await self._connection.close()
                self._connection = None
            if self._connection is None:
                self._connection = await _connect(self.line)
            return self._connection


async def _connect(line: Line) -> _Connection:
    if line.path is not None:
        reader, writer = await asyncio.open_unix_connection(line.path)
    else:
        reader, writer = await asyncio.open_connection(line.host, line.port)
    try:
        await greet_as_asking(reader, writer, line.key)
    except BaseException:
        writer.close()
        raise
    return _Connection(reader, writer)


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader, self._writer = reader, writer
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Answer | None]] = {}
        self._writing = asyncio.Lock()
        self.is_lost = False
        self._listening = asyncio.create_task(self._listen())

    async def ask(self, request: Request) -> Answer:
        number = next(self._numbers)
        data = packed(number, request)
        found: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = found
        try:
            # One at a time: while the other side takes no more, the next question is not even copied.
            async with self._writing:
                if self.is_lost:
                    raise ConnectionError("the other side has ended")
                self._writer.write(data)
                await self._writer.drain()
            answer = await found
        finally:
            del self._waiting[number]
        if answer is None:
            raise ConnectionError("the other side has ended")
        return answer

    async def _listen(self) -> None:
        try:
            while True:
                number, data = await received(self._reader)
                waiting = self._waiting.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(decode_as(data, Answer))
        except OSError:
            pass  # told to all who wait
        finally:
            self.is_lost = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_result(None)

    async def close(self) -> None:
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
