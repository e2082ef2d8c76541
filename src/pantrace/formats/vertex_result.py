"""Stored results of Vertex AI's Gen AI evaluation client: scores and rubric verdicts of each case.

Spec: `EvaluationResult` of google-cloud-aiplatform (vertexai._genai.types), as JSON of its model or by jsonpickle.
Detect: `eval_case_results` with `response_candidate_results`, or a jsonpickle of an EvaluationResult.
Lost: nothing is written. Of a pickled table (DataFrame) only the cells are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import (
    Aggregate,
    Case,
    Maker,
    Run,
    RunHeader,
    Sample,
    Scale,
    Score,
    Source,
    Step,
    Text,
    Trajectory,
    with_samples,
)
from pantrace.wire.adk.recase import DEEP, to_snake
from pantrace.wire.adk.record_samples import header_of_file, samples_of
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.head import Head
from pantrace.wire.jsonpickle import is_pickled, unknown_wrapper_keys, unpickle
from pantrace.wire.optional import present
from pantrace.wire.rows import OnBroken
from pantrace.wire.times import from_iso
from pantrace.wire.vertex.columns import column_text
from pantrace.wire.vertex.verdicts import share_met, verdict_in
from pantrace.wire.whole_document import document_in

from .format import Format

NAME = "vertex-result"
_CLASS = ".EvaluationResult"
_SCALE = Scale(low=0.0, high=1.0)
_NEAR = 1e-4
"""The service computes with 32-bit floats, so its scores differ from ours in the last digits."""


def detect(head: Head) -> str | None:
    record = head.record
    if is_pickled(record):
        return "jsonpickle" if record["py/object"].endswith(_CLASS) else None
    cases = record.get("eval_case_results", record.get("evalCaseResults"))
    first = cases[0] if isinstance(cases, list) and cases else None
    known = {"response_candidate_results", "responseCandidateResults"}
    return "" if isinstance(first, dict) and known & first.keys() else None


def open_run(path: Path, on_broken: OnBroken) -> Run:
    value = document_in(path)
    pickled = is_pickled(value)
    # A jsonpickle is taken apart as data: none of the classes that it names is ever imported.
    result = unpickle(value) if pickled else to_snake(value, DEEP) if isinstance(value, dict) else {}
    if not isinstance(result, dict) or not isinstance(result.get("eval_case_results"), list):
        raise ReadError("not an EvaluationResult: no eval_case_results", path=str(path), remedy="is --from right?")
    source = Source(format=NAME, version="jsonpickle" if pickled else None, path=str(path))
    header = header_of_file(partial(_header, result, unknown_wrapper_keys(value) if pickled else {}), source)
    return with_samples(header, samples_of(_records(result), "a case result", source, on_broken))


def _header(result: dict[str, Any], wrapped: dict[str, Any]) -> RunHeader:
    metadata = result.get("metadata") or {}
    known = {"candidate_names", "dataset_name", "dataset_id", "creation_timestamp"}
    kept = rest_of(result, {"eval_case_results", "evaluation_dataset", "metadata", "summary_metrics"})
    if rest := rest_of(metadata, known):
        kept["metadata"] = rest
    if any(tables := [_rest_of_table(each) for each in _tables(result)]):
        kept["evaluation_dataset"] = tables
    if wrapped:
        kept["jsonpickle"] = wrapped
    dataset = {key: metadata[f"dataset_{key}"] for key in ("name", "id") if metadata.get(f"dataset_{key}")}
    names = metadata.get("candidate_names")
    return RunHeader(
        created=from_iso(metadata.get("creation_timestamp")),
        dataset=dataset,
        config={"candidate_names": names} if names else {},
        results=tuple(_aggregate(each) for each in result.get("summary_metrics") or ()),
        extra=as_extra(NAME, kept),
    )


def _aggregate(summary: dict[str, Any]) -> Aggregate:
    rest = rest_of(summary, {"metric_name", "mean_score", "num_cases_valid"})
    return Aggregate(
        name=summary["metric_name"],
        metric="mean",
        value=summary.get("mean_score"),
        n=summary.get("num_cases_valid"),
        extra=as_extra(NAME, rest),
    )


def _records(result: dict[str, Any]) -> Iterator[tuple[str | None, Callable[[], Sample]]]:
    """Every answer of every case: the client can compare several candidates."""
    tables = _tables(result)
    names = (result.get("metadata") or {}).get("candidate_names")
    for number, case in enumerate(result["eval_case_results"]):
        answers = case.get("response_candidate_results") if isinstance(case, dict) else None
        if not isinstance(answers, list):
            yield f"eval_case_results[{number}]", partial(_no_case, case)
            continue
        for place, answer in enumerate(answers):
            several = len(answers) > 1
            where = f"eval_case_results[{number}]" + (f".response_candidate_results[{place}]" if several else "")
            yield where, partial(_sample, case, number, answer, tables, names, several)


def _tables(result: dict[str, Any]) -> list[Any]:
    """The evaluated datasets: one per candidate, or a single one."""
    datasets = result.get("evaluation_dataset")
    return datasets if isinstance(datasets, list) else [datasets]


def _rest_of_table(table: Any) -> Any:
    """What a dataset has beside its cases."""
    return rest_of(table, {"eval_cases", "eval_dataset_df"}) if isinstance(table, dict) else table


def _no_case(case: Any) -> Sample:
    raise ReadError("a case result has no response_candidate_results")


def _sample(
    case: dict[str, Any], number: int, answer: dict[str, Any], tables: list[Any], names: Any, several: bool
) -> Sample:
    index = case.get("eval_case_index")
    # Without an index, cases are in the order of the dataset.
    index = index if type(index) is int else number
    place = answer.get("response_index")
    place = place if type(place) is int else 0
    asked = _case_in_dataset(tables, index, place)
    # Candidates are matched by position: results do not repeat their names.
    candidate = names[place] if isinstance(names, list) and place < len(names) else None
    name = str(asked.pop("eval_case_id", None) or asked.pop("session_id", None) or f"case-{index}")
    prompt, response, reference = (_take_text(asked, key) for key in ("prompt", "response", "reference"))
    steps = [Step(role="user", parts=(Text(text=prompt),))] if prompt is not None else []
    steps += [Step(role="agent", parts=(Text(text=response),))] if response is not None else []
    kept = rest_of(case, {"response_candidate_results"}) | rest_of(answer, {"metric_results"})
    if rest := present(asked):
        kept["eval_case"] = rest
    return Sample(
        id=f"{name}/{candidate or place}" if several else name,
        case=Case(id=name, question=prompt, reference=reference, labels={"candidate": candidate} if candidate else {}),
        trajectory=Trajectory(steps=tuple(steps)) if steps else None,
        scores=tuple(_score(key, each) for key, each in (answer.get("metric_results") or {}).items()),
        extra=as_extra(NAME, kept),
    )


def _take_text(asked: dict[str, Any], key: str) -> str | None:
    """Remove and return the text of a column; its other keys stay."""
    value = asked.pop(key, None)
    text = column_text(value)
    if rest := rest_of(value, {"role", "parts"} if text is not None else ()) if isinstance(value, dict) else None:
        asked[key] = rest
    return text


def _case_in_dataset(tables: list[Any], index: int, place: int) -> dict[str, Any]:
    """The dataset's record of a case, from its eval cases or from the columns of its table."""
    table = tables[place] if place < len(tables) else tables[0] if tables else None
    if not isinstance(table, dict):
        return {}
    cases, columns = table.get("eval_cases"), table.get("eval_dataset_df")
    if isinstance(cases, list) and index < len(cases) and isinstance(cases[index], dict):
        found = dict(cases[index])
        responses = found.pop("responses", None)
        if isinstance(responses, list) and responses:
            _unwrap(found, "response", responses[place if place < len(responses) else 0])
        _unwrap(found, "reference", found.get("reference"))
        return found
    if isinstance(columns, dict):
        return {key: cells[index] for key, cells in columns.items() if isinstance(cells, list) and index < len(cells)}
    return {}


def _unwrap(case: dict[str, Any], key: str, candidate: Any) -> None:
    """Set the response of a ResponseCandidate; its other keys are kept under a key of their own."""
    if not isinstance(candidate, dict) or "response" not in candidate:
        case[key] = candidate
        return
    case[key] = candidate["response"]
    if rest := rest_of(candidate, {"response"}):
        case[f"{key}_candidate"] = rest


def _score(key: str, result: dict[str, Any]) -> Score:
    """A stored score. A null verdict means false, as the service leaves out false. A missing score stays missing."""
    name = result.get("metric_name") or key
    verdicts = [verdict_in(each) for each in result.get("rubric_verdicts") or ()]
    value, error = result.get("score"), result.get("error_message")
    details = rest_of(result, {"metric_name", "score", "explanation", "rubric_verdicts", "error_message"})
    if verdicts:
        details["verdicts"] = verdicts
        share = share_met(verdicts)
        if value is None and not error:
            value = share
        # The stored score wins; our own share is kept beside it, so that the difference can be seen.
        elif isinstance(value, (int, float)) and abs(value - share) >= _NEAR:
            details["share_of_true_verdicts"] = share
    scored = value is not None and not error
    met = f"{round(share_met(verdicts) * len(verdicts))} of {len(verdicts)} rubrics are met" if verdicts else None
    # `general_quality_v1`: names with a version are the only place where it is recorded.
    version = name.rpartition("_")[2]
    if error and value is not None:
        # An error beside a score: the number is not trusted, but it must not get lost.
        details["score_given"] = value
    return Score(
        name=name,
        value=value if scored else None,
        status="scored" if scored else "unscored",
        scale=_SCALE if verdicts else None,
        explanation=(result.get("explanation") or met) if scored else str(error or "the service gave no score"),
        details=details,
        maker=Maker(name=name, version=version if version[:1] == "v" and version[1:].isdigit() else None),
    )


_TABLE = "evaluation_dataset[].py/state.__dict__.eval_dataset_df"

FORMAT = Format(
    name=NAME,
    title="Stored results of Vertex AI's evaluation client: scores and rubric verdicts",
    spec="https://cloud.google.com/vertex-ai/generative-ai/docs/models/evaluation-overview",
    detect=detect,
    open=open_run,
    layout="document",
    suffix=".json",
    reencoded={
        "*py/object": "the name of a Python class, which is clear from the data",
        "*py/type": "the name of a Python class, which is clear from the data",
        "*py/id": "refers to an object that was written earlier",
        "*__pydantic_fields_set__*": "names of the fields next to it",
        f"*{_TABLE}*": "pandas' metadata of the table; its cells are read",
        "*creation_timestamp.__reduce__*": "the bytes of a time",
    },
    note="checked with a real result of 2026; the service itself was not used",
)
