"""ADK eval sets: cases with expected conversations, or scenarios for a simulated user.

Spec: https://google.github.io/adk-docs/evaluate/ and the models of google-adk 2.13.0 (EvalSet, EvalCase).
Detect: `eval_cases` beside `eval_set_id`; the older lists of `{name, data, initial_session}` and of
`{query, expected_tool_use, reference}`; `scenarios` with starting prompts.
Lost: what was done (trajectory, scores, usage): an eval set states what is expected. If a sample has no expectation,
what was done becomes the expected conversation, as in ADK's "add session to eval set".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import (
    Case,
    Run,
    RunHeader,
    Sample,
    Source,
    Step,
    Text,
    ToolCall,
    Trajectory,
    Violation,
    header_of,
    with_samples,
)
from pantrace.wire import files
from pantrace.wire.adk import shapes
from pantrace.wire.adk.field_types import identifier, list_of, mapping, text, typed_header
from pantrace.wire.adk.invocation_writer import invocations_to
from pantrace.wire.adk.invocations import expected_calls, expected_from, final_text, prompts_in
from pantrace.wire.adk.parts import NAME as ADK
from pantrace.wire.adk.recase import EVAL_CASE, snake, to_snake
from pantrace.wire.adk.record_samples import MISSHAPEN, samples_of
from pantrace.wire.adk.residual import residual, with_carried
from pantrace.wire.adk.save_document import save_document
from pantrace.wire.adk.trpc import DIALECT, SCENARIO, as_eval_case, is_eval_case
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import rest_of
from pantrace.wire.head import Head
from pantrace.wire.json import decode_document, unknown_keys
from pantrace.wire.optional import present
from pantrace.wire.output_row import Row
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken
from pantrace.wire.shape import violations
from pantrace.wire.violation import error, under, unreadable, warning
from pantrace.wire.whole_document import document_in

from ..format import Format, NoOptions
from .legacy import case_from, conversation_from

NAME = "adk-evalset"
_KNOWN = {
    "eval_id",
    "conversation",
    "conversation_scenario",
    "session_input",
    "actual_conversation",
    "creation_timestamp",
    "rubrics",
    "final_session_state",
    CARRIER,
}
_KEPT = ("session_input", "creation_timestamp", "rubrics")
TRACE = "trace"


def detect(head: Head) -> str | None:
    if head.layout == "array":
        records = [each for each in head.records if isinstance(each, dict)]
        first = records[0] if records else {}
        if "query" in first and {"expected_tool_use", "reference"} & first.keys():
            return "list of turns"
        named = "name" in first and isinstance(first.get("data"), list)
        turns = first["data"] if named else []
        asked = not turns or (isinstance(turns[0], dict) and "query" in turns[0])
        # `name` beside `data` is common elsewhere: these lists have four keys at most.
        return "list of cases" if named and asked and len(first) <= 4 else None
    # A document on one long line looks like lines: its beginning is what counts.
    record = head.record
    cases = record.get("eval_cases", record.get("evalCases"))
    if isinstance(cases, list):
        if not {"eval_set_id", "evalSetId"} & record.keys():
            return None
        # A few cases are enough: a file is of one dialect throughout.
        return DIALECT if any(is_eval_case(to_snake(each, EVAL_CASE)) for each in cases[:3]) else ""
    scenarios = record.get("scenarios")
    scenario = scenarios[0] if isinstance(scenarios, list) and scenarios else None
    # `scenarios` alone is too common a key to claim a file by.
    is_simulated = isinstance(scenario, dict) and {"starting_prompt", "startingPrompt"} & scenario.keys()
    return "scenarios" if is_simulated else None


def _load(row: Any) -> Sample:
    if not isinstance(row, dict):
        raise ReadError("not an eval case: no object")
    case = to_snake(row, EVAL_CASE)
    if "eval_id" not in case:
        raise ReadError("not an eval case: no eval_id")
    if is_eval_case(case):
        case = as_eval_case(case)
    conversation, done = _conversations(case)
    scenario = mapping(case.get("conversation_scenario"), "conversation_scenario")
    expected = expected_from(conversation) if conversation is not None else None
    extra = {key: value for key, value in case.items() if key not in _KNOWN and value is not None}
    if conversation is None and done is None and scenario is None and extra:
        # Its content is under keys that we do not know: reading it as an empty case would hide that.
        raise ReadError(
            f"an eval case has neither conversation nor conversation_scenario, but {', '.join(extra)[:80]}",
            remedy="the file may come from another program that resembles ADK",
        )
    given = mapping(case.get("session_input"), "session_input")
    kept = {key: case[key] for key in _KEPT if case.get(key) is not None}
    if (state := mapping(case.get("final_session_state"), "final_session_state")) == {}:
        # ADK's default: no state is expected, not an empty one.
        kept["final_session_state"] = state
    question, goal = prompts_in(conversation or done or ()), None
    if scenario is not None:
        question, goal = scenario.get("starting_prompt"), scenario.get("conversation_plan")
        rest = unknown_keys(scenario, ("starting_prompt", "conversation_plan"))
        kept["scenario"] = present(rest)
    name = identifier(case["eval_id"], "eval_id")
    return Sample(
        id=name,
        case=Case(
            id=name,
            agent=text((given or {}).get("app_name"), "app_name") or None,
            question=text(question, "starting_prompt"),
            goal=text(goal, "conversation_plan"),
            reference=final_text(expected) if expected is not None else None,
            expected_calls=expected_calls(expected) if expected is not None else None,
            expected_state=state or None,
            extra={ADK: kept} if kept else {},
        ),
        trajectory=expected_from(done) if done is not None else None,
        expected=expected,
        extra={NAME: extra} if extra else {},
    )


def _conversations(case: dict[str, Any]) -> tuple[list[Any] | None, list[Any] | None]:
    """What is expected and what was done. In trace mode, cases of trpc-agent-go hold a run that was recorded before."""
    given = {
        key: list_of(case[key], key) for key in ("conversation", "actual_conversation") if case.get(key) is not None
    }
    conversation, done = given.get("conversation"), given.get("actual_conversation")
    # In trace mode, the recorded run is the only conversation.
    if done is None and case.get("eval_mode") == TRACE:
        return None, conversation
    return conversation, done


def _is_traced(sample: Sample) -> bool:
    return bool(sample.extra.get(NAME, {}).get("eval_mode") == TRACE)


def _dump(sample: Sample, options: NoOptions) -> dict[str, Any]:
    case = sample.case or Case()
    kept = case.extra.get(ADK, {})
    row: dict[str, Any] = {"eval_id": sample.id}
    # ADK accepts a conversation or a scenario, never both.
    if sample.expected is None and "scenario" in kept and case.question is not None:
        row["conversation_scenario"] = {
            "starting_prompt": case.question,
            "conversation_plan": case.goal or "",
            **unknown_keys(kept["scenario"], SCENARIO),
        }
    else:
        row["conversation"] = _conversation(sample)
    if case.agent:
        # ADK fetches the session by this name: without it, `session_details` of the result is null.
        row["session_input"] = {"app_name": case.agent, "user_id": "user", "state": {}}
    if case.expected_state is not None:
        row["final_session_state"] = case.expected_state
    # Values that were read win over those made above.
    row.update({key: value for key, value in kept.items() if key in (*_KEPT, "final_session_state")})
    return {**row, **sample.extra.get(NAME, {})}


def _expectation(actual: Sample, sample: Sample) -> Sample:
    """A sample reduced to what a case states. What was done belongs in other formats, unless the case came with it."""
    return msgspec.structs.replace(sample, trajectory=sample.trajectory if _is_traced(sample) else None, scores=())


load, dump = carry_rest(_load, _dump, CARRIER, _expectation, residual)


def _conversation(sample: Sample) -> list[dict[str, Any]]:
    """The expected invocations: as stated, else made from the case's question and reference, else what was done."""
    traced = _is_traced(sample) and sample.expected is None
    stated = (sample.trajectory if traced else None) or sample.expected or _turn_in_words(sample.case)
    stated = stated or sample.trajectory or Trajectory()
    # What was done is written as events, in full; what is expected in ADK's short form.
    plain = traced or stated is not sample.trajectory
    return [row for _, row in invocations_to(stated, plain=plain)]


def _turn_in_words(case: Case | None) -> Trajectory | None:
    """A case that is stated in words only, as one expected turn."""
    if case is None or (case.question is None and case.reference is None and not case.expected_calls):
        return None
    steps = [Step(role="user", invocation="invocation-1", parts=(Text(text=case.question or ""),))]
    if case.expected_calls:
        calls = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in case.expected_calls)
        steps.append(Step(role="agent", invocation="invocation-1", parts=calls))
    if case.reference is not None:
        steps.append(Step(role="agent", invocation="invocation-1", parts=(Text(text=case.reference),)))
    return Trajectory(steps=tuple(steps))


def open_run(path: Path, on_broken: OnBroken) -> Run:
    value = document_in(path)
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    header, cases = _parts(value, path)
    records = [(f"case {number}", lambda case=case: load(case())) for number, case in enumerate(cases, 1)]
    header = msgspec.structs.replace(header, source=source)
    return with_samples(header, samples_of(records, "an eval case", source, on_broken))


def _parts(value: Any, path: Path) -> tuple[RunHeader, list[Callable[[], Any]]]:
    """Header and cases of every shape that eval sets have had. A case is a function that returns it or raises."""
    name = path.name.split(".")[0]
    if isinstance(value, list) and any(isinstance(each, dict) and "query" in each for each in value):
        # Neither the turns nor their list has a name, so the case is named after its file.
        return RunHeader(task=name), [lambda: {"eval_id": name, "conversation": conversation_from(value)}]
    if isinstance(value, list) and any(isinstance(each, dict) and "data" in each for each in value):
        return RunHeader(task=name), [partial(case_from, each) for each in value]
    if isinstance(value, dict) and isinstance(value.get("scenarios"), list):
        scenarios = enumerate(value["scenarios"], 1)
        rest = unknown_keys(value, {"scenarios"})
        header = RunHeader(task=name, extra={NAME: rest} if rest else {})
        return header, [partial(_scenario, f"scenario-{number}", each) for number, each in scenarios]
    row = {snake(key): item for key, item in value.items()} if isinstance(value, dict) else {}
    if not isinstance(row.get("eval_cases"), list):
        raise ReadError("not an eval set: no list eval_cases", path=str(path), remedy="is --from right?")
    try:
        return header_from(row), [partial(_itself, each) for each in row["eval_cases"]]
    except (ReadError, *MISSHAPEN) as error:
        known = error if isinstance(error, ReadError) else ReadError(f"the header is not valid: {error}")
        raise known.at(path=str(path)) from None


def _itself(case: Any) -> Any:
    return case


def _scenario(name: str, scenario: Any) -> dict[str, Any]:
    # No schema of nested keys: a scenario has only its own keys, no objects of data.
    return {"eval_id": name, "conversation_scenario": to_snake(mapping(scenario, "a scenario"), {})}


def header_from(row: dict[str, Any]) -> RunHeader:
    """The header of an eval set, without its cases."""
    row = typed_header(row, ("eval_set_id", "name"))
    known = {"eval_set_id", "name", "description", "eval_cases", "creation_timestamp", CARRIER}
    rest = rest_of(row, known)
    # ADK's default for an unknown time; kept, so that it is written back.
    if (created := row.get("creation_timestamp")) == 0:
        rest["creation_timestamp"] = created
    described = {"description": row["description"]} if row.get("description") is not None else {}
    header = RunHeader(
        name=row.get("name"),
        created=created or None,
        task=row.get("eval_set_id"),
        dataset=described,
        extra={NAME: rest} if rest else {},
    )
    return with_carried(header, row)


def save(run: RunHeader, rows: Iterable[Row], target: Path, options: NoOptions) -> None:
    """Write one EvalSet; cases are written as they come, one per line."""
    row: dict[str, Any] = {
        "eval_set_id": run.task or run.name or run.id or "pantrace",
        "name": run.name,
        "description": run.dataset.get("description"),
        "creation_timestamp": run.created,
        **run.extra.get(NAME, {}),
    }
    row = present(row)
    save_document(target, row, "eval_cases", (case.data for case in rows), header_from(row), header_of(run))


def check(row: Any) -> Iterable[Violation]:
    case = to_snake(row, EVAL_CASE) if isinstance(row, dict) else row
    yield from violations(case, shapes.EVAL_CASE)
    if isinstance(case, dict) and (case.get("conversation") is None) == (case.get("conversation_scenario") is None):
        message = "must have exactly one of conversation and conversation_scenario"
        yield error(message)


def validate(path: Path) -> Iterable[Violation]:
    try:
        value = decode_document(files.read_all(path))
        _, cases = _parts(value, path)
    except ReadError as broken:
        yield unreadable(broken)
        return
    if isinstance(value, list):
        yield warning("a list of an older google-adk; `convert` it to an eval set")
    for number, case in enumerate(cases):
        try:
            found = list(check(case()))
        except (ReadError, *MISSHAPEN) as broken:
            found = [error(str(broken))]
        yield from under(f"eval_cases[{number}]", found)


FORMAT = Format(
    name=NAME,
    title="ADK eval set: cases with expected conversations or scenarios, including legacy lists",
    spec="https://google.github.io/adk-docs/evaluate/",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    save=save,
    check=check,
    validate=validate,
    layout="document",
    suffix=".evalset.json",
    once=True,
    lost={
        "trajectory": "an eval set has expectations, not what was done",
        "scores": "an eval set has no results",
        "epoch": "an eval set has each case only once",
    },
    corners=("pantrace",),
)
