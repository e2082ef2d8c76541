"""The preset `bfcl_ast` gives the verdict of the real ast checker, on thousands of generated answers."""

from __future__ import annotations

import random
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pantrace.matching.call import Call
from pantrace.matching.presets.bfcl import ast_match

SCHEMA: dict[str, Any] = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "share": {"type": "float"},
    "open": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "sizes": {"type": "array", "items": {"type": "integer"}},
    "range": {"type": "tuple", "items": {"type": "float"}},
    "place": {"type": "dict"},
    "stops": {"type": "array", "items": {"type": "dict"}},
    "other": {"type": "any"},
}
VALUES: dict[str, tuple[Any, ...]] = {
    "city": ("New York", "new-york", "Paris", "it's", 'it"s', "", 5),
    "days": (1, 2, 1.0, True, "1", "days"),
    "share": (1, 1.0, 0.5, "0.5", "share", True),
    "open": (True, False, 1, "open"),
    "tags": (["a", "B."], ["A", "b"], ["a"], [], ["a", 1], "tags"),
    "sizes": ([1, 2], [1, 2.0], ["1"], [], [True], "sizes"),
    "range": ([1.0, 2.0], [1, 2], [], [0.5, "x"]),
    "place": ({"street": "Main St."}, {"street": "main st", "no": 5}, {"street": 1}, {}, "place"),
    "stops": ([{"street": "Main St."}], [{"street": "main st", "no": 5}], [{}, {}], [], ["x"], "stops"),
    "other": ("x", "X", 1, None),
}
ANSWERS: dict[str, tuple[Any, ...]] = {
    **VALUES,
    "place": ({"street": ["Main St", "Broadway"]}, {"street": ["main st."], "no": [5, ""]}, "place"),
    "stops": ([{"street": ["Main St"]}], [{"street": ["Main St"], "no": [5, ""]}], "stops"),
    "range": ([1.0, 2.0], [1, 2], [0.5, 1.0]),
}


def case(dice: random.Random) -> tuple[list[dict[str, Any]], list[Call], list[Call]]:
    """Descriptions of functions, calls made, and calls with their allowed answers."""
    names = dice.sample(("geo.find", "plan", "book"), 2)
    functions = []
    for name in names:
        parameters = dice.sample(sorted(SCHEMA), 4)
        required = dice.sample(parameters, dice.randrange(2))
        properties = {each: SCHEMA[each] for each in parameters}
        functions.append({"name": name, "parameters": {"type": "dict", "properties": properties, "required": required}})
    wanted, made = [], []
    for _ in range(dice.randrange(1, 3)):
        function = dice.choice(functions)
        answers: dict[str, list[Any]] = {}
        given: dict[str, Any] = {}
        for name in function["parameters"]["properties"]:
            if dice.random() < 0.3:
                continue
            answers[name] = list(dice.sample(ANSWERS[name], dice.randrange(1, 3)))
            if dice.random() < 0.4:
                answers[name].append("")
            if dice.random() < 0.85:
                right = VALUES[name][:2] if name in ("place", "stops") else answers[name]
                given[name] = dice.choice(right if dice.random() < 0.8 else VALUES[name])
        wanted.append(Call(function["name"], answers))
        made.append(Call(function["name"].replace(".", "_"), given))
    dice.shuffle(made)
    if dice.random() < 0.05:
        made.append(made[0])
    return functions, made, wanted


def test_the_verdict_is_that_of_the_real_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    # The module lists handlers of all vendors; the checker only asks it whether a model writes _ for dots.
    models = ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"any": SimpleNamespace(underscore_to_dot=True)}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bfcl_eval.constants.model_config", models)
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    dice = random.Random(11)
    verdicts = {True: 0, False: 0}
    broken = 0
    for _ in range(6000):
        functions, made, wanted = case(dice)
        output = [{call.name: call.arguments} for call in made]
        answers = [{call.name: call.arguments} for call in wanted]
        schemas = {function["name"]: function["parameters"] for function in functions}
        verdict = ast_match(made, wanted, schemas)
        try:
            theirs = ast_checker(functions, output, answers, Language.PYTHON, "parallel", "any")["valid"]
        except (AttributeError, TypeError, KeyError):
            broken += 1  # answers of another type than declared: theirs raises, ours has a verdict
            continue
        assert verdict == theirs, (functions, made, wanted)
        verdicts[theirs] += 1
    assert min(verdicts.values()) > 600
    assert broken < 600
