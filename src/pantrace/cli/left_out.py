"""What a command did not read, said in the same words by all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .output import say

if TYPE_CHECKING:
    from pantrace.engine.read import Notes


def tell_left_out(notes: Notes) -> None:
    """Broken records one by one, recordings that are there twice, ignored files by reason; on stderr."""
    for error in notes.broken:
        say(f"left out: {error}")
    for told in notes.twice.sentences():
        say(f"warning: {told}")
    if notes.ignored:
        counts = Counter(each.reason for each in notes.ignored)
        reasons = ", ".join(f"{reason} ({count})" for reason, count in counts.most_common())
        say(f"ignored: {reasons}; `pantrace detect` lists them")
