"""Reports: one document with totals, averages per agent and scored cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Aggregate, Run, RunHeader, Sample, Source
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.field_map import is_number
from pantrace.wire.json import encode
from pantrace.wire.optional import present
from pantrace.wire.output import writing
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso, time_text
from pantrace.wire.whole_document import object_in

from . import scored_case
from .keys import (
    NAME,
    is_object,
    is_text,
    restore,
    split_known,
    vocabulary,
)
from .scored_case import METRIC, SCORED, plain_number

REPORT = vocabulary(
    {
        "generatedAtUtc": is_text,
        "totalCases": is_number,
        "totalPassed": is_number,
        "overallPassRate": is_number,
        "perAgent": lambda value: is_object(value) and all(is_object(agent) for agent in value.values()),
        "cases": lambda value: isinstance(value, list),
    }
)

AGENT = vocabulary(
    {
        "totalCases": is_number,
        "passedCases": is_number,
        "passRate": is_number,
        "compositeAverage": is_number,
        "explanation": is_text,
        "metricAverages": lambda value: is_object(value) and all(is_object(metric) for metric in value.values()),
    }
)

AVERAGE = vocabulary({"averageScore": is_number, "averageProbScore": is_number})

Difference = tuple[str, Any, Any]
"""Path inside the report, the stored number, and the number that its cases give."""


def is_report(document: Any) -> bool:
    """Whether an object begins like a report, with totals and agents before its cases."""
    # Decided by keys in front of the cases: the head of a long report does not reach its end.
    keys = {key.lower() for key in document} if isinstance(document, dict) else set()
    return {"totalcases", "peragent"} <= keys and bool(keys & {"cases", "overallpassrate"})


def open_report(path: Path, on_broken: OnBroken) -> Run:
    """A report as a run: its stored numbers as results, its cases as samples."""
    document = object_in(path)
    values, note = split_known(document, REPORT)
    if "cases" not in values:
        raise ReadError("a report needs a list of cases", path=str(path))
    cases = values["cases"]
    key = note.get("spelling", {}).get("cases", "cases")
    stored = {name: value for name, value in document.items() if name != key}
    kept: dict[str, Any] = {"kind": "report", "stored": stored, "counted": _digest(cases)}
    if key != "cases":
        kept["spelling"] = {"cases": key}
    created = from_iso(values.get("generatedAtUtc"))
    return Run(
        created=created,
        results=tuple(_results(values, {path: given for path, _, given in differences(document)})),
        source=Source(format=NAME, version="report", path=str(path)),
        extra={NAME: kept},
        samples=_samples(path, cases, on_broken),
    )


def _samples(path: Path, cases: list[Any], on_broken: OnBroken) -> Iterator[Sample]:
    for number, row in enumerate(cases):
        try:
            if not isinstance(row, dict):
                raise ReadError("a case of a report is an object")
            yield scored_case.load(row)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=f"cases[{number}]"))


def _digest(cases: Iterable[Any]) -> str:
    """A fingerprint of the totals of some cases, to notice when stored totals belong to other cases."""
    given = totals((case for case in cases if isinstance(case, dict)), as_original=True)
    return sha256(encode(given)).hexdigest()[:16]


def _results(values: dict[str, Any], given: dict[str, Any]) -> Iterator[Aggregate]:
    total = values.get("totalCases")
    yield from _passes(values, given, "", {}, total, ("totalPassed", "overallPassRate"))
    for agent, row in values.get("perAgent", {}).items():
        mine, labels, place = split_known(row, AGENT)[0], {"agent": agent}, f"perAgent.{agent}."
        count = mine.get("totalCases")
        yield from _passes(mine, given, place, labels, count, ("passedCases", "passRate"))
        if "compositeAverage" in mine:
            yield _aggregate(scored_case.COMPOSITE, mine, "compositeAverage", "mean", given, place, labels, count)
        for metric, averages in mine.get("metricAverages", {}).items():
            here = f"{place}metricAverages.{metric}."
            numbers = split_known(averages, AVERAGE)[0]
            for key, how in (("averageScore", "mean"), ("averageProbScore", "mean_prob_score")):
                if key in numbers:
                    yield _aggregate(metric, numbers, key, how, given, here, labels, None)


def _passes(
    row: dict[str, Any], given: dict[str, Any], place: str, labels: dict[str, str], n: Any, keys: tuple[str, str]
) -> Iterator[Aggregate]:
    for key, how in zip(keys, ("count", "rate"), strict=True):
        if key in row:
            yield _aggregate("passed", row, key, how, given, place, labels, n)


def _aggregate(
    name: str,
    row: dict[str, Any],
    key: str,
    how: str,
    given: dict[str, Any],
    place: str,
    labels: dict[str, str],
    n: Any,
) -> Aggregate:
    # Both numbers are kept: the stored one is what the report says, the other shows that its cases disagree.
    differs = f"{place}{key}" in given
    return Aggregate(
        name=name,
        value=row[key],
        metric=how,
        n=n if isinstance(n, int) else None,
        labels=labels,
        extra={NAME: {"recomputed": given[f"{place}{key}"]}} if differs else {},
    )


def totals(cases: Iterable[dict[str, Any]], *, as_original: bool) -> dict[str, Any]:
    """The numbers of a report that follow from its cases.

    The original counts an errored case as a composite of 0 and an unreadable score as -1; otherwise both are left out
    of the averages."""
    rows = [split_known(case, SCORED)[0] for case in cases]
    by_agent: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_agent.setdefault(row.get("agentName", ""), []).append(row)
    passed = sum(row.get("passed", False) for row in rows)
    return {
        "totalCases": len(rows),
        "totalPassed": passed,
        "overallPassRate": plain_number(passed / len(rows)) if rows else 0,
        "perAgent": {agent: _agent_totals(mine, as_original) for agent, mine in by_agent.items()},
    }


def _agent_totals(rows: list[dict[str, Any]], as_original: bool) -> dict[str, Any]:
    passed = sum(row.get("passed", False) for row in rows)
    # A case without metrics ended in an error, and its composite of 0 was not measured.
    composites = [
        row["compositeScore"] for row in rows if "compositeScore" in row and (as_original or row.get("metrics"))
    ]
    numbers: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        for raw in row.get("metrics", ()):
            metric = split_known(raw, METRIC)[0]
            scores, probabilities = numbers.setdefault(metric["metricName"], ([], []))
            # -1 means that the judge's reply could not be read; averaged, it would be a very bad score.
            counts = as_original or ("status" not in metric and metric.get("score") != -1)
            if isinstance(metric.get("value"), bool):
                metric.setdefault("score", int(metric["value"]))
            if counts and "score" in metric:
                scores.append(metric["score"])
            if counts and "probScore" in metric:
                probabilities.append(metric["probScore"])
    averages = {
        name: present({"averageScore": _mean(scores), "averageProbScore": _mean(probabilities)})
        for name, (scores, probabilities) in numbers.items()
    }
    agent = {
        "totalCases": len(rows),
        "passedCases": passed,
        "passRate": plain_number(passed / len(rows)),
        "compositeAverage": _mean(composites),
        "explanation": "",
        "metricAverages": averages,
    }
    return present(agent)


def _mean(numbers: list[float]) -> Any:
    return plain_number(sum(numbers) / len(numbers)) if numbers else None


def differences(document: dict[str, Any]) -> Iterator[Difference]:
    """Stored numbers that follow from the cases neither in the original's way of counting nor in ours."""
    values = split_known(document, REPORT)[0]
    cases = [case for case in values.get("cases", ()) if isinstance(case, dict)]
    stored = dict(_numbers({key: value for key, value in values.items() if key != "cases"}))
    original = dict(_numbers(totals(cases, as_original=True)))
    own = dict(_numbers(totals(cases, as_original=False)))
    for path, number in stored.items():
        given = original.get(path)
        # Either way of counting is right, as reports of the original and of ours differ in it.
        if not _same(number, given) and not _same(number, own.get(path)):
            yield path, number, given


def _numbers(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("totalCases", "totalPassed", "overallPassRate"):
        if key in values:
            yield key, values[key]
    for agent, row in values.get("perAgent", {}).items():
        mine = split_known(row, AGENT)[0]
        for key in ("totalCases", "passedCases", "passRate", "compositeAverage"):
            if key in mine:
                yield f"perAgent.{agent}.{key}", mine[key]
        for metric, averages in mine.get("metricAverages", {}).items():
            for key, number in split_known(averages, AVERAGE)[0].items():
                yield f"perAgent.{agent}.metricAverages.{metric}.{key}", number


def _same(stored: Any, given: Any) -> bool:
    # Sums of floats differ in their last digits from program to program.
    return is_number(given) and abs(stored - given) <= 1e-6 * max(1.0, abs(given))


def write_report(run: RunHeader, cases: list[dict[str, Any]], target: Path) -> None:
    """A run as a report. Its stored totals are kept as long as the cases add up to the same; otherwise they are counted
    again, over scored values only."""
    kept = rest_in(run.extra, NAME)
    stored = kept.get("stored", {})
    # Samples may have been left out or judged again since: then the stored totals are about other cases.
    if not stored or kept.get("counted") != _digest(cases):
        counted = {"generatedAtUtc": time_text(run.created)}
        known, note = split_known(stored, REPORT)
        stored = restore({**counted, **known, **totals(cases, as_original=False)}, note)
    document = {**stored, kept.get("spelling", {}).get("cases", "cases"): cases}
    with writing(target) as file:
        file.write(encode(document, indent=2) + b"\n")
