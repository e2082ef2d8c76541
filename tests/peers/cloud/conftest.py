"""One S3 server for all tests, a bucket for each, and the `pantrace` command with an environment that reaches it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from peers.cloud.s3_server import Server, running_server

_numbers = count()
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as found:
        yield found


@pytest.fixture
def bucket(server: Server) -> str:
    """The name of an empty bucket."""
    name = f"bucket-{next(_numbers)}"
    server.create(name)
    return name


@pytest.fixture
def machine(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process is on a machine whose cache is empty."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    cache = tmp_path / "cache"
    monkeypatch.setenv("PANTRACE_CACHE", str(cache))
    return cache


@pytest.fixture
def command(server: Server, machine: Path) -> Command:
    """Run `pantrace` in a process of its own, on the machine whose cache is here."""

    def run(*words: str, cache: Path = machine, **others: str | None) -> subprocess.CompletedProcess[str]:
        given = {**os.environ, **server.environment, "PANTRACE_CACHE": str(cache), "COLUMNS": "80", **others}
        environment = {name: value for name, value in given.items() if value is not None}
        return subprocess.run(
            [sys.executable, "-m", "pantrace", *words], capture_output=True, text=True, env=environment, check=False
        )

    return run
