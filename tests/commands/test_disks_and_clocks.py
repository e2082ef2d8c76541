"""A full disk, a read-only one and a clock that jumps: one sentence, nothing partial, and the same command goes on."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pantrace.store import query
from thorough import quick

ROOT = Path(__file__).parent.parent.parent
ROOM = "20m"
"""What each command has room in."""
COMMANDS = {
    "convert": ("convert", "in.trace.jsonl", "--to", "adk-jsonl", "-o", "DISK/out.jsonl"),
    "convert to a folder": ("convert", "in.trace.jsonl", "--to", "opencode", "-o", "DISK/out"),
    "convert with parts": ("convert", "parts", "--jobs", "2", "--to", "native", "-o", "DISK/out.trace.jsonl"),
    "redact": ("redact", "in.trace.jsonl", "-o", "DISK/out.trace.jsonl"),
    "measure": ("measure", "in.trace.jsonl", "-o", "DISK/out.csv"),
    "report": ("report", "in.trace.jsonl", "-o", "DISK/out.html"),
    "report as Markdown": ("report", "in.trace.jsonl", "-o", "DISK/out.md"),
    "plot": ("plot", "in.trace.jsonl", "-o", "DISK/out.svg"),
    "eval": ("eval", "in.trace.jsonl", "--out", "DISK/out"),
    "eval with files": (
        "eval",
        "in.trace.jsonl",
        "--out",
        "DISK/out",
        "--markdown",
        "DISK/a.md",
        "--junit",
        "DISK/a.xml",
    ),
    "run": ("run", "cases.csv", "--agent", "cmd:cat", "--out", "DISK/out"),
}
KEPT = ("eval", "eval with files", "run")
"""What is continued: what was finished before stays."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of some hundred kilobytes that does not pack well, the same in parts, and a list of questions."""
    folder = tmp_path_factory.mktemp("inputs")
    dice = random.Random(7)
    (folder / "parts").mkdir()
    lines = []
    for number in range(60):
        text = dice.randbytes(2_000).hex()
        lines.append(
            f'{{"id":"s{number}","case":{{"id":"c{number}"}},"scores":[{{"name":"quality","value":{number % 5}}}],'
            f'"trajectory":{{"outcome":{{"status":"{"failed" if number % 3 else "passed"}"}},'
            f'"steps":[{{"role":"user","parts":[{{"type":"text","text":"{text}"}}]}}]}}}}\n'
        )
    (folder / "in.trace.jsonl").write_text('{"pantrace":"1"}\n' + "".join(lines))
    for number in range(4):
        part = '{"pantrace":"1"}\n' + "".join(lines[number::4])
        (folder / f"parts/{number}.trace.jsonl").write_text(part)
    questions = "".join(f"q{number},{dice.randbytes(500).hex()}\n" for number in range(8))
    (folder / "cases.csv").write_text("id,question\n" + questions)
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mounted("-t", "tmpfs", "-o", f"size={ROOM}", "none", str(folder)):
        pytest.skip("only who may mount file systems can fill one up")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _mounted(*words: str) -> bool:
    if shutil.which("mount") is None:
        return False
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


def _pantrace(
    name: str, disk: Path, inputs: Path, before: tuple[str, ...] = (), **more: Any
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(inputs / "cache")}
    environment |= more.pop("environment", {})
    words = [word.replace("DISK", str(disk)) for word in COMMANDS[name]]
    return subprocess.run(
        [*before, sys.executable, "-m", "pantrace", *words],
        cwd=inputs,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )


def _found(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*")}


def _rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a run directory says about each sample, but for how long it took."""
    questions = {
        "samples": "select sample, count(*) from samples group by sample",
        "scores": "select sample, name, value, status from scores where name not like '%latency%'",
        "decisions": "select sample, profile, passed from decisions",
    }
    return {table: query(folder, f"{question} order by all").rows for table, question in questions.items()}


def _refused(done: subprocess.CompletedProcess[str], *why: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    (error,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert error.startswith("error: ")
    assert any(each in error for each in why), error


@pytest.mark.parametrize("name", quick({"convert", "eval"}, COMMANDS))
def test_a_full_disk(name: str, disk: Path, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "wide").mkdir()
    whole = _pantrace(name, tmp_path / "wide", inputs)
    assert whole.returncode in (0, 1), whole.stderr
    failed = 0
    for room in (0, 60_000):
        filler = disk / "filler"
        _fill(filler, room)
        before = _found(disk)
        done = _pantrace(name, disk, inputs)
        if done.returncode == 2:
            failed += 1
            _refused(done, "No space left on device", "disk is full", "is the disk full?")
            if name not in KEPT:
                assert _found(disk) == before
        else:
            assert done.returncode == whole.returncode
        filler.unlink()
        if name not in KEPT:
            _empty(disk)
    assert failed, "there was always room"
    again = _pantrace(name, disk, inputs)
    assert again.returncode == whole.returncode, again.stderr
    assert not [each for each in _found(disk) if Path(each).name.startswith(".pantrace")]
    if name in KEPT:
        assert _rows(disk / "out") == _rows(tmp_path / "wide/out")
        assert _checked(disk / "out", inputs) == 0
    else:
        assert _found(disk) == _found(tmp_path / "wide")


def _fill(filler: Path, room: int) -> None:
    """Take all of a disk but so many bytes."""
    state = os.statvfs(filler.parent)
    with filler.open("wb") as file:
        file.write(bytes(max(0, state.f_bavail * state.f_frsize - room)))


def _empty(disk: Path) -> None:
    for each in disk.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def _checked(folder: Path, inputs: Path) -> int:
    words = [sys.executable, "-m", "pantrace", "validate", str(folder)]
    return subprocess.run(
        words, cwd=inputs, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize("name", quick({"convert"}, COMMANDS))
def test_a_read_only_disk(name: str, disk: Path, inputs: Path, tmp_path: Path) -> None:
    if name in KEPT:
        assert _pantrace(name, disk, inputs).returncode in (0, 1)
    before = _found(disk)
    assert _mounted("-o", "remount,ro", str(disk))
    try:
        _refused(_pantrace(name, disk, inputs), "Read-only file system")
        if name in KEPT:
            assert query(disk / "out", "select count(*) from samples").rows[0][0] > 0
    finally:
        _mounted("-o", "remount,rw", str(disk))
    assert _found(disk) == before
    assert _pantrace(name, disk, inputs).returncode in (0, 1)


@pytest.mark.parametrize("name", quick({"convert"}, ("convert", "redact", "report", "eval", "run")))
def test_a_folder_without_the_right_to_write(name: str, inputs: Path, tmp_path: Path) -> None:
    # Root may write everywhere, unless it gives that right away.
    bound = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    if bound and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to give that right away")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    _refused(_pantrace(name, locked, inputs, before=bound), "Permission denied")
    assert not _found(locked)
    locked.chmod(0o755)
    assert _pantrace(name, locked, inputs, before=bound).returncode in (0, 1)


@pytest.mark.parametrize("name", quick({"convert"}, ("convert", "redact", "report", "measure")))
def test_no_file_may_be_so_large(name: str, inputs: Path, tmp_path: Path) -> None:
    """What is left to try where nobody may mount: a quota on one file."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (2_000, 2_000))
    _refused(_pantrace(name, tmp_path, inputs, preexec_fn=limit), "File too large")
    assert not _found(tmp_path)
    assert _pantrace(name, tmp_path, inputs).returncode == 0


JUMPING = """
import random, time
true, dice = time.time, random.Random(1)
time.time = lambda: true() + dice.choice((-400, 0, 400)) * 86_400
time.time_ns = lambda: int(time.time() * 1e9)
"""


@pytest.mark.parametrize("name", quick({"convert"}, ("eval", "run", "convert", "report")))
def test_a_clock_that_jumps(name: str, inputs: Path, tmp_path: Path) -> None:
    """By 400 days, back and forth, at every look."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock/sitecustomize.py").write_text(JUMPING)
    jumping = {"PYTHONPATH": f"{tmp_path / 'clock'}{os.pathsep}{ROOT / 'src'}"}
    still, moved = tmp_path / "still", tmp_path / "moved"
    still.mkdir()
    moved.mkdir()
    calm = _pantrace(name, still, inputs)
    for _ in range(3):
        done = _pantrace(name, moved, inputs, environment=jumping)
        assert done.returncode == calm.returncode, done.stderr
        assert "Traceback" not in done.stderr
    if name in KEPT:
        assert _rows(moved / "out") == _rows(still / "out")
        assert _checked(moved / "out", inputs) == 0
        if name == "run":
            took = [
                value for (value,) in query(moved / "out", "select value from scores where name like '%latency%'").rows
            ]
            assert took
            assert all(0 <= value < 60 for value in took), "no clock was asked how long it took"
    else:
        assert _found(moved) == _found(still)
