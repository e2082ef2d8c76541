"""The cache: nothing is asked twice, whoever asks."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pantrace.errors import Unanswered, UsageError
from pantrace.judges import Cache, Cached, Replayed, Reply, Request
from scripted import Scripted, verdict

REQUEST = Request(model="openai:m", system="s", prompt="p", schema={"a": 1}, temperature=0.0, max_tokens=10)


def test_the_second_time_nothing_is_asked(tmp_path: Path) -> None:
    scripted = Scripted(lambda _: verdict(4))
    cached = Cached(scripted, Cache(tmp_path / "deep" / "cache.sqlite"))
    first, second = (asyncio.run(cached.ask(REQUEST)) for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert msgspec.structs.replace(second, cached=False) == first
    assert len(scripted.requests) == 1
    again = Replayed(Cache(tmp_path / "deep" / "cache.sqlite"))
    assert asyncio.run(again.ask(REQUEST)) == second


OTHERS: list[dict[str, Any]] = [
    {"model": "openai:n"},
    {"system": "t"},
    {"prompt": "q"},
    {"schema": {"a": 2}},
    {"temperature": 0.5},
    {"max_tokens": 11},
    {"seed": 1},
    {"logprobs": True},
    {"index": 1},
    {"exchanges": (("x", "y"),)},
]


def test_all_that_a_reply_depends_on_is_in_its_address() -> None:
    assert {name for change in OTHERS for name in change} == set(Request.__struct_fields__)
    keys = {msgspec.structs.replace(REQUEST, **change).key for change in OTHERS} | {REQUEST.key}
    assert len(keys) == len(OTHERS) + 1


def test_the_same_question_at_once_goes_out_once(tmp_path: Path) -> None:
    scripted = Scripted(lambda _: verdict(4))

    async def together() -> list[Reply]:
        cached = Cached(scripted, Cache(tmp_path / "c"))
        return await asyncio.gather(*(cached.ask(REQUEST) for _ in range(10)))

    assert {reply.text for reply in asyncio.run(together())} == {verdict(4)}
    assert len(scripted.requests) == 1


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    answers: list[Any] = [Unanswered("HTTP 500"), verdict(3)]
    cached = Cached(Scripted(lambda _: answers.pop(0)), Cache(tmp_path / "c"))
    with pytest.raises(Unanswered):
        asyncio.run(cached.ask(REQUEST))
    assert asyncio.run(cached.ask(REQUEST)).text == verdict(3)


def test_replay_says_what_is_missing(tmp_path: Path) -> None:
    replayed = Replayed(Cache(tmp_path / "c"))
    with pytest.raises(Unanswered, match="not in the cache"):
        asyncio.run(replayed.ask(REQUEST))
    assert replayed.missing == 1


def _fill(path: Path, name: str) -> None:
    cache = Cache(path)
    for index in range(100):
        request = msgspec.structs.replace(REQUEST, index=index)
        cache.put(request, Reply(text=f"{name} {index}"))


def test_several_processes_share_one_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "c"
    workers = [context.Process(target=_fill, args=(path, name)) for name in ("a", "b", "c")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    cache = Cache(path)
    assert len(cache) == 100
    # Whoever came second took over the reply of whoever came first.
    kept = cache.put(REQUEST, Reply(text="late"))
    assert kept.text in ("a 0", "b 0", "c 0")


def test_what_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("no database at all, but long enough to be taken for a page of one" * 50)
    with pytest.raises(UsageError, match="cannot be used as a judge cache"):
        Cache(tmp_path / "c")


def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    for statement in ("create table notes (text)", "create table replies (a)"):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as mine:
            mine.execute(statement)
            mine.commit()
        before = path.read_bytes()
        with pytest.raises(UsageError, match=r"mine\.sqlite: a database of something else"):
            Cache(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["'text'", "x'00'", "17"])
def test_a_damaged_reply_is_named_with_its_file(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    cache.put(REQUEST, Reply(text=verdict(4)))
    with closing(sqlite3.connect(tmp_path / "cache.sqlite")) as other:
        other.execute(f"update replies set reply = {damage}")
        other.commit()
    with pytest.raises(UsageError, match=r"cache\.sqlite: the judge cache is damaged"):
        cache.get(REQUEST.key)


def test_two_commands_with_one_cache_have_one_answer_even_if_both_asked(tmp_path: Path) -> None:
    """A question that another process waits for is not known here: both ask, and the first reply counts for both."""
    second_asked = asyncio.Event()

    class Slow:
        async def ask(self, _: Request) -> Reply:
            await second_asked.wait()
            return Reply(text="first")

    class Slower:
        async def ask(self, _: Request) -> Reply:
            second_asked.set()
            await asyncio.sleep(0.05)
            return Reply(text="second")

    async def both() -> list[Reply]:
        one, other = Cached(Slow(), Cache(tmp_path / "c")), Cached(Slower(), Cache(tmp_path / "c"))
        return [*await asyncio.gather(one.ask(REQUEST), other.ask(REQUEST))]

    assert [reply.text for reply in asyncio.run(both())] == ["first", "first"]
