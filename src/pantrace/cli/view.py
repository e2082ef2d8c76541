"""`pantrace view`."""

from __future__ import annotations

import getpass
import secrets
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from pantrace.errors import MissingExtra, PantraceError, UsageError

from .arguments import expand, from_format, sources
from .output import say

if TYPE_CHECKING:
    from pathlib import Path

PORT = 7575


@click.command("view")
@sources
@from_format
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 chooses a free port.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. If others can reach it, the URL contains a secret word that they need.",
)
@click.option("--no-redact", is_flag=True, help="Show texts unchanged, including secrets.")
@click.option("--label-as", metavar="NAME", help="Name to store with labels; by default your login name.")
def command(
    sources: tuple[str, ...],
    from_: str | None,
    port: int,
    no_open: bool,
    host: str,
    no_redact: bool,
    label_as: str | None,
) -> None:
    """Show runs and recordings in the browser, and label them.

    A small server on this machine shows the same pages as `pantrace report`. A run that `pantrace eval` is writing
    shows its progress. Labels are kept in the run directory, for `pantrace calibrate`. Ctrl-C ends it.

    \b
    pantrace view results/
    pantrace view session.json --port 8080 --no-open
    """
    from pantrace.engine.read import Notes
    from pantrace.library.shown import Wanted, find_sources, gather
    from pantrace.viewer.server import Site, application

    paths = expand(sources)
    wanted = Wanted(paths=paths, format=from_)
    if no_redact:
        wanted.redactor = None
        say("secrets are not replaced")
    find_sources(wanted, Notes.keeping())  # unreadable inputs are reported here, not in the browser
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("the viewer's server", "view") from None
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    # Recordings are private: on a network address, the port alone must not be enough to read them.
    access = "" if _is_local(host) else secrets.token_urlsafe(16)
    site = Site(lambda: gather(wanted, Notes.keeping()), lambda: _states(paths), label_as or _login())
    server = uvicorn.Server(
        uvicorn.Config(
            application(site, port, host=host, access=access), log_level="warning", lifespan="off", access_log=False
        )
    )
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/" + (f"?access={access}" if access else "")
    site.start()
    try:
        click.echo(address)
        sys.stdout.flush()
        say("Ctrl-C ends it.")
        # After the socket listens: the browser would otherwise be faster than the server.
        if not no_open:
            import webbrowser

            webbrowser.open(address)
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        site.close()
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    # A restart within a minute would otherwise find the port still taken.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # from here on connections wait instead of being refused
    except OSError as error:
        listening.close()
        raise UsageError(f"{host}:{port} cannot be used: {error.strerror}; choose another with --port") from None
    return listening


def _is_local(host: str) -> bool:
    return host in ("127.0.0.1", "localhost", "::1")


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _states(paths: list[Path]) -> Any:
    """Times and sizes that change when something is written: to run directories, to named recordings, and to those that
    a `pantrace run` is making. Other recordings in folders are read once."""
    from pantrace.places import path_at
    from pantrace.store import is_run_directory

    watched = []
    for path in paths:
        with suppress(PantraceError):  # a bucket that does not answer is tried again later
            path_at(str(path))
        folders = [path] if is_run_directory(path) else sorted(each.parent for each in path.glob("*/run.json"))
        watched += [
            folder / name for folder in folders for name in ("run.json", "manifest.sqlite", "manifest.sqlite-wal")
        ]
        watched += [path] if path.is_file() else [] if folders else sorted(path.glob("recordings/*"))
    found = []
    for path in watched:
        with suppress(OSError):
            status = path.stat()
            found.append((str(path), status.st_mtime_ns, status.st_size))
    return found
