"""The rule language: what a rule file may contain. docs/rules.md explains it with examples."""

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
"""In place of a tool's name: any tool."""
Texts = str | list[str]
Turn = int | Literal["first", "last"]


class Fits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a value must be like; all given conditions must hold."""

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
    """One condition for a trajectory: on text, on calls, or combined from other conditions."""

    in_: Literal["final_response", "any_response", "last_prompt", "any_prompt", "tool_output", "thinking"] | None = None
    """Where to look for text."""
    contains: Texts | None = None
    """All of these are in the text."""
    contains_any: Texts | None = None
    lacks: Texts | None = None
    """None of these is in the text."""
    matches: str | None = None
    """A regular expression that is found in the text."""
    after: str | None = None
    """Look only after this text; if it is missing, the condition is not met."""
    ignore_case: bool = False

    called: Texts | None = None
    """A tool (or one of several) was called."""
    not_called: Texts | None = None
    before: Texts | None = None
    """With `called`: its first call comes before the first call of these."""
    at_least: int | None = None
    at_most: int | None = None
    """With `called`: the number of calls."""
    arguments: dict[str, Fits | str | int | float | bool] | None = None
    """With `called`: only calls with matching arguments count."""
    path: Fits | str | None = None
    """With `called`: only calls with a matching path count."""
    failed: bool | None = None
    """With `called`: only failed calls count, or (false) only answered calls that did not fail."""

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
    """One rule: when it applies, and what it requires."""

    id: str
    name: str
    description: str = ""
    when: Condition | None = None
    """The rule applies only if this holds; otherwise it is not applicable, which is not a pass."""
    expect: Condition
    message: str | None = None
    """The message if the rule is broken; by default what was found."""
    # Unset and not None: a rule without it keeps its hash, and run directories of earlier versions continue.
    unseen: Literal["ok"] | msgspec.UnsetType = msgspec.UNSET
    """"ok": a gate may pass by this rule even if no recording has the tool that it forbids."""


class RuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule file."""

    name: str
    version: str
    description: str = ""
    tools: dict[str, list[str]] = {}
    """Aliases: one name for several tools."""
    paths: dict[str, list[str]] = {}
    """Which arguments of a tool (or alias) are paths: "filePath", "files[].path"."""
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
    # Without `_check`: the tests show that each rule of each pack can pass, fail and not apply.
    return toml.load(source.read_text("utf-8"), f"pack {name_or_path}", RuleFile)


def with_tool_map(rules: RuleFile, logical_names: Mapping[str, str]) -> RuleFile:
    """A rule file whose aliases also include the physical names of tools."""
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
    """Refuse rules that do not mean what they seem to. A rule must never pass because it requires nothing."""
    # An empty alias would make every `not_called` rule pass.
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
"""Keys that mean nothing without one of these other keys."""


def _senseless(condition: Condition) -> str | None:
    """Why a condition requires nothing, or not what it seems to; None if it is fine."""
    given = msgspec.to_builtins(condition)
    # An empty text is in every text.
    empty = [key for key in (*_DEMANDS, "before", "preceded_by") if given[key] in ("", []) or "" in _words(given[key])]
    if empty:
        return f"requires nothing: {empty[0]} is empty"
    # False is their default, so it does not count as stated; for `failed`, false is a condition.
    off = ("ignore_case", "same_path")
    stated = {key for key, value in given.items() if value is not None and value != [] and (value or key not in off)}
    if stated <= {"in", "ignore_case", "turn"}:
        return "requires nothing"
    for key, others in _NEEDS.items():
        if key in stated and not stated.intersection(others):
            return f"has {key} without {' or '.join(others)}"
    # It is unclear whether the count means all calls or only those before.
    if "before" in stated and stated & {"at_least", "at_most"}:
        return "has before together with at_least or at_most; write two conditions under all"
    if isinstance(condition.turn, int) and condition.turn < 1:
        return f"has turn = {condition.turn}; turns count from 1"
    return _miscounted(condition) or _formless(condition)


def _miscounted(condition: Condition) -> str | None:
    """Why a number of calls is always or never true; None if it is fine."""
    low, high = condition.at_least, condition.at_most
    if (low is not None and low < 0) or (high is not None and high < 0):
        return "has a negative number of calls"
    if low == 0 and high is None:
        return "requires nothing: at_least = 0 is always true"
    if low is not None and high is not None and low > high:
        return f"can never be true: at_least = {low} is more than at_most = {high}"
    return None


def _formless(condition: Condition) -> str | None:
    """Why an argument or path requires nothing; None if it is fine."""
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
    """Every tool name in the rules, with aliases resolved."""
    found: set[str] = set()
    for rule in rules.rule:
        for condition in (rule.when, rule.expect):
            found |= _tools(condition)
    return {name for word in found for name in rules.tools.get(word, [word])} - {ANY_TOOL}


def forbidden_tools(condition: Condition, *, negated: bool = False) -> list[list[str]]:
    """The tools whose absence meets a condition, as they are named together: "at most 0 calls", `not_called`, or
    `called` inside `not`."""
    found: list[Texts | None] = []
    if negated:
        found.append(condition.called if condition.at_most is None else None)
    else:
        found.append(condition.not_called)
        if condition.at_most is not None and not condition.at_least:
            found.append(condition.called)
    words = [[texts] if isinstance(texts, str) else texts for texts in found if texts]
    for each in (*(condition.all_ or ()), *(condition.any_ or ())):
        words += forbidden_tools(each, negated=negated)
    if condition.not_ is not None:
        words += forbidden_tools(condition.not_, negated=not negated)
    return [each for each in words if ANY_TOOL not in each]


def demanded_arguments(rules: RuleFile) -> set[tuple[str, str]]:
    """Tools with the arguments that the rules compare."""
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
