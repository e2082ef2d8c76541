"""`pantrace metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .arguments import as_json
from .output import print_json, say, table

if TYPE_CHECKING:
    import msgspec

    from pantrace.metrics import Metric


@click.command("metrics")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Also use the metrics in this Python file.")
@as_json
def command(names: tuple[str, ...], plugins: tuple[str, ...], as_json: bool) -> None:
    """List all measures with unit and direction, or explain metrics: formula, when they do not apply, source,
    measures and settings.

    \b
    pantrace metrics
    pantrace metrics cache_efficiency trajectory_accuracy
    pantrace metrics --json | jq '.[].measures[] | {address, unit, better}'
    """
    from pathlib import Path

    from pantrace.engine.measure import load_plugins
    from pantrace.metrics import ALIASES, all_metrics, by_name

    own = load_plugins([Path(path) for path in plugins])
    # Plugins first: by_name would refuse a name that only a plugin has.
    found = [own.get(name) or by_name(name) for name in names] or [*all_metrics(), *own.values()]
    if as_json:
        print_json([describe(each) for each in found])
    elif names:
        for each in found:
            _show(describe(each))
    else:
        rows = [
            [measure.address, measure.unit or "-", measure.better or "-", measure.what or each.summary]
            for each in found
            for measure in each.measures
        ]
        table(["measure", "unit", "better", "what it is"], rows)
        aliases = ", ".join(f"{alias} = {address}" for alias, address in ALIASES.items())
        say(f"short names: {aliases}; a metric's name means its first measure")
        say("formula, source and settings of one: pantrace metrics NAME")


def _show(told: dict[str, Any]) -> None:
    """Print one metric in full."""
    click.echo(f"{told['name']} (version {told['version']}): {told['summary']}\n")
    scale = told["scale"]
    for name, text in (
        ("formula", told["formula"]),
        ("not applicable when", told["not_applicable_when"]),
        ("source", told["source"]),
        ("better", scale["better"] if scale else "neither: it is only reported"),
        ("by turn", "yes" if told["per_turn"] else "no, whole samples only"),
        *((each["address"], _measure(each)) for each in told["measures"] if each["name"]),
        *((f"--set {told['name']}.{each['name']}", _setting(each)) for each in told["settings"]),
    ):
        if text:
            click.echo(click.wrap_text(f"{name}: {text}", width=100, subsequent_indent="  "))
    click.echo()


def _measure(each: dict[str, Any]) -> str:
    how = {"mean": "mean over cases", "sum": "mean over cases, and the sum", "rate": "share of samples"}
    ratio = f"mean over cases, and the sum of {' / the sum of '.join(each['over'])}" if each["over"] else ""
    better = f", {each['better']} is better" if each["better"] else ""
    return f"{each['what']} ({each['unit'] or 'no unit'}{better}; {ratio or how[each['pooling']]})"


def _setting(each: dict[str, Any]) -> str:
    from pantrace.wire.json import encode

    default = "" if each["default"] in (None, (), [], {}) else f" (default: {encode(each['default']).decode()})"
    return f"{each['help']}{default}".strip()


def describe(each: Metric) -> dict[str, Any]:
    """What `--json` says about one metric."""
    import msgspec

    from .formats import field_docs

    documented = each.documented
    docs = field_docs(each.settings)
    return {
        "name": each.name,
        "version": each.version,
        "summary": each.summary,
        "formula": documented.get("Formula"),
        "not_applicable_when": documented.get("Not applicable when"),
        "source": documented.get("Source"),
        "scale": msgspec.structs.asdict(each.scale) if each.scale else None,
        "measures": [{"address": measure.address, **msgspec.structs.asdict(measure)} for measure in each.measures],
        "per_turn": each.per_turn,
        "settings": [
            {"name": field.name, "default": _default(field), "help": docs.get(field.name, "")}
            for field in msgspec.structs.fields(each.settings)
        ],
    }


def _default(field: msgspec.structs.FieldInfo) -> Any:
    import msgspec

    # msgspec keeps mutable defaults as factories.
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else None
