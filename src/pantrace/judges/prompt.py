"""Prompts: the message for a judge, made from a rubric and a sample's material."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from pantrace.errors import UsageError

from .cut import Block, Material, cut_to, joined
from .fence import fence, fence_word
from .frame import LAYOUT, SYSTEM
from .rubric import Rubric
from .template_bounds import refuse_what_grows
from .verdict import CANNOT_TELL, CLAIMS

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

Clean = Callable[[str], str]
"""Removes secrets from a text."""

BUDGET = 100_000
"""Default maximum of characters of material in one prompt: about 25,000 tokens."""


class Prompt(msgspec.Struct, frozen=True):
    """What is sent to a judge about one sample."""

    system: str
    text: str
    schema: dict[str, Any]
    cut: list[str]
    """What was left out of the material, in words."""
    shown: tuple[Block, ...] = ()
    """The entries that the judge reads, without secrets and cut to fit."""
    shape: str = ""
    """The form of the reply, in words."""
    partial: bool = False
    """Whether something that the verdict may rest on was cut or never recorded."""


class _Absent:
    """An optional input that the sample does not have: false in a condition, "(not given)" in the text."""

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "(not given)"


def prompt_for(rubric: Rubric, material: Material, *, budget: int = BUDGET, clean: Clean = str) -> Prompt:
    """The prompt of a rubric for some material: without secrets, cut to fit, fenced."""
    cleaned = {
        name: [msgspec.structs.replace(block, text=clean(block.text)) for block in blocks]
        for name, blocks in material.items()
    }
    # Cut after cleaning: half a key has no form by which it could be found.
    kept, cut = cut_to(cleaned, budget)
    shown = tuple(block for blocks in kept.values() for block in blocks)
    partial = rubric.claims and (bool(cut) or any(block.partial for block in shown))
    texts = {name: joined(blocks) for name, blocks in kept.items()}
    # One word for all inputs of a prompt, which none of them contains.
    word = fence_word(texts.values())
    values: dict[str, Any] = {name: _Absent() for name in rubric.inputs}
    values |= {name: fence(name, text, word) for name, text in texts.items()}
    # Rendered separately and inserted as a value: template syntax in a recording stays plain text.
    body = _rendered(rubric.template, values, f"rubric {rubric.name}")
    numbered = any(block.step is not None for block in shown)
    shape = shape_of(rubric, numbered=numbered, partial=partial)
    frame = {
        "title": rubric.title,
        "body": body,
        "grades": [(grade, rubric.grades[str(grade)]) for grade in rubric.choices],
        "fence": word,
        "cut": cut,
        "partial": partial,
        "shape": shape,
    }
    text = _compiled(LAYOUT).render(frame).strip()
    schema = schema_of(rubric, numbered=numbered, partial=partial)
    return Prompt(SYSTEM, text, schema, cut, shown, shape, partial)


def choices(rubric: Rubric) -> str:
    """The grades as a judge reads them: 1 | 2 | 3."""
    return " | ".join(f'"{grade}"' if isinstance(grade, str) else str(grade) for grade in rubric.choices)


def shape_of(rubric: Rubric, *, numbered: bool = False, partial: bool = False) -> str:
    """The form of the reply: {"reason": "...", "score": 1 | 2 | 3}."""
    keys = ['"reason": "..."']
    if numbered:
        keys += ['"steps": [numbers of steps]']
    keys += ['"quotes": ["..."]']
    if rubric.claims:
        keys += [
            f'"claims": [{{"claim": "...", "verdict": {" | ".join(f"{each!r}" for each in CLAIMS)}}}]'.replace("'", '"')
        ]
    unsure = f' | "{CANNOT_TELL}"' if partial else ""
    return "{" + ", ".join([*keys, f'"score": {choices(rubric)}{unsure}']) + "}"


def schema_of(rubric: Rubric, *, numbered: bool = False, partial: bool = False) -> dict[str, Any]:
    """JSON Schema of a verdict: the reason first, then what it rests on, then a score from a closed list."""
    texts = {"type": "array", "items": {"type": "string"}}
    # The reason comes first: a model that writes its grade first invents a reason for it.
    found: dict[str, Any] = {
        "reason": {"type": "string", "description": "two to five sentences that name the evidence"}
    }
    if numbered:
        steps = "numbers of the steps that the reason rests on"
        found["steps"] = {"type": "array", "items": {"type": "integer"}, "description": steps}
    found["quotes"] = {**texts, "description": "passages of the material, word for word; may be empty"}
    if rubric.claims:
        claim = {"claim": {"type": "string"}, "verdict": {"type": "string", "enum": list(CLAIMS)}}
        found["claims"] = {"type": "array", "items": _object(claim)}
    score: dict[str, Any] = {"type": "string" if rubric.passes else "integer", "enum": list(rubric.choices)}
    # Offered only if something was cut or never recorded; on complete evidence a judge must decide.
    if partial:
        score = {"type": ["integer", "string"], "enum": [*rubric.choices, CANNOT_TELL]}
    return _object({**found, "score": score})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    # Sandboxed: a rubric may come from a stranger, and a plain Jinja template can run any Python code.
    return SandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, keep_trailing_newline=False
    )


@cache
def _compiled(template: str) -> Any:
    return _environment().from_string(template)


def _rendered(template: str, values: dict[str, Any], place: str) -> str:
    """A rubric's template with its values; UsageError if that fails."""
    from jinja2 import TemplateError

    try:
        return str(_compiled(template).render(values)).strip()
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{place}: the template cannot be filled in: {error}") from None


def render_trial(inputs: Mapping[str, str], template: str, place: str) -> None:
    """Raise a UsageError if a template fails with all of its inputs, or with only the required ones."""
    given = {name: fence(name, "text", fence_word(["text"])) for name in inputs}
    absent = {name: _Absent() for name, need in inputs.items() if need != "required"}
    for values in (given, given | absent):
        _rendered(template, values, place)


def variables(template: str, place: str) -> set[str]:
    """The inputs that a template uses; UsageError if it is not a valid template."""
    from jinja2 import TemplateSyntaxError, meta

    try:
        tree = _environment().parse(template)
        refuse_what_grows(tree, place)
        return meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        raise UsageError(f"{place}: the template is not right: line {error.lineno}: {error.message}") from None
