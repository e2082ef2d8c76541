"""`pantrace rubrics`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from pantrace.judges import INPUTS, Rubric, load_rubric, rubric_names
from pantrace.judges.prompt import choices

from .arguments import as_json
from .output import print_json, table


@click.command("rubrics")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...")
@as_json
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the rubrics that judges can grade by, or show some of them whole.

    \b
    pantrace rubrics
    pantrace rubrics HelpfulnessExplain
    pantrace rubrics my-rubric.toml --json
    """
    found = [load_rubric(name) for name in names or rubric_names()]
    if as_json:
        print_json([described(rubric) for rubric in found])
    elif names:
        for rubric in found:
            _show(rubric)
    else:
        rows = [[each.name, grade_range(each), ", ".join(marked_inputs(each)), each.description] for each in found]
        table(["rubric", "grades", "inputs", "what it asks"], rows)


def grade_range(rubric: Rubric) -> str:
    """The grades in short."""
    return "pass, fail" if rubric.passes else f"{rubric.choices[0]}-{rubric.choices[-1]}"


def marked_inputs(rubric: Rubric) -> list[str]:
    """The inputs; ? marks optional ones, | those of which one must be there."""
    marks = {"required": "", "optional": "?", "one_of": "|"}
    return [f"{name}{marks[need]}" for name, need in rubric.inputs.items()]


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


def described(rubric: Rubric) -> dict[str, Any]:
    """What the list says of one rubric."""
    return {
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
