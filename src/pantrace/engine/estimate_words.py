"""Words of an estimate, as tables and sentences show it."""

from __future__ import annotations

from pantrace.model import Unit, in_words
from pantrace.stats import Estimate


def estimate_words(
    estimate: Estimate | None, unit: Unit | None = None, *, signed: bool = False, scored: int | None = None
) -> str:
    """0.42 [0.3, 0.54] n=200; with a unit, 42 % [30, 54] n=200. If the column `scored` has the same number, n is left
    out."""
    if estimate is None:
        return "-"
    form = "+.3g" if signed else ".3g"

    def number_words(number: float) -> str:
        if unit is not None:
            return in_words(number, unit)
        # 2,410 instead of 2.41e+03.
        return f"{number:{'+' if signed else ''},.0f}" if 1000 <= abs(number) < 1e15 else format(number, form)

    value = number_words(estimate.value)
    # An interval of fewer than five values is so wide that it only distracts; --json has it.
    count = "" if scored == estimate.n else f" n={estimate.n}"
    if estimate.low is None or estimate.high is None or (estimate.n < 5 and estimate.method == "t"):
        return f"{value}{count}"
    # The unit is already after the value.
    shown = "%" if unit == "share" else unit
    ends = [number_words(number).removesuffix(f" {shown}") for number in (estimate.low, estimate.high)]
    return f"{value} [{', '.join(ends)}]{count}"
