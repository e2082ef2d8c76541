"""`pantrace schema`."""

from __future__ import annotations

import click

from .output import print_json


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the native format.

    Each line of a native file is one JSON object: the first fits FirstLine, every other one Sample.

    \b
    pantrace schema > pantrace.schema.json
    """
    import msgspec

    from pantrace.formats.native import VERSION, FirstLine
    from pantrace.model import Sample

    # From the types themselves, so that the schema cannot disagree with the reader.
    (first, sample), components = msgspec.json.schema_components([FirstLine, Sample], ref_template="#/$defs/{name}")
    print_json(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"one line of a pantrace native file, version {VERSION}",
            "anyOf": [first, sample],
            "$defs": components,
        }
    )
