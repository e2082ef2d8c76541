"""Results of promptfoo: each test with its prompt, the answer, and what the assertions found.

Spec: https://www.promptfoo.dev/docs/configuration/outputs/ (EvaluateResult in src/types/index.ts)
Detect: `results` that hold rows with `prompt` and `vars` (a document, versions 1 to 4), or such rows on lines.
Lost: nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Case,
    Invocation,
    Maker,
    Outcome,
    Part,
    Run,
    Sample,
    Score,
    Source,
    Step,
    StepError,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.field_map import is_number
from pantrace.wire.head import Head
from pantrace.wire.json import decode_document, encode, text_or_json
from pantrace.wire.openai_chat import call_from, is_role, step_from, steps_from
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken, read_rows
from pantrace.wire.source import with_source
from pantrace.wire.times import from_iso

from .format import Format

NAME = "promptfoo"
_STATUS = {0: "passed", 1: "failed", 2: "error"}
"""`failureReason`: none, an assertion, or an error, for which promptfoo stores the score 0."""
_MODELS = ("chat", "completion", "messages", "responses", "embedding", "converse", "live", "realtime")
"""Words between the provider and the model in the id of a provider."""


def detect(head: Head) -> str | None:
    if head.kind != "json" or not head.records:
        return None
    row = object_of(head.records[0])
    if _is_row(row):
        return "rows"
    results = _about_rows(row)
    # The prompts come before the rows, which may lie beyond what is seen here of a long file.
    seen = any(map(_is_row, list_of(results.get("results"))[:1])) or ("evalId" in row and "prompts" in results)
    return f"v{results.get('version', 1)}" if seen and head.may_be_document else None


def _about_rows(row: dict[str, Any]) -> dict[str, Any]:
    """The object that holds the rows and the version: the document itself in version 1, `results` in later ones."""
    return row if isinstance(row.get("results"), list) else object_of(row.get("results"))


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not {"vars", "success"} <= row.keys():
        return False
    if "score" in row and ("gradingResult" in row or "latencyMs" in row):
        return True
    # Versions 1 and 2 (until 2024) store no more than this for a test without assertions.
    return "raw" in object_of(row.get("prompt")) and bool({"response", "error"} & row.keys())


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """All rows of a file. Rows of the same test with the same prompt are its repetitions."""
    source = Source(format=NAME, version=detect(Head(path)), path=str(path))
    about: dict[str, Any] = {}
    found = read_rows(path, on_broken)
    if (source.version or "").startswith("v"):
        about = object_of(next((row for _, row in found), None))
        rows = list_of(_about_rows(about).get("results"))
        found = ((f"results[{number}]", row) for number, row in enumerate(rows))
    results = object_of(about.get("results"))

    def samples() -> Iterator[Sample]:
        tests: dict[bytes, str] = {}
        times: Counter[str] = Counter()
        ids: Counter[str] = Counter()
        for place, row in found:
            try:
                sample = load(row)
            except ReadError as error:
                on_broken(error.at(path=str(path), place=place))
                continue
            same = encode([row.get(key) for key in ("testCase", "vars", "prompt", "promptIdx", "provider")])
            if same not in tests:
                # Old versions number neither tests nor prompts: the same variables may be in several prompts.
                ids[sample.id] += 1
                tests[same] = sample.id if ids[sample.id] == 1 else f"{sample.id}-{ids[sample.id]}"
            name = tests[same]
            times[name] += 1
            yield with_source(replace(sample, id=name, epoch=times[name]), source)

    config, made = object_of(about.get("config")), object_of(about.get("metadata"))
    rest = rest_of(about, ("evalId", "results")) | rest_of(results, ("timestamp", "results"))
    return Run(
        id=text_of(about.get("evalId")),
        name=path.name,
        created=from_iso(results.get("timestamp")) or from_iso(made.get("evaluationCreatedAt")),
        task=text_of(config.get("description")),
        source=source,
        samples=samples(),
        extra=as_extra(NAME, rest),
    )


def load(row: Any) -> Sample:
    if not _is_row(row):
        raise ReadError("not a row of promptfoo's results: it needs vars, success, and a score or a prompt's response")
    response, provider = object_of(row.get("response")), row.get("provider")
    name = text_of(provider) or text_of(object_of(provider).get("id")) or "agent"
    model = _model(name)
    status = _status(row, response)
    place = [str(row[key]) for key in ("testIdx", "promptIdx") if type(row.get(key)) is int]
    test = object_of(row.get("testCase"))
    answer, used = _answer(response, row), _usage(response, row)
    told = answer.error is not None or bool(answer.parts) or used is not None
    answer = replace(answer, agent=name, model=model, usage=used, invocation="1")
    history = _history(row, response)
    wait = row.get("latencyMs", response.get("latencyMs"))
    error = text_of(row.get("error"))
    # The rest stays whole, as its parts refer to each other: the response, the test, the named scores.
    kinds: dict[str, Any] = {
        "id": str,
        "testIdx": int,
        "promptIdx": int,
        "success": bool,
        "score": (int, float),
        "gradingResult": dict,
    }
    known = ["vars", *(key for key, kind in kinds.items() if isinstance(row.get(key), kind))]
    return Sample(
        id="-".join(place) or text_of(row.get("id")) or text_or_json(row.get("vars")),
        case=Case(
            id=place[0] if place else None,
            scenario=text_of(test.get("description")),
            question=_question(row.get("vars")),
            extra=as_extra(NAME, {"vars": row.get("vars")}),
        ),
        trajectory=Trajectory(
            id=text_of(row.get("id")),
            agents=(Agent(name=name, model=model),),
            steps=(*history, *((answer,) if told else ())),
            invocations=(Invocation(id="1", seconds=wait / 1000),) if is_number(wait) and wait > 0 else (),
            outcome=Outcome(status=status, reason=error) if status is not None else None,
            extra=as_extra(NAME, rest_of(row, known)),
        ),
        scores=tuple(_scores(row, status)),
    )


def _model(provider: str) -> str | None:
    """The model in a provider's id ("openai:chat:gpt-5-mini"); None for programs, files and addresses."""
    maker, mark, model = provider.partition(":")
    if not mark or maker in ("file", "http", "https", "ws", "wss", "exec", "python", "package", "promptfoo", "echo"):
        return None
    kind, mark, rest = model.partition(":")
    return rest if mark and kind in _MODELS else model


def _status(row: dict[str, Any], response: dict[str, Any]) -> Any:
    """How a row ended. Older versions only have the error of the response."""
    success, reason = row.get("success"), row.get("failureReason")
    if success is False and reason != 2 and any(map(_no_grade, _components(row))):
        # promptfoo stores a failure where a grader broke down: whether the answer is good, nobody knows.
        return "unscored"
    if reason in _STATUS and type(reason) is int:
        return _STATUS[reason]
    if response.get("error") is not None or (row.get("error") is not None and row.get("gradingResult") is None):
        return "error"
    return None if not isinstance(success, bool) else "passed" if success else "failed"


def _components(row: dict[str, Any]) -> list[dict[str, Any]]:
    found = object_of(row.get("gradingResult")).get("componentResults")
    return [each for each in list_of(found) if isinstance(each, dict)]


def _no_grade(component: dict[str, Any]) -> bool:
    return object_of(component.get("metadata")).get("graderError") is True or not is_number(component.get("score"))


def _question(named: Any) -> str | None:
    """The question, if the test has a single variable."""
    values = list(object_of(named).values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None


def _history(row: dict[str, Any], response: dict[str, Any]) -> tuple[Step, ...]:
    """The prompt as it was sent: a text, or messages as JSON text."""
    raw = object_of(row.get("prompt")).get("raw")
    if not isinstance(raw, str):
        return ()
    if raw.lstrip().startswith("["):
        try:
            messages = decode_document(raw.encode("utf-8", "surrogatepass"))
        except ReadError:
            messages = []
        if messages and all(isinstance(each, dict) and is_role(each.get("role")) for each in messages):
            return steps_from(messages, NAME)
    return (Step(role="user", parts=(Text(text=raw),)),)


def _answer(response: dict[str, Any], row: dict[str, Any]) -> Step:
    output, parts = response.get("output"), list[Part]()
    # An agent's own calls stand beside its answer, where its provider tells them.
    for raw in list_of(object_of(response.get("metadata")).get("toolCalls")):
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            call = ToolCall(id=text_of(raw.get("id")), name=raw["name"], arguments=raw.get("input"))
            parts += [call, _result(call, raw)] if {"output", "is_error"} & raw.keys() else [call]
    step = Step(role="agent")
    if isinstance(output, list) and output and all(map(_is_call, output)):
        parts += [call_from(each, NAME) for each in output]
    elif isinstance(output, dict) and list_of(output.get("tool_calls")) and all(map(_is_call, output["tool_calls"])):
        step = step_from({"role": "assistant", **output}, NAME)
    elif output not in (None, ""):
        parts.append(Text(text=text_or_json(output)))
    error = response.get("error")
    if error is None and row.get("failureReason") == 2:
        error = row.get("error")
    return replace(
        step,
        parts=(*parts, *step.parts),
        stop=text_of(response.get("finishReason")),
        error=StepError(message=text_or_json(error)) if error is not None else None,
    )


def _is_call(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(object_of(raw.get("function")).get("name"), str)


def _result(call: ToolCall, raw: dict[str, Any]) -> ToolResult:
    failed = raw.get("is_error") is True
    return ToolResult(call_id=call.id, name=call.name, output=raw.get("output"), failure="error" if failed else None)


def _usage(response: dict[str, Any], row: dict[str, Any]) -> Usage | None:
    """Tokens of the answer. An answer from promptfoo's own cache cost nothing, and what it once cost is kept only."""
    counts, more = (
        object_of(response.get("tokenUsage")),
        object_of(object_of(response.get("tokenUsage")).get("completionDetails")),
    )
    if response.get("cached") is True:
        return None
    pairs = (
        ("input", counts.get("prompt")),
        ("output", counts.get("completion")),
        ("total", counts.get("total")),
        ("cache_read", more.get("cacheReadInputTokens")),
        ("cache_write", more.get("cacheCreationInputTokens")),
        ("reasoning", more.get("reasoning")),
    )
    found: dict[str, Any] = {name: count for name, count in pairs if type(count) is int}
    # Where the provider tells no cost, promptfoo writes 0 into the row.
    cost = response.get("cost", row.get("cost") or None)
    found |= {"cost_usd": cost} if is_number(cost) and (cost or any(found.values())) else {}
    return Usage(**found) if any(found.values()) else None


def _scores(row: dict[str, Any], status: str | None) -> Iterator[Score]:
    grading = object_of(row.get("gradingResult"))
    broke = status in ("error", "unscored")
    # Version 1 only has whether the test passed.
    score: Any = row.get("score", row.get("success"))
    told = is_number(score) or ("score" not in row and isinstance(score, bool))
    maker = Maker(name=NAME)
    yield Score(
        name=NAME,
        # The stored 0 of a row that broke down is no score: nothing was graded.
        status="failed" if broke else "scored" if told else "unscored",
        value=score if told and not broke else None,
        explanation=text_of(row.get("error") if broke else grading.get("reason")),
        maker=maker,
        passed=row["success"] if isinstance(row.get("success"), bool) and not broke else None,
        extra=as_extra(
            NAME, rest_of(grading, ("componentResults",) if isinstance(grading.get("componentResults"), list) else ())
        ),
    )
    names = Counter([NAME])
    for raw in _components(row):
        one = _component(raw)
        names[one.name] += 1
        yield one if names[one.name] == 1 else replace(one, name=f"{one.name} {names[one.name]}")
    for name, value in object_of(row.get("namedScores")).items():
        if name not in names and is_number(value):
            yield Score(name=name, value=value, maker=maker)


def _component(raw: dict[str, Any]) -> Score:
    """What one assertion found."""
    claim, score, failed = object_of(raw.get("assertion")), raw.get("score"), _no_grade(raw)
    limit = claim.get("threshold")
    return Score(
        name=text_of(claim.get("metric")) or text_of(claim.get("type")) or "assertion",
        status="failed" if failed else "scored",
        value=None if failed else score,
        explanation=text_of(raw.get("reason")),
        maker=Maker(name=NAME),
        threshold=limit if is_number(limit) else None,
        passed=raw["pass"] if isinstance(raw.get("pass"), bool) and not failed else None,
        details=claim,
        extra=as_extra(NAME, rest_of(raw, ("assertion", "reason", *(() if failed else ("score", "pass"))))),
    )


FORMAT = Format(
    name=NAME,
    title="promptfoo results: tests with prompts, answers and what the assertions found",
    spec="https://www.promptfoo.dev/docs/configuration/outputs/",
    detect=detect,
    open=open_run,
    layout="document",
    suffix=".json",
    repeats=True,
)
