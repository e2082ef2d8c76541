"""Loss in words: what a conversion did not keep, by its meaning to a person instead of its path."""

from __future__ import annotations

from collections import Counter

from pantrace.wire.plural import few

from .loss_kinds import OWN
from .loss_report import Report, percent


def loss_lines(report: Report, shown: int | None = 6) -> list[str]:
    """The answer in at most four lines; with `shown` None, every kind is listed."""
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
        lines.append(
            f"{_counted(report)}, the tools of {report.to} see {kept}, only pantrace sees {ours}, {lost} are lost."
        )
    return lines


def _counted(report: Report) -> str:
    """The values that the shares are of: without those that only the source's own format has."""
    values = few(report.values, "value")
    if OWN not in report.not_kept and OWN not in report.only_for_pantrace:
        return f"Of all {values}"
    formats = list(report.notes.formats)
    return f"Of the {values} that are not specific to {formats[0] if len(formats) == 1 else 'the source format'}"


def _nothing_lost(report: Report) -> str:
    return "Nothing was lost of what could be read." if report.notes.broken else "Nothing was lost."


def reasons(report: Report, shown: int | None = 3) -> list[str]:
    """The reasons, each once, the most frequent first."""
    found: Counter[str] = Counter()
    for (_, _, why), count in report.losses.items():
        found[why] += count
    return [f"{why} ({count:,})" for why, count in found.most_common(shown)]


def _listed(found: Counter[str], shown: int | None) -> str:
    ranked = found.most_common(shown)
    rest = len(found) - len(ranked)
    listed = ", ".join(f"{words} ({count:,})" for words, count in ranked)
    return f"{listed} and {rest} more kind{'s' * (rest > 1)}" if rest else listed
