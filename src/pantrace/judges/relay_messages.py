"""What two processes say to each other when one puts its questions through the other: a greeting by which each proves
that it knows the key, then numbered messages of JSON. Nothing is unpickled."""

from __future__ import annotations

import asyncio
import hmac
import struct
from secrets import token_bytes

from pantrace.errors import PantraceError, Unanswered, UsageError
from pantrace.model import Record
from pantrace.wire.json import encode

from .ask import Reply

LARGEST = 64_000_000
"""Bytes of one message. The longest prompts have some hundred thousand letters."""
GREETING_SECONDS = 10.0
"""How long the other side may take to prove that it knows the key."""
_FRAME = struct.Struct(">QI")
"""Number of the question, then bytes of the message."""
_NONCE, _PROOF = 32, 32
_ASKING, _ANSWERING = b"pantrace asks", b"pantrace answers"


class Line(Record, frozen=True, kw_only=True):
    """How to reach the process that answers. Whoever has it may ask, so it goes only to our own workers."""

    path: str | None = None
    """A Unix socket; None: `host` and `port`."""
    host: str = ""
    port: int = 0
    key: bytes = b""

    def __repr__(self) -> str:
        return f"Line({self.path or f'{self.host}:{self.port}'})"


class Refusal(Record, frozen=True, kw_only=True):
    """An `Unanswered`, as it is sent."""

    reason: str
    again: bool = False
    wait: float | None = None
    hopeless: bool = False
    unasked: bool = False
    code: int | None = None


class Answer(Record, frozen=True, kw_only=True):
    """A reply, or why there is none."""

    reply: Reply | None = None
    refusal: Refusal | None = None
    trouble: str | None = None
    """What ends the whole run: every other question would meet it, too."""
    is_usage: bool = False
    """Whether the trouble is a matter of names and options."""

    def unpacked(self) -> Reply:
        """The reply; raises what the judge raised in the other process."""
        if self.reply is not None:
            return self.reply
        if self.refusal is not None:
            refused = self.refusal
            raise Unanswered(
                refused.reason,
                again=refused.again,
                wait=refused.wait,
                hopeless=refused.hopeless,
                unasked=refused.unasked,
                code=refused.code,
            )
        raise (UsageError if self.is_usage else PantraceError)(self.trouble or "no answer")


def refusal_of(error: Unanswered) -> Answer:
    """A question that stays unanswered, as an answer."""
    return Answer(
        refusal=Refusal(
            reason=error.reason,
            again=error.again,
            wait=error.wait,
            hopeless=error.hopeless,
            unasked=error.unasked,
            code=error.code,
        )
    )


def packed(number: int, message: Record) -> bytes:
    """A message as it is sent. One that is too large stays unanswered, and is not tried again."""
    data = encode(message)
    if len(data) > LARGEST:
        size, most = f"{len(data) / 1e6:,.0f} MB", f"{LARGEST / 1e6:.0f} MB"
        raise Unanswered(f"too large to be sent between processes ({size}, at most {most}); --jobs 1 sends nothing")
    return _FRAME.pack(number, len(data)) + data


async def received(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The number and the bytes of the next message; a ConnectionError when there is none."""
    try:
        number, size = _FRAME.unpack(await reader.readexactly(_FRAME.size))
        if size > LARGEST:
            raise ConnectionError(f"a message of {size:,} bytes")
        return number, await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise ConnectionError("the other side has ended") from None


async def greet_as_asking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes) -> None:
    """Prove that we know the key, and that the other side does; else a ConnectionError, before anything is told."""
    async with asyncio.timeout(GREETING_SECONDS):
        theirs, ours = await _exactly(reader, _NONCE), token_bytes(_NONCE)
        writer.write(ours + _proof(key, _ASKING, theirs, ours))
        await writer.drain()
        proof = await _exactly(reader, _PROOF)
    if not hmac.compare_digest(proof, _proof(key, _ANSWERING, theirs, ours)):
        raise ConnectionError("the other side does not know the key")


async def greet_as_answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes) -> None:
    """The same from the other side."""
    async with asyncio.timeout(GREETING_SECONDS):
        ours = token_bytes(_NONCE)
        writer.write(ours)
        await writer.drain()
        said = await _exactly(reader, _NONCE + _PROOF)
        theirs, proof = said[:_NONCE], said[_NONCE:]
        if not hmac.compare_digest(proof, _proof(key, _ASKING, ours, theirs)):
            raise ConnectionError("the other side does not know the key")
        writer.write(_proof(key, _ANSWERING, ours, theirs))
        await writer.drain()


async def _exactly(reader: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise ConnectionError("the other side has refused the key, or ended") from None


def _proof(key: bytes, who: bytes, *nonces: bytes) -> bytes:
    return hmac.digest(key, b"".join((who, *nonces)), "sha256")
