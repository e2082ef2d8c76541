"""A configuration of OpenCode's evaluators (`eval_config.yaml`) as a plan.

It names tools by what they do, and may name the rubric, the judge's models and paths. Its five programmatic checks are
the rule pack `stateless-handoff`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.errors import UsageError
from pantrace.wire.text_file import read_text
from pantrace.wire.tool_map import SECTION, invert
from pantrace.wire.yaml import load_yaml

from .plan import CheckTable, JudgeTable, Plan

PACK = "stateless-handoff"
_RUBRICS = ("rubric", "rubrics")
_MODELS = ("model", "models", "judge", "judge_model")
_KNOWN = {SECTION, *_RUBRICS, *_MODELS, "paths", "version", "metadata", "description", "name"}
_PROVIDERS = {"gemini": "google", "claude": "anthropic", "gpt": "openai", "o3": "openai", "o4": "openai"}


def is_config(path: Path) -> bool:
    """Whether a plan is one of these files."""
    return path.suffix.lower() in (".yaml", ".yml")


def plan_of_config(path: Path) -> tuple[Plan, dict[str, Any]]:
    """The plan, and the paths in the file: inputs and outputs, which we take from the command line instead."""
    data = load_yaml(read_text(path), str(path))
    if not isinstance(data, dict) or not data.keys() & {SECTION, *_RUBRICS, *_MODELS}:
        raise UsageError(f"{path}: not a plan: it has neither {SECTION} nor a rubric or models; plans are TOML")
    # A misspelt key would silently check less than the author wanted.
    if unknown := sorted(map(str, data.keys() - _KNOWN)):
        raise UsageError(f"{path}: unknown key {unknown[0]!r}; known are {', '.join(sorted(_KNOWN))}")
    # Checked now, so that a wrong tool map is reported with this file's name.
    if SECTION in data:
        invert(data[SECTION], str(path))
    rubrics = [text for key in _RUBRICS for text in _texts(data.get(key), f"{path}: {key}")]
    models = [_provided(text) for key in _MODELS for text in _texts(data.get(key), f"{path}: {key}")]
    plan = Plan(
        name=path.stem,
        check=CheckTable(rules=[PACK], tool_map=path.name if SECTION in data else None),
        judge=JudgeTable(models=list(dict.fromkeys(models)), rubrics=rubrics),
    )
    paths = data.get("paths")
    return plan, paths if isinstance(paths, dict) else {}


def unused_paths(path: Path) -> str | None:
    """A warning about the paths in a configuration; None if it has none."""
    paths = plan_of_config(path)[1]
    if not paths:
        return None
    return f"{path.name}: paths ({', '.join(map(str, paths))}) are ignored; name them on the command line"


def _texts(value: Any, place: str) -> list[str]:
    """One text, a list of texts, or a mapping from their purpose to texts."""
    listed = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    found = [each for each in listed if each is not None]
    if strange := [each for each in found if not isinstance(each, str)]:
        raise UsageError(f"{place}: must be text, not {strange[0]!r}")
    return found


def _provided(model: str) -> str:
    """A model with its provider, which the names of the well-known models reveal."""
    if ":" in model:
        return model
    found = next((provider for start, provider in _PROVIDERS.items() if model.startswith(start)), None)
    if found is None:
        raise UsageError(f"the model {model!r} needs its provider in front: openai:, anthropic: or google:")
    return f"{found}:{model}"
