"""What a command did not read, in the same words for all commands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .output import say

if TYPE_CHECKING:
    from pantrace.engine.read import Notes


def tell_left_out(notes: Notes) -> None:
    """Print on stderr: broken records one by one, runs that have not ended, recordings that exist twice, ignored files
    by reason."""
    for error in notes.broken:
        say(f"left out: {error}")
    for told in notes.unfinished:
        say(f"warning: {told}")
    for told in notes.twice.sentences():
        say(f"warning: {told}")
    if notes.ignored:
        counts = Counter(each.reason for each in notes.ignored)
        reasons = ", ".join(f"{reason} ({count})" for reason, count in counts.most_common())
        say(f"ignored: {reasons}; `pantrace detect` lists them")
