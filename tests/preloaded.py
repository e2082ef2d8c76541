"""Commands in forks of a process that has loaded everything: each a process of its own, without the seconds of loading.

`with preloaded(folder) as program:` gives the words that stand for `python -m pantrace`. They are a small program that
hands its words, folder, environment and streams to the loaded process, which forks; the fork is the command."""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__)


@contextmanager
def preloaded(folder: Path) -> Iterator[list[str]]:
    """The words of a program that runs `pantrace` in forks, as long as this lasts."""
    address = folder / "preloaded"
    paths = os.pathsep.join(str(HERE.parent.parent / each) for each in ("src", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths, "LC_ALL": "C.UTF-8"}
    command = [sys.executable, str(HERE), "--serve", str(address)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            # Isolated and without site: it has to start at once.
            yield [sys.executable, "-I", "-S", str(HERE), str(address)]
        finally:
            process.terminate()


def handed_over(address: str, words: list[str]) -> int:
    """Have a command run with what this process was given, and its exit code."""
    given = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109 -- a start counts
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"streams"], [0, 1, 2])
        connection.sendall(json.dumps(given).encode())
        connection.shutdown(socket.SHUT_WR)
        return int(connection.recv(16))


def serve(address: str) -> None:
    """Fork for whoever comes. Returns in the forks, which are to run a command."""
    from fuzz.seeded import import_everything

    import_everything()
    gc.freeze()  # what is never looked at again is never copied
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                if os.fork():
                    _reap()
                    continue
                listener.close()
                if child := os.fork():
                    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    connection.sendall(str(code if code >= 0 else 128 - code).encode())
                    os._exit(0)
                _become(connection)
                return


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _become(connection: socket.socket) -> None:
    """Take on the words, the folder, the environment and the streams of whoever called."""
    _, streams, _, _ = socket.recv_fds(connection, len(b"streams"), 3)
    for stream, number in zip(streams, range(3), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    given = json.loads(b"".join(iter(lambda: connection.recv(1 << 16), b"")))
    os.chdir(given["folder"])
    os.environ.clear()
    os.environ.update(given["environment"])
    sys.argv = ["pantrace", *given["words"]]
    sys.path[0] = given["folder"]


def _run() -> None:
    """The command, and its end: taking all that was loaded to pieces again would take longer than most commands."""
    from pantrace.__main__ import main

    try:
        main()
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    if sys.argv[1] != "--serve":
        sys.exit(handed_over(sys.argv[1], sys.argv[2:]))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    serve(sys.argv[2])
    _run()
