"""Events as google-adk itself writes them, decoded by type: nulls, three quarters of such a file, cost next to nothing.

An event that has a key or a type which is not listed here, or that says something rare (grounding, compaction, errors,
streamed pieces, media), goes the way of `events.py`, which knows all of them; both ways give the same step.
"""

from __future__ import annotations

from operator import attrgetter
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from pantrace.model import Part as ModelPart
from pantrace.model import Step, Text, Thinking, ToolCall, ToolResult, Usage

from .parts import NAME, failure_in


class _Schema(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A record of google-adk in which null and absent are the same."""


class Call(_Schema):
    id: str | None = None
    args: Any = None
    name: str | None = None
    partial_args: Any = None
    will_continue: Any = None


class Answer(_Schema):
    will_continue: Any = None
    scheduling: Any = None
    parts: Any = None
    id: str | None = None
    name: str | None = None
    response: Any = None


class Part(_Schema):
    media_resolution: Any = None
    code_execution_result: Any = None
    executable_code: Any = None
    file_data: Any = None
    function_call: Call | None = None
    function_response: Answer | None = None
    inline_data: Any = None
    text: str | None = None
    thought: Any = None
    thought_signature: str | None = None
    video_metadata: Any = None
    tool_call: Any = None
    tool_response: Any = None
    part_metadata: Any = None
    audio_transcription: Any = None
    media_processing: Any = None
    speech_metadata: Any = None


class Content(_Schema):
    parts: list[Part] | None = None
    role: str | None = None


class Actions(_Schema):
    skip_summarization: Any = None
    state_delta: dict[str, Any] | None = None
    artifact_delta: Any = None
    transfer_to_agent: Any = None
    transfer_reason: Any = None
    escalate: Any = None
    requested_auth_configs: Any = None
    requested_tool_confirmations: Any = None
    compaction: Any = None
    end_of_agent: Any = None
    agent_state: Any = None
    rewind_before_invocation_id: Any = None
    route: Any = None
    render_ui_widgets: Any = None
    set_model_response: Any = None


class Detail(_Schema):
    modality: str
    token_count: int


class Counts(_Schema):
    cache_tokens_details: list[Detail] | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    candidates_tokens_details: list[Detail] | None = None
    prompt_token_count: int | None = None
    prompt_tokens_details: list[Detail] | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    tool_use_prompt_tokens_details: list[Detail] | None = None
    total_token_count: int | None = None
    traffic_type: Any = None


class Node(_Schema):
    path: Any = None
    output_for: Any = None
    message_as_output: Any = None


class Event(_Schema):
    model_version: str | None = None
    content: Content | None = None
    grounding_metadata: Any = None
    partial: Any = None
    turn_complete: Any = None
    turn_complete_reason: Any = None
    interaction_status: Any = None
    finish_reason: str | None = None
    error_code: Any = None
    error_message: Any = None
    interrupted: Any = None
    custom_metadata: Any = None
    usage_metadata: Counts | None = None
    live_session_resumption_update: Any = None
    live_session_id: Any = None
    go_away: Any = None
    voice_activity: Any = None
    input_transcription: Any = None
    output_transcription: Any = None
    avg_logprobs: Any = None
    logprobs_result: Any = None
    cache_metadata: Any = None
    citation_metadata: Any = None
    interaction_id: Any = None
    environment_id: Any = None
    invocation_id: str | None = None
    author: str | None = None
    actions: Actions | None = None
    output: Any = None
    node_info: Node | None = None
    long_running_tool_ids: Any = None
    branch: Any = None
    isolation_scope: Any = None
    id: str | None = None
    timestamp: Any = None


def _camel(kind: Any) -> Any:
    """The same type with its keys in camelCase, all the way down."""
    if isinstance(kind, type) and issubclass(kind, _Schema):
        fields = [
            (each.name, _camel(each.type), *(() if each.required else (None,))) for each in msgspec.structs.fields(kind)
        ]
        return msgspec.defstruct(f"Camel{kind.__name__}", fields, bases=(kind,), rename="camel")
    if get_origin(kind) is list:
        return list[_camel(get_args(kind)[0])]  # type: ignore[misc]
    if get_origin(kind) is UnionType:
        return Union[tuple(_camel(each) for each in get_args(kind))]  # noqa: UP007 -- made at run time
    return kind


CamelEvent: type[Event] = _camel(Event)

_RARE = attrgetter(
    *("grounding_metadata", "partial", "turn_complete", "turn_complete_reason", "interaction_status", "error_code"),
    *("error_message", "interrupted", "live_session_resumption_update", "live_session_id", "go_away", "voice_activity"),
    *("input_transcription", "output_transcription", "avg_logprobs", "logprobs_result", "cache_metadata", "output"),
    *("citation_metadata", "interaction_id", "environment_id", "isolation_scope"),
)
_RARE_PART = attrgetter(
    *("media_resolution", "code_execution_result", "executable_code", "file_data", "inline_data", "video_metadata"),
    *("tool_call", "tool_response", "part_metadata", "audio_transcription", "media_processing", "speech_metadata"),
)
_DETAILS = tuple(name for name in Counts.__struct_fields__ if name.endswith("_details"))
_NO_EVENT, _NO_PART = (None,) * 22, (None,) * 12
_ACTED = tuple(name for name in Actions.__struct_fields__ if name not in ("state_delta", "compaction"))
_NODE = Node.__struct_fields__
_NOTHING: tuple[Any, ...] = (None, {}, [])


def usual(raw: dict[str, Any], *, camel: bool) -> Event | None:
    """A decoded event by type; None when it is not as google-adk writes it."""
    try:
        return msgspec.convert(raw, CamelEvent if camel else Event)
    except msgspec.ValidationError:
        return None


def step_of(event: Event) -> Step | None:
    """The step of an event that says nothing rare; None for any other."""
    if _RARE(event) != _NO_EVENT:
        return None
    content, author = event.content, event.author
    parts = parts_of(content) if content is not None else ()
    custom, at, actions = event.custom_metadata, event.timestamp, event.actions
    if parts is None or (custom is not None and (type(custom) is not dict or "pantrace" in custom)):
        return None
    if at is not None and type(at) is not float:
        return None
    extra: dict[str, Any] = {}
    if custom:
        extra["custom_metadata"] = custom
    if event.long_running_tool_ids:
        extra["long_running_tool_ids"] = event.long_running_tool_ids
    if event.branch is not None:
        extra["branch"] = event.branch
    delta = None
    if actions is not None:
        if actions.compaction is not None:
            return None
        delta = actions.state_delta or None
        acted = {name: did for name in _ACTED if (did := getattr(actions, name)) not in _NOTHING}
        if acted:
            extra["actions"] = acted
    answers = bool(parts) and all(type(part) is ToolResult for part in parts)
    role = "tool" if answers else "agent"
    agent = author or None
    if author is not None and author.lower() == "user":
        role, agent = "tool" if answers else "user", None
    if role != "user" and author is not None and agent is None:
        extra["author"] = author
    if content is not None:
        spoken = content.role
        if not parts or (spoken is not None and spoken != ("model" if role == "agent" else "user")):
            extra["content_role"] = spoken or ""
    if event.node_info is not None:
        node = {name: value for name in _NODE if (value := getattr(event.node_info, name)) not in (None, "")}
        if node:
            extra["node_info"] = node
    return Step(
        id=event.id or None,
        role=role,  # type: ignore[arg-type]
        agent=agent,
        invocation=event.invocation_id or None,
        parts=parts,
        at=at,
        model=event.model_version,
        usage=_usage(event.usage_metadata) if event.usage_metadata is not None else None,
        stop=event.finish_reason,
        state_delta=delta,
        extra={NAME: extra} if extra else {},
    )


def parts_of(content: Content) -> tuple[ModelPart, ...] | None:
    """The parts of a content that has only texts, thoughts, calls and answers; None for any other."""
    found: list[ModelPart] = []
    for part in content.parts or ():
        text, call, answer = part.text, part.function_call, part.function_response
        if _RARE_PART(part) != _NO_PART or (text is not None) + (call is not None) + (answer is not None) != 1:
            return None
        if text is not None:
            if part.thought is True:
                found.append(Thinking(text=text, signature=part.thought_signature))
            elif part.thought is None and part.thought_signature is None:
                found.append(Text(text=text))
            else:
                return None
        elif part.thought is not None or part.thought_signature is not None:
            return None
        elif call is not None:
            if call.partial_args is not None or call.will_continue is not None:
                return None
            found.append(ToolCall(id=call.id, name=call.name or "", arguments=call.args))
        elif answer is not None:
            if answer.will_continue is not None or answer.scheduling is not None or answer.parts is not None:
                return None
            response = answer.response
            failure, error = failure_in(response)
            found.append(
                ToolResult(call_id=answer.id, name=answer.name, output=response, error=error, failure=failure)
            )
    return tuple(found)


def _usage(counts: Counts) -> Usage | None:
    """In pantrace's convention the cache lies inside the prompt, thoughts and tool prompts do not."""
    prompt, tools = counts.prompt_token_count, counts.tool_use_prompt_token_count
    answer, thoughts = counts.candidates_token_count, counts.thoughts_token_count
    rest: dict[str, Any] = {}
    for name in _DETAILS:
        if (details := getattr(counts, name)) is not None:
            rest[name] = [{"modality": each.modality, "token_count": each.token_count} for each in details]
    if counts.traffic_type is not None:
        rest["traffic_type"] = counts.traffic_type
    if tools is not None:
        rest["tool_use_prompt_token_count"] = tools
    usage = Usage(
        input=prompt if tools is None else tools if prompt is None else prompt + tools,
        output=answer if thoughts is None else thoughts if answer is None else answer + thoughts,
        cache_read=counts.cached_content_token_count,
        reasoning=thoughts,
        total=counts.total_token_count,
        extra={NAME: rest} if rest else {},
    )
    return usage if usage != _UNREPORTED else None


_UNREPORTED = Usage()
