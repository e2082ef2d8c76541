"""Signatures: the text of an error without the parts that differ each time, so that equal errors form a group."""

from __future__ import annotations

import re
from typing import Any

from pantrace.model import ToolResult
from pantrace.wire.json import encode

SHOWN = 200
"""At most this many characters of an error are kept."""
_READ = 20_000
"""At most this many characters of an error are read: its beginning and its end."""

_TRACEBACK = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
_RAISED = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Timeout)\b.*$", re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<url>\b[a-z][a-z0-9+.-]{1,20}://[^\s'"<>)\]]{1,2000})
    |(?P<mail>\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64})
    |(?P<time>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?
        |\b\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\b)
    |(?P<path>(?:[A-Za-z]:\\|\\\\|~?/|\.{1,2}/)[^\s'"<>:,;)\]]{1,1000}|\b[\w.-]{1,100}(?:/[\w.@-]{1,100}){1,30}\b)
    |(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)
    |(?P<id>\b(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Za-z])[A-Za-z0-9][\w-]{3,200}\b|\b0x[0-9a-fA-F]{1,32}\b|\b[0-9a-f]{12,128}\b)
    |(?P<number>(?<![\w.])(?<!HTTP[ ])(?<!code[ ])(?<!status[ ])[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d{1,4})?(?![\w]))""",
    re.VERBOSE,
)
"""Repetitions are bounded, because errors are hostile text and unbounded ones could take quadratic time. A number after
HTTP, code or status stays: 404 and 500 are different errors."""
_QUOTED = re.compile(r"(\"[^\"\n]{31,}\"|'[^'\n]{31,}'|`[^`\n]{31,}`)")


def signature(text: str) -> str:
    """One line, with ids, paths, addresses, times, numbers and long quotations replaced by a word such as <id>."""
    line = error_line(text)
    line = _QUOTED.sub("<text>", line)
    line = _TOKEN.sub(lambda found: f"<{'id' if found.lastgroup == 'uuid' else found.lastgroup}>", line)
    return shortened(line)


def error_line(text: str) -> str:
    """An error without its traceback: the line that names the exception, otherwise the whole text on one line."""
    if len(text) > _READ:
        text = text[: _READ // 2] + "\n" + text[-_READ // 2 :]
    if _TRACEBACK.search(text) and (raised := _RAISED.findall(text)):
        # The last one: with "During handling of the above exception ..." it is the one that got out.
        text = raised[-1]
    return " ".join(text.split())


def shortened(text: str, length: int = SHOWN) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: length * 8].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def error_text(result: ToolResult) -> str:
    """What a failed call says about its failure."""
    if result.error:
        return result.error
    output = result.output
    if isinstance(output, dict):
        for key in ("error", "error_message", "message", "stderr"):
            if output.get(key):
                value = output[key]
                return value if isinstance(value, str) else _json(value)
        return _json(output)
    text = output if isinstance(output, str) else "" if output is None else _json(output)
    if result.exit_code:
        # Programs print their error last, often after pages of output.
        last = next((line for line in reversed(text[-_READ:].splitlines()) if line.strip()), "")
        return f"exit code {result.exit_code}" + (f": {last.strip()}" if last else "")
    return text or (result.failure or "no reason recorded")


def _json(value: Any) -> str:
    return encode(value).decode("utf-8", "replace")
