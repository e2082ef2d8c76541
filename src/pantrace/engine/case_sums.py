"""Case sums: the sums of each measure, in which a case counts once, by the mean of its repeats."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from pantrace.metrics.pooling import Sums
from pantrace.model import Measure
from pantrace.stats.moments import Moments, RatioMoments

from .reduce import Total, total_of
from .reliability import Reliability, reliability_of
from .score_columns import Columns

Group = int | None


class _Added(NamedTuple):
    moments: Moments
    total: float


class CaseSums:
    """The sums of all measures, for one way to group the samples."""

    def __init__(self, columns: Columns, *, grouped: bool, only: Collection[int] | None = None) -> None:
        """`only`: the measures that are wanted, if not all of them."""
        self._columns = columns
        self._grouped = grouped
        self.repeats = columns.repeats
        self._added: dict[tuple[Group, int], _Added] = {
            (group, number): _added(cases, values, self.repeats)
            for number in columns.figures.measures()
            if only is None or number in only
            for group, cases, values in self._by_group(number)
        }
        self._ratios: dict[tuple[int, int], dict[Group, RatioMoments]] = {}
        self._tasks: dict[int, dict[Group, list[tuple[int, int, int]]]] = {}

    def _by_group(self, number: int) -> Iterator[tuple[Group, Any, Any]]:
        """Cases and values of a measure, for each group that has some."""
        places, values = self._columns.figures.of(number)
        cases = self._columns.case_of[places]
        if not self._grouped:
            yield None, cases, values
            return
        # A sample belongs to one group for each label, so the labels are gone through one by one.
        for codes, groups in self._columns.members:
            own = codes[places]
            for code, group in enumerate(groups):
                chosen = own == code
                if chosen.any():
                    yield group, cases[chosen], values[chosen]

    def moments(self, group: Group, number: int) -> Moments | None:
        found = self._added.get((group, number))
        return found.moments if found is not None else None

    def total(self, measure: Measure, group: Group, ids: dict[str, int], samples: int) -> Total | None:
        """The total of a measure over all samples of a group."""
        sums, ratio = Sums(), None
        for name in measure.over or (measure.name,):
            if (found := self._added.get((group, ids.get(name, 0)))) is not None:
                sums.put(name, found.moments.trials, found.total)
        if measure.over is not None and all(name in ids for name in measure.over):
            above, below = (ids[name] for name in measure.over)
            if (above, below) not in self._ratios:
                self._ratios[above, below] = dict(self._ratio(above, below))
            ratio = self._ratios[above, below].get(group)
        return total_of(measure, sums, samples, ratio, self.moments(group, ids.get(measure.name, 0)))

    def _ratio(self, above: int, below: int) -> Iterator[tuple[Group, RatioMoments]]:
        import numpy as np

        most = len(self._columns.cases)
        others = {group: (cases, values) for group, cases, values in self._by_group(below)}
        for group, cases, values in self._by_group(above):
            if group not in others:
                continue
            low_cases, low_values = others[group]
            # A case that has only one of the two numbers would add to one side of the ratio and not to the other.
            both = (np.bincount(cases, minlength=most) > 0) & (np.bincount(low_cases, minlength=most) > 0)
            y = np.bincount(cases, values, most)[both]
            x = np.bincount(low_cases, low_values, most)[both]
            if len(y):
                yield (
                    group,
                    RatioMoments(
                        cases=int((x > 0).sum()),
                        above=float(y.sum()),
                        below=float(x.sum()),
                        above_squared=float((y * y).sum()),
                        below_squared=float((x * x).sum()),
                        product=float((y * x).sum()),
                    ),
                )

    def reliability(self, group: Group, number: int) -> Reliability | None:
        """pass@k and pass^k of a measure whose numbers are all 0 or 1."""
        if number not in self._tasks:
            self._tasks[number] = {each: _tasks(cases, values) for each, cases, values in self._by_group(number)}
        return reliability_of(self._tasks[number].get(group, ()))


def _added(cases: Any, values: Any, repeats: bool) -> _Added:
    import numpy as np

    means = values
    # Without repeats every value is its own case, and averaging would only cost time.
    if repeats:
        trials = np.bincount(cases)
        means = np.bincount(cases, values)[trials > 0] / trials[trials > 0]
    # If the square of a number overflows, the variance is infinite; that must not end the summary.
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(means.var(ddof=1)) if len(means) > 1 else None
        moments = Moments(
            cases=len(means),
            trials=len(values),
            mean=float(means.mean()),
            variance=variance,
            lowest=float(values.min()),
            highest=float(values.max()),
            yes_or_no=bool(((values == 0) | (values == 1)).all()),
        )
        return _Added(moments, float(values.sum()))


def _tasks(cases: Any, values: Any) -> list[tuple[int, int, int]]:
    """(trials, successes, number of cases): a million cases have few different pairs."""
    import numpy as np

    trials = np.bincount(cases)
    successes = np.bincount(cases, values).astype(np.int64)
    tried = trials > 0
    found, counts = np.unique(np.stack([trials[tried], successes[tried]]), axis=1, return_counts=True)
    return [(*pair, count) for pair, count in zip(found.T.tolist(), counts.tolist(), strict=True)]
