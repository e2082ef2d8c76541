"""Questions of one process, put through another: everything a judge can say arrives, and nobody else is answered."""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from pantrace.engine.judge import Access, bench
from pantrace.errors import PantraceError, UsageError
from pantrace.judges import Cache, Cached, Line, Listener, Relay, Reply, Request, Settings, Unanswered
from pantrace.judges import relay_messages as messages
from pantrace.model import Usage
from scripted import Scripted, verdict

T = TypeVar("T")
QUESTION = Request(
    model="openai:m",
    system="be fair",
    prompt="half a letter: \ud800",
    schema={"type": "object", "enum": [1, 2.5, None]},
    exchanges=(("what?", "again"),),
    temperature=0.7,
    seed=2**63,
    logprobs=True,
    index=3,
)
REPLY = Reply(
    text="é \ud800",
    usage=Usage(input=3, output=4, cost_usd=0.1),
    model="m-2",
    stop="length",
    logprobs=[{"token": "a", "logprob": -0.1, "top_logprobs": [{"token": "b", "logprob": -2}]}],
    cached=True,
)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 60))


async def asked(line: Line, *requests: Request) -> list[Any]:
    relay = Relay(line)
    try:
        return await asyncio.gather(*map(relay.ask, requests), return_exceptions=True)
    finally:
        await relay.close()


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_a_question_and_its_reply_arrive_as_they_were(host: str | None) -> None:
    judge = Scripted(lambda _: REPLY)
    with Listener(judge, host=host) as listener:
        assert (listener.line.path is None) == (host is not None)
        # A relay is sent to another process, and finds its way from there.
        line = pickle.loads(pickle.dumps(Relay(listener.line))).line
        assert run(asked(line, QUESTION, QUESTION)) == [REPLY, REPLY]
    assert judge.requests == [QUESTION, QUESTION]
    assert judge.requests[0].key == QUESTION.key


def test_a_refusal_keeps_every_field() -> None:
    refusal = Unanswered("too busy", again=True, wait=2.5, hopeless=True, unasked=True, code=14)
    with Listener(Scripted(lambda _: refusal)) as listener:
        (found,) = run(asked(listener.line, QUESTION))
    assert isinstance(found, Unanswered)
    assert vars(found) == vars(refusal)


@pytest.mark.parametrize(
    ("trouble", "kind", "told"),
    [
        (UsageError("the cache is damaged"), UsageError, "^the cache is damaged$"),
        (ZeroDivisionError("by nothing"), PantraceError, "ZeroDivisionError: by nothing"),
    ],
)
def test_what_ends_the_run_is_raised_where_the_question_came_from(
    trouble: Exception, kind: type[Exception], told: str
) -> None:
    with Listener(Scripted(lambda _: trouble)) as listener, pytest.raises(kind, match=told) as raised:
        raise run(asked(listener.line, QUESTION))[0]
    assert type(raised.value) is kind


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_whoever_does_not_know_the_key_is_not_answered(host: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pantrace.judges.relay._PAUSE", 0.0)
    judge = Scripted(lambda _: REPLY)
    with Listener(judge, host=host) as listener:
        line = listener.line
        (found,) = run(asked(replace(line, key=bytes(32)), QUESTION))
        assert isinstance(found, PantraceError)
        assert "refused the key" in str(found)

        async def without_greeting() -> bytes:
            if line.path is not None:
                reader, writer = await asyncio.open_unix_connection(line.path)
            else:
                reader, writer = await asyncio.open_connection(line.host, line.port)
            # A question in the place of a proof, and long enough to be taken for one.
            writer.write(messages.packed(1, QUESTION))
            said = await reader.read()
            writer.close()
            return said

        assert len(run(without_greeting())) == 32  # the challenge, and nothing else
        assert judge.requests == []
        assert run(asked(line, QUESTION)) == [REPLY]


def test_nothing_is_told_to_a_stranger_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pantrace.judges.relay._PAUSE", 0.0)
    heard = []

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(32))
        heard.append(len(await reader.readexactly(64)))
        writer.write(bytes(32))
        heard.append(len(await reader.read()))
        writer.close()

    async def ask() -> Any:
        server = await asyncio.start_server(stranger, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        (found,) = await asked(Line(host=host, port=port, key=b"ours" * 8), QUESTION)
        server.close()
        return found

    assert "does not know the key" in str(run(ask()))
    assert set(heard) == {64, 0}


def test_messages_are_bounded_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LARGEST", 5_000)
    judge = Scripted(lambda request: Reply(text=request.prompt * 10))
    with Listener(judge) as listener:
        long, answer, short = run(asked(listener.line, *(replace(QUESTION, prompt="x" * n) for n in (9_000, 900, 9))))

        async def oversized() -> bytes:
            reader, writer = await asyncio.open_unix_connection(str(listener.line.path))
            await messages.greet_as_asking(reader, writer, listener.line.key)
            writer.write(struct.pack(">QI", 1, 2**32 - 1) + bytes(100))
            said = await reader.read()
            writer.close()
            return said

        assert run(oversized()) == b""
    for each in (long, answer):
        assert isinstance(each, Unanswered)
        assert "too large to be sent between processes" in each.reason
    assert short.text == "x" * 90
    assert len(judge.requests) == 2


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.may = asyncio.Event()

    async def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        await self.may.wait()
        return Reply(text=request.prompt)


def test_only_so_many_questions_of_one_worker_are_taken_at_once() -> None:
    judge = Slow()
    many = [replace(QUESTION, prompt=str(number)) for number in range(20)]
    with Listener(judge, at_once=3) as listener:

        async def ask() -> tuple[int, list[Any]]:
            relay = Relay(listener.line)
            waiting = [asyncio.create_task(relay.ask(each)) for each in many]
            await asyncio.sleep(0.3)
            taken = len(judge.requests)
            assert listener._loop is not None
            listener._loop.call_soon_threadsafe(judge.may.set)
            found = await asyncio.gather(*waiting)
            await relay.close()
            return taken, found

        taken, found = run(ask())
    assert taken == 3
    assert [each.text for each in found] == [each.prompt for each in many]


def test_what_a_dead_worker_asked_is_there_for_the_next(tmp_path: Path) -> None:
    judge = Slow()
    cached = Cached(judge, Cache(tmp_path / "cache.sqlite"))
    with Listener(cached) as listener:

        async def hang_up() -> None:
            relay = Relay(listener.line)
            waiting = asyncio.create_task(relay.ask(QUESTION))
            while not judge.requests:
                await asyncio.sleep(0.01)
            await relay.close()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

        async def ask_again() -> list[Any]:
            waiting = asyncio.create_task(asked(listener.line, QUESTION))
            await asyncio.sleep(0.1)
            assert listener._loop is not None
            listener._loop.call_soon_threadsafe(judge.may.set)
            return await waiting

        run(hang_up())
        (found,) = run(ask_again())
    assert found.text == QUESTION.prompt
    assert (len(judge.requests), cached.hits) == (1, 1)


def test_a_lost_connection_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pantrace.judges.relay._PAUSE", 0.0)
    with Listener(Scripted(lambda _: REPLY)) as listener:

        async def ask() -> list[Reply]:
            relay = Relay(listener.line)
            found = [await relay.ask(QUESTION)]
            assert relay._connection is not None
            relay._connection._writer.transport.abort()
            found.append(await relay.ask(QUESTION))
            await relay.close()
            return found

        assert run(ask()) == [REPLY, REPLY]
    (found,) = run(asked(listener.line, QUESTION))
    assert "the process that asks the judges cannot be reached" in str(found)


def test_the_socket_is_in_a_private_folder_that_goes_with_it() -> None:
    with Listener(Scripted(lambda _: REPLY)) as listener:
        assert listener.line.path is not None
        folder = Path(listener.line.path).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_uid == os.getuid()
        assert listener.line.key.hex() not in repr(listener.line)
    assert not folder.exists()


def test_a_host_that_is_not_ours_is_a_sentence() -> None:
    with pytest.raises(PantraceError, match=r"cannot listen at 192\.0\.2\.1 for questions to judges"):
        Listener(Scripted(lambda _: REPLY), host="192.0.2.1").__enter__()


def test_a_worker_finds_keys_in_texts_and_does_not_get_them(tmp_path: Path) -> None:
    key, other = "Zq81-unheard-of-form-77x", "plainwordsecret9"
    ours = bench(
        Settings(models=("openai:m",)),
        Access(keys={"openai": key}, secrets=(other,)),
        cache=tmp_path / "cache.sqlite",
        judge=Scripted(lambda _: verdict(1)),
    )
    sent = pickle.dumps(ours.relayed(Line(path="nowhere")))
    assert key.encode() not in sent
    assert other.encode() not in sent
    theirs = pickle.loads(pickle.dumps(pickle.loads(sent)))
    for text in (
        f"it said {key}",
        f"{key}{other} {key[:-1]} {other[:-1]}x {key}",
        f"https://host/?k={key}&o={other}",
        "Zq81-unheard-of-form-77y plainwordsecret8",
        key[:-1],
        "",
    ):
        assert theirs.clean(text) == ours.clean(text)
    assert theirs.clean(f"it said {key}") == "it said [redacted:configured-key]"
    assert theirs.heard is theirs.redactor
