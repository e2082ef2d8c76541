"""Ray: parts done by a cluster, or by a Ray of our own on this machine. A node that is lost costs its parts' time."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pantrace.errors import MissingExtra, PantraceError, ReadError
from pantrace.wire.limits import Limits, limits, set_limits

from .collector import seldom_collecting
from .executor import Task, cores
from .input_part import InputPart
from .pool import DEATHS, sendable

_LOOPBACK = "127.0.0.1"
_PATIENCE = 10.0
"""Seconds for a cluster to answer."""
_AHEAD = 4
"""Parts for each core that may be under way or done before the results of the oldest are taken."""


class RayCluster:
    """A connection to Ray, ended with the block. Input and run directory must be on storage that every node sees.

    What Ray takes from the environment (`cli.engine_options`) must be there before: it decides where nodes listen."""

    def __init__(self, address: str | None, jobs: int | None, on_start: Callable[[str], None] = lambda _: None):
        """Refuses at once what cannot be done: Ray is not installed, or nobody answers at the address."""
        if find_spec("ray") is None:
            raise MissingExtra("--engine ray", "cluster")
        if address is not None:
            _knock(address)
        self._address = address
        self._jobs = jobs
        self._on_start = on_start
        self._ray: Any = None
        self._folder: str | None = None

    def __enter__(self) -> RayCluster:
        import ray  # type: ignore[import-not-found,unused-ignore]

        self._ray = ray
        quiet = {"log_to_driver": False, "logging_level": "error", "ignore_reinit_error": True}
        try:
            if self._address is not None:
                ray.init(address=self._address, **quiet)
            elif not ray.is_initialized():
                # Short: names of sockets in it must fit into about 100 characters.
                self._folder = tempfile.mkdtemp(prefix="pt-ray-")
                ray.init(
                    num_cpus=self._jobs or cores(),
                    include_dashboard=False,
                    _node_ip_address=_LOOPBACK,
                    _temp_dir=self._folder,
                    **quiet,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            self.__exit__()
            raise _unreachable(self._address or "on this machine", error) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._ray is not None and (self._folder is not None or self._address is not None):
            self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._ray = self._folder = None

    def map_parts(self, task: Task, parts: Iterable[InputPart]) -> Iterator[tuple[InputPart, Iterable[Any]]]:
        """Each part with its records, in the order of the parts. A part whose node or process is lost is done again."""
        ray = self._ray
        many = self._jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._on_start(f"Ray with {many} cores")
        remote = ray.remote(num_cpus=1, max_retries=DEATHS)(_done)
        sent, folder = ray.put(task), str(Path.cwd())
        waiting: deque[tuple[InputPart, Any]] = deque()
        left = iter(parts)
        while True:
            while len(waiting) < _AHEAD * many and (part := next(left, None)) is not None:
                waiting.append((part, remote.remote(sent, part, folder, limits())))
            if not waiting:
                return
            part, promised = waiting.popleft()
            try:
                found = ray.get(promised)
            except ray.exceptions.RayError as error:
                raise _lost(part, error) from None
            if isinstance(found, BaseException):
                raise found
            yield part, found

    def listening_host(self) -> str:
        """Where nodes reach this process: as Ray itself has it."""
        return _LOOPBACK if self._folder is not None else str(self._ray.util.get_node_ip_address())


def _knock(address: str) -> None:
    """A PantraceError where nobody answers: Ray itself would try for many minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host, int(port)), _PATIENCE).close()
        except OSError as error:
            raise _unreachable(address, error) from None


def _unreachable(where: str, error: Exception) -> PantraceError:
    return PantraceError(f"Ray {where}: cannot be reached: {str(error).partition(chr(10))[0]}")


def _lost(part: InputPart, error: Exception) -> ReadError:
    return ReadError(
        f"Ray gave up after {DEATHS + 1} attempts: {str(error).partition(chr(10))[0]}",
        path=part.path,
        place=part.words,
        remedy="run the same command to continue",
    )


def _done(task: Task, part: InputPart, folder: str, allowed: Limits) -> Any:
    """In a process of Ray, which begins in a folder of its own: paths are meant as seen from where the command ran."""
    if os.path.isdir(folder):  # noqa: PTH112
        os.chdir(folder)
    set_limits(allowed)
    try:
        with seldom_collecting():
            return [*task(part)]
    except Exception as error:  # noqa: BLE001 -- it is raised where the results are awaited
        return sendable(error)
