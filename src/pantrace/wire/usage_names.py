"""Token usage under the names that libraries use, converted to the model's convention."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.errors import UsageError
from pantrace.model import NUMBERS, Usage

from .anthropic import usage_from as anthropic_usage
from .gemini import usage_from as gemini_usage
from .optional import object_of

_ANTHROPIC = {"cache_read_input_tokens", "cache_creation_input_tokens"}


def usage_of(words: Any, owner: str) -> Usage | None:
    """Tokens and cost as OpenAI, Anthropic, Gemini or pantrace name them; None stays None."""
    if words is None or isinstance(words, Usage):
        return words
    if not isinstance(words, dict):
        raise UsageError(f"usage must be a mapping of counts, not {type(words).__name__}")
    cost = words.get("cost_usd", words.get("cost"))
    found = _counts(words, owner)
    return found if cost is None else msgspec.structs.replace(found, cost_usd=cost)


def _counts(words: dict[str, Any], owner: str) -> Usage:
    # Our own names first: they are the only ones that need no conversion.
    if words.keys() & {"input", "output"} or not words.keys() - {*NUMBERS, "cost"}:
        return Usage(**{name: words[name] for name in NUMBERS if name in words})
    if "prompt_tokens" in words or "completion_tokens" in words:
        return _openai(words, "prompt_tokens", "completion_tokens")
    # Checked before OpenAI's Responses, which also have `input_tokens`: theirs include the cache, Anthropic's do not.
    if words.keys() & _ANTHROPIC:
        return anthropic_usage(words, owner) or Usage()
    if "input_tokens" in words or "output_tokens" in words:
        return _openai(words, "input_tokens", "output_tokens")
    if "prompt_token_count" in words or "promptTokenCount" in words:
        return gemini_usage(words, owner) or Usage()
    raise UsageError(f"usage has none of the counts that are known: {', '.join(map(str, words)) or 'it is empty'}")


def _openai(words: dict[str, Any], prompt: str, reply: str) -> Usage:
    details = (words.get(f"{prompt}_details"), words.get(f"{reply}_details"))
    sent, got = (object_of(each) for each in details)
    return Usage(
        input=words.get(prompt),
        output=words.get(reply),
        cache_read=sent.get("cached_tokens"),
        reasoning=got.get("reasoning_tokens"),
        total=words.get("total_tokens"),
    )
