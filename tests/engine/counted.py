"""How often things happen while a function runs: counts, which do not depend on how busy the machine is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

_DECODES = {"decode", "json_decode"}
_ENCODES = {"encode", "encode_lines", "json_encode"}
_opened: list[str] | None = None


def counted(work: Callable[[], Any], *folders: Path) -> Counter[str]:
    """Calls of msgspec's decoders and encoders that Python makes, statements of SQLite, files that Python opens below
    these folders, each as often as it is opened, and bytes that the process reads. What C calls in C, and what Arrow
    opens, nobody tells."""
    global _opened
    found: Counter[str] = Counter()

    def see(frame: object, event: str, called: Any) -> None:
        if event != "c_call":
            return
        name = called.__name__
        owner = type(called.__self__).__module__ if isinstance(called, BuiltinFunctionType) else ""
        if name in _DECODES and owner.startswith("msgspec"):
            found["decodes"] += 1
        elif name in _ENCODES and owner.startswith("msgspec"):
            found["encodes"] += 1
        elif name in ("execute", "executemany") and owner.startswith("sqlite3"):
            found["statements"] += 1

    _listen()
    _opened = []
    before = _bytes_read()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
        opened, _opened = _opened, None
    found["bytes"] = _bytes_read() - before
    below = [str(folder) for folder in folders]
    found["files"] = sum(path.startswith(each) for path in opened for each in below)
    return found


def _bytes_read() -> int:
    """By this process, from files of any kind; 0 where the system does not tell."""
    told = Path("/proc/self/io")
    return int(told.read_text().split()[1]) if told.exists() else 0


_is_listening = False


def _listen() -> None:
    """Once: what is heard by Python's audit cannot be stopped."""
    global _is_listening
    if not _is_listening:
        sys.addaudithook(_hear)
        _is_listening = True


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str):
        _opened.append(arguments[0])
