"""`pantrace rubrics`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from pantrace.judges import INPUTS, AnyRubric, Managed, Rubric, load_any_rubric, managed_names, rubric_names
from pantrace.judges.managed import Family, families, family_of, pinned, split_metric
from pantrace.judges.prompt import choices

from .arguments import as_json
from .output import print_json, table


@click.command("rubrics")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...")
@as_json
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the rubrics that judges can grade by, or show some of them whole.

    Apart from them stand the managed ones, which Vertex AI keeps and judges by itself.

    \b
    pantrace rubrics
    pantrace rubrics HelpfulnessExplain
    pantrace rubrics vertex:tool_use_quality_v1
    pantrace rubrics my-rubric.toml --json
    """
    found = [load_any_rubric(name) for name in names or (*rubric_names(), *managed_names())]
    if as_json:
        print_json([described(rubric) for rubric in found])
    elif names:
        for rubric in found:
            _show_managed(rubric) if isinstance(rubric, Managed) else _show(rubric)
    else:
        ours = [each for each in found if isinstance(each, Rubric)]
        rows = [[each.name, grade_range(each), ", ".join(marked_inputs(each)), each.description] for each in ours]
        table(["rubric", "grades", "inputs", "what it asks"], rows)
        click.echo("\nManaged by Vertex AI (extra `vertex`); grades from 0 to 1:")
        rows = [
            [" ".join(pinned(name)), ", ".join(managed_inputs(family)), family.description]
            for name, family in families().items()
        ]
        table(["rubric", "inputs", "what it asks"], rows)


def grade_range(rubric: Rubric) -> str:
    """The grades in short."""
    return "pass, fail" if rubric.passes else f"{rubric.choices[0]}-{rubric.choices[-1]}"


def marked_inputs(rubric: Rubric) -> list[str]:
    """The inputs; ? marks optional ones, | those of which one must be there."""
    marks = {"required": "", "optional": "?", "one_of": "|"}
    return [f"{name}{marks[need]}" for name, need in rubric.inputs.items()]


def managed_inputs(family: Family) -> list[str]:
    """The inputs of a managed metric; those that may be absent are marked."""
    return [f"{name}?" if name == "history" else name for name in family.inputs] + ["guidelines?"] * family.guidelines


def _show_managed(managed: Managed) -> None:
    family = family_of(managed)
    click.echo(f"{managed.name}: {family.description}\n")
    click.echo("kind: managed by Vertex AI; its rubrics are made and judged there")
    click.echo(f"inputs: {', '.join(managed_inputs(family))}")
    click.echo(f"judges: {'one prompt and its answer' if family.turns == 'one' else 'one or more prompts'}")
    if family.instead:
        click.echo(f"for conversations: {', '.join(pinned(family.instead))}")
    click.echo("grades: from 0 to 1, the share of rubrics that are met, or the service's own number\n")


def _show(rubric: Rubric) -> None:
    click.echo(f"{rubric.name} (version {rubric.version}, hash {rubric.hash[:12]}): {rubric.description}\n")
    for name, need in rubric.inputs.items():
        missing = f"; without it: {INPUTS[name][1]}" if name in INPUTS and need == "required" else ""
        click.echo(f"input {name}: {need.replace('_', ' ')}{missing}")
    for variant in rubric.variants:
        click.echo(f"variant {rubric.name}:{variant}")
    click.echo(f"\n{rubric.template.strip()}\n\ngrades: {choices(rubric)}")
    for grade in rubric.choices:
        click.echo(f"  {grade}: {rubric.grades[str(grade)]}")


def described(rubric: AnyRubric) -> dict[str, Any]:
    """What the list says of one rubric."""
    if isinstance(rubric, Managed):
        family = family_of(rubric)
        return {
            "kind": "managed",
            "name": rubric.name,
            "version": split_metric(rubric.metric)[1],
            "hash": rubric.hash,
            "description": family.description,
            "inputs": {name: "optional" if name == "history" else "required" for name in family.inputs},
            "turns": family.turns,
            "guidelines": family.guidelines,
            "scale": {"low": 0.0, "high": 1.0},
        }
    return {
        "kind": "rubric",
        "name": rubric.name,
        "version": rubric.version,
        "hash": rubric.hash,
        "title": rubric.title,
        "description": rubric.description,
        "inputs": rubric.inputs,
        "scale": msgspec.to_builtins(rubric.scale),
        "grades": rubric.grades,
        "template": rubric.template,
        "variants": sorted(each for each in (rubric.variant, *rubric.variants) if each),
    }
