"""Agents: adapters that give a case to a running agent.

`cmd:COMMAND`, a preset (`claude`, `codex`, `gemini`, `mini`, `opencode`, `inspect:WORDS`, `adk:FOLDER`),
`python:module:function`, `openai:MODEL`, `openai-responses:MODEL`, `adk:URL/APP`, `a2a:URL`, `http://…`. Others come
from the entry point group `pantrace.agents`: a callable that takes the text after the colon and returns an Agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from pantrace.errors import UsageError
from pantrace.wire.installed import installed, load_installed

from .agent import Agent, AgentFailed, Answer, Read, Trial
from .command import Command, CommandOptions
from .function import Function, MakeRecorder
from .presets import PRESETS, preset_of

T = TypeVar("T")

KINDS = (
    "cmd:COMMAND",
    *PRESETS,
    "python:module:function",
    "openai:MODEL",
    "openai-responses:MODEL",
    "adk:URL/APP",
    "a2a:URL",
    "http://…",
)

__all__ = ["KINDS", "PRESETS", "Agent", "AgentFailed", "Answer", "Command", "Read", "Surroundings", "Trial", "agent_of"]


@dataclass(frozen=True)
class Surroundings:
    """What an adapter needs from outside."""

    recorder: MakeRecorder
    options: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """API keys by provider; nothing is read from the environment here."""


def agent_of(spec: str, around: Surroundings) -> Agent:
    """The agent that a specification such as `openai:MODEL` names; UsageError if it names none."""
    kind, colon, rest = spec.partition(":")
    if kind == "cmd":
        return Command(rest, _options(CommandOptions, around))
    if kind == "python":
        # Called only to refuse options: one that is silently ignored would look as if it had worked.
        _options(_NoOptions, around)
        return Function(rest, around.recorder)
    # `adk:` is a server's address or a folder: only the preset further down takes a folder.
    if kind == "adk" and rest.startswith(("http:", "https:")):
        from .adk import Adk

        _options(_NoOptions, around)
        return Adk.at(rest)
    if kind in PRESETS:
        _options(_NoOptions, around)
        return preset_of(kind, rest)
    if kind in ("http", "https"):
        from .web import Web, WebOptions

        return Web(spec, _options(WebOptions, around), around.keys.get("http"))
    if kind in ("openai", "openai-responses"):
        from .chat import Chat, ChatOptions
        from .responses import Responses, ResponsesOptions

        if not rest:
            raise UsageError(f"{kind}: needs a model, such as {kind}:gpt-4.1-mini")
        if kind == "openai":
            return Chat(rest, _options(ChatOptions, around), around.keys.get("openai"))
        return Responses(rest, _options(ResponsesOptions, around), around.keys.get("openai"))
    if kind == "a2a":
        from .a2a import A2a

        _options(_NoOptions, around)
        return A2a(rest)
    if kind in (added := installed("pantrace.agents")):
        made: Agent = load_installed("agent", kind, added[kind], kind)(rest)
        return made
    # Late: most commands name a known agent, and difflib costs start-up time.
    from difflib import get_close_matches

    known = [each.partition(":")[0] for each in KINDS]
    close = get_close_matches(kind, known, n=1)
    hint = f"did you mean {close[0]}{':' if colon else ''}?" if close else f"known: {', '.join(KINDS)}"
    raise UsageError(f"{spec!r} is not an agent; {hint}")


class _NoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An adapter without options."""


def _options(kind: type[T], around: Surroundings) -> T:
    try:
        return msgspec.convert(around.options, kind, strict=False)
    except msgspec.ValidationError as error:
        fields = getattr(kind, "__struct_fields__", ())
        known = f"; known: {', '.join(fields)}" if fields else "; this agent takes none"
        raise UsageError(f"--option: {error}{known}") from None
