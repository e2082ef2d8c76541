"""Loss kinds: what a path in a sample means to a person."""

from __future__ import annotations

import re
from functools import lru_cache

from pantrace.wire.found import is_own

OWN = "details that only the source format has"
OTHER = "other fields"
# The first match counts, so the more specific patterns come first.
_KINDS = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^run\.results", "results stored for the whole run"),
        (r"^run\.environment", "environment of the run"),
        (r"^run\b", "run header (name, model, configuration)"),
        (r"^scores", "scores"),
        (r"^expected", "expected trajectory"),
        (r"^case", "case (question, reference, labels)"),
        (r"\busage\b|cost", "token counts and cost"),
        (r"\.(at|ended|started|created|first_token)$", "timestamps"),
        (r"\bchildren\b", "sub-agents"),
        (r"\bstate(_delta)?\b", "session state"),
        (r"\boutcome\b", "outcome"),
        (r"\.agents?\b", "agents (name, instructions, tools)"),
        (r"\.(model|settings|request)\b", "model names and settings"),
        (r"\.(stop|turn|parent|kind|role|invocation|leaf|origin|purpose)$", "order and kind of steps"),
        (r"(^|\.|_)id$", "ids"),
        (r"\.title$", "titles"),
        (r"\.(error|failure|exit_code|truncated)\b", "errors and exit codes of tools"),
        (r"\.arguments\b", "arguments of tool calls"),
        (r"\.(output|text|summary|signature)\b", "texts and tool outputs"),
        (r"\.invocations\b", "invocations"),
        (r"\.parts\[\]$", "other parts of steps"),
        (r"\.steps\[\]$", "whole steps"),
    )
]
_PARTS = {
    "text": "texts and tool outputs",
    "thinking": "thoughts",
    "call": "tool calls",
    "result": "tool results",
    "media": "pictures and other media",
    "action": "GUI actions",
    "citation": "citations",
    "unknown": OWN,
}
ELSEWHERE = {
    "merged": "steps merged into others",
    "joined": "texts joined to others",
    "moved": "values in another place or order",
    "added": "values that the source does not have",
}


@lru_cache(4096)
def kind_of(path: str, part: str | None = None) -> str:
    """What a path, or a part of this type, means to a person."""
    if part in _PARTS:
        return _PARTS[part]
    if is_own(path):
        return OWN
    return next((words for pattern, words in _KINDS if pattern.search(path)), OTHER)
