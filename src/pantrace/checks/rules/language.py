"""The rule language: what a rule file may say. docs/rules.md explains it with examples."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from pantrace.errors import UsageError
from pantrace.wire import toml

Texts = str | list[str]
Turn = int | Literal["first", "last"]


class Fits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a value must be like; several demands must all hold."""

    equals: str | int | float | bool | None = None
    contains: Texts | None = None
    matches: str | None = None
    """A regular expression, searched anywhere in the value."""


class Condition(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"in_": "in", "all_": "all", "any_": "any", "not_": "not", "except_": "except"},
):
    """One demand on a trajectory: about text, about calls, or made of other demands."""

    in_: Literal["final_response", "any_response", "last_prompt", "any_prompt", "tool_output", "thinking"] | None = None
    """Where to look for text."""
    contains: Texts | None = None
    """All of these stand in the text."""
    contains_any: Texts | None = None
    lacks: Texts | None = None
    """None of these stands in the text."""
    matches: str | None = None
    """A regular expression that is found in the text."""
    after: str | None = None
    """Look only behind this text; where it is missing, the demand is not met."""
    ignore_case: bool = False

    called: Texts | None = None
    """A tool (or one of several) was called."""
    not_called: Texts | None = None
    before: Texts | None = None
    """With `called`: the first call of it comes before the first call of these."""
    at_least: int | None = None
    at_most: int | None = None
    """With `called`: how often."""
    arguments: dict[str, Fits | str | int | float | bool] | None = None
    """With `called`: only calls whose arguments fit count."""
    path: Fits | None = None
    """With `called`: only calls on such a path count."""

    each: Texts | None = None
    """Every call of this tool..."""
    preceded_by: Texts | None = None
    """...comes after a call of one of these,"""
    same_path: bool = False
    """on the same path or a folder above it,"""
    except_: list[str] = []
    """unless its path ends with one of these."""

    turn: Turn | None = None
    """Only this turn: "first", "last" or its number."""

    all_: list[Condition] | None = None
    any_: list[Condition] | None = None
    not_: Condition | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: when it applies, and what it demands."""

    id: str
    name: str
    description: str = ""
    when: Condition | None = None
    """The rule applies only where this holds; elsewhere it is not applicable, which is not a pass."""
    expect: Condition
    message: str | None = None
    """What to say when it is broken; by default what was found."""


class RuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule file."""

    name: str
    version: str
    description: str = ""
    tools: dict[str, list[str]] = {}
    """Aliases: one word for several tool names."""
    paths: dict[str, list[str]] = {}
    """Which arguments of a tool (or alias) hold paths: "filePath", "files[].path"."""
    rule: list[Rule] = []


def load_rules(name_or_path: str) -> RuleFile:
    """A rule file by its path, or a pack by its name."""
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.exists():
        rules = toml.load_file(path, RuleFile)
        _check_patterns(rules, str(path), path.read_text("utf-8-sig"))
        return rules
    if name_or_path not in packs():
        raise UsageError(f"no rule file and no pack {name_or_path!r}; packs: {', '.join(packs())}")
    source = resources.files(__package__).joinpath("packs", f"{name_or_path}.toml")
    return toml.load(source.read_text("utf-8"), f"pack {name_or_path}", RuleFile)


def packs() -> list[str]:
    """Names of the packs that come with pantrace."""
    folder = resources.files(__package__).joinpath("packs")
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


def _check_patterns(rules: RuleFile, name: str, text: str) -> None:
    for number, rule in enumerate(rules.rule):
        for condition in (rule.when, rule.expect):
            for pattern in _patterns(condition):
                try:
                    re.compile(pattern)
                except re.error as error:
                    line = toml.line_of(text, f"rule[{number}]")
                    raise UsageError(
                        f"{name}: line {line}: rule {rule.id}: {pattern!r} is not a regular expression: {error}"
                    ) from None
        if not _says_something(rule.expect):
            line = toml.line_of(text, f"rule[{number}]")
            raise UsageError(f"{name}: line {line}: rule {rule.id}: `expect` demands nothing")


def _patterns(condition: Condition | None) -> list[str]:
    if condition is None:
        return []
    found = [condition.matches, condition.path.matches if condition.path else None]
    found += [fits.matches for fits in (condition.arguments or {}).values() if isinstance(fits, Fits)]
    inner = [*(condition.all_ or []), *(condition.any_ or []), *([condition.not_] if condition.not_ else [])]
    return [pattern for pattern in found if pattern is not None] + [each for one in inner for each in _patterns(one)]


def _says_something(condition: Condition) -> bool:
    return condition != Condition(turn=condition.turn, in_=condition.in_, ignore_case=condition.ignore_case)


def tool_names(rules: RuleFile) -> set[str]:
    """Every tool name that the rules speak of, aliases resolved."""
    found: set[str] = set()
    for rule in rules.rule:
        for condition in (rule.when, rule.expect):
            found |= _tools(condition)
    return {name for word in found for name in rules.tools.get(word, [word])}


def _tools(condition: Condition | None) -> set[str]:
    if condition is None:
        return set()
    named = (condition.called, condition.not_called, condition.before, condition.each, condition.preceded_by)
    inner = [*(condition.all_ or []), *(condition.any_ or []), *([condition.not_] if condition.not_ else [])]
    own = {word for texts in named if texts for word in ([texts] if isinstance(texts, str) else texts)}
    return own.union(*(_tools(each) for each in inner))
