"""Reads the conversation of a row in any of its historical shapes, and finds which turn made which call."""

from __future__ import annotations

from typing import Any, NamedTuple

AGENTS = ("model", "assistant", "agent")


class Conversation(NamedTuple):
    """All contents of a session in order, including the final answer."""

    contents: list[dict[str, Any]]
    cut: bool
    """The contents of the row lack the final model turn (or there is none)."""
    response: str | None = None
    """The text of `response`, if it is not the last model content after the last prompt."""
    older: bool = False
    """`response` repeats a model content before the last prompt, so it answers another prompt."""


def conversation(row: dict[str, Any]) -> Conversation:
    """The conversation, from the document's shape, the original script's, or the old flat strings."""
    request = row.get("request")
    if isinstance(request, dict) and isinstance(request.get("contents"), list):
        contents = [content if isinstance(content, dict) else {"parts": [content]} for content in request["contents"]]
    else:
        contents = _flat(row)
    answer = answer_text(row)
    if contents and is_model(contents[-1]):
        return Conversation(contents, False, answer if answer != text_of(contents[-1]) else None)
    total = row["metadata"].get("total_turns") if isinstance(row.get("metadata"), dict) else None
    if not answer:
        # The script also cuts off a final model turn that only called tools; only the counts show it.
        silent = [_content("model", "")] if total == len(contents) + 1 else []
        return Conversation([*contents, *silent], True)
    if isinstance(total, int) and total <= len(contents):
        # The script takes the last model text anywhere, so it may be older than the last prompt.
        older = answer in [text_of(content) for content in contents if is_model(content)]
        return Conversation(contents, True, None if older else answer, older)
    # After a compaction the script has two model turns in a row and cuts off both; `response_concat` has their text.
    rest = _hidden_answer(row, contents) if isinstance(total, int) else None
    if rest is not None and rest != answer and total == len(contents) + 1:
        return Conversation([*contents, _content("model", rest)], True, answer)
    between = (rest or "").removesuffix(f"\n\n{answer}") if rest != answer else ""
    hidden = [_content("model", between)] if between and between != rest else []
    return Conversation([*contents, *hidden, _content("model", answer)], True)


def _flat(row: dict[str, Any]) -> list[dict[str, Any]]:
    history = row.get("conversation_history")
    contents = [content for content in history if isinstance(content, dict)] if isinstance(history, list) else []
    prompt = row.get("prompt") or row.get("prompt_concat")
    return [*contents, _content("user", prompt)] if isinstance(prompt, str) and prompt else contents


def _content(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def _hidden_answer(row: dict[str, Any], contents: list[dict[str, Any]]) -> str | None:
    """What the model said after the last prompt; rows without the final turn have it only in `response_concat`."""
    whole = row.get("response_concat")
    before = "\n\n".join(text for content in contents if is_model(content) and (text := text_of(content)))
    if not isinstance(whole, str):
        return None
    if whole == before:
        return ""
    if not before:
        return whole
    return whole.removeprefix(f"{before}\n\n") if whole.startswith(f"{before}\n\n") else None


def answer_text(row: dict[str, Any]) -> str | None:
    """The text of `response`: of its first candidate, or the old flat string."""
    response = row.get("response")
    if isinstance(response, dict):
        candidates = response.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        content = first.get("content") if isinstance(first, dict) else None
        return text_of(content) if isinstance(content, dict) else None
    if response is None and "request" not in row:
        response = row.get("response_concat")
    return response if isinstance(response, str) else None


def is_model(content: dict[str, Any]) -> bool:
    """Whether a content is the agent's."""
    return content.get("role") in AGENTS


def text_of(content: dict[str, Any]) -> str:
    """All text of a content."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return ""
    if len(parts) == 1 and type(parts[0]) is dict and type(text := parts[0].get("text")) is str:
        return text
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


class Places(NamedTuple):
    """Where calls belong."""

    base: int | None
    """1: `turn` counts contents from 1, as the document says; 0: from 0, as the script does; None: undecided."""
    places: list[int | float]
    """The index of the content for each call. A half (1.5) lies between two contents: the model turn that made the call
    had no text, and the script left it out."""


def places_of(numbers: list[Any], contents: list[dict[str, Any]], *, by_script: bool) -> Places:
    """The contents that `turn` numbers mean. `by_script`: the row has a mark of the original script."""
    models = [is_model(content) for content in contents]
    end = len(models)
    last = next((place for place in range(end - 1, -1, -1) if models[place]), end)
    given = {number for number in numbers if type(number) is int}
    if not given:
        # The oldest shape has no numbers; all calls are put before the answer.
        return Places(1, [last] * len(numbers))
    fits = [all(_place(number - base, models) is not None for number in given) for base in (0, 1)]
    base: int | None
    if fits[0] != fits[1]:
        base = 1 if fits[1] else 0
    elif fits[0]:
        # Both readings fit: guessing would attach calls to the wrong turns, so the number is kept raw.
        base = 0 if by_script else None
    else:
        base = 0 if all(_place(number, models, gaps=True) is not None for number in given) else None
    places: list[int | float] = []
    for number in numbers:
        place = None
        if type(number) is int:
            place = _place(number - (1 if base is None else base), models, gaps=base == 0)
        places.append(last if place is None else place)
    return Places(base, places)


def _place(index: int, models: list[bool], *, gaps: bool = False) -> int | float | None:
    """The index if there is a model turn, or may be one because the row ends with a prompt."""
    if index == len(models):
        return index if not models or not models[-1] else None
    if not 0 <= index < len(models):
        return None
    if models[index]:
        return index
    return index - 0.5 if gaps and index > 0 and not models[index - 1] else None
