"""A sample's events as they happened, with everything filled in that the log stores only once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.model import Sample

from .attachments import resolve
from .content import own_extra


def resolved_events(sample: Sample, *, attachments: bool = True) -> Iterator[dict[str, Any]]:
    """The events of a sample that came from Inspect: inputs and raw calls from the pools, attachments filled in.

    Messages are shared between events, not copied: do not change them."""
    trajectory = sample.trajectory
    kept = own_extra(trajectory.extra) if trajectory is not None else {}
    texts: dict[str, str] = {}
    if attachments and trajectory is not None:
        texts = {**(kept.get("attachments") or {}), **_in_steps(trajectory.steps)}
    data = kept.get("events_data") or {}
    messages, calls = data.get("messages") or [], data.get("calls") or []
    if texts:
        # Once for the pools, not for each event that refers to them.
        messages, calls = resolve(messages, texts), resolve(calls, texts)
    for event in kept.get("events") or ():
        if texts:
            event = resolve(event, texts)
        if event.get("event") == "model":
            event = _with_pools(event, messages, calls)
        yield event


def _with_pools(event: dict[str, Any], messages: list[Any], calls: list[Any]) -> dict[str, Any]:
    if (refs := event.get("input_refs")) is not None:
        # Without the pool, a model event shows an empty input.
        event = {key: value for key, value in event.items() if key != "input_refs"}
        event["input"] = [*(event.get("input") or ()), *_from_pool(messages, refs)]
    call = event.get("call")
    if isinstance(call, dict) and call.get("call_refs") is not None:
        request = {
            **(call.get("request") or {}),
            call.get("call_key") or "messages": _from_pool(calls, call["call_refs"]),
        }
        rest = {key: value for key, value in call.items() if key not in ("call_refs", "call_key")}
        event = {**event, "call": {**rest, "request": request}}
    return event


def _from_pool(pool: list[Any], refs: Any) -> list[Any]:
    return [item for begin, end in refs for item in pool[begin:end]]


def _in_steps(steps: Any) -> dict[str, str]:
    """Attachments that the steps hold."""
    found: dict[str, str] = {}
    for step in steps:
        for part in step.parts:
            for each in (part, *getattr(part, "media", ())):
                key = own_extra(getattr(each, "extra", {})).get("attachment")
                if key is None:
                    continue
                data = getattr(each, "data", None)
                text = getattr(each, "text", None) or getattr(each, "output", None)
                found[key] = f"data:{each.mime};base64,{data}" if data is not None else str(text)
    return found
