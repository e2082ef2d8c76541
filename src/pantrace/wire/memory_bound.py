"""A bound on the memory of this process, for work that others describe, such as a question in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOW = Path("/proc/self/statm")


@contextmanager
def memory_bound(more: int) -> Iterator[None]:
    """Inside, the process gets at most so many bytes more; whoever asks for them gets an error. Only on Linux, which
    says how much there is now: elsewhere there is no bound."""
    try:
        import resource

        now = int(_NOW.read_text().split()[5]) * resource.getpagesize()
        before, most = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError, IndexError, ValueError):
        yield
        return
    wanted = [now + more, *(each for each in (before, most) if each != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(wanted), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))
