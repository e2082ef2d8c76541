"""How often our intervals hold the truth, and how often `compare` cries wolf: simulated, seeded, no peer needed.

python bench/coverage.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pantrace.engine.compare import compare_sides
from pantrace.engine.compare_result import Comparison
from pantrace.engine.compare_side import side_of
from pantrace.model import Case, Run, Sample, Scale, Score
from pantrace.stats import Estimate, mean, pooled_share, share_over_cases, tango, wilson

SCALE = Scale(low=0, high=1)
OPEN = Scale(low=0, better="lower")
Row = dict[str, Any]


def covered(estimates: Callable[[], Estimate], truth: float, times: int) -> float:
    """The share of intervals that hold the truth; one without an interval does not."""
    held = 0
    for _ in range(times):
        found = estimates()
        held += found.low is not None and found.high is not None and found.low <= truth <= found.high
    return held / times


def intervals(times: int) -> list[Row]:
    """Coverage of 95 % intervals."""
    dice = np.random.default_rng(1)
    rows: list[Row] = []
    for n, p in product((10, 30, 100, 300), (0.05, 0.2, 0.5, 0.8)):
        shares = partial(_share, dice, n, p)
        means = partial(_mean, dice, n, p)
        rows.append({"method": "Wilson", "n": n, "p": p, "coverage": covered(shares, p, times)})
        rows.append({"method": "t", "n": n, "p": p, "coverage": covered(means, p, times)})
    for clusters, p in product((5, 10, 30, 100), (0.2, 0.5, 0.8)):
        draws = partial(_repeated, dice, clusters, p)
        rows.append({"method": "Wilson over cases", "n": clusters, "p": p, "coverage": covered(draws, p, times)})
        steps = partial(_steps, dice, clusters, p)
        rows.append({"method": "Wilson over clusters", "n": clusters, "p": p, "coverage": covered(steps, p, times)})
    for n, (changed, difference) in product((20, 50, 200), ((0.05, 0.0), (0.1, 0.08), (0.4, 0.1))):
        pairs = partial(_pairs, dice, n, changed, difference)
        name = f"Tango, {changed:.0%} of pairs change"
        rows.append({"method": name, "n": n, "p": difference, "coverage": covered(pairs, difference, times)})
    return rows


def _share(dice: np.random.Generator, n: int, p: float) -> Estimate:
    return wilson(int(dice.binomial(n, p)), n)


def _mean(dice: np.random.Generator, n: int, p: float) -> Estimate:
    return mean((dice.random(n) < p).astype(float).tolist())


def _repeated(dice: np.random.Generator, cases: int, p: float) -> Estimate:
    # Each case has its own chance of success around p (a beta with mean p), and four trials.
    own = dice.beta(2 * p, 2 * (1 - p), cases)
    return share_over_cases((dice.binomial(4, own) / 4).tolist(), 4 * cases)


def _steps(dice: np.random.Generator, episodes: int, p: float) -> Estimate:
    # Episodes of one to fifteen steps.
    steps = dice.integers(1, 16, episodes)
    own = dice.beta(2 * p, 2 * (1 - p), episodes)
    return pooled_share(dice.binomial(steps, own).tolist(), steps.tolist())


def _pairs(dice: np.random.Generator, n: int, changed: float, difference: float) -> Estimate:
    losses, wins, _ = dice.multinomial(n, [(changed - difference) / 2, (changed + difference) / 2, 1 - changed])
    return tango(int(losses), int(wins), n)


@dataclass(frozen=True)
class Shape:
    """Data of which the truth is known."""

    name: str
    draw: Callable[[np.random.Generator, bool], tuple[list[Sample], list[Sample]]]
    """The two runs; with a true effect, or without."""
    effect: str
    """What the effect is, in words."""
    cluster: str | None = None

    @property
    def quick(self) -> bool:
        """Whether a comparison takes no resamples."""
        return not any(word in self.name for word in ("lognormal", "20 times", "trials", "without pairs"))


def levels(times: int) -> list[Row]:
    """One row for each shape; those that take long are drawn less often."""
    return [level(number, shape, times if shape.quick else 3 * times // 10) for number, shape in enumerate(SHAPES)]


def level(number: int, shape: Shape, times: int) -> Row:
    """How often two equal runs are called different, how often that comes without a warning, how often the interval of
    their difference holds 0, and how often a true effect is found."""
    dice = np.random.default_rng(100 + number)
    alarms = silent = held = found = 0
    for _ in range(times):
        null = compared(shape, dice, effect=False)
        called = null.verdict in DIFFERENT
        alarms += called
        silent += called and not any(word in note for note in null.notes for word in WARNINGS)
        low, high = (null.difference.low, null.difference.high) if null.difference is not None else (None, None)
        held += low is not None and high is not None and low <= 0 <= high
        found += compared(shape, dice, effect=True).verdict in DIFFERENT
    return {
        "data": shape.name,
        "times": times,
        "false_alarms": alarms / times,
        "without_warning": silent / times,
        "coverage": held / times,
        "effect": shape.effect,
        "power": found / times,
    }


DIFFERENT = ("better", "worse", "higher", "lower")
WARNINGS = ("false alarms", "may have missed")


def compared(shape: Shape, dice: np.random.Generator, *, effect: bool) -> Comparison:
    sides = [side_of(Run(), samples, cluster=shape.cluster) for samples in shape.draw(dice, effect)]
    return compare_sides(*sides, power=False)[0]


def side(values: Any, names: Sequence[str], scale: Scale | None = SCALE) -> list[Sample]:
    """Samples of one run, a case each; the name's part before the slash is the task."""
    return [
        Sample(
            id=name,
            case=Case(id=name, labels={"task": name.partition("/")[0]}),
            scores=(Score(name="m", value=float(value), scale=scale),),
        )
        for name, value in zip(names, values, strict=True)
    ]


def alone(n: int, prefix: str = "") -> list[str]:
    return [f"{prefix}{number}/0" for number in range(n)]


def tasks(sizes: Sequence[int], prefix: str = "") -> list[str]:
    return [f"{prefix}{task}/{number}" for task, size in enumerate(sizes) for number in range(size)]


def pass_or_fail(n: int) -> Shape:
    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        own = dice.beta(2, 2, n)
        rates = (own, np.clip(own + 0.3, 0, 1) if effect else own)
        a, b = (side(dice.random(n) < rate, alone(n)) for rate in rates)
        return a, b

    return Shape(f"pass or fail, {n} pairs", draw, "+0.3 in each case, up to 1")


def discordant(n: int, share: float) -> Shape:
    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        a = dice.random(n) < 0.5
        b = np.where(dice.random(n) < share, ~a, a)
        if effect:
            b = b | (dice.random(n) < 0.4)
        return side(a, alone(n)), side(b, alone(n))

    return Shape(f"pass or fail, {n} pairs, {share:.0%} change by chance", draw, "40 % of failures pass")


def scores(n: int) -> Shape:
    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        own = dice.beta(2, 2, n)
        a, b = (np.clip(own + shift + dice.normal(0, 0.15, n), 0, 1) for shift in (0.0, 0.15 * effect))
        return side(a, alone(n)), side(b, alone(n))

    return Shape(f"scores, {n} pairs", draw, "+0.15")


def repeated(n: int, trials: int) -> Shape:
    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        own = dice.beta(1, 1, n)
        rates = (own, np.clip(own + 0.25, 0, 1) if effect else own)
        a, b = ([each for _ in range(trials) for each in side(dice.random(n) < rate, alone(n))] for rate in rates)
        return a, b

    return Shape(f"pass or fail, {n} cases of {trials} trials", draw, "+0.25 in each case, up to 1")


def clustered(sizes: Sequence[int]) -> Shape:
    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        own = np.repeat(dice.beta(2, 2, len(sizes)), sizes)
        # A task as a whole does better or worse by chance, so its cases are not as many proofs.
        shifts = np.repeat(dice.normal(0.25 * effect, 0.1, len(sizes)), sizes)
        a = own + dice.normal(0, 0.1, len(own))
        b = own + shifts + dice.normal(0, 0.1, len(own))
        return side(a, tasks(sizes), Scale(low=-9, high=9)), side(b, tasks(sizes), Scale(low=-9, high=9))

    told = f"of {sizes[0]} cases" if len(set(sizes)) == 1 else f"of {min(sizes)} to {max(sizes)} cases"
    return Shape(f"scores, {len(sizes)} tasks {told}, --cluster task", draw, "+0.25", "task")


def without_pairs(count: int, size: int, within: float, cluster: str | None = "task") -> Shape:
    """Tasks pass and fail together: how far they do is the correlation within a task."""

    def rates(dice: np.random.Generator, share: float) -> Any:
        if within == 1:
            return (dice.random(count) < share).astype(float)
        spread = (1 - within) / within
        return dice.beta(share * spread, (1 - share) * spread, count)

    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        runs = []
        for prefix, share in (("a", 0.5), ("b", 0.9 if effect else 0.5)):
            passed = dice.random(count * size) < np.repeat(rates(dice, share), size)
            runs.append(side(passed, tasks([size] * count, prefix)))
        return runs[0], runs[1]

    how = "--cluster task" if cluster else "clusters ignored"
    name = f"pass or fail without pairs, {count} tasks of {size} cases, correlation {within}, {how}"
    return Shape(name, draw, "0.9 against 0.5", cluster)


def lognormal(n: int, sigma: float, kind: str) -> Shape:
    """Numbers from 0 upwards, of which few are far larger than the others; equal means."""

    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        factor = 2.0 if effect else 1.0
        prefix = "b" if kind == "without pairs" else ""
        if kind == "against a constant":
            a, b = np.full(n, np.exp(sigma**2 / 2)), dice.lognormal(0, sigma, n)
        elif kind == "pairs":
            own = dice.normal(0, sigma, n)
            a, b = np.exp(own), np.exp(0.8 * own + 0.6 * dice.normal(0, sigma, n))
        elif kind == "with zeros":
            a, b = np.full(n, 0.8 * np.exp(sigma**2 / 2)), dice.lognormal(0, sigma, n) * (dice.random(n) < 0.8)
        else:
            a, b = dice.lognormal(0, sigma, (2, n))
        return side(a, alone(n), OPEN), side(factor * b, alone(n, prefix), OPEN)

    cases = "cases each" if kind == "without pairs" else "pairs"
    return Shape(f"lognormal, sigma {sigma}, {kind}, {n} {cases}", draw, "twice as much")


def rare_and_large(n: int) -> Shape:
    """One case of twenty costs twenty times as much as the others."""

    def draw(dice: np.random.Generator, effect: bool) -> tuple[list[Sample], list[Sample]]:
        far = dice.random(n) < 0.05
        b = np.where(far, dice.lognormal(3, 0.3, n), dice.lognormal(0, 0.3, n)) * (2.0 if effect else 1.0)
        mean = (0.05 * np.exp(3) + 0.95) * np.exp(0.045)
        return side(np.full(n, mean), alone(n), OPEN), side(b, alone(n), OPEN)

    return Shape(f"one case of 20 is 20 times as large, against a constant, {n} pairs", draw, "twice as much")


SHAPES = [
    *(pass_or_fail(n) for n in (5, 20, 50)),
    *(discordant(n, share) for n in (50, 200) for share in (0.0, 0.02, 0.04, 0.06)),
    *(scores(n) for n in (5, 20, 50)),
    repeated(30, 3),
    *(clustered([4] * count) for count in (5, 6, 8, 10, 30)),
    *(clustered(sizes) for sizes in ([1, 2, 4, 8, 30, 3], [5, 10, 2, 3, 40, 1, 2, 6, 4, 3])),
    *(without_pairs(*each) for each in ((8, 12, 1.0), (20, 5, 0.6), (20, 5, 0.3), (5, 8, 0.5))),
    *(without_pairs(*each, None) for each in ((8, 12, 1.0), (20, 5, 0.3))),
    *(lognormal(n, sigma, "against a constant") for n in (5, 20, 50) for sigma in (1.0, 1.5)),
    *(lognormal(n, 1.5, "pairs") for n in (20, 50)),
    *(lognormal(n, 1.5, "without pairs") for n in (20, 50)),
    *(lognormal(n, 1.5, "with zeros") for n in (20, 50)),
    *(rare_and_large(n) for n in (20, 50)),
]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the draws")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    times = 100 if given.quick else 1000
    found = {"intervals": intervals(4 * times), "levels": levels(times)}
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"Coverage of 95 % intervals, {4 * times} draws each\n\n| method | n | p | coverage |\n|---|---|---|---|")
    for row in found["intervals"]:
        print(f"| {row['method']} | {row['n']} | {row['p']} | {row['coverage']:.3f} |")
    print("\nLevel, coverage and power of `compare` at 5 %\n")
    print("| data | comparisons | false alarms | without a warning | coverage | true effect | found |")
    print("|---|---|---|---|---|---|---|")
    for row in found["levels"]:
        numbers = " | ".join(f"{row[name]:.3f}" for name in ("false_alarms", "without_warning", "coverage"))
        print(f"| {row['data']} | {row['times']} | {numbers} | {row['effect']} | {row['power']:.3f} |")


if __name__ == "__main__":
    main()
