"""What one call of a model says: the messages of its request and its answer, in the words of any provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from pantrace.model import Part, Role, Step, Text, ToolResult, Unknown, Usage, step_text
from pantrace.wire import anthropic, langchain_message, openai_usage
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.field_map import is_number
from pantrace.wire.openai_chat import call_from, is_role, step_from
from pantrace.wire.openai_responses import is_item, parts_from, role_of
from pantrace.wire.optional import list_of, object_of, present, text_of

NAME = "langsmith"
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
"""Blocks by which a message is Anthropic's; in all else it is written like OpenAI's."""
_ASKED = ("messages", "input", "prompt", "prompts")


def asked(inputs: dict[str, Any]) -> tuple[list[tuple[Step, Any]], dict[str, Any]]:
    """The messages of a request, each with its raw form, and the other keys of the request."""
    for key in _ASKED:
        listed = inputs.get(key)
        # LangChain writes a batch of conversations, which has one.
        if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], list):
            listed = listed[0]
        listed = [listed] if isinstance(listed, str) else listed
        if isinstance(listed, list) and listed and (found := list(_messages(listed))):
            return found, rest_of(inputs, (key,))
    return ([(Step(role="user", parts=(plain(inputs, "inputs"),)), inputs)] if inputs else []), {}


def plain(value: dict[str, Any], word: str) -> Part:
    """The inputs or outputs of a function: a text if that is all there is."""
    texts = [each for each in value.values() if each is not None]
    if len(texts) == 1 and isinstance(texts[0], str):
        key = next(iter(value))
        return Text(text=texts[0], extra=as_extra(NAME, {} if key in ("input", "output") else {"key": key}))
    return Unknown(kind=f"{NAME}:{word}", raw=value)


def _messages(listed: list[Any]) -> Iterator[tuple[Step, Any]]:
    items: list[Any] = []
    for raw in listed:
        # The reasoning, texts and calls of one response are separate items.
        if is_item(raw) and (role_of(raw) == "agent") and "type" in raw and not langchain_message.is_message(raw):
            items.append(raw)
            continue
        if items:
            yield _of_items(items, "agent"), items
            items = []
        yield message(raw), raw
    if items:
        yield _of_items(items, "agent"), items


def _of_items(items: list[Any], role: Role) -> Step:
    parts, notes = parts_from(items, NAME)
    return Step(role=role, parts=tuple(parts), extra=as_extra(NAME, {"items": notes}))


def message(raw: Any) -> Step:
    """A message of LangChain, OpenAI or Anthropic."""
    if isinstance(raw, str):
        return Step(role="user", parts=(Text(text=raw),))
    kind, fields, form = langchain_message.opened(raw)
    if form == "constructor" or langchain_message.is_message(raw):
        around = rest_of(raw, ("lc", "type", "kwargs", "data")) if form else {}
        step = langchain_message.step_of(kind, fields)
        return replace(step, extra={**step.extra, **as_extra(NAME, around)})
    if is_item(raw) and "type" in raw:
        return _of_items([raw], role_of(raw))
    if not isinstance(raw, dict) or not is_role(raw.get("role")):
        return Step(role="system", kind="note", parts=(Unknown(kind=f"{NAME}:message", raw=raw),))
    # Null counts as absent, so that an answer equals its repetition in the next request.
    raw = {"content": None, **present(raw)}
    content = raw["content"]
    if any(isinstance(each, dict) and each.get("type") in _BLOCKS for each in list_of(content)):
        parts = anthropic.content_from(content, NAME)
        role: Role = "agent" if raw["role"] == "assistant" else "user"
        if role == "user" and all(isinstance(part, ToolResult) for part in parts):
            role = "tool"
        rest = rest_of(raw, ("role", "content", "tool_calls"))
        calls = [call_from(each, NAME) for each in list_of(raw.get("tool_calls"))]
        return Step(role=role, parts=(*parts, *calls), extra=as_extra(NAME, rest))
    return step_from(raw, NAME)


def answer(outputs: dict[str, Any]) -> tuple[Step, dict[str, Any]]:
    """The answer as a step, and the other keys of the response."""
    match outputs:
        case {"generations": [[{"message": dict(said)}, *others], *more]}:
            about = rest_of(outputs["generations"][0][0], ("message",))
            step, rest = message(said), rest_of(outputs, ("generations",))
            known = ("text",) if about.get("text") in (step_text(step), "") else ()
            rest |= {"generation": beside} if (beside := rest_of(about, known)) else {}
            return step, rest | ({"generations": [others, *more]} if others or more else {})
        case {"choices": [{"message": dict(said)}, *others]}:
            about = rest_of(outputs["choices"][0], ("message",))
            stop = text_of(about.get("finish_reason"))
            rest = rest_of(outputs, ("choices",))
            rest |= {"choice": beside} if (beside := rest_of(about, ("finish_reason",) if stop else ())) else {}
            return replace(message(said), stop=stop), rest | ({"choices": others} if others else {})
        case {"output": [*items]} if items and all(map(is_item, items)):
            return _of_items(items, "agent"), rest_of(outputs, ("output",))
        case {"message": dict(said)} if langchain_message.is_message(said) or is_role(said.get("role")):
            return message(said), rest_of(outputs, ("message",))
        case {"role": "assistant", "content": _}:
            said = {key: outputs[key] for key in ("role", "content", "tool_calls") if key in outputs}
            return replace(message(said), stop=text_of(outputs.get("stop_reason"))), rest_of(
                outputs, (*said, *(("stop_reason",) if isinstance(outputs.get("stop_reason"), str) else ()))
            )
        case {"messages": [*_, dict(said)]} if langchain_message.is_message(said) or is_role(said.get("role")):
            return message(said), rest_of(outputs, ("messages",)) | ({"messages": outputs["messages"][:-1]})
    told = any(value is not None for value in outputs.values())
    return Step(role="agent", parts=(plain(outputs, "outputs"),) if told else ()), {}


def usage(run: dict[str, Any], step: Step, rest: dict[str, Any]) -> Usage | None:
    """The usage of a call: as the library converted it, as the provider wrote it, or as the server counted it."""
    about = object_of(object_of(run.get("extra")).get("metadata")).get("usage_metadata")
    found = step.usage
    for raw in (rest.get("usage_metadata"), about):
        found = found or langchain_message.usage_of({"usage_metadata": raw}, {})[0]
    raw = rest.get("usage", object_of(rest.get("llm_output")).get("token_usage"))
    if found is None and isinstance(raw, dict):
        found = (
            openai_usage.usage_from(raw, NAME, "chat")
            if "prompt_tokens" in raw
            else openai_usage.usage_from(raw, NAME, "responses")
            if "total_tokens" in raw
            else anthropic.usage_from(raw, NAME)
        )
    # Zero tokens on the server mean that it found no count.
    counts = {name: run[f"{key}_tokens"] for key, name in _COUNTS if type(run.get(f"{key}_tokens")) is int}
    if found is None and any(counts.values()):
        found = Usage(**counts)
    cost = amount(run.get("total_cost"))
    if cost is None:
        cost = next((each for raw in (rest.get("usage_metadata"), about) if (each := _cost(raw)) is not None), None)
    return found if cost is None or found is None else replace(found, cost_usd=cost)


_COUNTS = (("prompt", "input"), ("completion", "output"), ("total", "total"))


def _cost(raw: Any) -> float | None:
    return amount(object_of(raw).get("total_cost"))


def amount(value: Any) -> float | None:
    """A sum of money, which exports write as a text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return value if is_number(value) and abs(value) < 1e12 else None


def note(step: Step, more: dict[str, Any]) -> Step:
    """The step with more kept under our name."""
    return replace(step, extra={**step.extra, NAME: {**rest_in(step.extra, NAME), **more}}) if more else step
