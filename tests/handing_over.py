"""The small program that `preloaded` gives: `python handing_over.py SOCKET WORDS` has a command run with what it got.

It runs once for each command, so it imports as little as it can."""

import marshal
import os
import socket
import sys


def main(address: str, words: list[str]) -> int:
    """The exit code of the command, which is run with our words, folder, environment and streams."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"streams"], [0, 1, 2])
        connection.sendall(marshal.dumps((words, os.getcwd(), dict(os.environ))))  # noqa: PTH109 -- pathlib is slow
        connection.shutdown(socket.SHUT_WR)
        return int(connection.recv(16))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
