"""Listener: lets other processes use our judge, so that there is one cache, one budget and one queue for all of them,
and keys stay here (`relay` is the other end)."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from secrets import token_bytes
from threading import Thread

from pantrace.errors import PantraceError, Unanswered, UsageError
from pantrace.wire.json import decode_as

from .ask import Judge, Request
from .relay_messages import Answer, Line, greet_as_answering, packed, received, refusal_of

_LOOPBACK = "127.0.0.1"
_END = 10.0
"""Seconds in which questions and connections may end when the block is left."""


async def _nothing() -> None:
    pass


class Listener:
    """Answers questions while its block runs, in a thread with an event loop of its own. Nobody else may use the judge
    meanwhile.

    Whoever hangs up leaves its questions behind: they are answered into the cache, where the next finds them."""

    def __init__(
        self,
        judge: Judge,
        *,
        host: str | None = None,
        at_once: int = 8,
        close: Callable[[], Awaitable[None]] = _nothing,
    ):
        """`host`: where to listen; None: where only this machine can reach us. `at_once`: questions that are taken from
        one connection before the first of them is answered. `close` is awaited in the judge's loop at the end."""
        self._judge = judge
        self._host = host
        self._at_once = at_once
        self._close = close
        self._key = token_bytes(32)
        self._folder: str | None = None
        self._begun: Future[Line] = Future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        # Not waited for when Python ends: whoever pressed Ctrl-C twice is not kept.
        self._thread = Thread(target=self._work, name="pantrace judges", daemon=True)

    def __enter__(self) -> Listener:
        self._thread.start()
        self.line = self._begun.result()
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._over is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(_END)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _work(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._begun.done():
                raise
            self._begun.set_exception(error)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server, line = await self._opened()
        self._begun.set_result(line)
        try:
            await self._over.wait()
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._close()

    async def _opened(self) -> tuple[asyncio.Server, Line]:
        if self._host is None and (found := await self._opened_as_file()) is not None:
            return found
        try:
            server = await asyncio.start_server(self._connected, self._host or _LOOPBACK, 0)
        except OSError as error:
            raise PantraceError(f"cannot listen at {self._host} for questions to judges: {error}") from None
        host, port = server.sockets[0].getsockname()[:2]
        return server, Line(host=host, port=port, key=self._key)

    async def _opened_as_file(self) -> tuple[asyncio.Server, Line] | None:
        """A Unix socket in a folder that only this user may enter; None where there is no such thing, or where the name
        of the folder is too long for one."""
        if not hasattr(asyncio, "start_unix_server"):
            return None
        self._folder = tempfile.mkdtemp(prefix="pt-judges-")
        path = str(Path(self._folder) / "line")
        try:
            return await asyncio.start_unix_server(self._connected, path), Line(path=path, key=self._key)
        except OSError:
            return None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await greet_as_answering(reader, writer, self._key)
            free = asyncio.Semaphore(self._at_once)
            while True:
                # What is not read here fills the line, and then the other side waits.
                await free.acquire()
                number, data = await received(reader)
                answering = asyncio.create_task(self._answer(number, data, writer, free))
                self._tasks.add(answering)
                answering.add_done_callback(self._tasks.discard)
        except (OSError, asyncio.CancelledError):
            pass  # it has ended, it does not know the key, or we end
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, number: int, data: bytes, writer: asyncio.StreamWriter, free: asyncio.Semaphore) -> None:
        try:
            answer = await self._answered(data)
            try:
                message = packed(number, answer)
            except Unanswered as error:
                message = packed(number, refusal_of(error))
            if not writer.is_closing():
                writer.write(message)
                await writer.drain()
        except OSError:
            pass  # nobody waits for it any more
        finally:
            free.release()

    async def _answered(self, data: bytes) -> Answer:
        try:
            return Answer(reply=await self._judge.ask(decode_as(data, Request)))
        except Unanswered as error:
            return refusal_of(error)
        except PantraceError as error:
            return Answer(trouble=str(error), is_usage=isinstance(error, UsageError))
        except Exception as error:  # noqa: BLE001 -- raised where the question was asked, and so by the command
            return Answer(trouble=f"a judge could not be asked: {type(error).__name__}: {error}")
