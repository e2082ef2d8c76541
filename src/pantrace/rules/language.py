"""The rule language: what a rule file may say. docs/rules.md explains it with examples."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from pantrace.errors import UsageError
from pantrace.wire import toml
from pantrace.wire.patterns import compiled
from pantrace.wire.text_file import exists, read_text

ANY_TOOL = "*"
"""In place of a tool's name: whichever was called."""
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
    """One demand on a trajectory: on text, on calls, or made of other demands."""

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
    path: Fits | str | None = None
    """With `called`: only calls on such a path count."""
    failed: bool | None = None
    """With `called`: only calls that failed count, or (false) only answered ones that did not."""

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
    """A rule file by path, or a pack by name."""
    path = Path(name_or_path)
    if path.suffix == ".toml" or exists(path):
        text = read_text(path)  # once: a pipe is empty the second time
        rules = toml.load(text, str(path), RuleFile)
        _check(rules, str(path), text)
        return rules
    if name_or_path not in packs():
        raise UsageError(f"no rule file and no pack {name_or_path!r}; packs: {', '.join(packs())}")
    source = resources.files(__package__).joinpath("packs", f"{name_or_path}.toml")
    return toml.load(source.read_text("utf-8"), f"pack {name_or_path}", RuleFile)


def with_tool_map(rules: RuleFile, logical_names: Mapping[str, str]) -> RuleFile:
    """A rule file that also knows tools by their physical names."""
    found = {
        alias: [*names, *(name for name, logical in logical_names.items() if logical in names and name not in names)]
        for alias, names in rules.tools.items()
    }
    return msgspec.structs.replace(rules, tools=found)


def packs() -> list[str]:
    """The names of the packs that come with pantrace."""
    folder = resources.files(__package__).joinpath("packs")
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


def _check(rules: RuleFile, name: str, text: str) -> None:
    """Refuse what a reader of the file would misunderstand. A rule must never pass because it demands nothing."""
    for word, listed in rules.tools.items():
        if not listed:
            raise UsageError(f"{name}: line {toml.line_of(text, f'tools.{word}')}: {word!r} has no tools")
    seen: set[str] = set()
    for number, rule in enumerate(rules.rule):
        wrong = [f"there is another rule {rule.id}"] if rule.id in seen else []
        seen.add(rule.id)
        for key, condition in (("when", rule.when), ("expect", rule.expect)):
            wrong += [f"`{key}` {what}" for each in _every(condition) if (what := _senseless(each)) is not None]
            for pattern in _patterns(condition):
                try:
                    compiled(pattern)
                except UsageError as error:
                    wrong.append(f"{pattern!r} is {error}")
        if wrong:
            line = toml.line_of(text, f"rule[{number}]")
            raise UsageError(f"{name}: line {line}: rule {rule.id}: {wrong[0]}")


_TEXT = ("contains", "contains_any", "lacks", "matches", "after")
_DEMANDS = (*_TEXT, "called", "not_called", "each", "all", "any", "not")
_NEEDS = {
    "in": _TEXT,
    "ignore_case": _TEXT,
    "turn": (*_TEXT, "called", "not_called", "each"),
    "before": ("called",),
    "at_least": ("called",),
    "at_most": ("called",),
    "arguments": ("called",),
    "path": ("called",),
    "failed": ("called",),
    "preceded_by": ("each",),
    "same_path": ("each",),
    "except": ("each",),
    "each": ("preceded_by",),
}
"""Keys that say nothing without one of the others beside them."""


def _senseless(condition: Condition) -> str | None:
    """Why a condition says nothing, or not what it seems to say; None if it is fine."""
    given = msgspec.to_builtins(condition)
    empty = [key for key in (*_DEMANDS, "before", "preceded_by") if given[key] in ("", []) or "" in _words(given[key])]
    if empty:
        return f"requires nothing: {empty[0]} is empty"
    off = ("ignore_case", "same_path")
    stated = {key for key, value in given.items() if value is not None and value != [] and (value or key not in off)}
    if stated <= {"in", "ignore_case", "turn"}:
        return "demands nothing"
    for key, others in _NEEDS.items():
        if key in stated and not stated.intersection(others):
            return f"has {key} without {' or '.join(others)}"
    if "before" in stated and stated & {"at_least", "at_most"}:
        return "has before together with at_least or at_most; write two conditions under all"
    if isinstance(condition.turn, int) and condition.turn < 1:
        return f"has turn = {condition.turn}; turns count from 1"
    return _miscounted(condition) or _formless(condition)


def _miscounted(condition: Condition) -> str | None:
    """Why a number of calls holds always or never; None if it is fine."""
    low, high = condition.at_least, condition.at_most
    if (low is not None and low < 0) or (high is not None and high < 0):
        return "has a negative number of calls"
    if low == 0 and high is None:
        return "requires nothing: at_least = 0 is always true"
    if low is not None and high is not None and low > high:
        return f"can never be true: at_least = {low} is more than at_most = {high}"
    return None


def _formless(condition: Condition) -> str | None:
    """An argument or path of which nothing is demanded."""
    if condition.arguments == {}:
        return "requires nothing: arguments is empty"
    fits = {"path": condition.path, **{f"arguments.{name}": each for name, each in (condition.arguments or {}).items()}}
    for name, each in fits.items():
        if isinstance(each, Fits):
            demands = [each.equals, each.contains, each.matches]
            if all(demand is None for demand in demands) or each.contains in ("", []) or each.matches == "":
                return f"requires nothing: {name} is empty"
        elif name == "path" and each == "":
            return "requires nothing: path is empty"
    return None


def _words(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _every(condition: Condition | None) -> list[Condition]:
    """A condition and all conditions inside it."""
    if condition is None:
        return []
    inner = [*(condition.all_ or []), *(condition.any_ or []), *([condition.not_] if condition.not_ else [])]
    return [condition, *(each for one in inner for each in _every(one))]


def _patterns(condition: Condition | None) -> list[str]:
    found: list[str | None] = []
    for each in _every(condition):
        fits = [each.path, *(each.arguments or {}).values()]
        found += [each.matches, *(one.matches for one in fits if isinstance(one, Fits))]
    return [pattern for pattern in found if pattern is not None]


def tool_names(rules: RuleFile) -> set[str]:
    """Every tool name in the rules, aliases resolved."""
    found: set[str] = set()
    for rule in rules.rule:
        for condition in (rule.when, rule.expect):
            found |= _tools(condition)
    return {name for word in found for name in rules.tools.get(word, [word])} - {ANY_TOOL}


def demanded_arguments(rules: RuleFile) -> set[tuple[str, str]]:
    """Tools and the arguments that the rules look at in their calls."""
    return {
        (word, argument)
        for rule in rules.rule
        for condition in (rule.when, rule.expect)
        for each in _every(condition)
        for word in ([each.called] if isinstance(each.called, str) else each.called or ())
        for argument in each.arguments or ()
    }


def _tools(condition: Condition | None) -> set[str]:
    found: set[str] = set()
    for each in _every(condition):
        named = (each.called, each.not_called, each.before, each.each, each.preceded_by)
        found |= {word for texts in named if texts for word in ([texts] if isinstance(texts, str) else texts)}
    return found
