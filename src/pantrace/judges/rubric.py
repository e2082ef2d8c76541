"""Rubrics: what a judge is asked, as data: TOML files, or Markdown that begins with TOML between lines of +++."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Scale
from pantrace.wire import toml
from pantrace.wire.json import encode
from pantrace.wire.text_file import is_file, read_text

from .frame import COMPLAINT, LAYOUT, SYSTEM

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,8}")
"""A grade in its only spelling: "01" and "1" would be two grades for one number."""

Need = Literal["required", "optional", "one_of"]
"""one_of: at least one of the inputs with this mark must be present."""


Scope = Literal["last_answer", "every_turn", "session"]
"""Which part of a recording a rubric judges: the last question and its answer; every prompt and every answer;
everything that was said and done, with instructions, tools and calls."""
SCOPES: tuple[Scope, ...] = ("last_answer", "every_turn", "session")


PAIR = {"first_answer", "second_answer"}
"""Inputs of rubrics that compare two answers."""


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another way to ask the same, with its own inputs and template."""

    inputs: dict[str, Need]
    template: str


class Rubric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge is asked about one sample, and the grades it may give."""

    name: str
    version: str
    title: str
    description: str = ""
    inputs: dict[str, Need]
    grades: dict[str, str]
    """Whole numbers without a gap, or the two words pass and fail; each with what it stands for."""
    better: Literal["higher", "lower"] = "higher"
    scope: Scope = "last_answer"
    """Which part of a recording it judges. If a variant has the name of the scope, recordings are judged by that
    variant, and cases with their own question and answer by `template`."""
    claims: bool = False
    """Whether the judge lists each statement with what the evidence says about it."""
    template: str
    """Jinja; every input is inserted with a fence. An absent input is false."""
    variant: str = ""
    """The name of `template` among the variants, if there are any."""
    variants: dict[str, Variant] = {}

    @property
    def hash(self) -> str:
        """Changes with anything that a judge reads: the rubric, and the frame around it."""
        # The frame belongs to it: a changed instruction can move every grade, so old calibrations must not apply.
        return sha256(encode([SYSTEM, LAYOUT, COMPLAINT, self])).hexdigest()

    @property
    def judges(self) -> Scope:
        """The scope of `template` itself."""
        if self.variant in SCOPES:
            return self.variant
        return "last_answer" if self.scope in self.variants else self.scope

    @property
    def passes(self) -> bool:
        """Whether the grades are pass and fail."""
        return "pass" in self.grades

    @property
    def pairwise(self) -> bool:
        """Whether it compares two answers: the lowest grade says that the first is better, the highest the second."""
        return bool(PAIR & self.inputs.keys())

    @property
    def scale(self) -> Scale:
        if self.passes:
            return Scale(low=0, high=1, better=self.better)
        numbers = [int(grade) for grade in self.grades]
        return Scale(low=min(numbers), high=max(numbers), better=self.better)

    @property
    def choices(self) -> list[int] | list[str]:
        """The grades, worst number first; pass before fail."""
        return ["pass", "fail"] if self.passes else sorted(int(grade) for grade in self.grades)


def check_rubric(rubric: Rubric, place: str, known: Collection[str] | None = None) -> None:
    """Raise a UsageError for a rubric that could never work; `known` are the existing inputs."""
    from .prompt import render_trial, variables

    # Without a gap, so that the mean of two grades lies between them.
    if set(rubric.grades) != {"pass", "fail"}:
        if strange := [grade for grade in rubric.grades if not _WHOLE.fullmatch(grade)]:
            raise UsageError(
                f"{place}: grades are whole numbers such as 1, 2, 3, or pass and fail; not {strange[0][:40]!r}"
            )
        numbers = sorted(int(grade) for grade in rubric.grades)
        if len(numbers) < 2 or numbers != list(range(numbers[0], numbers[-1] + 1)):
            raise UsageError(f"{place}: grades must be at least two whole numbers without a gap")
    elif rubric.better == "lower":
        raise UsageError(f"{place}: pass is always better than fail; leave better out, or swap the two grades")
    if not rubric.name.strip():
        raise UsageError(f"{place}: the name is empty; scores are called by it")
    if rubric.pairwise:
        _check_pairwise(rubric, place)
    shown = {"every_turn": {"conversation", "trajectory"}, "session": {"trajectory"}}.get(rubric.judges)
    if known is not None and shown is not None and not shown & rubric.inputs.keys():
        needed = " or ".join(sorted(shown))
        raise UsageError(f"{place}: scope {rubric.judges} needs the input {needed}, or a variant of that name")
    asked = {"": (rubric.inputs, rubric.template)} | {
        name: (each.inputs, each.template) for name, each in rubric.variants.items()
    }
    for name, (inputs, template) in asked.items():
        where = f"{place}: variant {name}" if name else place
        for each in inputs:
            if known is not None and each not in known:
                close = get_close_matches(each, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known))}"
                raise UsageError(f"{where}: unknown input {each!r}; {hint}")
        # An input that the template does not show would be required, and never judged.
        used = variables(template, where)
        if missing := sorted(used - set(inputs)):
            raise UsageError(f"{where}: the template uses {missing[0]!r}, which is not among the inputs")
        unused = [each for each in inputs if each not in used]
        if unused:
            raise UsageError(f"{where}: the template does not use the input {unused[0]!r}")
        render_trial(inputs, template, where)


def _check_pairwise(rubric: Rubric, place: str) -> None:
    """Check that swapped answers can get the swapped grade: both orders are judged, and then compared."""
    if missing := sorted(PAIR - rubric.inputs.keys()):
        raise UsageError(f"{place}: a rubric that compares two answers needs the input {missing[0]}, too")
    if rubric.passes or sum(int(grade) for grade in rubric.grades) != 0:
        raise UsageError(f"{place}: a rubric that compares two answers has grades around 0, such as -1, 0 and 1")


@cache
def _built_in() -> dict[str, Rubric]:
    folder = resources.files(__package__).joinpath("rubrics")
    found = [toml.load(each.read_text("utf-8"), each.name, Rubric) for each in folder.iterdir()]
    return {rubric.name: rubric for rubric in sorted(found, key=lambda rubric: rubric.name)}


def rubric_names() -> list[str]:
    """Names of the rubrics that come with pantrace."""
    return list(_built_in())


def load_rubric(name_or_path: str) -> Rubric:
    """A rubric by its name ("NAME:VARIANT" for a variant), or from a TOML or Markdown file."""
    name, _, variant = name_or_path.partition(":")
    if name in _built_in():
        return chosen(_built_in()[name], variant)
    path = Path(name_or_path)
    # By the suffix even if it does not exist: "no such file" helps more than "unknown rubric".
    if path.suffix in (".toml", ".md") or is_file(path):
        return _from_file(path)
    close = get_close_matches(name, rubric_names(), n=1)
    hint = f"did you mean {close[0]}?" if close else "`pantrace rubrics` lists them, or name a .toml or .md file"
    raise UsageError(f"unknown rubric {name_or_path!r}; {hint}")


def chosen(rubric: Rubric, variant: str) -> Rubric:
    """One variant of a rubric, under the name NAME:VARIANT; the main one for ""."""
    if not variant:
        return rubric
    if variant == rubric.variant:
        return msgspec.structs.replace(rubric, name=f"{rubric.name}:{variant}")
    if variant not in rubric.variants:
        listed = ", ".join(each for each in (rubric.variant, *rubric.variants) if each) or "none"
        raise UsageError(f"{rubric.name} has no variant {variant!r}; its variants: {listed}")
    other = rubric.variants[variant]
    return msgspec.structs.replace(
        rubric, name=f"{rubric.name}:{variant}", inputs=other.inputs, template=other.template, variant=variant
    )


def _from_file(path: Path) -> Rubric:
    from .inputs import INPUTS

    if path.suffix == ".md":
        rubric = _from_markdown(path)
    else:
        rubric = toml.load_file(path, Rubric)
    check_rubric(rubric, str(path), INPUTS)
    return rubric


class _FrontMatter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: str
    title: str
    description: str = ""
    inputs: dict[str, Need]
    grades: dict[str, str]
    better: Literal["higher", "lower"] = "higher"
    scope: Scope = "last_answer"
    claims: bool = False


def _from_markdown(path: Path) -> Rubric:
    text = read_text(path)
    mark, _, rest = text.partition("\n")
    front, closed, body = rest.partition("\n+++\n")
    if mark.strip() != "+++" or not closed:
        raise UsageError(f"{path}: a rubric in Markdown begins with its data, as TOML between two lines of +++")
    # A blank line in front, so that line numbers in messages are those of the file.
    data = toml.load(f"\n{front}", str(path), _FrontMatter)
    fields = {name: getattr(data, name) for name in _FrontMatter.__struct_fields__}
    return Rubric(**fields, template=body.strip())
