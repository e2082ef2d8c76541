"""A function takes the words of its command, with the same defaults. What differs is listed, with the reason."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
import pytest

import pantrace
from goldens import ROOT
from pantrace.cli import cli
from pantrace.errors import UsageError, in_command
from pantrace.library.results import Results

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(pantrace, name) for name in pantrace.__all__ if name in cli.list_commands(click.Context(cli))},
    "eval": pantrace.evaluate,
    "gate": Results.gate,
}

EVERYWHERE = {
    "--json": ".to_dict() of every result",
    "--csv": ".to_pandas().to_csv()",
    "--verbose": "results are whole",
    "--help": "help(function)",
    "--max-unpacked": "pantrace.wire.limits.allow_unpacked, for the whole process",
    "--max-record": "pantrace.wire.limits.allow_record, for the whole process",
    "--since": "selection=pantrace.select(since=...)",
    "--until": "selection=pantrace.select(until=...)",
    "--sample": "selection=pantrace.select(sample=...)",
    "--where": "selection=pantrace.select(where=...)",
    "--limit": "selection=pantrace.select(limit=...)",
}
"""Options that no function has by their names, and what takes their place."""

WORDS = {
    "--agent": "agent",  # several are a mapping
    "--by": "by",
    "--labels": "labels",
    "--from": "format",  # `from` is a word of Python
    "--no-eval": "evaluate",
    "--output": "out",
    "--rules": "rules",
    "--set": "settings",
}
"""Options whose parameters do not follow from their spelling: --no-X is X, and what may be repeated has an s."""

ENGINE = {
    "--jobs": "a worker imports the script that started it once more: the command has a process of its own for that",
    "--engine": "as --jobs",
    "--ray-address": "as --jobs",
}
ONLY_COMMAND = {
    "measure": {
        **ENGINE,
        "--by": "group the frame: .to_pandas().groupby(...)",
        "--format": "what a result is handed on as is chosen by its methods",
        "--option": "fields of an OpenAdapt evaluation, which only the command writes",
        "--output": "what a result is handed on as is chosen by its methods",
    },
    "check": {
        **ENGINE,
        "--junit": "pytest has its own",
        "--output": ".to_dict()",
        "--ci": "old spelling of --min-pass-rate",
    },
    "judge": {
        **ENGINE,
        "--dry-run": "shows prompts; nothing to hand on",
        "--output": "what a result is handed on as is chosen by its methods",
        "--format": "what a result is handed on as is chosen by its methods",
    },
    "eval": {
        **ENGINE,
        "--gate": ".gate() of the result",
        "--min-pass-rate": ".gate(min_pass_rate=...)",
        "--by": ".summary.groups has every group",
        "--junit": "pytest has its own",
        "--markdown": "pantrace.report(results, out='x.md')",
        "--report": "a document of another tool, which only the command writes",
        "--workshop": "documents of another tool, which only the command writes",
    },
    "gate": {
        "--junit": "pytest has its own",
        "--markdown": "pantrace.report(results, out='x.md')",
        "--report": "a document of another tool, which only the command writes",
    },
    "run": {
        "--gate": ".gate() of the result",
        "--junit": "pytest has its own",
        "--markdown": "pantrace.report(results, out='x.md')",
        "--report": "a document of another tool, which only the command writes",
        "--workshop": "documents of another tool, which only the command writes",
    },
    "compare": {
        "--trend": "pantrace.trend: another result",
        "--gate": ".comparisons[...].no_worse, or Results.gate(baseline=...)",
        "--markdown": "pantrace.report(a, b, out='x.md')",
        "--flips": ".comparisons[...].flips has all",
    },
    "report": {"--redact": "what it does anyway; an old word that scripts still use"},
    "diagnose": {
        "--output": ".to_dict()",
        "--trace-analysis": "a document of another tool, which only the command writes",
    },
    "plot": {
        "--output": ".save(FILE) of the result",
        "--format": ".save(FILE, kind=...)",
        "--width": ".save(FILE, width=...)",
        "--height": ".save(FILE, height=...)",
        "--dpi": ".save(FILE, dpi=...)",
    },
    "convert": {
        **ENGINE,
        "--output": "the second argument, `target`",
        "--loss": "on_loss=list.append, or .losses",
        "--no-loss": "measure=False: `loss` is the list in the command",
    },
}
"""Options of a command that its function does not have, and what takes their place."""

ONLY_FUNCTION = {
    "keys": "keys of providers; commands read them from the environment only",
    "selection": "--where, --since, --until, --sample and --limit together",
    "measure": "--no-loss of convert",
    "target": "-o of convert",
    "engine": "the object that --jobs, --engine and --ray-address make together",
    "headlines": "aggregate --json has all measures, its table the main one of each metric",
}
"""Parameters that no option has by their names."""

DEFAULTS: dict[tuple[str, str], str] = {}
"""Parameters whose defaults differ, and why."""


def command_of(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def parameter_of(option: click.Option) -> tuple[str, str, Any]:
    """How an option is spelled, what it is called as a parameter, and its default there."""
    spelled = max((each for each in option.opts if each not in getattr(option, "old", ())), key=len)
    word = spelled.removeprefix("--").removeprefix("no-").replace("-", "_") + ("s" if option.multiple else "")
    if option.is_flag:
        return spelled, WORDS.get(spelled, word), spelled.startswith("--no-")
    default = option.default if isinstance(option.default, (int, float, str)) else None
    return spelled, WORDS.get(spelled, word), default


def plain(default: Any) -> Any:
    """None where nothing is said: an empty list, an empty mapping and no value mean the same."""
    empty = default is inspect.Parameter.empty or (isinstance(default, (Iterable, Mapping)) and not default)
    return None if empty and not isinstance(default, str) else default


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_words_and_defaults_of_its_command(name: str) -> None:
    parameters = dict(inspect.signature(FUNCTIONS[name]).parameters)
    parameters.pop("self", None)
    met = set()
    for option in command_of(name).params:
        if not isinstance(option, click.Option):
            continue
        spelled, word, default = parameter_of(option)
        if spelled in EVERYWHERE or spelled in ONLY_COMMAND.get(name, {}):
            continue
        assert word in parameters, f"{name} {spelled}: no parameter {word}, and no reason why not"
        met.add(word)
        if (name, word) not in DEFAULTS:
            assert plain(parameters[word].default) == default, f"{name} {spelled}"
    arguments = [each.name for each in command_of(name).params if isinstance(each, click.Argument)]
    for word, parameter in parameters.items():
        first = parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_OR_KEYWORD) and arguments
        known = word in met or word in ONLY_FUNCTION or word.startswith("on_") or first
        assert known, f"{name}: no option for {word}, and no reason why not"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_error_names_the_parameter_and_in_a_command_the_option(name: str) -> None:
    for option in command_of(name).params:
        if not isinstance(option, click.Option):
            continue
        spelled, word, _ = parameter_of(option)
        if spelled in EVERYWHERE or spelled in ONLY_COMMAND.get(name, {}):
            continue
        error = UsageError(f"{spelled} X is wrong (`pantrace {name} {spelled}`)")
        told, rest = str(error).split(" ", 1)
        # One function takes one metric or judge, another several.
        assert told.removesuffix("=False").removesuffix("s") == word.removesuffix("s"), spelled
        assert rest == f"X is wrong (`pantrace {name} {spelled}`)"
        with in_command():
            assert str(error).startswith(f"{spelled} X")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: pantrace.compare(path, path, margins=["x"]), "^margins='x' is not a number"),
        (lambda path: pantrace.measure(path, settings={"nope": 1}), "^settings='nope=1' is not METRIC.KEY=VALUE"),
        (lambda path: pantrace.convert(path, "x.unknown"), "add to=FORMAT"),
        (
            lambda path: pantrace.power(),
            "name a difference to detect \\(delta=0.05\\), a number of cases \\(cases=200\\)",
        ),
    ],
    ids=["compare", "measure", "convert", "power"],
)
def test_errors_in_python_name_no_option(call: Callable[[str], Any], words: str) -> None:
    path = str(ROOT / "native/every_part.trace.jsonl")
    with pytest.raises(UsageError, match=words) as raised:
        call(path)
    assert not re.search(r"(?<!`)--[a-z]", str(raised.value))


def test_every_reason_is_still_needed() -> None:
    for name, options in ONLY_COMMAND.items():
        spelled = {each for option in command_of(name).params for each in option.opts}
        assert options.keys() <= spelled, name
    every = {word for function in FUNCTIONS.values() for word in inspect.signature(function).parameters}
    assert ONLY_FUNCTION.keys() <= every


def test_the_reasons_name_what_there_is() -> None:
    told = " ".join(reason for options in (EVERYWHERE, *ONLY_COMMAND.values()) for reason in options.values())
    for name in re.findall(r"pantrace\.([a-z_]+)\(", told):
        assert name in pantrace.__all__
