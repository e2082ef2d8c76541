"""Judges asked by several processes: the same results, one budget, one cache, whoever dies."""

from __future__ import annotations

import math
import os
import signal
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine.recordings import sample, write
from engine.run_content import run_content
from engine.test_engines import lives
from pantrace.engine.convert import write_run
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import Engine
from pantrace.engine.intake import Done
from pantrace.engine.judge import Access, Bench, bench
from pantrace.engine.plan import JudgeTable, MeasureTable, Plan, prepare
from pantrace.errors import UsageError
from pantrace.judges import Request, Settings, Unanswered
from pantrace.library.judge import Grading, grading
from pantrace.model import Run
from pantrace.store import query
from pantrace.store.json_text import exact_json
from scripted import Scripted, verdict

PLAN = Plan(
    measure=MeasureTable(metrics=("tool_success_rate",)),
    judge=JudgeTable(rubrics=["HelpfulnessExplain", "CoherenceExplain"]),
)
READY = prepare(PLAN, Path())


def by_content(request: Request) -> Any:
    """A grade that follows from the question alone; one question in eleven is refused."""
    number = int(sha256(request.prompt.encode()).hexdigest(), 16)
    return Unanswered("not this one") if number % 11 == 0 else verdict(1 + number % 5)


def judging(judge: Any, cache: Path, **access: Any) -> Bench:
    return bench(Settings(models=("openai:m",)), Access(attempts=1, **access), cache=cache, judge=judge)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of many parts each, of which the second repeats part of the first, and a broken line."""
    folder = tmp_path_factory.mktemp("judged") / "runs"
    folder.mkdir()
    write(folder / "a.trace.jsonl", range(120))
    with (folder / "a.trace.jsonl").open("a") as file:
        file.write('{"torn\n')
    write(folder / "b.trace.jsonl", range(90, 150))
    return folder


def evaluated(runs: Path, out: Path, jobs: int, ours: Bench, **more: Any) -> Done:
    return evaluate_into([runs], out, READY, "", judging=ours, engine=Engine(jobs=jobs), span_bytes=4_000, **more)


def test_run_directories_and_counts_are_equal_and_each_question_goes_out_once(runs: Path, tmp_path: Path) -> None:
    found = {}
    for jobs in (1, 2, 3):
        judge = Scripted(by_content)
        ours = judging(judge, tmp_path / f"{jobs}.sqlite")
        done = evaluated(runs, tmp_path / str(jobs), jobs, ours)
        assert done.by == ([] if jobs == 1 else [f"{jobs} processes"])
        assert len(done.notes.broken) == 1
        questions = Counter(request.prompt for request in judge.requests)
        refused = [prompt for prompt in questions if isinstance(by_content(request_of(prompt)), Unanswered)]
        # Samples that are there twice are asked about once, unless nobody answered.
        assert {prompt for prompt, count in questions.items() if count > 1} <= {*refused}
        assert len(questions) == 300
        summary = ours.summary()
        assert (summary["calls"], summary["scored"] + summary["unscored"]) == (300 - len(refused), 360)
        assert summary["unscored_because"] == {"not this one": summary["unscored"]}
        found[jobs] = run_content(tmp_path / str(jobs)), {**summary}
    assert len(found[1][0]["files"]) > 20
    assert found[1] == found[2] == found[3]


def request_of(prompt: str) -> Request:
    return Request(model="openai:m", system="", prompt=prompt)


def test_what_nobody_answered_is_asked_again_by_workers_and_nothing_else(runs: Path, tmp_path: Path) -> None:
    out, cache = tmp_path / "out", tmp_path / "cache.sqlite"
    first, second, third = Scripted(by_content), Scripted(lambda _: verdict(3)), Scripted(lambda _: verdict(3))
    evaluated(runs, out, 2, judging(first, cache))
    unanswered = query(out, "select count(*) from scores where status = 'unscored'").rows[0][0]
    assert unanswered > 10
    refused = {each.prompt for each in first.requests if isinstance(by_content(each), Unanswered)}
    done = evaluated(runs, out, 2, judging(second, cache))
    assert done.renewed > 0
    assert {each.prompt for each in second.requests} == refused
    assert query(out, "select count(*) from scores where status = 'unscored'").rows == [(0,)]
    done = evaluated(runs, out, 2, judging(third, cache))
    assert (done.measured, third.requests) == (0, [])


@pytest.mark.parametrize("jobs", [2, 3])
def test_a_budget_of_calls_is_never_exceeded_and_the_next_run_asks_the_rest(
    jobs: int, runs: Path, tmp_path: Path
) -> None:
    whole, first, second = (Scripted(lambda request: verdict(1 + len(request.prompt) % 5)) for _ in range(3))
    evaluated(runs, tmp_path / "whole", 1, judging(whole, tmp_path / "whole.sqlite"))
    scarce = judging(first, tmp_path / "cache.sqlite", calls=37)
    evaluated(runs, tmp_path / "out", jobs, scarce)
    assert (len(first.requests), scarce.summary()["calls"]) == (37, 37)
    assert list(scarce.summary()["unscored_because"]) == ["budget exhausted: 37 of 37 calls are made"]
    evaluated(runs, tmp_path / "out", jobs, judging(second, tmp_path / "cache.sqlite"))
    assert len(first.requests) + len(second.requests) == len(whole.requests) == 300
    assert run_content(tmp_path / "out")["files"] == run_content(tmp_path / "whole")["files"]


def test_a_worker_killed_while_it_waits_for_a_judge_changes_nothing(runs: Path, tmp_path: Path) -> None:
    alone = judging(Scripted(by_content), tmp_path / "alone.sqlite")
    evaluated(runs, tmp_path / "alone", 1, alone)
    killed: list[int] = []

    def kill(request: Request) -> Any:
        # Somewhere in mid-run, twice: whoever of our workers is found first.
        if len(judge.requests) in (40, 150):
            workers = _workers()
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])
        return by_content(request)

    judge = Scripted(kill)
    ours = judging(judge, tmp_path / "cache.sqlite")
    done = evaluated(runs, tmp_path / "out", 2, ours)
    assert len(killed) == 2
    assert not any(map(lives, killed))
    assert done.measured == 180
    assert run_content(tmp_path / "out") == run_content(tmp_path / "alone")
    # Counted once, although some were judged twice; what had been answered was not asked again.
    expected, found = alone.summary(), ours.summary()
    assert {name: found[name] for name in ("calls", "scored", "unscored")} == {
        name: expected[name] for name in ("calls", "scored", "unscored")
    }


def _workers() -> list[int]:
    """Processes of our pool: on Linux children of the server that they are forked from."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    children = {pid for pid, parent in parents.items() if parent == os.getpid()}
    found = [pid for pid, parent in parents.items() if parent in children and b"forkserver" in _command(pid)]
    return [pid for pid in found if lives(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_ctrl_c_ends_it_at_once_and_the_next_run_goes_on(runs: Path, tmp_path: Path) -> None:
    judge, again, fresh = (Scripted(lambda request: verdict(1 + len(request.prompt) % 5)) for _ in range(3))
    seen: list[object] = []

    def interrupt(sample: object) -> None:
        seen.append(sample)
        if len(seen) == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluated(runs, tmp_path / "out", 2, judging(judge, tmp_path / "cache.sqlite"), on_sample=interrupt)
    assert _workers() == []
    done = evaluated(runs, tmp_path / "out", 1, judging(again, tmp_path / "cache.sqlite"))
    assert done.reused > 0
    assert {request.prompt for request in judge.requests}.isdisjoint(request.prompt for request in again.requests)
    evaluated(runs, tmp_path / "fresh", 1, judging(fresh, tmp_path / "fresh.sqlite"))
    assert len(fresh.requests) == 300 == len(judge.requests) + len(again.requests)
    assert run_content(tmp_path / "out")["files"] == run_content(tmp_path / "fresh")["files"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_trouble_of_the_run_is_told_the_same_way(jobs: int, runs: Path, tmp_path: Path) -> None:
    damaged = UsageError("cache.sqlite: the judge cache is damaged; remove it or name another")
    with pytest.raises(UsageError) as raised:
        evaluated(runs, tmp_path / "out", jobs, judging(Scripted(lambda _: damaged), tmp_path / "cache.sqlite"))
    assert str(raised.value) == str(damaged)


def test_one_part_alone_is_judged_here_also_where_there_are_workers(tmp_path: Path) -> None:
    source = write(tmp_path / "one.trace.jsonl", range(30))
    contents = []
    for jobs in (1, 2):
        judge = Scripted(by_content)
        out = tmp_path / str(jobs)
        ours = judging(judge, tmp_path / f"{jobs}.sqlite")
        seen: list[object] = []
        engine = Engine(jobs=jobs)
        done = evaluate_into([source], out, READY, "", judging=ours, engine=engine, on_sample=seen.append)
        assert (len(judge.requests), len(seen), done.by) == (60, 30, [])
        contents.append((run_content(out), ours.summary()))
    assert contents[0] == contents[1]


# `judge`


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More than fits into one batch: long samples in two files, and many small files."""
    folder = tmp_path_factory.mktemp("judge") / "files"
    folder.mkdir()
    for name, first in (("a", 0), ("b", 30)):
        long = [sample(number, f"answer {number} " + "and so on " * 6_000) for number in range(first, first + 20)]
        odd = {"nan": math.nan, "half": "\ud800", "long": 2**70}
        long[3] = replace(long[3], trajectory=replace(long[3].trajectory, state=odd))  # type: ignore[type-var]
        write_run(Run(samples=long), folder / f"{name}.trace.jsonl", to="native", measure=False)
    for number in range(100, 170):
        write(folder / f"small{number}.trace.jsonl", range(number, number + 1))
    with (folder / "small100.trace.jsonl").open("a") as file:
        file.write('{"torn\n')
    return folder


def graded(files: Path, jobs: int, monkeypatch: pytest.MonkeyPatch, judge: Any, cache: Path, **more: Any) -> Grading:
    ours = judging(judge, cache, concurrency=8)
    monkeypatch.setattr("pantrace.library.judge.bench_of", lambda *_, **__: ours)
    table = JudgeTable(models=["openai:m"])
    return grading([files], ["HelpfulnessExplain"], table, engine=Engine(jobs=jobs), **more)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("source", [".", "a.trace.jsonl", "small100.trace.jsonl"])
def test_judge_says_the_same_in_the_order_of_the_input(
    source: str, whole: bool, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for jobs in (1, 2):
        judge = Scripted(by_content)
        ready = graded(files / source, jobs, monkeypatch, judge, tmp_path / f"{jobs}.sqlite", sub_agents=True)
        found = [*ready.judged(whole=whole)]
        rows = [row for _, _, rows in found for row in rows]
        # As text: NaN does not equal itself, and defaults are not to be written out.
        samples = [(exact_json(sample), exact_json(scores)) for sample, scores, _ in found] if whole else []
        notes = (ready.notes.left_out(), ready.notes.formats)
        said.append((rows, samples, ready.judges.summary(), notes, len(judge.requests), ready.run.name))
        assert ready.by == ([] if jobs == 1 or source != "." else ["2 processes"])
    assert said[0] == said[1]
    assert said[0][4] == {".": 110, "a.trace.jsonl": 20, "small100.trace.jsonl": 1}[source]


def test_small_files_are_judged_together_by_workers(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, a worker would have one question out at a time."""
    import asyncio

    from pantrace.judges import Reply

    class Counting:
        at_once = most = 0

        async def ask(self, request: Request) -> Reply:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            await asyncio.sleep(0.02)
            self.at_once -= 1
            return Reply(text=verdict(3))

    judge = Counting()
    ready = graded(files, 2, monkeypatch, judge, tmp_path / "cache.sqlite")
    assert len([*ready.judged()]) == 110
    assert judge.most == 8


def test_workers_of_judge_meet_a_selection_and_trouble(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pantrace.library.sources import select

    odd = select(where="label.parity=odd")
    ready = graded(files, 2, monkeypatch, Scripted(by_content), tmp_path / "1.sqlite", selection=odd)
    assert [sample.id for sample, _, _ in ready.judged()] == [
        f"s{number:04d}" for number in (*range(1, 20, 2), *range(31, 50, 2), *range(101, 170, 2))
    ]
    assert (odd.read, odd.taken) == (110, 55)
    trouble = UsageError("no such judge")
    ready = graded(files, 2, monkeypatch, Scripted(lambda _: trouble), tmp_path / "2.sqlite")
    with pytest.raises(UsageError) as raised:
        [*ready.judged()]
    assert str(raised.value) == "no such judge"
