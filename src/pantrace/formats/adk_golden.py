"""Golden questions of ADK's context-engineering workshop: what is asked of an agent, and what it should do.

Spec: the workshop's evaluation tool, `create-dataset` and `--questions-file`.
Detect: `golden_questions`, or `questions` whose items have `user_inputs`.
Lost: what was done (trajectory, scores): a question states what is expected. If a sample has no expectation, what was
done becomes the expectation. The turn in which a tool is called has no place.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import (
    Case,
    ExpectedCall,
    Run,
    RunHeader,
    Sample,
    Source,
    Step,
    Text,
    ToolCall,
    Trajectory,
    Violation,
    call_pairs,
    final_response,
    header_of,
    is_prompt,
    step_text,
    with_samples,
)
from pantrace.wire import files
from pantrace.wire.adk.field_types import identifier, list_of, mapping, text
from pantrace.wire.adk.record_samples import samples_of
from pantrace.wire.adk.residual import residual, with_carried
from pantrace.wire.adk.save_document import save_document
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import as_extra
from pantrace.wire.head import Head
from pantrace.wire.json import decode_document, unknown_keys
from pantrace.wire.output_row import Row
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken
from pantrace.wire.shape import ANY, violations
from pantrace.wire.violation import error, under, unreadable
from pantrace.wire.whole_document import document_in

from .format import Format, NoOptions

NAME = "adk-golden"
KEYS = ("golden_questions", "questions")
_KNOWN = {"id", "user_inputs", "agents_evaluated", "metadata", "reference_data", "updated_datetime", CARRIER}
_REFERENCE = {"reference_tool_interactions", "reference_response"}


def detect(head: Head) -> str | None:
    record = head.record
    if record.get(KEYS[0]) == []:
        return ""
    # The workshop's files use either key; `questions` alone would be too common a word.
    for key in KEYS:
        first = next(iter(record[key]), None) if isinstance(record.get(key), list) else None
        if isinstance(first, dict) and "user_inputs" in first:
            return "" if key == KEYS[0] else key
    return None


def _load(row: Any) -> Sample:
    if not isinstance(row, dict) or "id" not in row:
        raise ReadError("not a golden question: no id")
    name = identifier(row["id"], "id")
    asked = [text(each, "a user input") or "" for each in list_of(row.get("user_inputs"), "user_inputs")]
    stated = mapping(row.get("reference_data"), "reference_data") or {}
    calls = _calls(stated)
    answer = text(stated.get("reference_response"), "reference_response")
    agents = list_of(row.get("agents_evaluated"), "agents_evaluated")
    metadata = mapping(row.get("metadata"), "metadata") or {}
    # Labels group samples in tables, so they are texts; any other value is kept as it is.
    labels = {key: value for key, value in metadata.items() if isinstance(value, str)}
    kept: dict[str, Any] = unknown_keys(row, _KNOWN)
    if row.get("updated_datetime") is not None:
        kept["updated_datetime"] = row["updated_datetime"]
    if len(agents) > 1:
        kept["agents_evaluated"] = agents
    if rest := unknown_keys(metadata, labels):
        kept["metadata"] = rest
    if rest := unknown_keys(stated, _REFERENCE):
        kept["reference_data"] = rest
    return Sample(
        id=name,
        case=Case(
            id=name,
            agent=text(agents[0], "agents_evaluated") if agents else None,
            question="\n".join(asked) if asked else None,
            reference=answer,
            expected_calls=calls,
            labels=labels,
        ),
        expected=_expected(asked, calls or (), answer),
        extra=as_extra(NAME, kept),
    )


def _calls(stated: dict[str, Any]) -> tuple[ExpectedCall, ...] | None:
    wanted = stated.get("reference_tool_interactions")
    # Not stated is not the same as an empty list, which means that no tool should be called.
    if wanted is None:
        return None
    found = []
    for each in list_of(wanted, "reference_tool_interactions"):
        if not isinstance(each, dict) or not isinstance(each.get("tool_name"), str):
            raise ReadError("a reference tool interaction has no tool_name")
        rest = unknown_keys(each, {"tool_name", "input_arguments"})
        found.append(
            ExpectedCall(name=each["tool_name"], arguments=each.get("input_arguments"), extra=as_extra(NAME, rest))
        )
    return tuple(found)


def _expected(asked: list[str], calls: Iterable[ExpectedCall], answer: str | None) -> Trajectory:
    """The conversation as far as it is stated: the prompts, then what should be done after the last one."""
    steps = [
        Step(role="user", invocation=f"invocation-{number}", parts=(Text(text=each),))
        for number, each in enumerate(asked, 1)
    ]
    # A question does not say in which turn a tool is called; only the last one is safe.
    last = f"invocation-{max(len(asked), 1)}"
    if made := tuple(ToolCall(name=call.name, arguments=call.arguments) for call in calls):
        steps.append(Step(role="agent", invocation=last, parts=made))
    if answer is not None:
        steps.append(Step(role="agent", invocation=last, parts=(Text(text=answer),)))
    return Trajectory(steps=tuple(steps))


def _dump(sample: Sample, options: NoOptions) -> dict[str, Any]:
    case, kept = sample.case or Case(), dict(sample.extra.get(NAME, {}))
    stated = sample.expected or sample.trajectory
    asked = [step_text(step) or "" for step in stated.steps if is_prompt(step)] if stated is not None else []
    if not asked and case.question is not None:
        asked = [case.question]
    if not asked:
        raise SampleRefused("nothing is asked in it: a golden question needs user inputs")
    reference: dict[str, Any] = {}
    calls = case.expected_calls
    # Expected calls that a case states win over those in a conversation, which may be a recorded run.
    if calls is None and stated is not None and (pairs := call_pairs(stated)):
        calls = tuple(ExpectedCall(name=pair.call.name, arguments=pair.call.arguments) for pair in pairs)
    if calls is not None:
        reference["reference_tool_interactions"] = [
            {"tool_name": call.name, "input_arguments": call.arguments, **call.extra.get(NAME, {})} for call in calls
        ]
    answer = case.reference if case.reference is not None else final_response(stated) if stated is not None else None
    if answer is not None:
        # The workshop's own `create-dataset` drops the reference answer; a key of this name is the natural place.
        reference["reference_response"] = answer
    return {
        "id": sample.id,
        "user_inputs": asked,
        # A case has one agent; a list of several is kept as it was.
        "agents_evaluated": kept.pop("agents_evaluated", None) or ([case.agent] if case.agent else []),
        "metadata": {**case.labels, **kept.pop("metadata", {})},
        "reference_data": {**reference, **kept.pop("reference_data", {})},
        **kept,
    }


def _expectation(actual: Sample, sample: Sample) -> Sample:
    """A sample reduced to what a question states; what was done belongs in other formats."""
    return msgspec.structs.replace(sample, trajectory=None, scores=())


load, dump = carry_rest(_load, _dump, CARRIER, _expectation, residual)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    value = document_in(path)
    source = Source(format=NAME, path=str(path))
    key, questions = _questions(value, path)
    header = header_from({name: each for name, each in value.items() if name != key}, key, path)
    records = [(f"{key}[{number}]", partial(load, each)) for number, each in enumerate(questions)]
    header = msgspec.structs.replace(header, source=source)
    return with_samples(header, samples_of(records, "a golden question", source, on_broken))


def _questions(value: Any, path: Path) -> tuple[str, list[Any]]:
    key = next((key for key in KEYS if isinstance(value, dict) and isinstance(value.get(key), list)), None)
    if key is None:
        raise ReadError("no list golden_questions", path=str(path), remedy="is --from right?")
    return key, value[key]


def header_from(row: dict[str, Any], key: str, path: Path) -> RunHeader:
    """The header of a file, without its questions; it notes if their list is named `questions`."""
    rest = unknown_keys(row, {CARRIER})
    if key != KEYS[0]:
        # Noted, so that the file is written back under the key it had.
        rest["list"] = key
    header = RunHeader(task=path.name.split(".")[0], extra=as_extra(NAME, rest))
    return with_carried(header, row)


def save(run: RunHeader, rows: Iterable[Row], target: Path, options: NoOptions) -> None:
    """Write one document; questions are written as they come."""
    row = dict(run.extra.get(NAME, {}))
    key = row.pop("list", KEYS[0])
    save_document(target, row, key, (each.data for each in rows), header_from(row, key, target), header_of(run))


_SHAPE: dict[str, Any] = {
    "id": (str, int),
    "user_inputs": [str],
    "agents_evaluated?": [str],
    "metadata?": (dict, None),
    "reference_data?": (
        {"reference_tool_interactions?": [{"tool_name": str, "input_arguments?": ANY}], "reference_trajectory?": [str]},
        None,
    ),
}


def check(row: Any) -> Iterable[Violation]:
    yield from violations(row, _SHAPE)


def validate(path: Path) -> Iterable[Violation]:
    try:
        key, questions = _questions(decode_document(files.read_all(path)), path)
    except ReadError as broken:
        yield unreadable(broken)
        return
    seen: set[Any] = set()
    for number, each in enumerate(questions):
        yield from under(f"{key}[{number}]", check(each))
        # As text: ids 1 and "1" would become the same sample id.
        name = str(each.get("id")) if isinstance(each, dict) else None
        if name in seen:
            yield error(f"the id {name!r} occurs twice", f"{key}[{number}].id")
        seen.add(name)


FORMAT = Format(
    name=NAME,
    title="Golden questions of ADK's context-engineering workshop: prompts with expected tools and answers",
    spec="https://github.com/jcarah/accelerate_context_engineering_workshop",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    save=save,
    check=check,
    validate=validate,
    layout="document",
    suffix=".json",
    once=True,
    lost={
        "trajectory": "a golden question has expectations, not what was done",
        "scores": "a golden question has no results",
        "epoch": "a golden question occurs only once",
    },
    corners=("pantrace",),
)
