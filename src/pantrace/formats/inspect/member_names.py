"""Names of the members that hold samples: Inspect finds a sample by its id in the name, as it stands."""

from __future__ import annotations

import re
from typing import Any

from pantrace.wire.file_names import LONGEST, mark

SAMPLES = "samples/"

_UNSAFE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]|(?:^|[/\\])\.{1,2}(?:[/\\]|$)")
"""What cuts a name off, cannot be written, or leads out of the folder that somebody unpacks the log into."""


def member_name(name: Any, epoch: Any) -> str:
    """The member of a sample."""
    return f"{SAMPLES}{name}_epoch_{epoch}.json"


def log_id(name: str, epoch: int) -> str:
    """The id that a sample has in a log: its own, slashes and all, or a safe one where no member can be named so."""
    around = len(member_name("", epoch))
    if name and not _UNSAFE.search(name) and len(name.encode()) + around <= LONGEST:
        return name
    return mark(name, LONGEST - around)
