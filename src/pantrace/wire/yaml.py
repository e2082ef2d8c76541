"""YAML that people write (settings, rubrics, prompts): words stay words, and nothing in it can run code or expand."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cache
from typing import Any

from pantrace.errors import UsageError

from .limits import limits
from .optional import list_of

_MOST_VALUES = 100_000
_DEEPEST = 100
_TYPED = {
    "tag:yaml.org,2002:null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    "tag:yaml.org,2002:bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    "tag:yaml.org,2002:int": (r"^[-+]?[0-9]+$", list("-+0123456789")),
    "tag:yaml.org,2002:float": (
        r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
    "tag:yaml.org,2002:merge": (r"^<<$", ["<"]),
}
"""The core schema of YAML 1.2: `no`, `on` and 2026-01-02 are texts, as their authors mean them."""


def load_yaml(text: str, name: str) -> Any:
    """The values of a YAML text; UsageError names the file and line of what cannot be read."""
    # Late: most commands read no YAML.
    import yaml

    try:
        loader = _loader()(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _count_values(node, {}, 0)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f": line {mark.line + 1}" if mark else ""
        raise UsageError(f"{name}{where}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        told = " ".join(str(error).split())
        if "int_max_str_digits" in told:  # Python's own message is for programmers
            told = f"a number of more than {limits().digits:,} digits"
        raise UsageError(f"{name}: not valid YAML: {told}") from None
    except RecursionError:
        raise UsageError(f"{name}: nested deeper than {_DEEPEST} levels") from None


def _count_values(node: Any, known: dict[int, int], depth: int) -> int:
    """The number of values in a node with its aliases expanded; a few lines of aliases can mean billions."""
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    if id(node) in known:
        return known[id(node)]
    if isinstance(node.value, str) and any("\ud800" <= letter <= "\udfff" for letter in node.value):
        raise ValueError(f"line {node.start_mark.line + 1} has half a letter (a lone surrogate)")
    inner = list_of(node.value)
    count = 1
    for each in inner:
        for part in each if isinstance(each, tuple) else (each,):
            count += _count_values(part, known, depth + 1)
    if count > _MOST_VALUES:
        raise ValueError(f"its aliases expand to more than {_MOST_VALUES:,} values")
    known[id(node)] = count
    return count


@cache
def _loader() -> Any:
    import yaml

    class Words(yaml.SafeLoader):  # type: ignore[misc] # the library has no types
        """Reads plain data only; a key that occurs twice is an error."""

        yaml_implicit_resolvers: dict[str, Any] = {}

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen = set()
            for key, _ in node.value:
                if key.tag != "tag:yaml.org,2002:merge":
                    value = self.construct_object(key, deep=True)
                    if isinstance(value, Hashable) and value in seen:
                        raise yaml.constructor.ConstructorError(None, None, f"{value!r} occurs twice", key.start_mark)
                    # YAML allows lists and objects as keys; they are refused later.
                    seen.add(value if isinstance(value, Hashable) else id(key))
            found: dict[Hashable, Any] = super().construct_mapping(node, deep)
            return found

    for tag, (pattern, first) in _TYPED.items():
        Words.add_implicit_resolver(tag, re.compile(pattern), first)
    Words.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
    return Words
