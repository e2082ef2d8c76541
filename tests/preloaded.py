"""Commands in forks of a process that has loaded everything: each a process of its own, without the seconds of loading.

`with preloaded() as program:` gives the words that stand for `python -m pantrace`. They are a small program that
hands its words, folder, environment and streams to the loaded process, which forks; the fork is the command."""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__)


@contextmanager
def preloaded() -> Iterator[list[str]]:
    """The words of a program that runs `pantrace` in forks, as long as this lasts."""
    paths = os.pathsep.join(str(HERE.parent.parent / each) for each in ("src", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths, "LC_ALL": "C.UTF-8"}
    # Folders of tests may lie too deep for the address of a socket.
    with tempfile.TemporaryDirectory(prefix="pantrace-") as folder:
        address = f"{folder}/socket"
        command = [sys.executable, str(HERE), address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            # Isolated and without site: it has to start at once.
            yield [sys.executable, "-I", "-S", str(HERE.with_name("handing_over.py")), address]


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
            if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
                os._exit(0)  # whoever started it has gone
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
    words, folder, environment = marshal.loads(b"".join(iter(lambda: connection.recv(1 << 16), b"")))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["pantrace", *words]
    sys.path[0] = folder


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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    serve(sys.argv[1])
    _run()
