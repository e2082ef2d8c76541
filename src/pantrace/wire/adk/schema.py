"""Records as google-adk itself writes them, decoded by type, so that nulls (three quarters of such files) cost almost
nothing.

A record with a key or a type that is not listed here is refused, and is read as plain dictionaries instead, by code
that knows all versions and keeps what is unknown.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

import msgspec

from .field_types import wrong_type


class Schema(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A record of google-adk, in which null and absent mean the same."""

    def items(self) -> list[tuple[str, Any]]:
        return [each for each in msgspec.structs.asdict(self).items() if each[1] is not None]

    # Like a dictionary: `{}` and a record of nothing but nulls are both empty.
    def __bool__(self) -> bool:
        return self != _empty(type(self))


@cache
def _empty(kind: type[Schema]) -> Schema:
    return kind()


class Loose(dict[str, Any]):
    """A record with any keys, read by attribute like a typed one; a missing key is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


Fields: TypeAlias = Any
"""A `Schema` or a `Loose` record. Readers use attributes for both: on a struct, that costs a tenth of a method call."""


def fields_of(raw: Any, what: str) -> Fields:
    """A record that can be read by attribute; ReadError if the value is not an object."""
    if isinstance(raw, (Schema, Loose)):
        return raw
    if isinstance(raw, dict):
        return Loose(raw)
    raise wrong_type(what, "an object", raw)


Keys = Annotated[Any, "schema"]
"""A record whose keys belong to the schema at every level; none of them is user data."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**52)]
"""Tokens: the sum of two is still within the model's limit."""
_Number = int | float | None


# Control flow, not an error: the caller reads the record again.
class Unusual(Exception):
    """Raised for a record that fits its type but must be read as a dictionary to keep all of it."""


class Call(Schema):
    id: str | None = None
    args: Any = None
    name: str | None = None
    partial_args: Any = None
    will_continue: Any = None


class Answer(Schema):
    will_continue: Any = None
    scheduling: Any = None
    parts: Any = None
    id: str | None = None
    name: str | None = None
    response: Any = None


class Part(Schema):
    media_resolution: Any = None
    code_execution_result: Keys = None
    executable_code: Keys = None
    file_data: Keys = None
    function_call: Call | None = None
    function_response: Answer | None = None
    inline_data: Keys = None
    text: str | None = None
    thought: Any = None
    thought_signature: str | None = None
    video_metadata: Keys = None
    tool_call: Any = None
    tool_response: Any = None
    part_metadata: Any = None
    audio_transcription: Any = None
    media_processing: Any = None
    speech_metadata: Any = None


class Content(Schema):
    parts: list[Part] | None = None
    role: str | None = None


class Compaction(Schema):
    start_timestamp: Any = None
    end_timestamp: Any = None
    compacted_content: Content | None = None


class Actions(Schema):
    skip_summarization: Any = None
    state_delta: dict[str, Any] | None = None
    artifact_delta: Any = None
    transfer_to_agent: Any = None
    transfer_reason: Any = None
    escalate: Any = None
    requested_auth_configs: Any = None
    requested_tool_confirmations: Any = None
    compaction: Compaction | None = None
    end_of_agent: Any = None
    agent_state: Any = None
    rewind_before_invocation_id: Any = None
    route: Any = None
    render_ui_widgets: Any = None
    set_model_response: Any = None


class Detail(Schema):
    modality: str
    token_count: int


# A count that is not an integer is refused here; the general reader keeps it.
class Counts(Schema):
    cache_tokens_details: list[Detail] | None = None
    cached_content_token_count: _Count | None = None
    candidates_token_count: _Count | None = None
    candidates_tokens_details: list[Detail] | None = None
    prompt_token_count: _Count | None = None
    prompt_tokens_details: list[Detail] | None = None
    thoughts_token_count: _Count | None = None
    tool_use_prompt_token_count: _Count | None = None
    tool_use_prompt_tokens_details: list[Detail] | None = None
    total_token_count: _Count | None = None
    traffic_type: Any = None


class Node(Schema):
    path: Any = None
    output_for: Any = None
    message_as_output: Any = None


class Event(Schema):
    model_version: str | None = None
    content: Content | None = None
    grounding_metadata: Keys = None
    partial: Any = None
    turn_complete: Any = None
    turn_complete_reason: Any = None
    interaction_status: Any = None
    finish_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    interrupted: Any = None
    custom_metadata: Any = None
    usage_metadata: Counts | None = None
    live_session_resumption_update: Keys = None
    live_session_id: Any = None
    go_away: Keys = None
    voice_activity: Keys = None
    input_transcription: Keys = None
    output_transcription: Keys = None
    avg_logprobs: Any = None
    logprobs_result: Keys = None
    cache_metadata: Keys = None
    citation_metadata: Keys = None
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
    timestamp: _Number = None


# What google-adk repeats of an event in an invocation:
# usage and model since 2.13, grounding since 2.9.
class ShortEvent(Schema):
    author: str | None = None
    content: Content | None = None
    grounding_metadata: Keys = None
    usage_metadata: Counts | None = None
    model_version: str | None = None


class Intermediate(Schema):
    """What happened between prompt and response: events, or calls and answers in separate lists."""

    invocation_events: list[ShortEvent] | None = None
    tool_uses: list[Call] | None = None
    tool_responses: list[Answer] | None = None
    intermediate_responses: Any = None


class Invocation(Schema):
    invocation_id: str | None = None
    user_content: Content | None = None
    final_response: Content | None = None
    intermediate_data: Intermediate | None = None
    creation_timestamp: _Number = None
    duration: _Number = None
    model_duration: _Number = None
    tool_duration: _Number = None
    rubrics: Any = None
    app_details: msgspec.Raw = msgspec.Raw(b"null")
    """Not decoded here: it is usually the same in every invocation of a file, and decoded once."""


class Details(Schema):
    rubric_scores: Any = None
    token_usage_details: Any = None
    duration_details: Any = None


class Metric(Schema):
    metric_name: str
    threshold: _Number = None
    criterion: dict[str, Any] | None = None
    judge_model_options: Any = None
    custom_function_path: Any = None
    score: _Number = None
    eval_status: int | str | None = None
    details: Details | None = None


class Block(Schema):
    actual_invocation: Invocation | None = None
    expected_invocation: Invocation | None = None
    eval_metric_results: list[Metric] | None = None


class Session(Schema):
    id: str | None = None
    app_name: str | None = None
    user_id: Any = None
    state: dict[str, Any] | None = None
    events: list[Event] | None = None
    last_update_time: _Number = None


class CaseResult(Schema):
    eval_set_file: Any = None
    eval_set_id: Any = None
    eval_id: str | int | None = None
    final_eval_status: int | str | None = None
    eval_metric_results: Any = None
    overall_eval_metric_results: list[Metric] | None = None
    eval_metric_result_per_invocation: list[Block] | None = None
    session_id: Any = None
    session_details: Session | None = None
    user_id: Any = None
    pantrace: Any = None
    """Our own note."""


def _camel(kind: Any) -> Any:
    """The same type with camelCase keys, at every depth."""
    if isinstance(kind, type) and issubclass(kind, Schema):
        fields = [
            (each.name, _camel(each.type), *(() if each.required else (None,))) for each in msgspec.structs.fields(kind)
        ]
        return msgspec.defstruct(f"Camel{kind.__name__}", fields, bases=(kind,), rename="camel")
    if get_origin(kind) is list:
        return list[_camel(get_args(kind)[0])]  # type: ignore[misc]
    if get_origin(kind) is UnionType:
        return Union[tuple(_camel(each) for each in get_args(kind))]  # noqa: UP007 -- made at run time
    return kind


CamelSession: type[Session] = _camel(Session)
CamelEvent: type[Event] = _camel(Event)
