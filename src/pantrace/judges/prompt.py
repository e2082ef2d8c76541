"""Prompts: a rubric and a sample's material as the message that a judge is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from pantrace.errors import UsageError

from .cut import Material, fit
from .fence import fence, fence_word
from .frame import LAYOUT, SYSTEM
from .rubric import Rubric

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

Clean = Callable[[str], str]
"""Takes secrets out of a text."""

BUDGET = 100_000
"""Characters of material in one prompt, unless said otherwise: about 25,000 tokens."""


class Prompt(msgspec.Struct, frozen=True):
    """What a judge is sent about one sample."""

    system: str
    text: str
    schema: dict[str, Any]
    cut: list[str]
    """What was left out of the material, in words."""


class _Absent:
    """An optional input that the sample does not have: false, and told as such."""

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "(not given)"


def prompt_for(rubric: Rubric, material: Material, *, budget: int = BUDGET, clean: Clean = str) -> Prompt:
    """The prompt of a rubric for some material: secrets out, cut to fit, fenced."""
    cleaned = {
        name: [msgspec.structs.replace(block, text=clean(block.text)) for block in blocks]
        for name, blocks in material.items()
    }
    texts, cut = fit(cleaned, budget)
    word = fence_word(texts.values())
    values: dict[str, Any] = {name: _Absent() for name in rubric.inputs}
    values |= {name: fence(name, text, word) for name, text in texts.items()}
    # Rendered first and put in whole: a recording with template syntax in it is text like any other.
    body = _rendered(rubric.template, values, f"rubric {rubric.name}")
    frame = {
        "title": rubric.title,
        "body": body,
        "grades": [(grade, rubric.grades[str(grade)]) for grade in rubric.choices],
        "fence": word,
        "cut": cut,
        "choices": choices(rubric),
    }
    return Prompt(SYSTEM, _compiled(LAYOUT).render(frame).strip(), schema_of(rubric), cut)


def choices(rubric: Rubric) -> str:
    """The grades as a judge is told of them: 1 | 2 | 3."""
    return " | ".join(f'"{grade}"' if isinstance(grade, str) else str(grade) for grade in rubric.choices)


def schema_of(rubric: Rubric) -> dict[str, Any]:
    """JSON Schema of a verdict: the reason first, then a score out of a closed list."""
    return {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": "two to five sentences that name the evidence"},
            "score": {"type": "string" if rubric.passes else "integer", "enum": list(rubric.choices)},
        },
        "required": ["reason", "score"],
        "additionalProperties": False,
    }


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, keep_trailing_newline=False
    )


@cache
def _compiled(template: str) -> Any:
    return _environment().from_string(template)


def _rendered(template: str, values: dict[str, Any], place: str) -> str:
    """A rubric's template with its values; a UsageError for whatever goes wrong in it."""
    from jinja2 import TemplateError

    try:
        return str(_compiled(template).render(values)).strip()
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{place}: the template cannot be filled in: {error}") from None


def render_trial(inputs: Mapping[str, str], template: str, place: str) -> None:
    """A UsageError for a template that fails whatever it is given: with all of its inputs, or only the required."""
    given = {name: fence(name, "text", fence_word(["text"])) for name in inputs}
    absent = {name: _Absent() for name, need in inputs.items() if need != "required"}
    for values in (given, given | absent):
        _rendered(template, values, place)


def variables(template: str, place: str) -> set[str]:
    """The inputs that a template uses; a UsageError when it is not a template."""
    from jinja2 import TemplateSyntaxError, meta

    try:
        return meta.find_undeclared_variables(_environment().parse(template))
    except TemplateSyntaxError as error:
        raise UsageError(f"{place}: the template is not right: line {error.lineno}: {error.message}") from None
