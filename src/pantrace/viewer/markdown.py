"""The report as Markdown: short enough for a pull request."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pantrace.model import Unit, in_words
from pantrace.wire.plural import few

from .pack import until_broken
from .rows import rows_of
from .sample_page import counts_of, title_of
from .shown import Comparison, Shown, ShownRun
from .table import Table

LISTED = 20
"""Failed samples that are named."""
REASONS = 8
_MEANING = re.compile(r"([\\`*_{}\[\]<>|#~])")


def as_markdown(shown: Shown) -> tuple[str, int]:
    """The report, and its number of samples."""
    lines = [f"# {_plain(shown.title)}", ""]
    samples = 0
    for run in shown.runs:
        found, size = _run(run, alone=len(shown.runs) == 1)
        lines += found
        samples += size
    for each in shown.compare():
        lines += _comparison(each, shown)
    lines += [f"> {_plain(note)}" for note in shown.notes]
    return "\n".join(lines).rstrip() + "\n", samples


def _run(run: ShownRun, *, alone: bool) -> tuple[list[str], int]:
    table = Table()
    trouble: list[str] = []
    for each in until_broken(run, trouble):
        trajectory = each.sample.trajectory
        rows = rows_of(trajectory)[0] if trajectory is not None else []
        table.add(table.key_for(each), each, title_of(each.sample), "", counts_of(each.sample, rows))
    lines = [] if alone else [f"## {_plain(run.name)}", ""]
    lines += [_facts(table), ""]
    told = [each for each in run.measures if each.get("value") is not None]
    if told:
        lines += ["| measure | value | 95 % interval | samples |", "|---|--:|---|--:|"]
        for measure in told:
            value, interval = _number(measure["value"], measure["unit"]), _interval(measure, measure["unit"])
            lines.append(f"| {_plain(measure['name'])} | {value} | {interval} | {measure['n']} |")
        lines.append("")
    lines += _failures(table)
    lines += [f"> {_plain(note)}" for note in [*run.notes, *trouble]]
    return lines, len(table.keys)


def _facts(table: Table) -> str:
    parts = [f"**{few(len(table.keys), 'sample')}**"]
    names = {"none": "without an outcome", "unscored": "not scored", "limit": "stopped by a limit"}
    parts += [f"{count:,} {names.get(name, name)}" for name, count in table.statuses.most_common()]
    if (tokens := table.total("tokens")) is not None:
        parts.append(f"{tokens:,} tokens")
    if (cost := table.total("cost")) is not None:
        # Marked: the sum is partly ours, from the price table.
        parts.append(f"about ${cost:.2f} (estimated)" if table.total("estimated") else f"${cost:.2f}")
    return " · ".join(parts)


def _number(value: float, unit: Unit | None) -> str:
    """With its unit as every command says it; otherwise 17,700 and not 1.77e+04, and three digits for small numbers."""
    if unit is not None:
        return in_words(value, unit)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"


def _interval(measure: dict[str, Any], unit: Unit | None) -> str:
    low, high = measure.get("low"), measure.get("high")
    return "" if low is None or high is None else f"{_number(low, unit)} to {_number(high, unit)}"


def _failures(table: Table) -> list[str]:
    content = table.block()
    status, words, reasons = content.get("status", []), content["reasonWords"], content["reasons"]
    bad = [place for place, each in enumerate(status) if each in ("failed", "error", "limit", "undecided")]
    if not bad:
        return []
    counts = Counter(reason for place in bad for reason in reasons[place])
    lines = []
    if counts:
        lines += ["Why samples did not pass:", ""]
        lines += [f"- {count} × {_plain(words[reason])}" for reason, count in counts.most_common(REASONS)] + [""]
    # Folded: a pull request with twenty rows of failures would hide everything below it.
    lines += [f"<details><summary>{few(len(bad), 'sample')} did not pass</summary>", ""]
    lines += ["| sample | outcome | task | errors |", "|---|---|---|--:|"]
    errors = content.get("errors") or [None] * content["size"]
    for place in bad[:LISTED]:
        count = "" if errors[place] is None else str(errors[place])
        title = _plain(content["title"][place][:80])
        lines.append(f"| {_plain(content['key'][place])} | {status[place]} | {title} | {count} |")
    if len(bad) > LISTED:
        lines += ["", f"and {len(bad) - LISTED:,} more"]
    return [*lines, "", "</details>", ""]


def _comparison(each: Comparison, shown: Shown) -> list[str]:
    first, second = (_plain(shown.runs[place].name) for place in (each.first, each.second))
    lines = [f"## {second} against {first}", "", "| metric | A | B | difference | verdict |", "|---|--:|--:|--:|---|"]
    for row in each.rows:
        unit = row.get("unit")
        cells = [_estimate(row.get(name), unit) for name in ("first", "second")]
        # The difference of two shares is in points, as `compare` says it: 5 % more would be another number.
        cells.append(_points(row.get("difference")) if unit == "share" else _estimate(row.get("difference"), unit))
        lines.append(f"| {_plain(row['metric'])} | {' | '.join(cells)} | **{row['verdict']}** |")
    return [*lines, ""]


def _estimate(found: dict[str, Any] | None, unit: Unit | None) -> str:
    if not found:
        return "–"
    interval = _interval(found, unit)
    return _number(found["value"], unit) + (f" ({interval})" if interval else "")


def _points(found: dict[str, Any] | None) -> str:
    if not found:
        return "–"
    ends = {name: found[name] * 100 for name in ("value", "low", "high") if found.get(name) is not None}
    interval = _interval(ends, None)
    return f"{_number(ends['value'], None)} points" + (f" ({interval})" if interval else "")


def _plain(text: str) -> str:
    """A text of a recording as plain text in one line, without markup and without mentions."""
    one_line = " ".join(text.split())
    visible = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in one_line)
    # A pull request comment would otherwise notify people whom a recording names with @.
    return _MEANING.sub(r"\\\1", visible).replace("@", "@\N{ZERO WIDTH NON-JOINER}")
