"""Runs of LangSmith: what its SDKs send, and what its API exports.

Spec: https://docs.langchain.com/langsmith/run-data-format
Detect: runs with `dotted_order` or with `trace_id` and `run_type`, in batches (`post`, `patch`), as a list, on lines,
    or under `runs`.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Case, Maker, Run, Sample, Score, Source
from pantrace.wire.extra_keys import as_extra, rest_of, texts_in
from pantrace.wire.field_map import is_number
from pantrace.wire.head import Head
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken, read_log
from pantrace.wire.source import with_source

from ..format import Format
from .said import NAME
from .trace import trajectory_of

_LISTS = ("post", "patch", "runs", "feedback")


def detect(head: Head) -> str | None:
    if head.kind != "json" or not head.records:
        return None
    first = head.records[0]
    if _is_run(first):
        return "runs"
    row = object_of(first)
    listed = next((key for key in _LISTS[:3] if any(map(_is_run, list_of(row.get(key))[:1]))), None)
    return None if listed is None else "runs" if listed == "runs" else "batch"


def _is_run(row: Any) -> bool:
    return isinstance(row, dict) and "id" in row and ("dotted_order" in row or {"trace_id", "run_type"} <= row.keys())


def _is_feedback(row: Any) -> bool:
    return isinstance(row, dict) and {"run_id", "key"} <= row.keys() and ("score" in row or "value" in row)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """The traces of a file, each as one sample."""
    source = Source(format=NAME, version=detect(Head(path)), path=str(path))
    broken: list[ReadError] = []
    runs, feedback, beside = _gathered(read_log(path, broken.append))
    if not runs and broken:
        raise broken[0]
    for error in broken:
        on_broken(error)
    if not runs:
        raise ReadError("there are no runs of LangSmith in it", path=str(path), remedy="is --from right?")

    def samples() -> Iterator[Sample]:
        traces: dict[str, list[dict[str, Any]]] = {}
        for run in runs.values():
            traces.setdefault(str(run.get("trace_id") or run["id"]), []).append(run)
        for name, rows in traces.items():
            try:
                sample = _sample(name, rows, feedback)
            except ReadError as error:
                on_broken(error.at(path=str(path), place=f"trace {name}"))
                continue
            yield with_source(sample, source)

    project = next((text for run in runs.values() if (text := text_of(run.get("session_name")))), None)
    return Run(name=path.name, task=project, source=source, samples=samples(), extra=as_extra(NAME, beside))


def _gathered(rows: list[Any]) -> tuple[dict[str, Any], dict[str, list[Any]], dict[str, Any]]:
    """Runs by id, feedback by the id of its run, and what else the rows have."""
    runs: dict[str, Any] = {}
    feedback: dict[str, list[Any]] = {}
    beside: list[Any] = []
    open_ = [*reversed(rows)]
    while open_:
        row = open_.pop()
        if isinstance(row, list):
            open_ += reversed(row)
        elif _is_run(row):
            # Exports may nest the runs; each says whose child it is.
            open_ += reversed(list_of(row.get("child_runs")))
            one = rest_of(row, ("child_runs",))
            earlier = runs.get(str(row["id"]), {})
            overruled = _overruled(earlier, one)
            runs[str(row["id"])] = _merged(earlier, one | ({"overruled": overruled} if overruled is not None else {}))
        elif _is_feedback(row):
            feedback.setdefault(str(row["run_id"]), []).append(row)
        elif isinstance(row, dict) and any(isinstance(row.get(key), list) for key in _LISTS):
            keys = [key for key in _LISTS if isinstance(row.get(key), list)]
            open_ += [each for key in reversed(keys) for each in reversed(row[key])]
            beside += [rest] if (rest := rest_of(row, keys)) else []
        elif row is not None:
            beside.append(row)
    lost = [each for name, rows in feedback.items() if name not in runs for each in rows]
    return runs, feedback, {**({"rows": beside} if beside else {}), **({"feedback": lost} if lost else {})}


def _overruled(before: Any, after: Any) -> Any:
    """What a later message about a run contradicts; None if nothing."""
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = {key: _overruled(before[key], after[key]) for key in before if key in after}
        return {key: value for key, value in pairs.items() if value is not None} or None
    if isinstance(before, list) and isinstance(after, list):
        return before if any(_overruled(*each) is not None for each in zip(before, after, strict=False)) else None
    return before if before is not None and after is not None and before != after else None


def _merged(before: Any, after: Any) -> Any:
    """A run with what a later message about it says: the first begins it, the second ends it."""
    if isinstance(before, dict) and isinstance(after, dict):
        return {**before, **{key: _merged(before.get(key), value) for key, value in after.items()}}
    if isinstance(before, list) and isinstance(after, list):
        return [_merged(*each) for each in zip_longest(before, after)]
    return after if after is not None else before


def _sample(name: str, runs: list[dict[str, Any]], feedback: dict[str, list[Any]]) -> Sample:
    held = {str(run["id"]) for run in runs}
    tops = [run for run in runs if str(run.get("parent_run_id")) not in held] or runs[:1]
    # Of a trace that lacks runs, all that hang from nothing hang from its first run, or from one that is made up.
    own = [run for run in tops if run.get("parent_run_id") is None or run["id"] == name]
    root = own[0] if own else tops[0] if len(tops) == 1 else {"id": f"trace {name}", "run_type": "chain"}
    loose = [str(run["id"]) for run in tops if run is not root]
    runs = [{**run, "parent_run_id": root["id"]} if str(run["id"]) in loose else run for run in runs if run is not root]
    runs = [root, *runs] if str(root["id"]) in held else runs
    example = text_of(root.get("reference_example_id"))
    scores = [_score(row, root) for run in runs for row in feedback.get(str(run["id"]), ())]
    told = {score.name for score in scores}
    for run in runs:
        stats = object_of(run.get("feedback_stats"))
        scores += [_average(key, raw, run, root) for key, raw in stats.items() if key not in told]
    return Sample(
        id=name,
        case=Case(id=example) if example is not None else None,
        trajectory=trajectory_of(root, runs),
        scores=tuple(scores),
    )


def _score(row: dict[str, Any], root: dict[str, Any]) -> Score:
    """One feedback. Without a score its value counts, which may be a word."""
    score, value = row.get("score"), row.get("value")
    number = score if isinstance(score, bool) or is_number(score) else value if isinstance(value, str) else None
    key, by = text_of(row.get("key")) or "feedback", object_of(row.get("feedback_source")).get("type")
    failed = row.get("error") is True
    taken = ["run_id", *texts_in(row, "key", "comment")]
    taken += [] if failed or number is None else ["score" if number is score else "value"]
    return Score(
        name=key,
        value=None if failed else number,
        status="failed" if failed else "unscored" if number is None else "scored",
        explanation=text_of(row.get("comment")),
        step=None if row.get("run_id") == root["id"] else text_of(row.get("run_id")),
        maker=Maker(name=text_of(by) or NAME, kind="human" if by == "app" else "stored"),
        extra=as_extra(NAME, rest_of(row, taken)),
    )


def _average(key: str, raw: Any, run: dict[str, Any], root: dict[str, Any]) -> Score:
    """The mean over the feedback with one key, which is all that a run's export has."""
    mean = object_of(raw).get("avg")
    step = None if run is root else text_of(run.get("id"))
    maker = Maker(name=NAME)
    if not is_number(mean):
        return Score(name=key, status="unscored", step=step, maker=maker, details={"stats": raw})
    return Score(name=key, value=mean, step=step, maker=maker, details=rest_of(raw, ("avg",)))


FORMAT = Format(
    name=NAME,
    title="LangSmith runs: batches that its SDKs send, and exports of its API",
    spec="https://docs.langchain.com/langsmith/run-data-format",
    detect=detect,
    open=open_run,
    suffix=".jsonl",
    nests=True,
    note="verified with batches that langsmith 0.14.17 sends; exports were written by hand after its schema",
)
