"""`pantrace rubrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .arguments import as_json
from .output import harmless_lines, print_json, say, table

if TYPE_CHECKING:
    from pantrace.judges import AnyRubric, LayerOneMetric, Managed, Rubric
    from pantrace.judges.managed import Family


@click.command("rubrics")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...")
@as_json
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the rubrics that judges can grade by, or show some of them in full.

    For a metric-definition file (FILE.json), lists all metrics and where their inputs come from; FILE.json:NAME shows
    one in full. Managed rubrics, which Vertex AI stores and runs itself, are listed separately.

    \b
    pantrace rubrics
    pantrace rubrics HelpfulnessExplain
    pantrace rubrics vertex:tool_use_quality_v1
    pantrace rubrics my-rubric.toml --json
    pantrace rubrics metric_definitions.json
    """
    from pantrace.engine.rubric_selection import rubrics_named
    from pantrace.judges import Rubric, load_any_rubric, managed_names, rubric_names
    from pantrace.judges.managed import families, pinned_versions

    if names:
        found = {name: rubrics_named(name) for name in names}
        if as_json:
            print_json([describe(each) for group in found.values() for each in group])
            return
        for name, group in found.items():
            # A definition file has dozens of metrics: a list; one by name is shown in full.
            if name.endswith(".json"):
                _list_definitions(group)
            else:
                for each in group:
                    _show(each)
        return
    # Managed ones are listed without the extra: the table is data, and only asking needs Google's client.
    rubrics = [load_any_rubric(name) for name in (*rubric_names(), *managed_names())]
    if as_json:
        print_json([describe(rubric) for rubric in rubrics])
    else:
        ours = [each for each in rubrics if isinstance(each, Rubric)]
        rows = [[each.name, grade_range(each), each.scope.replace("_", " "), each.description] for each in ours]
        table(["rubric", "grades", "judges", "what it asks"], rows)
        click.echo("\nManaged by Vertex AI (extra `vertex`); grades from 0 to 1:")
        rows = [
            [" ".join(pinned_versions(name)), ", ".join(managed_inputs(family)), family.description]
            for name, family in families().items()
        ]
        table(["rubric", "inputs", "what it asks"], rows)


def grade_range(rubric: Rubric) -> str:
    """The grades in short."""
    return "pass, fail" if rubric.passes else f"{rubric.choices[0]}-{rubric.choices[-1]}"


def marked_inputs(rubric: Rubric) -> list[str]:
    """The inputs; ? marks optional ones, | those of which at least one must be present."""
    marks = {"required": "", "optional": "?", "one_of": "|"}
    return [f"{name}{marks[need]}" for name, need in rubric.inputs.items()]


def managed_inputs(family: Family) -> list[str]:
    """The inputs of a managed metric; those that may be absent are marked."""
    # A conversation of one prompt has no history; all other inputs are required.
    return [f"{name}?" if name == "history" else name for name in family.inputs] + ["guidelines?"] * family.guidelines


def _show_managed(managed: Managed) -> None:
    from pantrace.judges.managed import family_of, pinned_versions

    family = family_of(managed)
    _echo(f"{managed.name}: {family.description}\n")
    click.echo("kind: managed by Vertex AI; its rubrics are made and judged there")
    _echo(f"inputs: {', '.join(managed_inputs(family))}")
    _echo(f"judges: {'one prompt and its answer' if family.turns == 'one' else 'one or more prompts'}")
    if family.instead:
        _echo(f"for conversations: {', '.join(pinned_versions(family.instead))}")
    click.echo("grades: from 0 to 1, the share of rubrics that are met, or the service's own number\n")


def _list_definitions(metrics: Sequence[AnyRubric | LayerOneMetric]) -> None:
    from pantrace.judges import Defined, Managed, Rubric

    rows = []
    for each in metrics:
        agents = ", ".join(each.agents) or "all" if isinstance(each, (Defined, Managed)) else ""
        scale = grade_range(each) if isinstance(each, Rubric) else "0-1" if isinstance(each, Managed) else ""
        rows.append([each.name, kind_of(each), scale, agents, "; ".join(_sources(each))])
    table(["metric", "kind", "grades", "agents", "inputs"], rows)
    for each in metrics:
        for note in each.notes if isinstance(each, Defined) else ():
            say(f"{each.name}: {note}")


def kind_of(metric: AnyRubric | LayerOneMetric) -> str:
    """How a metric gets its scores."""
    from pantrace.judges import LayerOneMetric, Managed

    if isinstance(metric, Managed):
        return f"managed ({metric.metric})"
    return "deterministic" if isinstance(metric, LayerOneMetric) else "llm"


def _sources(metric: AnyRubric | LayerOneMetric) -> list[str]:
    from pantrace.judges import Defined

    if not isinstance(metric, Defined):
        return []
    return [f"{name} < {' + '.join(column.sources)}" for name, column in metric.columns.items()]


def _show(rubric: AnyRubric | LayerOneMetric) -> None:
    from pantrace.judges import INPUTS, Defined, LayerOneMetric, Managed
    from pantrace.judges.prompt import choices

    if isinstance(rubric, Managed):
        _show_managed(rubric)
        return
    if isinstance(rubric, LayerOneMetric):
        _echo(f"{rubric.name}: measured by the check of that name (`pantrace metrics`)")
        return
    _echo(f"{rubric.name} (version {rubric.version}, hash {rubric.hash[:12]}): {rubric.description}\n")
    if not isinstance(rubric, Defined):
        _echo(f"scope: {rubric.scope.replace('_', ' ')}")
    for name, need in rubric.inputs.items():
        # The same words that a score will have when the input is missing.
        missing = f"; without it: {INPUTS[name][1]}" if name in INPUTS and need == "required" else ""
        _echo(f"input {name}: {need.replace('_', ' ')}{missing}")
    for source in _sources(rubric):
        _echo(f"column {source}")
    for variant in rubric.variants:
        _echo(f"variant {rubric.name}:{variant}")
    _echo(f"\n{rubric.template.strip()}\n\ngrades: {choices(rubric)}")
    for grade in rubric.choices:
        _echo(f"  {grade}: {rubric.grades[str(grade)]}")


def describe(metric: AnyRubric | LayerOneMetric) -> dict[str, Any]:
    """What `--json` says about one rubric, or about one metric of a definition file."""
    import msgspec

    from pantrace.judges import Defined, LayerOneMetric, Managed

    if isinstance(metric, LayerOneMetric):
        return {"kind": "deterministic", "name": metric.name}
    if isinstance(metric, Managed):
        return _described_managed(metric)
    found = {
        "kind": "rubric",
        "name": metric.name,
        "version": metric.version,
        "hash": metric.hash,
        "title": metric.title,
        "description": metric.description,
        "scope": metric.scope,
        "inputs": metric.inputs,
        "scale": msgspec.to_builtins(metric.scale),
        "grades": metric.grades,
        "template": metric.template,
        "variants": sorted(each for each in (metric.variant, *metric.variants) if each),
    }
    if isinstance(metric, Defined):
        found |= {"kind": "llm", "agents": metric.agents, "columns": metric.columns, "notes": metric.notes}
    return found


def _described_managed(managed: Managed) -> dict[str, Any]:
    from pantrace.judges.managed import family_of, split_metric

    family = family_of(managed)
    return {
        "kind": "managed",
        "name": managed.name,
        "metric": managed.metric,
        "version": split_metric(managed.metric)[1],
        "hash": managed.hash,
        "description": family.description,
        "inputs": {name: "optional" if name == "history" else "required" for name in family.inputs},
        "turns": family.turns,
        "guidelines": managed.guidelines,
        "takes_guidelines": family.guidelines,
        "agents": managed.agents,
        "scale": {"low": 0.0, "high": 1.0},
    }


def _echo(text: str) -> None:
    """Print text of a file that somebody else may have written."""
    click.echo(harmless_lines(text))
