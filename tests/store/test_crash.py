"""A run directory after `kill -9`, while another process writes it, and on a full disk."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pantrace
from pantrace.errors import UsageError, WriteError
from pantrace.model import RunHeader
from pantrace.store import Result, RunDirectory, query
from pantrace.store.manifest import committed_parts
from store import writer
from thorough import thorough

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS, SIZE = 50, 40
TABLES = ("samples", "steps", "calls", "scores", "decisions")
ENVIRONMENT = {"PYTHONPATH": str(Path(pantrace.__file__).parent.parent)}


@contextmanager
def writing(folder: Path, parts: int = PARTS, size: int = SIZE, limit: int = 0) -> Iterator[subprocess.Popen[str]]:
    """The writer as a process, once it has begun."""
    command = [sys.executable, writer.__file__, str(folder), str(parts), str(size), str(limit)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            yield process
        finally:
            process.kill()


def lines(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.read().splitlines()


def all_rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {table: query(folder, f"select * exclude (run) from {table} order by all").rows for table in TABLES}


def ours(folder: Path) -> RunDirectory:
    return RunDirectory.open_for_writing(folder, RunHeader(), "plan = 1", "hash")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    writer.write(str(folder), PARTS, SIZE)
    return all_rows(folder)


@thorough
def test_twenty_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, undisturbed: dict[str, list[tuple[Any, ...]]]
) -> None:
    dice = random.Random(2026)
    run = kills = torn = 0
    acknowledged: set[str] = set()
    while kills < 20:
        folder = tmp_path / str(run)
        with writing(folder) as process:
            assert process.stdout is not None
            said = [process.stdout.readline().strip() for _ in range(dice.randrange(3))]
            time.sleep(dice.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            said += lines(process)
        acknowledged |= {line for line in said if line.endswith("-abc")}
        finished = "finished" in said
        kills += not finished
        torn += unfinished(folder)
        committed = {part for (part,) in query(folder, "select distinct part from samples").rows}
        assert acknowledged <= committed
        assert len(committed - acknowledged) <= kills, "each kill hides at most the word of one commit"
        assert query(folder, "select count(*) from samples").rows == [(len(committed) * SIZE,)]
        if finished:
            assert all_rows(folder) == undisturbed
            run, acknowledged = run + 1, set()
    assert torn >= 5, "the kills did not come while a part was being written"
    with writing(folder) as process:
        assert lines(process)[-1] == "finished"
    assert all_rows(folder) == undisturbed
    assert len(undisturbed["samples"]) == len(undisturbed["decisions"]) == PARTS * SIZE == 2000
    assert not unfinished(folder)
    with RunDirectory.open(folder) as directory:
        assert directory.header.status == "success"
        assert sum(1 for _ in directory.samples()) == 2000


def unfinished(folder: Path) -> bool:
    """Whether there are files that do not count."""
    counting = {file.file for part in committed_parts(folder / "manifest.sqlite") for file in part.files}
    return not {path.name for path in (folder / "parts").iterdir()} <= counting


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    writer.write(str(tmp_path / "run"), 3, 5)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run/parts").iterdir()}
    with ours(tmp_path / "run") as directory:
        directory.write_part("00001-abc", (pytest.fail("asked for results") for _ in range(1)))  # type: ignore[func-returns-value]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run/parts").iterdir()} == before


def test_others_read_while_one_writes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    counts = []
    with writing(folder, 30, SIZE) as process:
        while process.poll() is None:
            with RunDirectory.open(folder) as directory:
                counts.append(sum(1 for _ in directory.samples()))
            counts.append(query(folder, "select count(*) from samples").rows[0][0])
        assert lines(process)[-1] == "finished"
    assert counts == sorted(counts)
    assert all(count % SIZE == 0 for count in counts), "a part was seen half"
    assert len(set(counts)) > 2, "nothing was read in between"


def test_a_second_writer_is_refused_and_a_killed_one_does_not_block(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with writing(folder, 10_000, 1) as process:
        with pytest.raises(UsageError, match=rf"another process is writing here \(pid {process.pid} on .*wait until"):
            ours(folder)
        process.kill()
        process.wait()
        assert f"pid {process.pid}" in (folder / "lock").read_text()
        with ours(folder) as directory, pytest.raises(UsageError, match=f"pid {os.getpid()}"):
            RunDirectory.open(directory.path, writing=True)
    with ours(folder):
        pass


FORKING = """
import os, signal, sys, time
from pantrace.model import RunHeader
from pantrace.store import RunDirectory
directory = RunDirectory.open_for_writing(sys.argv[1], RunHeader(), "plan = 1", "hash")
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
time.sleep(0.5)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_worker_that_outlives_its_parent_does_not_block(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKING, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.wait()
        try:
            with ours(tmp_path / "run"):
                os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


def test_after_a_kill_a_directory_that_cannot_be_written_is_still_read(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with writing(folder, 10_000, 1) as process:
        assert process.stdout is not None
        for _ in range(3):
            process.stdout.readline()
        process.kill()
        process.wait()
    assert (folder / "manifest.sqlite-wal").stat().st_size, "nothing lies in the log only"
    (folder / "manifest.sqlite-shm").unlink()
    folder.chmod(0o555)
    try:
        with RunDirectory.open(folder) as directory:
            assert sum(1 for _ in directory.samples()) >= 3
    finally:
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on file sizes")
@pytest.mark.parametrize(("size", "limit"), [(1, 60_000), (1500, 40_000)], ids=["manifest", "part"])
def test_a_full_disk_stops_cleanly_and_the_run_goes_on_later(tmp_path: Path, size: int, limit: int) -> None:
    folder = tmp_path / "run"
    writer.write(str(folder), 1, size)
    with writing(folder, 40, size, limit) as process:
        *acknowledged, last = lines(process)
    assert last.startswith("WriteError: ")
    assert "what was committed stays valid" in last
    assert bool(acknowledged) == (size == 1)
    assert not list((folder / "parts").glob(".*"))
    found = {part for (part,) in query(folder, "select distinct part from samples").rows}
    assert found == {"00000-abc", *acknowledged}
    writer.write(str(folder), 3 + len(found), size)
    assert query(folder, "select count(*), count(distinct sample) from samples").rows == [
        ((3 + len(found)) * size,) * 2
    ]


@pytest.mark.parametrize("when", ["before the part", "before the commit"])
def test_a_vanished_directory_is_said(tmp_path: Path, when: str) -> None:
    import shutil

    folder = tmp_path / "run"

    def vanishing() -> Iterator[Result]:
        if when == "before the part":
            shutil.rmtree(folder)
        yield writer.result(1)
        if when == "before the commit":
            shutil.rmtree(folder, ignore_errors=True)

    with ours(folder) as directory, pytest.raises(WriteError, match="run: cannot be written: "):
        directory.write_part("a", vanishing())
