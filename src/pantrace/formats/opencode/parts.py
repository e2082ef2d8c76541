"""Parts of a message: OpenCode's objects to the model's parts, and back.

Keys that the model has no field for stay under `extra["opencode"]`. Parts that it has no type for (step-start,
step-finish, snapshot, patch, agent, retry, compaction) become `Unknown` and keep their place in the order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import Media, Part, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.model.parts import Failure
from pantrace.wire.json import decode, text_or_json

from .taken_keys import NAME, UNREPORTED, Raw, merge, put_times, take_text, take_times, without_invented

UNKNOWN = f"{NAME}:"


def load_parts(raws: Iterable[Any], message: Any, session: str | None) -> list[Part]:
    """The parts of one message; a tool part becomes a call and, once it has ended, its result.

    The objects are consumed: known keys are removed, and what is left of an object becomes the part's `extra`."""
    parts: list[Part] = []
    for raw in raws:
        if type(raw) is not dict:
            parts.append(Unknown(kind=f"{UNKNOWN}part", raw=raw))
            continue
        rest = without_invented(raw) if UNREPORTED in raw else raw
        if session is not None and rest.get("sessionID") == session:
            del rest["sessionID"]
        if message is not None and rest.get("messageID") == message:
            del rest["messageID"]
        kind = rest.get("type")
        load = _LOADERS.get(kind) if type(kind) is str else None
        if load is None or not load(rest, parts):
            parts.append(Unknown(kind=UNKNOWN + (kind if type(kind) is str else "part"), raw=rest))
    return parts


def _load_text(rest: Raw, parts: list[Part]) -> bool:
    text = take_text(rest, "text")
    if text is None:
        return False
    del rest["type"]
    # `ignored` text is shown to the user but never sent to the model: like synthetic text, nobody typed it.
    inserted = rest.get("ignored") is True
    if not inserted and rest.get("synthetic") is True:
        del rest["synthetic"]
        inserted = True
    parts.append(Text(text=text, synthetic=inserted, extra={NAME: rest}))
    return True


def _load_subtask(rest: Raw, parts: list[Part]) -> bool:
    """A subtask part: the prompt that the user gave with a command."""
    text = take_text(rest, "prompt")
    if text is None:
        return False
    parts.append(Text(text=text, extra={NAME: rest}))
    return True


def dump_text(part: Text, inserted: bool) -> Raw:
    rest = part.extra.get(NAME, {})
    if rest.get("type") == "subtask":
        return {"prompt": part.text, **rest}
    raw: Raw = {"type": "text", "text": part.text}
    if inserted and rest.get("ignored") is not True:
        raw["synthetic"] = True
    return merge(raw, rest)


def _load_reasoning(rest: Raw, parts: list[Part]) -> bool:
    text = take_text(rest, "text")
    if text is None:
        return False
    del rest["type"]
    started, ended = take_times(rest, "start", "end")
    hidden = not text
    parts.append(
        Thinking(
            text=None if hidden else text,
            # An empty text beside metadata: the provider has encrypted its reasoning.
            redacted=hidden and bool(rest.get("metadata")),
            started=started,
            ended=ended,
            extra={NAME: rest},
        )
    )
    return True


def dump_reasoning(part: Thinking) -> Raw:
    raw: Raw = {"type": "reasoning", "text": part.text or ""}
    put_times(raw, start=part.started, end=part.ended)
    return merge(raw, part.extra.get(NAME, {}))


def load_file(rest: Raw) -> Media | None:
    """A file part, or a file attached to a tool's result."""
    url = take_text(rest, "url")
    if url is None:
        return None
    del rest["type"]
    mime = take_text(rest, "mime")
    # Only the exact form that we would write is taken apart; any other data URL stays a link, unchanged.
    lead = f"data:{mime};base64,"
    inline = mime is not None and url.startswith(lead)
    return Media(
        id=take_text(rest, "id"),
        mime=mime,
        uri=None if inline else url,
        data=url[len(lead) :] if inline else None,
        name=take_text(rest, "filename"),
        extra={NAME: rest},
    )


def _load_attached(rest: Raw, parts: list[Part]) -> bool:
    media = load_file(rest)
    if media is not None:
        parts.append(media)
    return media is not None


def dump_file(part: Media) -> Raw:
    raw: Raw = {"type": "file"}
    mime = part.mime
    if part.data is not None:
        mime = mime or "application/octet-stream"
        raw["url"] = f"data:{mime};base64,{part.data}"
    elif part.uri is not None:
        raw["url"] = part.uri
    if part.id is not None:
        raw["id"] = part.id
    if mime is not None:
        raw["mime"] = mime
    if part.name is not None:
        raw["filename"] = part.name
    return merge(raw, part.extra.get(NAME, {}))


def _load_tool(rest: Raw, parts: list[Part]) -> bool:
    name, left = rest.get("tool"), rest.get("state")
    if type(name) is not str or type(left) is not dict:
        return False
    del rest["type"], rest["tool"], rest["state"]
    arguments = left.pop("input", None)
    problem: str | None = None
    failure: Failure | None = None
    if name == "invalid" and type(arguments) is dict and type(arguments.get("tool")) is str:
        # OpenCode answers a call of an unknown tool, or with broken arguments, by running its own tool `invalid`, which
        # then "completes". The name that the model used is in the arguments.
        rest["tool"], rest["state"] = name, {"input": arguments}
        name = arguments["tool"]
        error = arguments.get("error")
        problem = error if type(error) is str else ""
        failure = "invalid_arguments" if problem.startswith("Invalid input for tool") else "invalid_tool"
        arguments = _quoted_arguments(problem)
    call = ToolCall(id=take_text(rest, "callID"), name=name, arguments=arguments, extra={NAME: rest})
    parts.append(call)
    if left.get("status") in ("completed", "error"):
        parts.append(_load_result(call, left, failure, problem))
    else:
        rest["state"] = {**rest.get("state", {}), **left}
    return True


_LOADERS: dict[str, Callable[[Raw, list[Part]], bool]] = {
    "tool": _load_tool,
    "text": _load_text,
    "subtask": _load_subtask,
    "reasoning": _load_reasoning,
    "file": _load_attached,
}
"""Readers by type of part. Each returns whether it could read the object; everything else becomes `Unknown`."""


# Messages of the AI SDK, on which OpenCode is built.
_ATTEMPT = re.compile(
    r"JSON parsing failed: Text: (.*)\.\nError message: |Type validation failed: Value: (.*)\.\nError", re.S
)


def _quoted_arguments(problem: str) -> Any:
    """The arguments of a refused call, which only the error quotes; text that is not JSON stays text."""
    found = _ATTEMPT.search(problem)
    if found is None:
        return None
    if found[1] is not None:
        return found[1]
    try:
        return decode(found[2].encode("utf-8", "surrogatepass"))
    except ReadError:
        return found[2]


def _load_result(call: ToolCall, left: Raw, failure: Failure | None, problem: str | None) -> ToolResult:
    status = left.pop("status")
    metadata = left.get("metadata")
    if type(metadata) is not dict:
        metadata = {}
    error = problem
    whole = False
    if status == "completed":
        output = left.pop("output", None)
        if type(left.get("full_output")) is str:
            # `output` is the shortened text that the model saw; the full text was in a file (see `long_outputs`).
            whole, left["output"], output = True, output, left.pop("full_output")
    else:
        error = take_text(left, "error")
        # An error has no `output`; what a failed command printed is only in its metadata.
        output = metadata.get("output")
        failure = failure or _failure(error)
    # A failed command has the status `completed`, too; only its exit code shows the failure.
    code = metadata.get("exit")
    exit_code = code if type(code) is int else None
    if failure is None and exit_code:
        failure = "exit_code"
    # The writer derives the status from the error; it is kept only where that would give another one.
    if status != ("completed" if error is None else "error"):
        left["status"] = status
    started, ended = take_times(left, "start", "end")
    return ToolResult(
        call_id=call.id,
        name=call.name,
        output=output,
        error=error,
        failure=failure,
        exit_code=exit_code,
        truncated=metadata.get("truncated") is True and not whole,
        media=_take_attachments(left),
        started=started,
        ended=ended,
        extra={NAME: left},
    )


def _failure(error: str | None) -> Failure:
    text = (error or "").removeprefix("Error: ")
    if text.startswith(("The user rejected permission to use", "The user has specified a rule which prevents")):
        return "denied"
    return "cancelled" if text.startswith("Tool execution aborted") else "error"


def _take_attachments(left: Raw) -> tuple[Media, ...]:
    attached = left.get("attachments")
    if type(attached) is not list or not attached:
        return ()
    media = [load_file(dict(each)) if type(each) is dict and each.get("type") == "file" else None for each in attached]
    # All or nothing: the writer puts attachments back as one list, in this order.
    if None in media:
        return ()
    del left["attachments"]
    return tuple(each for each in media if each is not None)


def dump_tool(call: ToolCall, result: ToolResult | None) -> Raw:
    """A call and its result as one tool part."""
    rest = dict(call.extra.get(NAME, {}))
    raw: Raw = {"type": "tool", "tool": call.name, "state": {}}
    if call.id is not None:
        raw["callID"] = call.id
    kept = dict(rest.pop("state", {"status": "pending"}))
    given = kept.pop("input", call.arguments)
    state: Raw = {}
    if given is not None:
        # OpenCode demands an object; arguments of other formats may be a text.
        state["input"] = given if type(given) is dict or NAME in call.extra else {"input": given}
    if result is not None:
        raw["state"] = _dump_result(result, state)
    else:
        raw["state"] = merge(state, kept)
    return merge(raw, rest)


def _dump_result(result: ToolResult, state: Raw) -> Raw:
    own = NAME in result.extra
    left = dict(result.extra.get(NAME, {}))
    # A non-zero exit code is not an error in OpenCode: such a call is `completed`.
    failed = result.error is not None or (not own and result.failure not in (None, "exit_code"))
    status = state["status"] = left.pop("status", "error" if failed else "completed")
    if status == "completed":
        if "output" in left and result.output is not None:
            state["full_output"] = result.output
        elif result.output is not None and "output" not in left:
            state["output"] = result.output if own else text_or_json(result.output)
    elif result.error is not None:
        state["error"] = result.error
    elif not own and result.output is not None:
        state["error"] = text_or_json(result.output)
    if not own:
        metadata: Raw = {}
        if failed and result.error is not None and result.output is not None:
            metadata["output"] = result.output
        if result.exit_code is not None:
            metadata["exit"] = result.exit_code
        if result.truncated:
            metadata["truncated"] = True
        if metadata:
            state["metadata"] = metadata
    put_times(state, start=result.started, end=result.ended)
    if result.media:
        state["attachments"] = [dump_file(each) for each in result.media]
    return merge(state, left)
