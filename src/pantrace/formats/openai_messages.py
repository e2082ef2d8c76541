"""OpenAI chat messages: `{"messages": [...], "tools": [...]}` on each line, as in fine-tuning files and datasets.

Spec: platform.openai.com/docs/api-reference/chat, and its fine-tuning format.
Detect: `messages` with OpenAI's roles and without content blocks of another API; a bare list of such messages, or lines
    of them; requests to chat completions with their responses; `conversations` with `from` and `value`.
Lost: nothing for pantrace, which keeps the rest under `pantrace`; for other tools times, tokens, models, scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, SampleRefused
from pantrace.model import Agent, Run, Sample, Source, Step, Text, Trajectory, Violation
from pantrace.wire.api_exchanges import UNNAMED, Exchange, Turn, is_exchange, run_of, turns_of, unfolded
from pantrace.wire.call_ids import conversation_steps
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of, texts_in
from pantrace.wire.head import Head
from pantrace.wire.openai_chat import MESSAGE, is_role, messages_to, step_from
from pantrace.wire.openai_tools import tool_to, tools_from
from pantrace.wire.openai_usage import usage_from
from pantrace.wire.optional import list_of, text_of
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken
from pantrace.wire.shape import violations
from pantrace.wire.times import from_iso

from .format import Format, NoOptions

NAME = "openai-messages"
_ANSWER = f"{NAME}.response"
"""The rest of a response: what the API returned beside the message."""
_FORM = "form"
_INSTRUCTIONS = "instructions"
"""The name of a system message that we made from the agent's settings."""
_SPEAKERS = {"human": "user", "gpt": "assistant", "observation": "tool", "function_call": "assistant"}
_OTHERS = {
    "trajectory_format",
    "info",
    "traj",
    "system",
    "trajectory",
    "stateBag",
    "type",
    "sessionId",
    "termination_reason",
}
"""Keys of rows that have messages but belong to other formats."""
_PLACED = {"test_id", "message_index", "conversation_id", "session_id", "thread_id", "schema_version"}
"""Keys of lines that name their conversation: there may be several in the file."""
_ANOTHERS = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent tells its model to print at the end: its older files are bare lists of messages."""
_OTHER_KEYS = {"type", "schema_version", "parts", "messageId"}
"""Keys of messages that other APIs have."""
# Content blocks of the AI SDK, of Anthropic's API and of the Responses API, whose roles are the same.
_BLOCKS = (
    "tool-call",
    "tool-result",
    "tool_use",
    "tool_result",
    "thinking",
    "input_text",
    "output_text",
    "reasoning",
    "function_call",
)


def detect(head: Head) -> str | None:
    row = unfolded(head.record)
    if head.kind != "json" or _is_anothers(row, head.records):
        return None
    # Only the beginning of the file is seen here, so the last record may be cut off.
    if head.layout == "array" and head.records and all(is_message(each) for each in head.records[:-1] or head.records):
        return "messages"
    if head.layout == "lines" and _is_talk(head.records):
        return "messages"
    if is_exchange(row) and _answers(row) and is_message(_answers(row)[0]):
        return "exchanges"
    if isinstance(turns := row.get("conversations"), list) and turns and row.keys().isdisjoint(_OTHERS):
        return "conversations" if all(isinstance(each, dict) and "value" in each for each in turns[:1]) else None
    messages = row.get("messages")
    if not isinstance(messages, list) or not messages or row.keys() & _OTHERS:
        return None
    return "" if all(is_message(each) for each in messages[:-1] or messages) else None


def _is_talk(records: list[Any]) -> bool:
    """Whether lines are the messages of one conversation, as gptme and Mistral's Vibe store them: there is a question
    and an answer. Lines of only one speaker could be anything."""
    # The last line that was read may be cut off.
    whole = records[:-1] if len(records) > 2 else records
    if not all(is_message(each) and each.keys().isdisjoint(_PLACED) for each in whole):
        return False
    roles = {each["role"] for each in whole}
    return "assistant" in roles and len(roles) > 1


def _is_anothers(row: dict[str, Any], records: list[Any]) -> bool:
    match row:
        case {"metadata": {"pantrace": _}}:
            return True  # Anthropic's messages, written by us: with nothing but text the two formats look the same
    # A row of a dataset, which may well quote mini-swe-agent's prompt.
    if row.keys() & {"id", "tools"}:
        return False
    messages = row.get("messages", records)
    first = messages[:2] if isinstance(messages, list) else []
    return any(_ANOTHERS in str(each.get("content")) for each in first if isinstance(each, dict))


def is_message(raw: Any) -> bool:
    """Whether a value is a chat message, and not one of another API."""
    if not isinstance(raw, dict) or not is_role(raw.get("role")) or raw.keys() & _OTHER_KEYS:
        return False
    content = raw.get("content")
    if not isinstance(content, (str, list)):
        # An assistant that only calls tools has `content: null`, or no content at all.
        return content is None and bool(raw.keys() & {"content", "tool_calls", "function_call", "refusal"})
    pieces = list_of(content)
    return all(
        isinstance(each, dict) and "type" in each and each["type"] not in _BLOCKS and "source" not in each
        for each in pieces
    )


def _history(exchange: Exchange) -> list[Any]:
    found = exchange["request"].get("messages")
    return list_of(found)


def _answers(exchange: Exchange) -> list[Any]:
    match exchange["response"].get("choices"):
        case [{"message": dict(message)}, *_]:
            return [message]
    return []


def load_row(row: Any) -> Sample:
    """A conversation, a bare list of messages, or the exchanges of one conversation."""
    form: str | None = None
    steps: list[Step] = []
    row = [exchange] if is_exchange(exchange := unfolded(row)) else row
    if isinstance(row, list) and row and is_exchange(row[0]):
        # Each request repeats the whole conversation before it; `turns_of` finds what is new in it.
        for turn in turns_of(row, _history, _answers):
            steps += [step_from(message, NAME, exact=True) for message in turn.said]
            steps += [_answer_step(turn)]
        row = rest_of(row[-1]["request"], {"messages"})
    else:
        row, form = ({"messages": row}, "list") if isinstance(row, list) else (row, None)
        if isinstance(row, dict) and "messages" not in row and isinstance(row.get("conversations"), list):
            row, form = (
                {**rest_of(row, {"conversations"}), "messages": [_message_of_turn(e) for e in row["conversations"]]},
                "turns",
            )
        if not isinstance(row, dict) or not isinstance(row.get("messages"), list):
            raise ReadError("has no list `messages`", remedy="is --from right?")
        # `exact`: what was read must come back key for key, even if OpenAI would not write it so.
        steps = [_with_time_and_model(step_from(message, NAME, exact=True)) for message in row["messages"]]
    instructions: str | None = None
    match steps[:1]:
        # Our own writer puts an agent's instructions there (see `dump_row`).
        case [Step(role="system", parts=(Text(text=text),), extra={"openai-messages": {"name": "instructions"}})]:
            instructions, steps = text, steps[1:]
    return _sample(row, steps, instructions, form)


def _with_time_and_model(step: Step) -> Step:
    """A step with the time and model that some programs add to their messages; OpenAI has no keys for them."""
    rest = rest_in(step.extra, NAME)
    at, model = from_iso(rest.get("timestamp")), rest.get("model")
    if at is not None:
        step = msgspec.structs.replace(step, at=at)
    return msgspec.structs.replace(step, model=model) if isinstance(model, str) and step.role == "agent" else step


def _sample(row: dict[str, Any], steps: list[Step], instructions: str | None, form: str | None) -> Sample:
    rest = rest_of(row, {"messages"})
    given: dict[str, Any] = {}
    if isinstance(row.get("model"), str):
        given["model"] = rest.pop("model")
    # `functions` is the older name; the writer must know which one the file used.
    for key in ("tools", "functions"):
        if (tools := tools_from(row.get(key), NAME)) is not None and "tools" not in given:
            given["tools"] = tools
            del rest[key]
            rest |= {_FORM: "functions"} if key == "functions" else {}
    if instructions is not None:
        given["instructions"] = instructions
    name = rest.pop("id") if isinstance(row.get("id"), str) else None
    if form is not None:
        rest[_FORM] = form
    trajectory = Trajectory(id=name, agents=(Agent(name="assistant", **given),) if given else (), steps=tuple(steps))
    return Sample(id=name or UNNAMED, trajectory=trajectory, extra=as_extra(NAME, rest))


def _answer_step(turn: Turn) -> Step:
    """A message of the API as a step, with the tokens, model and time of its response."""
    response = turn.response
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ReadError("a response needs choices", place="response")
    usage, name, model, stop = (
        response.get("usage"),
        response.get("id"),
        response.get("model"),
        choices[0].get("finish_reason"),
    )
    created = response.get("created")
    created = created if type(created) in (int, float) else None
    known = ["choices", "tools", *texts_in(response, "id", "model"), *(("created",) if created is not None else ())]
    # With n > 1 there are several choices. Nothing says which one the program used; the first is taken.
    others = [rest_of(choices[0], ["message", *texts_in(choices[0], "finish_reason")]), *choices[1:]]
    counted = usage_from(usage, NAME, "chat")
    known += ["usage"] if counted is not None else []
    # OpenAI does not report costs; LiteLLM and OpenHands write them beside the response.
    costs = (turn.rest.get(key) for key in ("response_cost", "cost"))
    if counted is not None and (cost := next((each for each in costs if type(each) is float), None)) is not None:
        counted = msgspec.structs.replace(counted, cost_usd=cost)
    rest = {
        **rest_of(response, known),
        "choices": others,
        **turn.rest,
    }
    step = step_from(choices[0].get("message"), NAME, exact=True)
    return msgspec.structs.replace(
        step,
        id=text_of(name),
        model=text_of(model),
        stop=text_of(stop),
        at=created,
        usage=counted,
        settings=rest_of(turn.request, {"messages", "tools"}) or None,
        extra={**step.extra, _ANSWER: rest},
    )


def _message_of_turn(turn: Any) -> dict[str, Any]:
    """A turn of `conversations` as a message; its speakers have other names."""
    speaker = turn.get("from") if isinstance(turn, dict) else None
    if not isinstance(speaker, str) or not isinstance(turn.get("value"), str):
        raise ReadError("a turn needs from and value", place="conversations")
    return {"role": _SPEAKERS.get(speaker, speaker), "content": turn["value"], **rest_of(turn, {"value"})}


def dump_row(sample: Sample, options: NoOptions) -> Any:
    trajectory = sample.trajectory
    if trajectory is None:
        raise SampleRefused("a conversation is a recording; this sample has not been run")
    rest = dict(rest_in(sample.extra, NAME))
    form = rest.pop(_FORM, None)
    messages: list[Any] = messages_to(conversation_steps(trajectory, NAME), NAME)
    agent = trajectory.agents[0] if trajectory.agents else None
    if agent is not None and agent.instructions is not None:
        # Named, so that it is read back as the agent's instructions and not as a message.
        messages.insert(0, {"role": "system", "name": _INSTRUCTIONS, "content": agent.instructions})
    if not messages:
        raise SampleRefused("nothing was said or done in it")
    if form == "turns":
        messages = [{"value": each.pop("content"), **rest_of(each, {"role"})} for each in messages]
    # A row that had no id gets none: `train line 7` is our name for it.
    named = {"id": sample.id} if NAME not in sample.extra or trajectory.id is not None else {}
    row: dict[str, Any] = {**named, "conversations" if form == "turns" else "messages": messages}
    if agent is not None and agent.tools is not None:
        written = [tool_to(tool, NAME, "function") for tool in agent.tools]
        functions = [each["function"] for each in written]
        row |= {"functions": functions} if form == "functions" else {"tools": written}
    # Only if the row had it: beside `messages`, a model looks like the setting of a request.
    if agent is not None and agent.model is not None and NAME in sample.extra:
        row["model"] = agent.model
    return {**row, **rest}


load, dump = carry_rest(load_row, dump_row, CARRIER)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    source = Source(format=NAME, version=detect(Head(path)) or None, path=str(path))
    return run_of(path, source, on_broken, load, is_message, _history)


def check(row: Any) -> Iterable[Violation]:
    if isinstance(row, dict) and "messages" in row:
        yield from violations(row, {"messages": [MESSAGE], "tools?": [dict]})


FORMAT = Format(
    name=NAME,
    title="OpenAI chat messages: fine-tuning files and datasets, with tools; logged chat completions",
    spec="platform.openai.com/docs/api-reference/chat",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    check=check,
    corners=(CARRIER,),
    lost={"": "a conversation holds messages, calls, results and tools"},
)
