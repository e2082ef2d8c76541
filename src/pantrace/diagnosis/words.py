"""Words for people, the same on a terminal and in Markdown."""

from __future__ import annotations

import shlex

from pantrace.wire.sample_name import sample_name

from .finding import Waste
from .groups import Example, Group


def waste_words(waste: Waste) -> str:
    """What was spent: tokens and cost, otherwise steps; empty if nothing is known."""
    if waste.steps == 0:
        return "nothing"
    least = "≥ " if waste.partial else ""
    if waste.tokens is None:
        return "" if waste.steps is None else f"{waste.steps:,} steps"
    cost = f", ${waste.cost_usd:.4f}" if waste.cost_usd is not None else ""
    return f"{least}{waste.tokens:,} tokens{cost}"


def place_words(example: Example) -> str:
    """Sample, repetition and step."""
    sample = sample_name(example.sample, example.epoch)
    if example.place is None:
        return sample
    agent = f" of sub-agent {example.place.agent}" if example.place.agent else ""
    return f"{sample}, step {example.place.step}{agent}"


def show_words(example: Example) -> str:
    """The command that shows the sample."""
    # Quoted below: ids and paths come from recordings, and people paste this line into a shell.
    words = ["pantrace", "show", example.source or "PATH", "--sample", example.sample]
    if example.epoch is not None:
        words += ["--where", f"epoch={example.epoch}"]
    return shlex.join(words)


def seen_words(group: Group) -> str:
    """How certain the cause is, and where else the same problem was seen."""
    parts = [] if group.certain or group.cause == "unknown" else ["seen in these samples, not proven to be the cause"]
    if group.also:
        parts.append(f"also seen in {group.also:,} failed sample{'s' if group.also > 1 else ''} with another cause")
    if group.passed:
        parts.append(
            f"and in {group.passed:,} that passed" if group.also else f"also seen in {group.passed:,} that passed"
        )
    return "; ".join(parts).replace("; and", " and")
