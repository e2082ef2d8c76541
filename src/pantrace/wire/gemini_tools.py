"""Exit codes and refusals that the tools of Gemini CLI and its forks report only as text.

Their shell tool reports a failed command as a success, with "Exit Code: 1" after its output.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pantrace.model import Failure, ToolResult

SHELL = ("run_shell_command", "ShellTool")

# Only at the very end: a command may print such a line itself.
_EXIT = re.compile(
    r"^Exit Code: (-?\d+)(?:\nSignal: [^\n]*)?(?:\nBackground PIDs: [^\n]*)?(?:\nProcess Group PGID: [^\n]*)?"
    r"\s*(?:</untrusted_context>)?\s*\Z",
    re.MULTILINE,
)
_DENIED = ("did not allow", "user denied", "rejected by user", "denied by policy")
_NO_TOOL = ("not found in registry", "tool not found")
_ARGUMENTS = ("params must", "invalid parameters", "must have required property", "missing required")


def with_failure(result: ToolResult, status: Any = None) -> ToolResult:
    """A result with the failure that its text or its status reveals."""
    output = result.output
    text = output.get("output") if isinstance(output, dict) else output
    # Only the shell tool: a file that was read may end with the same line.
    if result.name in SHELL and isinstance(text, str) and (found := _EXIT.search(text)) is not None:
        code = int(found[1])
        result = msgspec.structs.replace(result, exit_code=code, failure="exit_code" if code else result.failure)
    words = (result.error or "").lower()
    failure: Failure | None = result.failure
    if status == "cancelled":
        failure = "denied" if any(each in words for each in _DENIED) else "cancelled"
    elif failure in (None, "error") and (status == "error" or failure is not None):
        failure = "error"
        if any(each in words for each in _NO_TOOL):
            failure = "invalid_tool"
        elif any(each in words for each in _ARGUMENTS):
            failure = "invalid_arguments"
    return result if failure == result.failure else msgspec.structs.replace(result, failure=failure)


def status_of(result: ToolResult) -> str:
    """These tools' word for how a call ended; a command that ran and returned an exit code counts as a success."""
    if result.failure in ("cancelled", "denied"):
        return "cancelled"
    return "success" if result.failure in (None, "exit_code") else "error"
