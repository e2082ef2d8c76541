"""One module per format; this one finds them by name or by content.

To add a format: write its module with a `FORMAT` record, put its name into `NAMES`, give it a golden folder and a test
of its peculiarities. CONTRIBUTING has a worked example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from pantrace.errors import ReadError, TornFile, UnknownFormat, UsageError
from pantrace.wire.depth import refusal
from pantrace.wire.files import read_error
from pantrace.wire.head import Head
from pantrace.wire.installed import broken_package, installed, load_installed
from pantrace.wire.json import UNFINISHED, decode
from pantrace.wire.zip_archive import missing_directory

from .format import Format, NoOptions

NAMES = (
    "native",
    "opencode",
    "vertex-seed",
    "vertex-flat",
    "vertex-agent",
    "vertex-result",
    "adk-history",
    "adk-session",
    "adk-evalset",
    "adk-jsonl",
    "adk-golden",
    "inspect",
    "openadapt-eval",
    "openadapt-episodes",
    "explain",
    "tau-bench",
    "tau-tasks",
    "tau2",
    "atif",
    "claude-code",
    "gemini-cli",
    "qwen-code",
    "pi",
    "recording",
    "mini-swe-agent",
    "swe-agent",
    "agent-framework",
    "pydantic-ai",
    "langchain",
    "langsmith",
    "promptfoo",
    "deepeval",
    "strands",
    "copilot",
    "cursor",
    "openhands",
    "openhands-v0",
    "otlp",
    "codex",
    "ai-sdk",
    # Lists of messages, the least specific shapes: formats that say more about themselves are tried first.
    "anthropic-messages",
    "openai-responses",
    "openai-messages",
)
"""Built-in formats, in the order in which they are tried; the module has the same name with underscores."""

_SIGNS: dict[str, tuple[bytes, ...]] = {
    "native": (b'"pantrace"',),
    "opencode": (b'"sessionID"', b'"ses_', b'"projectID"'),
    "vertex-seed": (b'"intermediate_events"', b'"generated_trajectory"', b'"conversation_history"', b'"prompt_concat"'),
    "vertex-flat": (b'"prompt"', b'"intermediate_events"', b'"response"'),
    "vertex-agent": (b'"agent_data"', b'"agents"'),
    "vertex-result": (b"response_candidate_results", b"responseCandidateResults"),
    "adk-history": (b"eval_case_results", b"evalCaseResults"),
    "adk-session": (b'"invocation_id"', b'"invocationId"', b'"app_name"', b'"appName"'),
    "adk-evalset": (b'"eval_cases"', b'"evalCases"', b'"conversation"', b'"expected_tool_use"', b'"scenarios"'),
    "adk-jsonl": (b'"question_id"', b"question_id,"),
    "adk-golden": (b'"user_inputs"',),
    "inspect": (b'"eval"', b'"plan"'),
    "openadapt-eval": (b'"metrics"',),
    "openadapt-episodes": (b'"steps"', b'"step_index"', b'"episode_id"', b'"_meta"', b'"step_idx"', b'"episodes"'),
    "explain": (b'"explain_inputs"', b'"scenario_id"', b'"caseId"', b'"required_evals"', b'"case_id"'),
    "tau-bench": (b'"traj"',),
    "tau-tasks": (b'"user_scenario"', b'"instruction"'),
    "tau2": (b'"simulations"', b'"agent_info"', b'"task_id"'),
    "atif": (b'"ATIF-v', b'"verifier_result"'),
    "claude-code": (b'"sessionId"', b'"session_id"', b'"loglines"', b'"leafUuid"'),
    "gemini-cli": (b'"projectHash"',),
    "qwen-code": (b'"parentUuid"',),
    "pi": (b'"session"',),
    "recording": (b'"pantrace_recording"',),
    "mini-swe-agent": (b"mini-swe-agent", b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    "swe-agent": (b'"history"', b'"trajectory"'),
    "copilot": (b'"session.start"', b'"user.message"', b'"assistant.message"', b'"creationDate"'),
    "cursor": (b'"message"',),
    "openhands-v0": (b'"observation"', b'"tool_call_metadata"', b'"test_result"', b'"git_patch"'),
    "agent-framework": (b'"stateBag"', b'"session_id"', b'"agent_response"'),
    "pydantic-ai": (b'"part_kind"',),
    "deepeval": (b'"testCases"', b'"test_results"'),
    "promptfoo": (b'"gradingResult"', b'"evalId"', b'"vars"'),
    "langsmith": (b'"dotted_order"', b'"run_type"'),
    "langchain": (b'"additional_kwargs"', b'"response_metadata"'),
    "otlp": (
        b'"resourceSpans"',
        b'"resourceLogs"',
        b'"span_id"',
        b'"spanId"',
        b"resource_spans",
        b'"parentObservationId"',
    ),
    "codex": (
        b'"payload"',
        b'"instructions"',
        b'"record_type"',
        b'"session"',
        b'"thread.started"',
        b'"item.completed"',
    ),
    "ai-sdk": (b'"toolCallId"', b'"parts"'),
    "anthropic-messages": (b'"messages"',),
    "openai-responses": (b'"input"', b'"output"', b'"span_data"', b'"items"', b'"function_call"'),
    "openai-messages": (b'"messages"', b'"role"', b'"conversations"'),
}
"""Texts that the beginning of a format's JSON files usually contains. Formats whose texts are found are tried first,
and the others are then not even imported; every format is tried before a file is refused."""

ALIASES = {"vertex": "vertex-agent"}
"""Names that people type for a family of formats. Each stands for the one that the family's own client accepts, tool
calls included."""

NO_FORMAT = "no format recognises"

__all__ = ["NAMES", "NO_FORMAT", "Format", "NoOptions", "all_formats", "by_name", "detect", "names"]


def _plugins() -> dict[str, str]:
    """Formats of other packages: the entry point group `pantrace.formats`, name -> "module:FORMAT"."""
    return installed("pantrace.formats")


def names() -> tuple[str, ...]:
    """All format names, built-in ones first."""
    return (*NAMES, *(name for name in sorted(_plugins()) if name not in NAMES))


@cache
def by_name(name: str) -> Format:
    """The format of that name; UsageError suggests one if there is none."""
    name = ALIASES.get(name, name)
    if name in NAMES:
        built_in: Format = import_module(f"{__name__}.{name.replace('-', '_')}").FORMAT
        return built_in
    if name in _plugins():
        return _of_a_package(name, _plugins()[name])
    # Imported late: only a mistyped name needs it.
    from difflib import get_close_matches

    close = get_close_matches(name, (*ALIASES, *names()), n=1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(names())}"
    raise UsageError(f"unknown format {name!r}; {hint}")


def _of_a_package(name: str, place: str) -> Format:
    found = load_installed("format", name, place, "FORMAT")
    if not isinstance(found, Format):
        raise broken_package("format", name, place, "is not a Format")
    if found.name != name:
        # Its samples would say that they are of a format that nobody can find.
        raise broken_package("format", name, place, f"is named {found.name!r}: give both one name")
    return found


def _variant(format_: Format, head: Head) -> str | None:
    """What the format says of an input. The fault of a package is reported with its name."""
    try:
        return format_.detect(head)
    except Exception as error:
        if format_.name in NAMES or isinstance(error, (OSError, ReadError)):
            raise
        why = f"fails on {head.path}: {type(error).__name__}: {error}"
        raise broken_package("format", format_.name, _plugins()[format_.name], why) from error


def all_formats() -> list[Format]:
    """Every format, loaded."""
    return [by_name(name) for name in names()]


_QUOTED = re.compile(rb'"[A-Za-z_.]+(?=")')


def _is_seen(sign: bytes, words: set[bytes], data: bytes) -> bool:
    # The words that `_QUOTED` finds lack the closing quote.
    return sign[:-1] in words if sign.startswith(b'"') and sign.endswith(b'"') else sign in data


def _likely_first(head: Head) -> Iterator[str]:
    """All names, starting with those whose signs are in the head. It is lazy: the search ends once a format claims the
    file."""
    likely = {"zip": ["inspect"], "sqlite": ["opencode", "adk-session"]}.get(head.kind, [])
    yield from likely
    if head.kind in ("json", "text"):
        # One pass finds every word in quotes; a pass for each of a hundred signs took longer than reading a session.
        words = set(_QUOTED.findall(head.data))
        for name, signs in _SIGNS.items():
            if any(_is_seen(sign, words, head.data) for sign in signs):
                likely.append(name)
                yield name
    # Signs are a guess: a file without any must still reach the format that reads it.
    yield from (name for name in names() if name not in likely)


def _cut_json(head: Head) -> ReadError | None:
    """The error of a small text that breaks off, which may be why no format recognises it."""
    if not head.is_whole or not head.data.lstrip().startswith((b"{", b"[")):
        return None
    try:
        decode(head.data)
    except ReadError as error:
        return error if error.remedy == UNFINISHED else None
    return None


def detect(path: Path) -> tuple[Format, str]:
    """The format that claims an input, with the version or variant it saw."""
    if not path.exists():
        raise ReadError("no such file or directory", path=str(path))
    head = Head(path)
    try:
        for format_ in map(by_name, _likely_first(head)):
            if format_.reads and (variant := _variant(format_, head)) is not None:
                return format_, variant
    except OSError as error:
        raise read_error(path, error) from None
    if head.kind == "empty":
        raise UnknownFormat("the file is empty", path=str(path))
    # Too deep, or a number too long: every reader refuses such a text, so say that instead of "no format".
    if head.kind == "json" and (why := refusal(head.data)) is not None:
        raise UnknownFormat(why.message, path=str(path), place=why.place, remedy=why.remedy)
    if head.kind == "json" and (torn := _cut_json(head)) is not None:
        raise TornFile(torn.message, path=str(path), place=torn.place, remedy=torn.remedy)
    if head.kind == "zip" and not head.members:
        torn = missing_directory(str(path))
        # Any zip may be torn; this ending says that it was a log.
        kind = TornFile if path.suffix == ".eval" else UnknownFormat
        raise kind(torn.message, path=torn.path, remedy=torn.remedy)
    if head.kind != "directory":
        # Imported late: it is needed only for files that no format claims.
        from .unsupported_files import unsupported_kind

        if (known := unsupported_kind(head)) is not None:
            raise UnknownFormat(f"{known.what}, which pantrace does not read", path=str(path), remedy=known.remedy)
    raise UnknownFormat(
        f"{NO_FORMAT} this {head.kind if head.kind != 'text' else 'file'}",
        path=str(path),
        remedy="name one with --from, `pantrace formats` lists them; docs/python.md says how to add one",
    )
