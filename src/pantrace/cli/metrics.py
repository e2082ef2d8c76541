"""`pantrace metrics`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from pantrace.checks import Check, all_checks
from pantrace.engine.measure import load_plugins

from .arguments import as_json
from .formats import field_docs
from .output import print_json, table


@click.command("metrics")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also the checks of this Python file.")
@as_json
def command(plugins: tuple[str, ...], as_json: bool) -> None:
    """List the deterministic metrics: what each measures, its formula, and when it does not apply.

    \b
    pantrace metrics
    pantrace metrics --json | jq '.[] | {name, formula}'
    """
    found = [*all_checks(), *load_plugins([Path(path) for path in plugins]).values()]
    if as_json:
        print_json([described(each) for each in found])
        return
    table(["metric", "better", "what it measures"], [[each.name, _better(each), each.summary] for each in found])


def _better(each: Check) -> str:
    return each.scale.better if each.scale is not None else "-"


def described(each: Check) -> dict[str, Any]:
    """What the list says of one metric."""
    documented = each.documented
    docs = field_docs(each.settings)
    return {
        "name": each.name,
        "version": each.version,
        "summary": each.summary,
        "formula": documented.get("Formula"),
        "not_applicable_when": documented.get("Not applicable when"),
        "source": documented.get("Source"),
        "scale": msgspec.to_builtins(each.scale) if each.scale else None,
        "per_turn": each.per_turn,
        "settings": [
            {"name": field.name, "default": _default(field), "help": docs.get(field.name, "")}
            for field in msgspec.structs.fields(each.settings)
        ],
    }


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else None
