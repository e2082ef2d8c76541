"""How often our intervals hold the truth, and how often `compare` cries wolf: simulated, seeded, no peer needed.

python bench/coverage.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pantrace.engine.compare import compare_sides, side_of
from pantrace.model import Case, Run, Sample, Scale, Score
from pantrace.stats import Estimate, mean, pooled_share, share_over_cases, tango, wilson

SCALE = Scale(low=0, high=1)
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


def side(values: np.ndarray, names: list[str]) -> list[Sample]:
    """Samples of one run, a case each."""
    return [
        Sample(
            id=f"{name}/{number}",
            case=Case(id=f"{name}/{number}", labels={"task": name}),
            scores=(Score(name="m", value=float(value), scale=SCALE),),
        )
        for number, (name, value) in enumerate(zip(names, values, strict=True))
    ]


def false_alarms(times: int) -> list[Row]:
    """How often `compare` says better or worse of two runs that are the same but for chance."""
    dice = np.random.default_rng(2)
    rows: list[Row] = []

    def alarm(a: np.ndarray, b: np.ndarray, names: list[str], cluster: str | None) -> bool:
        return called_different(side(a, names), side(b, names), cluster)

    for kind, n in (("pass or fail", 20), ("pass or fail", 50), ("scores", 20), ("scores", 50)):
        names = [str(number) for number in range(n)]
        count = 0
        for _ in range(times):
            own = dice.beta(2, 2, n)
            if kind == "scores":
                a, b = (np.clip(own + dice.normal(0, 0.15, n), 0, 1) for _ in range(2))
            else:
                a, b = ((dice.random(n) < own).astype(float) for _ in range(2))
            count += alarm(a, b, names, None)
        rows.append({"data": f"{kind}, {n} pairs", "times": times, "false_alarms": count / times})
    for tasks in (10, 30):
        names = [str(task) for task in range(tasks) for _ in range(4)]
        count = 0
        for _ in range(times):
            own = np.repeat(dice.beta(2, 2, tasks), 4)
            # A task as a whole does better or worse by chance, so its four cases are not four proofs.
            shifts = np.repeat(dice.normal(0, 0.1, tasks), 4)
            a = np.clip(own + dice.normal(0, 0.1, len(own)), 0, 1)
            b = np.clip(own + shifts + dice.normal(0, 0.1, len(own)), 0, 1)
            count += alarm(a, b, names, "task")
        label = f"scores, {tasks} tasks of 4 cases, --cluster task"
        rows.append({"data": label, "times": times, "false_alarms": count / times})
    return rows + repeats(times // 4) + without_pairs(times // 4)


def called_different(a: list[Sample], b: list[Sample], cluster: str | None) -> bool:
    sides = [side_of(Run(), samples, cluster=cluster) for samples in (a, b)]
    return compare_sides(*sides)[0].verdict in ("better", "worse")


def repeats(times: int) -> list[Row]:
    """Cases that were tried three times in each run."""
    dice = np.random.default_rng(3)
    names = [str(number) for number in range(30)]
    count = 0
    for _ in range(times):
        own = dice.beta(1, 1, 30)
        runs = [[each for _ in range(3) for each in side((dice.random(30) < own).astype(float), names)] for _ in "ab"]
        count += called_different(*runs, None)
    return [{"data": "pass or fail, 30 cases of 3 trials", "times": times, "false_alarms": count / times}]


def without_pairs(times: int) -> list[Row]:
    """Runs of different cases, whose tasks pass and fail together: how far they do is the correlation within a task."""
    dice = np.random.default_rng(4)
    rows: list[Row] = []
    for tasks, cases, within in ((8, 12, 1.0), (20, 5, 0.6), (20, 5, 0.3)):
        for cluster in (None, "task"):
            count = 0
            for _ in range(times):
                runs = []
                for prefix in "ab":
                    spread = (1 - within) / within / 2
                    own = dice.beta(spread, spread, tasks) if within < 1 else dice.integers(0, 2, tasks).astype(float)
                    passed = (dice.random(tasks * cases) < np.repeat(own, cases)).astype(float)
                    runs.append(side(passed, [f"{prefix}{task}" for task in range(tasks) for _ in range(cases)]))
                count += called_different(*runs, cluster)
            how = "--cluster task" if cluster else "clusters ignored"
            label = f"pass or fail without pairs, {tasks} tasks of {cases} cases, correlation {within}, {how}"
            rows.append({"data": label, "times": times, "false_alarms": count / times})
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the draws")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    times = 400 if given.quick else 4000
    found = {"intervals": intervals(times), "false_alarms": false_alarms(times)}
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"Coverage of 95 % intervals, {times} draws each\n\n| method | n | p | coverage |\n|---|---|---|---|")
    for row in found["intervals"]:
        print(f"| {row['method']} | {row['n']} | {row['p']} | {row['coverage']:.3f} |")
    print("\nFalse alarms of `compare` at 5 %\n\n| data | comparisons | better or worse |\n|---|---|---|")
    for row in found["false_alarms"]:
        print(f"| {row['data']} | {row['times']} | {row['false_alarms']:.3f} |")


if __name__ == "__main__":
    main()
