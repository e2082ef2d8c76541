"""`pantrace formats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .arguments import as_json
from .output import print_json, table

if TYPE_CHECKING:
    from pantrace.formats import Format


@click.command("formats")
@as_json
def command(as_json: bool) -> None:
    """List the formats, what they read and write, and their options.

    \b
    pantrace formats
    pantrace formats --json | jq '.[] | select(.writes) | .name'
    """
    from pantrace.formats import all_formats

    found = all_formats()
    if as_json:
        print_json([describe(each) for each in found])
        return
    rows = [[each.name, "yes" if each.reads else "-", "yes" if each.writes else "-", each.title] for each in found]
    # Options below the table: only a few formats have any.
    table(["name", "reads", "writes", "what it is"], rows)
    for each in found:
        if options := option_list(each):
            click.echo(f"\n{each.name}, --option for writing:")
            for option in options:
                click.echo(f"  {option['name']}={_default_words(option['default'])}  {option['help']}")


def _default_words(default: Any) -> str:
    """A default as `--option` takes it; of an option without one, what it stands for."""
    return "VALUE" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def describe(format_: Format) -> dict[str, Any]:
    """What `--json` says about one format."""
    return {
        "name": format_.name,
        "title": format_.title,
        "reads": format_.reads,
        "writes": format_.writes,
        "suffix": format_.suffix,
        "one_sample_per_file": format_.is_split and format_.writes,
        "holds_sub_agents": format_.nests,
        "options": option_list(format_),
        "spec": format_.spec,
        "note": format_.note,
    }


def option_list(format_: Format) -> list[dict[str, Any]]:
    """The writer's options with their defaults and help."""
    import msgspec

    documented = field_docs(format_.options)
    return [
        {
            "name": each.name,
            "default": None if each.default is msgspec.NODEFAULT else each.default,
            "help": documented.get(each.name, ""),
        }
        for each in msgspec.structs.fields(format_.options)
    ]


def field_docs(kind: type) -> dict[str, str]:
    """The docstrings under a class's fields."""
    import ast
    import inspect
    import textwrap

    # Python keeps no docstrings of fields, so they are read from the source.
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    assert isinstance(tree.body[0], ast.ClassDef)
    docs: dict[str, str] = {}
    last = None
    for node in tree.body[0].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            docs[last] = " ".join(str(node.value.value).split())
            last = None
    return docs
