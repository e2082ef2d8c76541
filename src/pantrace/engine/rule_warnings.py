"""What rules name and no recording has: such a rule is kept by everybody, or applies to nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from pantrace.rules import RuleFile, demanded_arguments, tool_names
from pantrace.store import query


def unknown_tools(rules: Iterable[RuleFile], tools_seen: Mapping[str, Set[str]]) -> list[str]:
    """Tool words of rules of which no recording has any name: perhaps misspelt."""
    found = []
    for each in rules:
        found += [word for word, listed in each.tools.items() if not tools_seen.keys() & listed]
        aliased = {name for listed in each.tools.values() for name in listed}
        found += sorted(tool_names(each) - aliased - tools_seen.keys())
    return found


def rule_warnings(rules: Sequence[RuleFile], tools_seen: Mapping[str, Set[str]]) -> list[str]:
    """One sentence for each; `tools_seen` are the tools that were called, with the arguments that they were given."""
    warnings = [
        f"no recording has a tool {word!r}; is it spelled as in the recordings?"
        for word in unknown_tools(rules, tools_seen)
    ]
    for each in rules:
        for word, argument in sorted(demanded_arguments(each)):
            seen = [tools_seen[name] for name in each.tools.get(word, [word]) if name in tools_seen]
            if seen and not any(argument in names for names in seen):
                given = ", ".join(sorted(set().union(*seen))[:8]) or "none"
                warnings.append(f"no call of {word!r} has an argument {argument!r}; arguments given: {given}")
    return warnings


_TOOLS = """
select name, argument from (
  select name, unnest(case when json_type(arguments) = 'OBJECT' then json_keys(arguments) else [''] end) as argument
  from calls
) group by all order by all
"""


def warnings_of_run(folder: Path, rules: Sequence[RuleFile]) -> list[str]:
    """The same for the recordings of a run directory; none if nothing was recorded in it."""
    if not rules or not query(folder, "select 1 from steps limit 1").rows:
        return []
    seen: dict[str, set[str]] = {name: set() for (name,) in query(folder, "select distinct name from calls").rows}
    for name, argument in query(folder, _TOOLS).rows:
        seen[name].add(argument)
    return rule_warnings(rules, seen)
