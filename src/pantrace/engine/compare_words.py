"""The answer of a comparison as a sentence."""

from __future__ import annotations

from math import floor, log10

from pantrace.model import in_words
from pantrace.stats import Estimate

from .compare_notes import REPEATED, notes_of_gaps
from .compare_result import Comparison
from .estimate_words import estimate_words

_VERDICTS = {
    "better": "proven better",
    "worse": "proven worse",
    "higher": "proven",
    "lower": "proven",
    "inconclusive": "not proven",
    "no change": "no change in any case",
}


def sentence_of(found: Comparison) -> str:
    """Which run does better on what, by how much, how certain that is, and what could have been seen."""
    first, second, difference = found.first, found.second, found.difference
    if first is None or second is None or difference is None:
        return f"{found.metric}: not compared ({found.notes[-1] if found.notes else 'one run has no number'})."
    where = f" {_against(found)}"
    verdict = _VERDICTS.get(found.verdict) or f"equivalent within {_plain(found, found.margin or 0)}"
    if found.verdict == "inconclusive":
        verdict += _doubt(found)
    elif found.of_other_cases and "proven" in verdict:
        verdict = "proven for these cases"
    parts = [f"{_claim(found)}{where}: {verdict}.", *_gaps(found), *_power(found), *_typical(found), *_margin(found)]
    return " ".join(parts)


def _doubt(found: Comparison) -> str:
    """Why a difference is not proven although its interval does not contain 0."""
    difference, p = found.difference, found.p_adjusted
    if difference is None or difference.low is None or difference.high is None or p is None:
        return ""
    # The interval itself says that it is not proven.
    if difference.low <= 0 <= difference.high:
        return ""
    return f", as p is {p:.3g}" + (f" when adjusted for {found.tests} tests" if found.tests > 1 else "")


def size_words(found: Comparison, size: float) -> str:
    """A difference for a table: 0.05, or with the measure's unit."""
    return f"{size:.3g}" if found.unit is None else _plain(found, size)


def difference_words(found: Comparison) -> str:
    """The difference for a table: +0.05 [-0.02, +0.12] n=100, or with the measure's unit."""
    difference = found.difference
    if difference is None:
        return "-"
    if found.unit is None:
        return estimate_words(difference, signed=True)
    value = _signed(found, difference.value)
    if _is_share(found):
        value += " points"
    if difference.low is None or difference.high is None:
        return f"{value} n={difference.n}"
    # The unit is already after the value.
    ends = [_signed(found, end).removesuffix(f" {found.unit}") for end in (difference.low, difference.high)]
    return f"{value} [{', '.join(ends)}] n={difference.n}"


def _claim(found: Comparison) -> str:
    one, two = found.runs
    assert found.difference is not None
    value = found.difference.value
    size, more = _plain(found, abs(value)), "more" if value > 0 else "fewer"
    if found.kind == "binary" and found.better != "lower":
        once = not _is_repeated(found)
        # Compared as printed: "passes 0 points more cases" would be odd.
        if _plain(found, value) == _plain(found, 0):
            return f"{two} passes as {'many cases' if once else 'often'} as {one} on {found.metric}"
        much = f"{more} cases" if once else "more often" if value > 0 else "less often"
        return f"{two} passes {size} {much} than {one} on {found.metric}"
    if _plain(found, value) == _plain(found, 0):
        return f"{two} is level with {one} on {found.metric}"
    if found.kind == "binary":
        return f"{two} has {found.metric} in {size} {more} cases than {one}"
    return f"{two} is {size} {'higher' if value > 0 else 'lower'} than {one} on {found.metric}"


def _is_repeated(found: Comparison) -> bool:
    """Whether any case has several values, so that a share of cases is a mean of shares."""
    return REPEATED in found.notes


def _against(found: Comparison) -> str:
    """(47 against 42 of 100; 95 % interval -2 to +12)."""
    first, second, difference = found.first, found.second, found.difference
    assert first is not None and second is not None and difference is not None
    if found.kind == "binary" and first.method == second.method == "Wilson":
        counts = [round(each.value * each.n) for each in (second, first)]
        same = first.n == second.n
        means = (
            f"{counts[0]:,} against {counts[1]:,} of {first.n:,}"
            if same
            else (f"{counts[0]:,} of {second.n:,} against {counts[1]:,} of {first.n:,}")
        )
    else:
        values = [
            in_words(each.value, "share") if _is_share(found) else _amount(found, each.value)
            for each in (second, first)
        ]
        means = f"{values[0]} against {values[1]}, {_of_how_many(first, second)}"
    if difference.low is None or difference.high is None:
        return f"({means}; no interval)"
    ends = [_signed(found, end) for end in (difference.low, difference.high)]
    return f"({means}; 95 % interval {ends[0]} to {ends[1]})"


def _of_how_many(first: Estimate, second: Estimate) -> str:
    """mean of 20 cases; for files with overall numbers only, what they state."""
    sizes = f"{second.n:,}" if first.n == second.n else f"{second.n:,} and {first.n:,}"
    methods = {first.method, second.method}
    if "as stored" in methods:
        return "as stored"
    if methods == {"Wilson over episodes"}:
        # Not "episodes": with fewer clicks than episodes, the clicks are what counts.
        return f"taken as {sizes} independent {'trial' if first.n == second.n == 1 else 'trials'}"
    return f"mean of {sizes} {'case' if first.n == second.n == 1 else 'cases'}"


def _gaps(found: Comparison) -> list[str]:
    notes = gaps_of(found)
    left = [f"Left out: {'; '.join(notes)}."] if notes else []
    other = "No case is in both runs, so the cases may differ and not the runs."
    return [*left, other] if found.of_other_cases else left


def gaps_of(found: Comparison) -> tuple[str, ...]:
    """The cases that a comparison leaves out, in words."""
    without, only = (found.without_first, found.without_second), (found.only_first, found.only_second)
    return notes_of_gaps(found.runs, without, only, found.common)


def _power(found: Comparison) -> list[str]:
    if found.verdict != "inconclusive":
        return []
    if found.detectable is None:
        return [f"{note[0].upper()}{note[1:]}." for note in found.notes if note.startswith("so few cannot")]
    seen = f"This comparison could have seen {_plain(found, found.detectable)}"
    if _is_share(found) and found.detectable > 1:
        seen = "No difference at all could have been seen in so few cases"
    assert found.difference is not None
    size = abs(found.difference.value)
    # If it could have seen this difference, more cases are not what is missing.
    if found.needed is None or size >= found.detectable:
        return [f"{seen}."]
    where = "" if found.common else " in each run"
    return [f"{seen}; {found.needed:,} cases{where} would see {_plain(found, size)}."]


def _typical(found: Comparison) -> list[str]:
    ratio = found.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return []
    return [f"A typical case has {ratio.value:.3g} times as much ({ratio.low:.3g} to {ratio.high:.3g})."]


def _margin(found: Comparison) -> list[str]:
    if found.margin is None or found.better is None:
        return []
    answer = {True: "proven", False: "disproved", None: "not proven"}[found.no_worse]
    return [f"No worse by more than {_plain(found, found.margin)}: {answer}."]


def _plain(found: Comparison, value: float) -> str:
    """A difference in the words of its kind: 5 points, 0.013."""
    if not _is_share(found):
        return _amount(found, value)
    points = _points(value)
    return f"{points} point" if points == "1" else f"{points} points"


def _signed(found: Comparison, value: float) -> str:
    shown = _points(value) if _is_share(found) else _amount(found, value)
    return f"+{shown}" if value > 0 and shown != "0" else shown


def _amount(found: Comparison, value: float) -> str:
    return number(value) if found.unit is None else in_words(value, found.unit)


def _points(value: float) -> str:
    """A share in percentage points, with at most one decimal unless it is tiny."""
    return number(round(100 * value, 1) if abs(value) >= 0.001 else 100 * value)


def _is_share(found: Comparison) -> bool:
    return found.kind == "binary" or found.unit == "share"


def number(value: float) -> str:
    """Three significant digits, with thousands separators: 0.0013, 4,830, -2.5, 12; no decimals from 100 on."""
    if value == 0 or abs(value) < 1e-12:
        return "0"
    places = max(0, 2 - floor(log10(abs(value))))
    if abs(value) < 1e-6 or abs(value) >= 1e15:
        return f"{value:.3g}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
