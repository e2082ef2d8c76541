"""`pantrace measure --per sample|turn`: one row for each sample or turn, one column for each measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from .answer import few, sentence, short_name
from .output import table

if TYPE_CHECKING:
    from pantrace.engine.measure import Chosen, Row

USUAL = (
    "token_usage.total_tokens",
    "token_usage.estimated_cost_usd",
    "latency_metrics.total_latency_seconds",
    "tool_utilization.total_tool_calls",
    "tool_success_rate.tool_success_rate",
)
"""The default columns: a screen has no room for all."""


def tell_rows(
    rows: Iterator[Row], wanted: tuple[str, ...], per: str, checks: list[Chosen], by: str | None
) -> Callable[[], None]:
    """Collect the numbers; returns a function that prints them once the progress line is gone."""
    from pantrace.metrics import full_address
    from pantrace.model import in_words

    units = {each.address: each.unit for metric, _ in checks for each in metric.measures}
    addresses = [*_columns(wanted, full_address, units)]
    found: dict[tuple[str | None, str, int | None, int | None], dict[str, str]] = {}
    groups: dict[tuple[str | None, str, int | None, int | None], str] = {}
    for row in rows:
        if row.sample is None:
            continue
        # Samples of two runs may have the same id.
        key = row.run, row.sample, row.epoch, row.turn
        cells = found.setdefault(key, {})
        groups[key] = row.group or ""
        for name, number in {
            **{f"{row.metric}.{key}": value for key, value in row.values.items()},
            row.metric: row.value,
        }.items():
            if name in addresses and isinstance(number, int | float):
                cells[name] = in_words(float(number), units.get(name)).removesuffix(" tokens")  # the heading says it

    def tell() -> None:
        # Other units stay with their numbers, because headings have no room for them.
        with_epoch = any(epoch not in (None, 1) for _, _, epoch, _ in found)
        with_run = len({(run, sample) for run, sample, _, _ in found}) > len({sample for _, sample, _, _ in found})
        used = [name for name in addresses if any(name in cells for cells in found.values())]
        columns = [*(["run"] if with_run else []), "sample", *(["epoch"] if with_epoch else [])]
        columns += [*(["turn"] if per == "turn" else []), *([by] if by is not None else [])]
        lines = [
            [
                *([run or ""] if with_run else []),
                sample,
                *([str(epoch or "")] if with_epoch else []),
                *([str(turn or "")] if per == "turn" else []),
                *([groups[run, sample, epoch, turn]] if by is not None else []),
                *(cells.get(name, "") for name in used),
            ]
            for (run, sample, epoch, turn), cells in found.items()
        ]
        heads = [short_name(name).rpartition(".")[2].replace("_", " ") for name in used]
        count = len({(run, sample) for run, sample, _, _ in found})
        sentence(f"{few(count, 'sample')} measured{', by turn' if per == 'turn' else ''}.")
        if lines:
            # From the right, so that the first measure that the user named stays.
            table([*columns, *heads], lines, right=("epoch", "turn", *heads), spare=tuple(reversed(heads[1:])))
        if not wanted:
            sentence("--metric NAME chooses the columns; --csv has all of them.")

    return tell


def wide(rows: Iterable[Row], per: str, *, grouped: bool = False) -> tuple[list[str], list[dict[str, object]]]:
    """One row for each sample or turn and one column for each number, like a spreadsheet, with columns in the order of
    their first number. A metric without a number leaves its cells empty; the long form (JSON, Parquet) says why."""
    found: dict[tuple[object, ...], dict[str, object]] = {}
    columns = ["run", "sample", "epoch", *(["turn"] if per == "turn" else []), "case", *(["group"] if grouped else [])]
    names: dict[str, None] = {}
    for row in rows:
        if row.sample is None:
            continue
        cells = found.setdefault((row.run, row.sample, row.epoch, row.turn), {c: getattr(row, c) for c in columns})
        numbers: dict[str, object] = {f"{row.metric}.{key}": value for key, value in row.values.items()}
        numbers = numbers or {row.metric: row.value}
        cells |= numbers
        names |= dict.fromkeys(numbers)
    return [*columns, *names], list(found.values())


def _columns(wanted: tuple[str, ...], full: Callable[[str], str], units: Iterable[str]) -> list[str]:
    if not wanted:
        return [name for name in USUAL if name in units]
    found = []
    for name in wanted:
        address = full(name)
        inside = [each for each in units if each.partition(".")[0] == address]
        found += [address] if "." in address or not inside else inside
    return list(dict.fromkeys(found))
