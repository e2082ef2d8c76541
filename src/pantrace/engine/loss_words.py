"""Loss in human words: what a conversion did not keep, by what it means to a person and not by its path."""

from __future__ import annotations

from collections import Counter

from .loss_report import Report, percent


def loss_lines(report: Report, shown: int | None = 6) -> list[str]:
    """The answer in at most four lines; with `shown` None, every kind is named."""
    if not report.measured:
        return ["What was lost was not measured (--no-loss)."]
    lines = []
    shares = report.shares
    is_short = shown is not None or not report.only_for_pantrace
    if shares is not None and shares["kept"] == 1 and not report.losses and is_short:
        return [_nothing_lost(report)]
    if gone := report.not_kept:
        lines.append(f"Not kept: {_listed(gone, shown)}.")
    else:
        lines.append(_nothing_lost(report))
    if stays := report.only_for_pantrace:
        lines.append(f"Kept only for pantrace (under a `pantrace` key): {_listed(stays, shown)}.")
    if moved := report.rearranged:
        lines.append(f"Kept, but arranged differently: {_listed(moved, shown)}.")
    if shares is not None and shares["kept"] != 1:
        kept, ours, lost = (percent(shares[name]) for name in ("kept", "kept_for_pantrace_only", "lost"))
        lines.append(f"Of all values, {report.to}'s own tools see {kept}, only pantrace sees {ours}, {lost} are lost.")
    return lines


def _nothing_lost(report: Report) -> str:
    return "Nothing was lost of what could be read." if report.notes.broken else "Nothing was lost."


def reasons(report: Report, shown: int | None = 3) -> list[str]:
    """Why, each reason once, the most frequent first."""
    found: Counter[str] = Counter()
    for (_, _, why), count in report.losses.items():
        found[why] += count
    return [f"{why} ({count:,})" for why, count in found.most_common(shown)]


def _listed(found: Counter[str], shown: int | None) -> str:
    ranked = found.most_common(shown)
    rest = len(found) - len(ranked)
    listed = ", ".join(f"{words} ({count:,})" for words, count in ranked)
    return f"{listed} and {rest} more kind{'s' * (rest > 1)}" if rest else listed
