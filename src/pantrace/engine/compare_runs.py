"""Compare two or more runs: each with the first, or each with every other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from pantrace.errors import UsageError
from pantrace.metrics import full_address
from pantrace.model import Record, Sample, with_samples
from pantrace.stats import Estimate
from pantrace.store import RunDirectory, is_run_directory, unfinished
from pantrace.wire.closest_name import closest_name

from .collector import seldom_collecting
from .compare import Margin, compare_pairs
from .compare_columns import side_of_directory
from .compare_result import Comparison
from .compare_side import Side, address_among, side_of, unknown_cluster
from .compare_stored import compare_stored
from .compare_verdicts import PASSED, passed_score, with_outcome
from .read import Notes, read_pile
from .table import Table, Tabular


class Comparisons(Record, Tabular, frozen=True, kw_only=True):
    """The results of comparing several runs."""

    runs: tuple[str, ...]
    """Their names, in the order given."""
    correction: str
    """How p-values are adjusted, and over how many tests."""
    comparisons: tuple[Comparison, ...]
    only: tuple[tuple[str, str, int, int], ...] = ()
    """For each pair of runs: how many cases only the first has, and only the second."""
    paths: tuple[str, ...] = ()
    """The runs as they were given; empty if one run was split."""
    unfinished: tuple[str, ...] = ()
    """Runs that have not ended, each with a sentence: a gate must not rest on their beginning."""

    __repr__ = Tabular.__repr__

    @property
    def verdicts(self) -> dict[str, str]:
        """Metric -> better, worse, higher, lower, equivalent, inconclusive or "no change"; for two runs."""
        return {each.metric: each.verdict for each in self.comparisons}

    def to_dict(self) -> dict[str, Any]:
        """All fields, empty ones included, as `pantrace compare --json` prints them."""
        first, second = (self.paths or self.runs)[:2]
        every = [{name: getattr(each, name) for name in each.__struct_fields__} for each in self.comparisons]
        found = {"first": first, "second": second, "runs": self.runs, "correction": self.correction}
        found["unfinished"] = self.unfinished
        plain: dict[str, Any] = msgspec.to_builtins({**found, "comparisons": every})
        return plain

    def table(self) -> Table:
        """One row for each metric and pair of runs."""
        columns: dict[str, type] = {"metric": str, "first": str, "second": str, "cases": int}
        columns |= dict.fromkeys(("first_mean", "second_mean", "difference", "low", "high", "p_adjusted"), float)
        columns |= {"verdict": str, "wins": int, "losses": int, "ties": int, "detectable": float}
        return Table(columns, [_flat(each) for each in self.comparisons])

    def overview(self) -> Table:
        """The answer in words, a row for each metric."""
        columns = {"metric": str, "difference": float, "low": float, "high": float, "verdict": str}
        rows = [(each.metric, *_values(each.difference), each.verdict) for each in self.comparisons]
        counts = Counter(each.verdict for each in self.comparisons)
        listed_verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        sentence = f"{', '.join(self.runs[1:])} against {self.runs[0]}: {listed_verdicts}"
        return Table(columns, [*rows], sentence=sentence, notes=[f"95 % intervals; p adjusted: {self.correction}"])


def _values(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)


def _flat(each: Comparison) -> tuple[Any, ...]:
    means = [None if side is None else side.value for side in (each.first, each.second)]
    counts = (each.wins, each.losses, each.ties)
    found = (*each.runs, each.common, *means, *_values(each.difference), each.p_adjusted)
    return (each.metric, *found, each.verdict, *counts, each.detectable)


Source = tuple[str, Sequence[Path]]
"""A run as the user named it, and its files."""


def compare_sources(
    sources: Sequence[Source],
    *,
    metrics: Sequence[str] = (),
    cluster: str | None = None,
    pair_by: str = "case",
    margins: Iterable[str | float] = (),
    all_pairs: bool = False,
    more: Callable[[list[Side]], None] = lambda _sides: None,
) -> Comparisons:
    """Compare runs by the measures that they share, or by those named: the others against the first, or all pairs.

    A margin is a number, a share of the first run's mean ("5%"), or either for one metric ("cost=5%"). `more` may add
    numbers to the sides."""
    if len(sources) < 2:
        raise UsageError("a comparison needs two or more runs")
    margins = list(margins)
    margin = parse_margins(margins)
    sides = read_sides(sources, cluster, pair_by, decisions=PASSED in metrics)
    if not any(side.cases for side in sides):
        if cluster is not None:
            raise UsageError("--cluster: these files have no cases, only overall numbers")
        named = [(side.name, files[0]) for side, (_, files) in zip(sides, sources, strict=True)]
        found = compare_stored(_pairs(named, all_pairs), metrics=metrics, margin=margin)
        if not found:
            named_all = " and ".join(name for name, _ in sources)
            raise UsageError(f"{named_all} share no metric that has a number on both sides")
        _refuse_idle_margins(margins, found)
        result = _comparisons(sides, found, [])
    else:
        more(sides)
        result = compare_cases(sides, metrics=metrics, margins=margins, all_pairs=all_pairs)
    return replace(result, paths=tuple(name for name, _ in sources), unfinished=unfinished_of(sources))


def unfinished_of(sources: Iterable[Source]) -> tuple[str, ...]:
    """A sentence for each run that has not ended."""
    folders = [each for _, files in sources for each in files if is_run_directory(each)]
    return tuple(f"{each}: {found.words}" for each in folders if (found := unfinished(each)) is not None)


def compare_cases(
    sides: Sequence[Side],
    *,
    metrics: Sequence[str] = (),
    margins: Iterable[str | float] = (),
    all_pairs: bool = False,
) -> Comparisons:
    """The same for sides that have been read and have cases."""
    margins = list(margins)
    _refuse_gaps(sides, metrics)
    # The first run is the baseline: every further pair is a test that makes all others harder to prove.
    pairs = _pairs(sides, all_pairs)
    with seldom_collecting():
        found = compare_pairs(pairs, metrics=metrics, margin=parse_margins(margins))
    if not found:
        listed = [f"{side.name} has {', '.join(sorted(side.values)) or 'no scores'}" for side in sides]
        raise UsageError(f"the runs share no metric: {'; '.join(listed)}")
    _refuse_idle_margins(margins, found)
    return _comparisons(sides, found, pairs)


def _comparisons(sides: Sequence[Side], found: Sequence[Comparison], pairs: Sequence[tuple[Side, Side]]) -> Comparisons:
    only = tuple((one.name, two.name, len(one.cases - two.cases), len(two.cases - one.cases)) for one, two in pairs)
    return Comparisons(
        runs=tuple(side.name for side in sides),
        correction=_correction(found),
        comparisons=tuple(found),
        only=only,
    )


def _correction(found: Sequence[Comparison]) -> str:
    """How p-values are adjusted: Holm over 4 tests, half of the error rate for outcome.success."""
    tests = found[0].tests
    if tests < 2:
        return "none: one test" if tests else "none: nothing changed"
    primary = [each.metric for each in found if each.primary and each.p_adjusted is not None]
    # If half of the tests or more are primary, all parts are equal.
    half = 0 < len(primary) < tests / 2
    reserved = f", half of the error rate for {', '.join(dict.fromkeys(primary))}" if half else ""
    return f"Holm over {tests} tests{reserved}"


T = TypeVar("T")


def _pairs(runs: Sequence[T], all_pairs: bool) -> list[tuple[T, T]]:
    return list(combinations(runs, 2)) if all_pairs else [(runs[0], other) for other in runs[1:]]


def read_sides(
    sources: Sequence[Source], cluster: str | None, pair_by: str = "case", *, decisions: bool = False
) -> list[Side]:
    """The numbers of each run, under distinct names. With `decisions`, whether a sample passed is what the profile of
    its run directory decided."""
    names = distinct_names([name for name, _ in sources])
    sides = []
    for name, (_, files) in zip(names, sources, strict=True):
        # Columns have no decisions, so those need the records.
        decided = decisions and len(files) == 1 and is_run_directory(files[0])
        with seldom_collecting():
            side = _side(files, cluster, pair_by) if not decided else None
            if side is None:
                run = read_pile(files, notes=Notes())
                samples = _with_decisions(files[0]) if decided else run.samples
                side = side_of(run, map(with_outcome, samples), cluster=cluster, pair_by=pair_by)
        side.name = name
        sides.append(side)
    if cluster is not None and any(side.cases for side in sides) and not any(side.clusters for side in sides):
        raise unknown_cluster(cluster, {name for side in sides for name in side.labels})
    return sides


def _side(files: Sequence[Path], cluster: str | None, pair_by: str) -> Side | None:
    """The numbers of a run directory, read from its columns; None for any other input."""
    # No column says which agent a case asks for.
    if len(files) != 1 or cluster == "agent" or not is_run_directory(files[0]):
        return None
    directory = RunDirectory.open(files[0])
    found = side_of_directory(files[0], directory.header, cluster=cluster, pair_by=pair_by)
    if found is not None:
        return found
    run = with_samples(directory.header, directory.outlines())
    return side_of(run, map(with_outcome, run.samples), cluster=cluster, pair_by=pair_by)


def _with_decisions(folder: Path) -> Iterator[Sample]:
    """The samples of a run directory, with the decision of its profile, if there is one, as the score `passed`."""
    for result in RunDirectory.open(folder).results():
        scores = (*result.sample.scores, *result.scores)
        passed = [each.passed for each in result.decisions]
        if passed and None not in passed:
            decided = passed_score(all(passed))
            scores = (*(score for score in scores if score.name != PASSED), decided)
        yield replace(result.sample, scores=scores)


def _refuse_gaps(sides: Sequence[Side], metrics: Sequence[str]) -> None:
    for side in sides:
        if not side.cases:
            raise UsageError(f"{side.name}: there are no samples to compare with those of the other runs")
        for name in metrics:
            if address_among(name, *sides) not in side.values:
                close = closest_name(name, sorted(side.values))
                known = ", ".join(sorted(side.values)) or "none"
                hint = f"did you mean {close}?" if close is not None else f"it has: {known}"
                raise UsageError(f"{side.name} has no numbers for {name!r}; {hint}")


def _refuse_idle_margins(margins: Iterable[str | float], found: Sequence[Comparison]) -> None:
    """Refuse a margin for a metric that is not compared: if its name is misspelt, the metric has no margin."""
    compared = {each.metric for each in found}
    for each in margins:
        name, named, _ = str(each).rpartition("=")
        if named and not compared & {name, full_address(name)}:
            raise UsageError(f"--margin {each}: {name!r} is not compared; these are: {', '.join(sorted(compared))}")


_ENDINGS = (".gz", ".zst", ".json", ".jsonl", ".eval", ".trace", ".ndjson", ".db")


def distinct_names(paths: Sequence[str]) -> list[str]:
    """Short names for paths: the last component, with as many of the ones before it as needed to be distinct."""
    parts = [_parts(path) for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(each[-depth:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    # The same path twice: a run against itself.
    names = ["/".join(each[-1:] if len(set(map(tuple, parts))) == 1 else each) for each in parts]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _parts(path: str) -> list[str]:
    found = [part for part in Path(path).parts if part not in ("/", ".")] or [path]
    last = found[-1]
    # Several suffixes: `.trace.jsonl.zst`. A file that is called `.json` keeps its name.
    while ending := next((each for each in _ENDINGS if last.endswith(each) and last != each), None):
        last = last.removesuffix(ending)
    return [*found[:-1], last]


def parse_margins(margins: Iterable[str | float]) -> Margin:
    """The margin of each metric: "0.05", "5%", "cost=5%". A UsageError if one is not a number above 0."""
    general: tuple[float, bool] | None = None
    own: dict[str, tuple[float, bool]] = {}
    for each in margins:
        name, found, text = str(each).rpartition("=")
        value = _margin(text, str(each))
        if found:
            own[name] = own[full_address(name)] = value
        else:
            general = value

    def margin(metric: str, baseline: Estimate | None) -> float | None:
        chosen = own.get(metric, general)
        if chosen is None:
            return None
        size, relative = chosen
        if not relative:
            return size
        return size * abs(baseline.value) if baseline is not None else None

    return margin


def _margin(text: str, whole: str) -> tuple[float, bool]:
    relative = text.endswith("%")
    try:
        value = float(text.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        raise UsageError(f"--margin {whole!r} is not a number (0.05), a share (5%) or NAME=0.05") from None
    # Not `value <= 0`, which is false for NaN.
    if not 0 < value < float("inf"):
        raise UsageError("--margin must be above 0")
    return value, relative


def exit_code(found: Sequence[Comparison]) -> int:
    """1 if any metric is proven worse, 0 if every metric that has a good direction is proven no worse than allowed,
    otherwise 3, as for runs without a common case."""
    judged = [each for each in found if each.better is not None]
    # Proven worse, but by less than the margin, is not a failure; nor is worse on other cases.
    if any(each.verdict == "worse" and not each.no_worse and not each.of_other_cases for each in judged):
        return 1
    return 0 if judged and all(each.no_worse for each in judged) else 3
