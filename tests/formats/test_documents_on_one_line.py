"""A document without line breaks that is longer than what detection looks at: `jq -c` writes such files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pantrace
from pantrace.wire.head import SIZE

GOLDEN = Path(__file__).parents[1] / "golden"


def grown(document: dict[str, object], key: str) -> dict[str, object]:
    """The document with the items of one list repeated until it is long enough."""
    items = document[key]
    assert isinstance(items, list) and items
    return {**document, key: items * (2 * SIZE // len(json.dumps(items)) + 1)}


@pytest.mark.parametrize(("golden", "key"), [("inspect/basic_cut.json", "samples"), ("tau2/*.json", "simulations")])
def test_it_is_recognised_on_one_line_as_on_many(tmp_path: Path, golden: str, key: str) -> None:
    found = (json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob(golden)) if "native" not in path.name)
    document = next(each for each in found if isinstance(each, dict) and each.get(key))
    long = grown(document, key)
    read = {}
    for name, indent in (("many.json", 2), ("one.json", None)):
        (tmp_path / name).write_text(json.dumps(long, indent=indent))
        run = pantrace.read(tmp_path / name)
        read[name] = [sample.trajectory and len(sample.trajectory.steps) for sample in run.samples]
    assert (tmp_path / "one.json").stat().st_size > SIZE
    assert read["one.json"] == read["many.json"] != []
