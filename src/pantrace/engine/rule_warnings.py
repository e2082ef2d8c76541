"""Names in rules that no recording has: such a rule can never fail, or never applies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from pantrace.rules import RuleFile, demanded_arguments, tool_names
from pantrace.store import query
from pantrace.wire.closest_name import closest_name


def unknown_tools(rules: Iterable[RuleFile], tools_seen: Mapping[str, Set[str]]) -> list[str]:
    """Tool names in rules that no recording has: perhaps misspelt."""
    found = []
    for each in rules:
        found += [word for word, listed in each.tools.items() if not tools_seen.keys() & listed]
        aliased = {name for listed in each.tools.values() for name in listed}
        found += sorted(tool_names(each) - aliased - tools_seen.keys())
    return found


def rule_warnings(rules: Sequence[RuleFile], tools_seen: Mapping[str, Set[str]]) -> list[str]:
    """One sentence for each; `tools_seen` are the tools that were called, with the names of their arguments."""
    warnings = []
    for word in unknown_tools(rules, tools_seen):
        meant = closest_name(word, tools_seen)
        asked = f"did you mean {meant!r}?" if meant is not None else "is it spelled as in the recordings?"
        warnings.append(f"no recording has a tool {word!r}; {asked}")
    for each in rules:
        for word, argument in sorted(demanded_arguments(each)):
            seen = [tools_seen[name] for name in each.tools.get(word, [word]) if name in tools_seen]
            if seen and not any(argument in names for names in seen):
                given = ", ".join(sorted(set().union(*seen))[:8]) or "none"
                warnings.append(f"no call of {word!r} has an argument {argument!r}; arguments given: {given}")
    return warnings


_KEPT_BY_ABSENCE = """
select name, json_extract_string(details, '$.unseen'), count(*) from scores
where status = 'scored' and name in (select distinct name from scores where details like '%"unseen":%')
group by all
"""


def unseen_in_run(folder: Path, profiles: Sequence[str]) -> list[str]:
    """Rules that decide and are kept only because no recording of the run directory has the tool that they forbid: the
    tool may be misspelt. One sentence for each."""
    counted: dict[str, list[tuple[str | None, int]]] = {}
    for name, unseen, count in query(folder, _KEPT_BY_ABSENCE).rows:
        counted.setdefault(name, []).append((unseen, count))
    if not counted:
        return []
    chosen = query(folder, "select distinct profile, deciding from decisions").rows
    deciding = {name for profile, names in chosen if profile in profiles for name in json.loads(names)}
    seen = {name for (name,) in query(folder, "select distinct name from calls").rows}
    found = []
    for rule, texts in counted.items():
        everywhere = [{tuple(group) for group in json.loads(text)} if text else set() for text, _ in texts]
        for group in sorted(set.intersection(*everywhere)):
            if rule in deciding and not seen & {*group}:
                named = " or ".join(repr(name) for name in group)
                found.append(
                    f"{rule} is kept only because no recording has a tool {named}; "
                    'correct the name, or add unseen = "ok" to the rule if it is meant'
                )
    return found


# In SQL: only the distinct names leave the database, however many calls there are.
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
