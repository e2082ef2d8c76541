"""A pager for texts that are longer than the screen, if a person is watching."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .output import console

if TYPE_CHECKING:
    from rich.console import Console


def through_pager(write: Callable[[Console], None], *, paged: bool = True) -> None:
    """Print something, through the user's pager (`PAGER`) if it is longer than the screen."""
    out = console()
    # stdin, too: without a keyboard nobody could leave the pager.
    if not paged or not sys.stdin.isatty() or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        write(out)
        return
    with out.capture() as captured:
        write(out)
    text = captured.get()
    if text.count("\n") < out.height:
        sys.stdout.write(text)
        return
    _page(text)


def _page(text: str) -> None:
    import shlex
    import shutil
    import subprocess

    words = shlex.split(os.environ.get("PAGER") or "less -R")
    program = shutil.which(words[0]) if words else None
    if program is None or words[0] == "cat":
        sys.stdout.write(text)
        return
    # -F: quit at once if the text is short; -R: show colours; -X: leave the text on the screen.
    environment = {**os.environ, "LESS": os.environ.get("LESS", "FRX")}
    with subprocess.Popen([program, *words[1:]], stdin=subprocess.PIPE, env=environment) as process:
        try:
            process.communicate(text.encode("utf-8", "replace"))
        except (BrokenPipeError, KeyboardInterrupt):
            process.wait()  # the user has left the pager
