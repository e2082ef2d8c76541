"""Events: what a rollout reports about tools beside the conversation, and how calls ended.

`item_completed` events hold exit codes, times and the commands that a script of code mode ran: the script says
"Script completed" even when all of them failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Failure, Media, ToolCall, ToolResult
from pantrace.wire.extra_keys import as_extra, rest_of
from pantrace.wire.json import decode_document
from pantrace.wire.times import from_milliseconds

NAME = "codex"
Record = dict[str, Any]
SCRIPT = "exec"
"""The tool of code mode: it takes JavaScript, in which other tools are called."""
NESTED = "nested"
"""Marks a call or result that comes from an event and has no line of its own."""
TOOLS = {
    "CommandExecution": "exec_command",
    "FileChange": "apply_patch",
    "ImageView": "view_image",
    "McpToolCall": "mcp",
    "WebSearch": "web_search",
    "CollabAgentToolCall": "spawn_agent",
    "SubAgentActivity": "spawn_agent",
}
"""Items of events that are calls of tools, with the name that a script calls them by."""
# The first wording is that of newer versions, the second that of older ones; both are in the text that the model saw.
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_FAILURES: tuple[tuple[re.Pattern[str], Failure], ...] = (
    (re.compile(r"(?:\A|\n)aborted by user"), "cancelled"),
    (re.compile(r"\Aunsupported (?:custom tool )?call: "), "invalid_tool"),
    (re.compile(r"\Afailed to parse function arguments"), "invalid_arguments"),
    (re.compile(r"\A.{0,80}(?:rejected by user|Rejected\()"), "denied"),
    (re.compile(r"\A(?:apply_patch verification failed|exec_command failed|execution error|tool call error)"), "error"),
    (re.compile(r"\AScript failed\n"), "error"),
    (re.compile(r"\Acommand timed out"), "timeout"),
)


def items_of(records: Iterable[Any]) -> dict[str, Record]:
    """What events report about finished calls, by call id."""
    found: dict[str, Record] = {}
    for record in records:
        match record:
            case {"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": str(kind)} as item}}:
                if kind in TOOLS and isinstance(name := item.get("id"), str) and name not in found:
                    times = ("started_at_ms", "completed_at_ms")
                    found[name] = {**item, **{key: record["payload"].get(key) for key in times}}
            case {"type": "event_msg", "payload": {"type": "exec_command_end", "call_id": str(name)} as ended}:
                # `item_completed` says more, and wins where both are there.
                found.setdefault(name, {**ended, "type": "CommandExecution"})
    return found


def with_ending(result: ToolResult, item: Record | None, text: str = "") -> ToolResult:
    """A result with how it ended, taken from an event or from the program's own words at the beginning of its text."""
    given: Record = {}
    match result.output:
        case {"content": _, "success": False}:
            given["failure"] = "error"
    if item is not None:
        given |= {"started": from_milliseconds(item.get("started_at_ms"))}
        given |= {"ended": from_milliseconds(item.get("completed_at_ms"))}
        # Not isinstance: true is an int in Python, but no exit code.
        if type(item.get("exit_code")) is int:
            given["exit_code"] = item["exit_code"]
        if item.get("status") in ("failed", "declined"):
            given["failure"] = "denied" if item["status"] == "declined" else "error"
    # After "Output:" comes what the command printed, which may contain the same words by chance.
    words, _, printed = text.partition("Output:\n")
    if "exit_code" not in given and (code := _exit_code(words, printed, text)) is not None:
        given["exit_code"] = code
    if given.get("exit_code"):
        given["failure"] = "exit_code"
    for pattern, failure in _FAILURES:
        # An aborted command may have an exit code as well, but the abort says more.
        if pattern.search(words) and (failure == "cancelled" or "exit_code" not in given):
            given["failure"] = failure
            break
    if given.get("failure") not in (None, "exit_code"):
        # For a failed command, the output is not an error message.
        given["error"] = text or None
    return msgspec.structs.replace(result, **given)


def _exit_code(words: str, printed: str, text: str) -> int | None:
    if match := _EXIT.search(words) or _EXIT.match(printed.partition("\n")[0]):
        return int(match[1])
    if not text.startswith('{"output"'):
        return None
    try:
        match decode_document(text.encode("utf-8", "surrogatepass")):
            case {"metadata": {"exit_code": int(code)}}:
                return code
    except ReadError:
        pass  # it only looks like JSON
    return None


def script_of(item: Record, scripts: dict[str, str]) -> str | None:
    """The script that ran an item: the one that names its tool, and its command if it has one."""
    command = command_of(item)
    name = f"tools.{TOOLS[item['type']]}"
    for mark in (command, name):
        fitting = [call for call, text in scripts.items() if mark and mark in text and name in text]
        if fitting:
            return fitting[0]
    return next(iter(scripts), None)


def command_of(item: Record) -> str | None:
    match item.get("command"):
        case [*_, "-lc" | "-c", str(command)] | str(command):
            return command
        case list(words):
            return " ".join(str(word) for word in words)
    return None


def nested_call(item: Record, images: tuple[Media, ...] = ()) -> tuple[ToolCall, ToolResult]:
    """A call that a script made, with its result."""
    kind, name = item["type"], item["id"]
    extra = as_extra(NAME, {NESTED: True})
    output: Any = None
    tool, arguments = TOOLS[kind], rest_of(item, _OF_RESULTS)
    if kind == "CommandExecution":
        # `cmd` is the argument's name when a model calls the tool itself.
        arguments, output = {"cmd": command_of(item)}, item.get("aggregated_output")
    elif kind == "FileChange":
        arguments, output = (
            {"changes": item.get("changes")},
            "".join(text for key in ("stdout", "stderr") if isinstance(text := item.get(key), str)),
        )
    elif kind == "ImageView":
        arguments = {"path": item.get("path")}
    elif kind == "McpToolCall":
        tool = f"{item.get('server')}.{item.get('tool')}"
        arguments = item["arguments"] if isinstance(item.get("arguments"), dict) else {}
        output = item.get("result") if item.get("result") is not None else item.get("error")
    elif isinstance(item.get("tool"), str):
        tool = item["tool"]
    result = ToolResult(call_id=name, name=tool, output=output, media=images, extra=extra)
    return ToolCall(id=name, name=tool, arguments=arguments, extra=extra), with_ending(result, item)


_OF_RESULTS = {"id", "type", "status", "started_at_ms", "completed_at_ms"}
