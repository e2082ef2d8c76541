"""OpenAI Responses: items of conversations, requests logged with their responses, exports of the Agents SDK.

Spec: platform.openai.com/docs/api-reference/responses; openai.github.io/openai-agents-python (tracing, results)
Detect: `input` or `items` with items of the API, a bare list of them, `object: response`, `response_id` with `output`;
    lines with `object: trace.span`.
Lost: nothing for pantrace, which keeps the rest under `pantrace`; for other tools times, tokens, models, scores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.model import Run, Sample, Source
from pantrace.wire.api_exchanges import is_exchange, run_of
from pantrace.wire.carry_rest import carry_rest
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.head import Head
from pantrace.wire.openai_responses import is_item
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.rows import OnBroken

from ..format import Format, NoOptions
from . import conversation, spans
from .conversation import NAME, history, is_response


def load_row(row: Any) -> Sample:
    """A conversation of items, or a trace of the Agents SDK."""
    if isinstance(row, dict) and isinstance(row.get("data"), list):
        return spans.sample_from(row)
    return conversation.load(row)


def dump_row(sample: Sample, options: NoOptions) -> Any:
    if "traces" in rest_in(sample.extra, NAME) and sample.trajectory is not None:
        return spans.row_of(sample)
    return conversation.dump(sample, options)


load, dump = carry_rest(load_row, dump_row, CARRIER)
# `{"role", "content"}` without a type is an item, too, but chat messages look the same.
_TYPED = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call")


def detect(head: Head) -> str | None:
    if head.kind != "json":
        return None
    row, records = head.record, head.records
    if spans.is_span(row):
        return "spans"
    if isinstance(data := row.get("data"), list) and data and spans.is_span(data[0]):
        return "traces"
    # Before `input`: a logged exchange has the whole request in it. Chat completions are logged the same way.
    if is_exchange(row):
        return "exchanges" if is_response(row["response"]) else None
    if is_response(row):
        return "responses"
    if head.layout == "array":
        return "items" if _are_items(records) else None
    for key in ("input", "items"):
        # `input` and `items` are common words; these neighbours show spans and records of other tools.
        if isinstance(row.get(key), list) and row.keys().isdisjoint(("messages", "output", "trace_id", "session")):
            return "" if _are_items(row[key]) else None
    return None


def _are_items(records: list[Any]) -> bool:
    """Whether all are items, and at least one has a type that only this API has. The last may be cut off."""
    whole = records[:-1] if len(records) > 1 else records
    return all(is_item(each) for each in whole) and any(each.get("type") in _TYPED for each in whole)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    variant = detect(Head(path))
    source = Source(format=NAME, version=variant or None, path=str(path))
    if variant in ("spans", "traces"):
        return Run(name=path.name, source=source, samples=spans.samples(path, source, on_broken, load))
    return run_of(path, source, on_broken, load, lambda each: is_item(each) or is_response(each), history)


FORMAT = Format(
    name=NAME,
    title="OpenAI Responses: conversations of items, logged responses, exports of the Agents SDK",
    spec="platform.openai.com/docs/api-reference/responses",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    corners=(CARRIER,),
    lost={"": "a conversation holds messages, reasoning, calls, results and tools"},
)

__all__ = ["FORMAT"]
