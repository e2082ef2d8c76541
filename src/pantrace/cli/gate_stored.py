"""`pantrace gate DIR` alone: by what `eval` decided already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .output import print_json, say

if TYPE_CHECKING:
    from pathlib import Path


def gate_by_stored(out: Path, rate: float, *, verbose: bool, as_json: bool) -> bool:
    """Gate by the decisions that a run directory holds, and say whose they are; ends the command. Gives False where
    nothing was decided, and does nothing then."""
    from pantrace.engine.reports import decided_samples
    from pantrace.engine.summary import gate_code, summarise

    from .decided import tell_failures, tell_numbers, tell_verdict

    summary = summarise(out)
    profiles = [each.profile for each in summary.decisions]
    if not profiles:
        return False
    code = gate_code(summary, rate)
    named = " and ".join(filter(None, (", ".join(profiles[:-1]), profiles[-1])))
    say(f"By {named}, which the plan or the cases of this run name; --profile NAME decides by another.")
    if as_json:
        samples = [each for name in profiles for each in decided_samples(out, name)]
        print_json({"profile": profiles[0] if len(profiles) == 1 else None, "summary": summary, "decisions": samples})
    else:
        tell_verdict(summary, code, rate, str(out))
        tell_failures(summary, out, verbose)
        tell_numbers(summary, verbose)
    raise click.exceptions.Exit(code)
