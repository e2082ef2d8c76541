"""Semantic Kernel prompt files (YAML) as rubrics: the author's own text in our frame.

`template` with `{{$variable}}`, `input_variables`, `name` and `description`, as the evals of LlmAsJudgeEvalPlugins are
written. The grades are those that the prompt itself mentions; what it says about the form of the reply is overridden by
the frame, which asks for a reason and a score."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import product
from typing import Any

from pantrace.errors import UsageError
from pantrace.wire.json import encode

from .placeholders import as_jinja
from .rubric import Need, Rubric, check_rubric

_NAMES = {
    "input": "answer",
    "answer": "answer",
    "question": "question",
    "context": "context",
    "relevantcontext": "relevant_context",
    "additionalcontext": "relevant_context",
    "goal": "goal",
    "ground_truth": "reference",
    "groundtruth": "reference",
    "reference": "reference",
    "availabletools": "available_tools",
    "invokedtools": "invoked_tools",
    "instructions": "instructions",
    "systemprompt": "instructions",
    "conversation": "conversation",
    "history": "conversation",
}
"""Variables of such prompts, in lower case -> the inputs of a rubric."""
_VARIABLE = re.compile(r"\{\{\s*\$?([A-Za-z_]\w*)\s*\}\}")
_ANYTHING = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NUMBERS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_RANGE = re.compile(r"\b(\w+)\s*(?:-|–|to|and)\s*(\w+)\b", re.IGNORECASE)
_BETWEEN = re.compile(
    r"(?:between|score of|rating of|from|scale of|scale from|integer from)\s+(\w+)\s*(?:-|–|to|and)\s*(\w+)",
    re.IGNORECASE,
)
_STAR = re.compile(r"^[\s\-*]*\**\s*(\w+)\s+stars?\b\**\s*[:\-]\s*(.+)$", re.IGNORECASE | re.MULTILINE)
# A scale goes from 0 or 1 to at most 20: "between 1990 and 2020" in a prompt is not a scale.
_WIDEST = 20


def is_prompt(data: Any) -> bool:
    """Whether a YAML file is a Semantic Kernel prompt."""
    return isinstance(data, dict) and isinstance(data.get("template"), str) and "criteria" not in data


def prompt_rubric(data: dict[str, Any], path: str) -> Rubric:
    """The rubric for such a prompt."""
    template = data["template"]
    kind = data.get("template_format") or "semantic-kernel"
    if kind not in ("semantic-kernel", "handlebars"):
        raise UsageError(f"{path}: template_format {kind!r} is not read; semantic-kernel and handlebars are")
    name = data.get("name")
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"{path}: the prompt has no name; scores are called by it")
    inputs: dict[str, Need] = {}
    for found in _ANYTHING.findall(template):
        variable = _VARIABLE.fullmatch("{{" + found + "}}")
        ours = _NAMES.get(variable[1].lower()) if variable else None
        if ours is None:
            told = ", ".join(dict.fromkeys(_NAMES))
            raise UsageError(f"{path}: {{{{{found}}}}} cannot be filled in; variables that can: {told}")
        inputs[ours] = "optional" if _is_optional(data, variable[1] if variable else "") else "required"
    if not inputs:
        raise UsageError(f"{path}: the template shows the judge nothing: it has no {{{{$variable}}}}")
    rubric = Rubric(
        name=name.strip(),
        version=sha256(encode([template, name])).hexdigest()[:12],
        title=name.strip(),
        description=" ".join(str(data.get("description") or "").split()),
        inputs=inputs,
        grades=_grades(data, path),
        template=_jinja(template),
    )
    check_rubric(rubric, path)
    return rubric


def _is_optional(data: dict[str, Any], variable: str) -> bool:
    declared = data.get("input_variables")
    for each in declared if isinstance(declared, list) else ():
        if isinstance(each, dict) and each.get("name") == variable:
            return each.get("is_required") is False
    return False


def _jinja(template: str) -> str:
    """The template with our variables; any other brace is literal."""
    pieces, place = [], 0
    for found in _VARIABLE.finditer(template):
        pieces += [_literal(template[place : found.start()]), "{" + _NAMES[found[1].lower()] + "}"]
        place = found.end()
    return as_jinja("".join([*pieces, _literal(template[place:])]).strip())


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _grades(data: dict[str, Any], path: str) -> dict[str, str]:
    """The grades that the prompt mentions: its stars with their meaning, otherwise the first range in it."""
    stars = {
        number: words.strip("* \t\xa0\r")
        for word, words in _STAR.findall(data["template"])
        if (number := _number(word)) is not None
    }
    # Only a complete scale: a prompt that describes 1, 3 and 5 stars also allows 2 and 4.
    if len(stars) > 1 and sorted(stars) == list(range(min(stars), max(stars) + 1)):
        return {str(number): stars[number] for number in sorted(stars)}
    # The description first: examples in a template mention ranges of all kinds.
    described = str(data.get("description") or "")
    for text, pattern in product((described, data["template"]), (_BETWEEN, _RANGE)):
        for one, two in pattern.findall(text):
            low, high = _number(one), _number(two)
            if low is not None and high is not None and 0 <= low <= 1 < high <= _WIDEST:
                return {str(number): _meaning(number, low, high) for number in range(low, high + 1)}
    raise UsageError(f'{path}: the prompt does not say between which numbers it grades ("between 1 and 5")')


def _meaning(number: int, low: int, high: int) -> str:
    return "worst, as the text above says" if number == low else "best" if number == high else "in between"


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() else _NUMBERS.get(word.lower())
