"""How the processes of a pool begin. On Linux they are forked from one small server that has loaded what they need; it
was itself started afresh and has one thread, so that nothing half done is copied. Elsewhere each starts afresh.

Loading our modules costs a process a quarter of a second of CPU time, half a second with pyarrow."""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from typing import Any


def context_of() -> Any:
    """How to start a process of ours; kinds of contexts share no type that has all of their functions."""
    return get_context("forkserver" if _has_server() else "spawn")


def surroundings() -> dict[str, str]:
    """The environment of now, to be handed to a worker: the server may be older than what was set since."""
    return dict(os.environ)


def settle_in(environment: dict[str, str]) -> None:
    """In the worker: as if the process that it works for had started it."""
    os.environ.clear()
    os.environ.update(environment)


def warm_up(task: str) -> None:
    """Start the server, if it does not run, and let it load what a task of that module needs. A later task of another
    kind loads in each worker what is missing."""
    if _has_server():
        from multiprocessing import forkserver

        forkserver.set_forkserver_preload(["__main__", "pantrace.engine.pool", task, f"{task}_preload"])
        forkserver.ensure_running()


def _has_server() -> bool:
    # macOS has it too, but its own libraries do not bear a fork.
    return sys.platform == "linux"
