"""What `pantrace run` prints about its trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .answer import few
from .output import say

if TYPE_CHECKING:
    from pantrace.engine.run import Ran
    from pantrace.model import Sample


class Spent:
    """What the trials of this run have cost so far, for the progress line."""

    def __init__(self) -> None:
        self._usd = 0.0
        self._tokens = 0

    def count(self, sample: Sample) -> None:
        from pantrace.engine.run import cost_of, tokens_of

        self._usd += cost_of(sample) or 0.0
        self._tokens += tokens_of(sample)

    def words(self) -> str:
        return (f", {self._tokens:,} tokens" if self._tokens else "") + (f", ${self._usd:.4f}" if self._usd else "")


def tell_ran(each: Ran) -> None:
    """Print what was run, what it cost, and what went wrong."""
    who = f"{each.name}: " if each.name else ""
    spent = f", {each.tokens:,} tokens" if each.tokens else ""
    if each.usd:
        # Trials without a price are not free: the sum is a lower bound.
        spent += f", ${each.usd:.4f}{' at least' if each.unpriced else ''}"
    say(f"{who}{few(each.ran, 'trial')} run, {each.reused} recorded before{spent}; recordings in {each.recordings}")
    if each.unanswered:
        say(f"  {each.unanswered} of the earlier recordings have no answer; --again repeats them")
    for name, why in each.failed[:10]:
        say(f"  no answer: {name}: {why}")
    if len(each.failed) > 10:
        say(f"  and {len(each.failed) - 10} more without an answer")
    for remark in dict.fromkeys(each.remarks[:5]):
        say(f"  {remark}")
    if each.superseded:
        say(f"  {each.superseded} recordings set aside: their cases have changed, or they had no answer")
    if each.left:
        say(f"  {each.left} trials were not run: {each.stopped} is used up; run the same command to continue")


def tell_unanswered(each: Ran) -> int:
    """Say if an agent answered nothing; returns the exit code. If there is a gate, the gate says so instead."""
    asked = each.ran + each.reused
    if each.answered or not asked:
        return 0
    who = f"{each.name}: " if each.name else ""
    none = "the trial was not answered" if asked == 1 else f"none of {asked:,} trials was answered"
    say(f"{who}{none}; once the agent works, --again repeats {'it' if asked == 1 else 'them'}")
    return 1
