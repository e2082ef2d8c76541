"""The shape of an answer: a verdict, what failed by name, one line for what does not apply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from pantrace.wire.plural import few as few

from .output import console, folded, harmless

if TYPE_CHECKING:
    from rich.padding import Padding

LISTED = 10
"""Number of failures that are listed without -v."""

_COLOURS = {True: "bold green", False: "bold red", None: "bold yellow"}


def verdict(text: str, good: bool | None) -> None:
    """Print the first sentence; the part before its colon is coloured. None: could not decide."""
    from rich.text import Text

    target = console()
    line = Text(folded(harmless(text), target.width))
    # Only the verdict itself: a whole line in red would hide the numbers.
    line.stylize(_COLOURS[good], 0, text.find(": "))
    target.print(line, soft_wrap=True)


def sentence(text: str) -> None:
    """Print a line of the result, wrapped between words."""
    click.echo(folded(harmless(text), console().width))


def named_reasons(heading: str, rows: Iterable[tuple[str, Sequence[str]]], total: int, more: str) -> None:
    """Print what failed: the name, and every reason in full; `more` says how to see those that are not listed."""
    from rich.table import Table
    from rich.text import Text

    target = console()
    shown = [(harmless(name), [harmless(reason) for reason in reasons]) for name, reasons in rows]
    click.echo(f"\n{harmless(heading)}")
    widest = max((len(name) for name, _ in shown), default=0)
    grid = Table.grid(padding=(0, 2))
    if widest > target.width // 3:
        # There is no room for two columns, so reasons go below the name.
        grid.add_column(overflow="fold")
        for name, reasons in shown:
            grid.add_row(Text(f"  {name}", style="bold"))
            for reason in reasons:
                grid.add_row(_indented(reason))
    else:
        grid.add_column(width=widest + 2, style="bold")
        grid.add_column(overflow="fold")
        for name, reasons in shown:
            grid.add_row(Text(f"  {name}"), Text("\n".join(reasons)))
    target.print(grid)
    if total > len(shown):
        click.echo(f"  and {total - len(shown):,} more: {more}")


def joined(reasons: Sequence[str]) -> list[str]:
    """Three or more reasons that differ only in the name, as one: `A and 8 others are unscored: no judge`."""
    told: dict[tuple[str, str], list[str]] = {}
    for reason in reasons:
        name, verb, rest = next((found for verb in _VERBS if (found := reason.partition(verb))[1]), (reason, "", ""))
        # A name with a blank is the start of a sentence, which must not be joined.
        told.setdefault((verb, rest) if verb and " " not in name else ("", reason), []).append(reason)
    lines: list[str] = []
    for (verb, rest), alike in told.items():
        if len(alike) < 3 or not verb:
            lines += alike
        else:
            first = alike[0].partition(verb)[0]
            lines.append(f"{first} and {len(alike) - 1} others{_VERBS[verb]}{rest.replace(' and is ', ' and are ')}")
    return lines


_VERBS = {" is ": " are ", " was ": " were "}


def _indented(text: str) -> Padding:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(text), (0, 0, 0, 4))


def without_value(what: str, reasons: Iterable[tuple[str, str]], verbose: bool, noun: str = "metric") -> None:
    """Print one line for metrics without a number: `9 metrics do not apply: no reference answer (5), ...`."""
    found = list(reasons)
    if not found:
        return
    counts = Counter(reason or "no reason given" for _, reason in found)
    many = len(found) > 1
    does = what.replace("do not", "does not").replace("are not", "is not") if not many else what
    words = f"{len(found)} {noun}{'s' * many} {does}"
    if verbose:
        sentence(f"{words}:")
        for reason in counts:
            names = ", ".join(name for name, why in found if (why or "no reason given") == reason)
            sentence(f"  {reason}: {names}")
        return
    shown = counts.most_common(4)
    rest = len(found) - sum(count for _, count in shown)
    # With one metric, or one reason for all, there is nothing to count.
    listed = ", ".join(reason if len(counts) == 1 else f"{reason} ({count})" for reason, count in shown)
    sentence(f"{words}: {listed}{f', other reasons ({rest})' if rest else ''}{' (-v names them)' if many else ''}")


def share(part: int, of: int) -> str:
    """A share in percent that is never rounded to 0 or 100: one failure in thousands must stay visible."""
    if not of or part in (0, of):
        return f"{100 if of and part else 0} %"
    return f"{min(max(100 * part / of, 0.1), 99.9):.3g} %"


def short_name(address: str) -> str:
    """The address of a measure; only the metric's name, if the measure has the same name."""
    metric, _, measure = address.partition(".")
    return metric if measure == metric else address
