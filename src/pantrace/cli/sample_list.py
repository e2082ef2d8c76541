"""`pantrace show` for several samples: a table that fits the terminal, with totals at the end."""

from __future__ import annotations

from itertools import pairwise
from os.path import commonprefix
from typing import TYPE_CHECKING

from .answer import few, sentence
from .output import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pantrace.engine.listing import Listed

COLUMNS = ["sample", "time (UTC)", "agent", "model", "turns", "calls", "errors", "tokens", "cost", "outcome", "title"]
NUMBERS = ("turns", "calls", "errors", "tokens", "cost")
_LEAST, _LONG = 10, 16
"""Minimum number of letters of an id that are shown; ids up to the second length stay whole."""


def tell_list(rows: Sequence[Listed], names: Mapping[str, str]) -> None:
    """Print the table of all samples by their short ids. What is the same for all of them is said once, below it."""
    from pantrace.engine.listing import totals
    from pantrace.wire.times import time_text

    years = {(time_text(row.created) or "")[:4] for row in rows if row.created is not None}
    lines = [_cells(row, names[row.id], with_year=len(years) > 1) for row in rows]
    found = totals(rows)
    shared: list[str] = []
    shown = []
    for place, head in enumerate(COLUMNS):
        values = {line[place] for line in lines}
        if values == {""}:
            continue
        # The same word in every row takes room that the title needs.
        if head in ("agent", "model") and len(values) == 1 and len(rows) > 1:
            shared.append(f"{head} {next(iter(values))}")
        else:
            shown.append(place)
    # As a row of the table, so that each total is below its column.
    last = ["total", "", "", "", f"{found.turns:,}", f"{found.calls:,}", f"{found.errors:,}"]
    last += [tokens_words(found.tokens), cost_words(found.cost, estimated=found.estimated > 0), "", ""]
    table(
        [COLUMNS[place] for place in shown],
        [[line[place] for place in shown] for line in [*lines, *([last] if len(rows) > 1 else [])]],
        right=NUMBERS,
        spare=("title", "model", "agent", "turns", "errors", "calls", "time (UTC)", "tokens"),
        total=len(rows) > 1,
        firm=True,
    )
    told = [few(found.samples, "sample"), *([_period(rows)] if _period(rows) else []), *shared]
    told += [f"{count:,} {status}" for status, count in found.outcomes.items()]
    sentence("; ".join(told) + ".")
    if found.estimated:
        sentence("~: the source does not record the cost; this is what the tokens cost by the price table.")
    missing = [
        f"{few(count, 'sample')} without {what}"
        for what, count, total in (
            ("token counts", found.without_tokens, found.tokens),
            ("cost", found.without_cost, found.cost),
        )
        if count and total is not None
    ]
    if missing:
        sentence(f"{' and '.join(missing)}: totals are those of the others.")


def _cells(row: Listed, name: str, *, with_year: bool) -> list[str]:
    from pantrace.wire.times import time_text

    def number(value: int | None) -> str:
        return "" if value is None else f"{value:,}"

    return [
        name if row.epoch in (None, 1) else f"{name} ({row.epoch})",
        (time_text(row.created) or "")[0 if with_year else 5 : 16].replace("T", " "),
        row.agent or "",
        row.model or "",
        number(row.turns),
        number(row.calls),
        number(row.errors),
        tokens_words(row.tokens),
        cost_words(row.cost, estimated=row.cost_source == "estimated"),
        row.outcome or "",
        " ".join((row.title or "").split())[:60],
    ]


def tokens_words(count: int | None) -> str:
    """9,945 as 9.95k: a column has room for five characters."""
    if count is None:
        return ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return str(count)


def cost_words(cost: float | None, *, estimated: bool) -> str:
    """Dollars, with as many digits as necessary; ~$0.0013 is an estimate."""
    from pantrace.model import in_words

    return "" if cost is None else "~" * estimated + in_words(cost, "USD")


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The unique beginning of each long id, which `--sample` accepts."""
    ordered = sorted(set(ids))
    # Ids of many tools begin with the same prefix or a time: ten letters are often not unique. What an id shares with
    # any other, it shares with a neighbour.
    shared = [0, *(len(commonprefix(pair)) for pair in pairwise(ordered)), 0]  # noqa: RUF071 -- of letters, not of paths
    found = {}
    for name, *beside in zip(ordered, shared, shared[1:], strict=False):
        end = max(_LEAST, *(length + 1 for length in beside))
        found[name] = f"{name[:end]}…" if end < len(name) and len(name) > _LONG else name
    return found


def _period(rows: Sequence[Listed]) -> str:
    """From the first to the last: 2026-11-15 18:19 to 18:31 UTC."""
    from pantrace.wire.times import time_text

    times = [text[:16].replace("T", " ") for row in rows if (text := time_text(row.created)) is not None]
    if not times:
        return ""
    first, last = min(times), max(times)
    if first == last:
        return f"{first} UTC"
    return f"{first} to {last.removeprefix(first[:10]).strip()} UTC"
