"""A store that means harm: every command ends in one sentence, soon, in little memory, and writes nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from peers.cloud import hostile_server

SECONDS, BYTES = 60, 600_000_000
PATIENCE = "3"
SAID = {
    "endless": "there are more than 1,000,000 objects",
    "again": "the server is too slow",
    "empty-pages": "the server is too slow",
    "garbage": "invalid list response",
    "not-xml": "invalid list response",
    "entities": "invalid list response",
    "no-numbers": "invalid list response",
    "negative": "invalid list response",
    "huge": "must be fetched",
    "sum": "must be fetched",
    "up": "invalid path",
    "backslash": "its key cannot be a file name",
    "root": "invalid path",
    "elsewhere": "which is not below it",
    "long-name": "File name too long",
    "deep-name": "File name too long",
    "both": "a disk cannot store both",
    "larger": "more than the 107 bytes",
    "endless-body": "more than the 107 bytes",
    "truncated": "the store answered",
    "no-length": "the store answered",
    "drip": "the server is too slow",
    "drip-listing": "the server is too slow",
    "silent": "the server is too slow",
    "error": "500 Internal Server Error",
    "denied": "access is denied",
    "redirect": "the store answered",
    "elsewhere-body": "it changed while it was read",
    "lying-run": "more than the 64,000,010 bytes",  # a manifest may grow between the listing and the reading
}
READ = {"encoded-up": "an odd name is a name: %2e%2e stays what it is"}
COMMANDS = {
    "detect": ("detect", "URL"),
    "measure": ("measure", "URL"),
    "validate": ("validate", "URL"),
    "convert": ("convert", "URL", "--to", "native", "-o", "out.trace.jsonl"),
    "redact": ("redact", "URL", "-o", "out"),
    "report": ("report", "URL", "-o", "out.html"),
    "compare": ("compare", "URL", "URL"),
    "aggregate": ("aggregate", "URL"),
    "diagnose": ("diagnose", "URL"),
    "check": ("check", "URL", "--rules", "stateless-handoff"),
    "judge": ("judge", "URL", "--rubric", "general_quality", "--dry-run"),
    "plot": ("plot", "URL", "-o", "out.svg"),
    "eval": ("eval", "URL", "--out", "out"),
    "query": ("query", "URL", "select 1"),
    "gate": ("gate", "URL"),
    "calibrate": ("calibrate", "URL", "--labels", "labels.csv", "-o", "out.json"),
    "power": ("power", "--delta", "0.1", "--run", "URL"),
    "run": ("run", "URL", "--agent", "cmd:cat", "--out", "out"),
    "migrate": ("migrate", "URL", "-o", "out"),
    "view": ("view", "URL", "--no-open", "--port", "0"),
}
WORST = ("endless-body", "garbage", "up", "error", "lying-run")


class Hostile:
    """The server, in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, hostile_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = f"http://127.0.0.1:{self._line()}"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def signed_visits(self) -> int:
        """Requests to another host that carried the user's signature."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._line())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    server = Hostile()
    yield server
    server.close()


def run(hostile: Hostile, folder: Path, *words: str) -> tuple[int, str]:
    """The command in a folder of its own: how it ended, and what it said."""
    here = folder / "here"
    here.mkdir()
    given = {
        "AWS_ENDPOINT_URL": hostile.address,
        "AWS_ACCESS_KEY_ID": "loopback",
        "AWS_SECRET_ACCESS_KEY": "loopback",
        "AWS_REGION": "us-east-1",
        "PANTRACE_CACHE": str(folder / "cache"),
        "PANTRACE_CLOUD_TIMEOUT": PATIENCE,
        "COLUMNS": "1000",
        "HOME": str(folder / "home"),
    }
    began = monotonic()
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "pantrace", *words],
            cwd=here,
            env={**os.environ, **given},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert monotonic() - began < SECONDS
    assert used.ru_maxrss * 1024 < BYTES
    assert {each.name for each in folder.iterdir()} <= {"here", "cache", "home", "said"}
    return process.returncode, (folder / "said").read_text(errors="replace")


@pytest.mark.parametrize("name", SAID)
def test_whatever_a_store_does_is_one_sentence(name: str, hostile: Hostile, tmp_path: Path) -> None:
    code, said = run(hostile, tmp_path, "show", f"s3://{name}/runs")
    assert code == 2, said
    assert SAID[name] in said
    assert said.startswith("error: s3://") and said.count("\n") == 1 and "\x1b" not in said, said
    assert not [*(tmp_path / "here").iterdir()]
    assert not [*tmp_path.rglob("*outside*")]


@pytest.mark.parametrize("name", READ)
def test_what_is_only_odd_is_read(name: str, hostile: Hostile, tmp_path: Path) -> None:
    code, said = run(hostile, tmp_path, "show", f"s3://{name}/runs")
    assert code == 0 and "hi" in said
    assert all(each.is_relative_to(tmp_path / "cache") for each in tmp_path.rglob("*outside*"))


def test_every_behaviour_of_the_server_is_tried() -> None:
    assert {*hostile_server.LISTINGS, *hostile_server.BODIES} <= {*SAID, *READ}


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_takes_a_url_ends_so(command: str, name: str, hostile: Hostile, tmp_path: Path) -> None:
    words = [word.replace("URL", f"s3://{name}/runs") for word in COMMANDS[command]]
    code, said = run(hostile, tmp_path, *words)
    assert code == 2, said
    assert "error: " in said and "internal error" not in said and "Traceback" not in said, said
    assert SAID[name] in said or command in ("query", "gate", "power"), said
    left = {each.name for each in (tmp_path / "here").rglob("*") if each.is_file()}
    assert left <= {"lock", "manifest.sqlite", "run.json"}, left


@pytest.mark.parametrize("name", ["error", "no-tag", "silent", "garbage", "endless-body", "lying-run"])
def test_a_run_directory_cannot_be_written_there(name: str, hostile: Hostile, tmp_path: Path) -> None:
    golden = Path(__file__).parents[2] / "golden/native/every_part.trace.jsonl"
    code, said = run(hostile, tmp_path, "eval", str(golden), "--out", f"s3://{name}/results/today")
    assert code == 2, said
    assert "error: " in said and "internal error" not in said and "Traceback" not in said, said


def test_the_signature_is_not_sent_to_another_host(hostile: Hostile, tmp_path: Path) -> None:
    """The client follows where a store sends it, as S3 does for a bucket that has moved."""
    run(hostile, tmp_path, "show", "s3://redirect/runs")
    assert hostile.signed_visits() == 0
