"""Results of deepeval: test cases with answers, tools, and what the metrics said.

Spec: https://deepeval.com/docs/evaluation-introduction (TestRun in deepeval/test_run/test_run.py, EvaluationResult)
Detect: `testCases` or `test_results`, lists of cases with metrics' data.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Case,
    ExpectedCall,
    Invocation,
    Maker,
    Outcome,
    Part,
    Run,
    Sample,
    Score,
    Source,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from pantrace.wire.extra_keys import as_extra, rest_of, said_again, texts_in
from pantrace.wire.field_map import is_number
from pantrace.wire.head import Head
from pantrace.wire.json import text_or_json
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken, raise_broken, rows_in
from pantrace.wire.source import with_source

from .format import Format

NAME = "deepeval"
_LISTS = ("testCases", "conversationalTestCases", "test_results")


def detect(head: Head) -> str | None:
    if head.kind != "json" or not head.records or not head.may_be_document:
        return None
    row = object_of(head.records[0])
    first = next((object_of(row[key][0]) for key in _LISTS if isinstance(row.get(key), list) and row[key]), {})
    if "name" not in first or not {"success", "metricsData", "metrics_data", "turns", "actualOutput"} & first.keys():
        return None
    return "result" if "test_results" in row else "test run"


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """The test cases of a document, conversations after single questions."""
    source = Source(format=NAME, version=detect(Head(path)), path=str(path))
    document: Any = next((row for _, row in rows_in(path, "document", raise_broken)), {})
    keys = [key for key in _LISTS if isinstance(object_of(document).get(key), list)]
    if not keys:
        raise ReadError("results need testCases or test_results", path=str(path), remedy="is --from right?")

    def samples() -> Iterator[Sample]:
        names: dict[str, int] = {}
        for key in keys:
            for number, row in enumerate(document[key]):
                try:
                    sample = load(row)
                except ReadError as error:
                    on_broken(error.at(path=str(path), place=f"{key}[{number}]"))
                    continue
                # deepeval numbers unnamed cases; a name that was given may be given twice.
                names[sample.id] = count = names.get(sample.id, 0) + 1
                yield with_source(sample if count == 1 else replace(sample, id=f"{sample.id} {count}"), source)

    task = text_of(document.get("testFile"))
    rest = rest_of(document, (*keys, *(("testFile",) if task is not None else ())))
    return Run(name=path.name, task=task, source=source, samples=samples(), extra=as_extra(NAME, rest))


def _value(row: dict[str, Any], name: str) -> Any:
    """A value by its name in Python; a test run writes it in camel case."""
    first, *others = name.split("_")
    return row.get(name, row.get(first + "".join(map(str.capitalize, others))))


def load(row: Any) -> Sample:
    if not isinstance(row, dict) or not isinstance(name := row.get("name"), str):
        raise ReadError("a test case needs a name")
    asked, expected = row.get("input"), _value(row, "expected_tools")
    wait = _value(row, "completion_time")
    steps = tuple(_steps(row))
    scores = tuple(_score(each) for each in list_of(_value(row, "metrics_data")) if isinstance(each, dict))
    is_talk, metrics = isinstance(row.get("turns"), list), _value(row, "metrics_data")
    known = ["name", "turns" if is_talk else "input", *texts_in(row, "input")]
    known += ["success"] if isinstance(row.get("success"), bool) else []
    known += ["metricsData", "metrics_data"] if _are_objects(metrics) else []
    return Sample(
        id=name,
        case=Case(
            id=name,
            scenario=text_of(row.get("scenario")),
            question=text_of(asked),
            context=_joined(row.get("context")),
            relevant_context=_joined(_value(row, "retrieval_context")),
            reference=text_of(_value(row, "expected_output")),
            goal=text_of(_value(row, "expected_outcome")),
            expected_calls=tuple(_expected(expected)) if isinstance(expected, list) else None,
        ),
        trajectory=Trajectory(
            agents=(Agent(name="agent"),),
            steps=steps,
            invocations=(Invocation(id="1", seconds=wait),) if is_number(wait) and wait > 0 else (),
            outcome=_outcome(row.get("success"), scores),
            extra=as_extra(NAME, rest_of(row, known)),
        ),
        scores=scores,
    )


def _are_objects(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, dict) for each in values)


def _joined(pieces: Any) -> str | None:
    return "\n\n".join(map(text_or_json, pieces)) if isinstance(pieces, list) and pieces else None


def _expected(tools: list[Any]) -> Iterator[ExpectedCall]:
    for raw in tools:
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            given = _value(raw, "input_parameters")
            yield ExpectedCall(name=raw["name"], arguments=given, reason=text_of(raw.get("reasoning")))


def _steps(row: dict[str, Any]) -> Iterator[Step]:
    turns = row.get("turns")
    if isinstance(turns, list):
        for number, raw in enumerate(turns, 1):
            turn = raw if isinstance(raw, dict) else {"turn": raw}
            said = (Text(text=turn["content"]),) if isinstance(turn.get("content"), str) else ()
            role: Any = "agent" if turn.get("role") == "assistant" else "user"
            calls = tuple(_calls(_value(turn, "tools_called"), f"{number}."))
            extra = as_extra(NAME, rest_of(turn, (*texts_in(turn, "content"), *said_again(turn, order=number - 1))))
            yield Step(role=role, agent="agent" if role == "agent" else None, parts=(*calls, *said), extra=extra)
        return
    if row.get("input") is not None:
        yield Step(role="user", parts=(Text(text=text_or_json(row["input"])),))
    answer, used = _value(row, "actual_output"), _usage(row)
    parts = (*_calls(_value(row, "tools_called")), *((Text(text=text_or_json(answer)),) if answer is not None else ()))
    if parts or used is not None:
        yield Step(role="agent", agent="agent", parts=parts, usage=used, invocation="1")


def _calls(tools: Any, start: str = "") -> Iterator[Part]:
    """Calls in the order in which the test case lists them; it says nothing of when, nor of failures."""
    for number, raw in enumerate(list_of(tools), 1):
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            place = f"{start}{number}"
            rest = rest_of(raw, ("name", "output", "inputParameters", "input_parameters"))
            arguments = _value(raw, "input_parameters")
            yield ToolCall(id=place, name=raw["name"], arguments=arguments, extra=as_extra(NAME, rest))
            if raw.get("output") is not None:
                yield ToolResult(call_id=place, name=raw["name"], output=raw["output"])


def _usage(row: dict[str, Any]) -> Usage | None:
    sent, got, cost = (_value(row, key) for key in ("input_token_count", "output_token_count", "token_cost"))
    found: dict[str, Any] = {key: count for key, count in (("input", sent), ("output", got)) if type(count) is int}
    found |= {"cost_usd": cost} if is_number(cost) else {}
    return Usage(**found) if found else None


def _outcome(success: Any, scores: tuple[Score, ...]) -> Outcome | None:
    """Whether the test passed. A test that did not pass only because a metric broke down is not a failure."""
    if not isinstance(success, bool):
        return None
    broke = any(each.status == "failed" for each in scores) and not any(each.passed is False for each in scores)
    return Outcome(status="passed" if success else "unscored" if broke else "failed")


def _score(raw: dict[str, Any]) -> Score:
    """What a metric said; its tokens and its cost are the judge's, not the agent's."""
    score, error, limit = raw.get("score"), raw.get("error"), raw.get("threshold")
    failed, scored = error is not None, is_number(score) and error is None
    judge, passed = _value(raw, "evaluation_model"), raw.get("success")
    known = [key for key, kind in (("name", str), ("reason", str)) if isinstance(raw.get(key), kind)]
    known += ["threshold"] if is_number(limit) else []
    known += ["score", "success"] if scored and isinstance(passed, bool) else ["score"] if scored else []
    return Score(
        name=text_of(raw.get("name")) or "metric",
        status="failed" if failed else "scored" if scored else "unscored",
        value=score if scored else None,
        explanation=text_or_json(error) if failed else text_of(raw.get("reason")),
        threshold=limit if is_number(limit) else None,
        passed=passed if isinstance(passed, bool) and scored else None,
        maker=Maker(name=NAME, model=text_of(judge)),
        extra=as_extra(NAME, rest_of(raw, [key for key in known if not failed or key != "reason"])),
    )


FORMAT = Format(
    name=NAME,
    title="deepeval results: test cases with answers, tools and what the metrics said",
    spec="https://deepeval.com/docs/evaluation-introduction",
    detect=detect,
    open=open_run,
    layout="document",
    suffix=".json",
    note="verified with files of deepeval 4.3.1; traces inside test cases are kept, not read as steps",
)
