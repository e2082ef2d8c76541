"""Names of the members that hold samples: Inspect finds a sample by its unescaped id in the name."""

from __future__ import annotations

import re
from typing import Any

from pantrace.wire.file_names import LONGEST, hashed_name

SAMPLES = "samples/"

_UNSAFE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]|(?:^|[/\\])\.{1,2}(?:[/\\]|$)")
"""Characters that would cut a name off or cannot be written, and paths that lead out of the folder in which the log is
unpacked."""


def member_name(name: Any, epoch: Any) -> str:
    """The member of a sample."""
    return f"{SAMPLES}{name}_epoch_{epoch}.json"


def log_id(name: str, epoch: int) -> str:
    """A sample's id in a log: its own, slashes included, or a safe one if no member can have that name."""
    around = len(member_name("", epoch))
    if name and not _UNSAFE.search(name) and len(name.encode()) + around <= LONGEST:
        return name
    return hashed_name(name, LONGEST - around)
