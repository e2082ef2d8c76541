"""Inputs cut into parts: the parts together are the input, with the same samples, places and broken records."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.recordings import write
from goldens import ROOT
from pantrace.engine.input_part import InputPart, open_part, parts_of
from pantrace.engine.read import open_run
from pantrace.errors import ReadError
from pantrace.formats import detect
from pantrace.formats.inspect import reading
from pantrace.model import Sample
from pantrace.wire.input_cuts import Cutting


def torn_lines(folder: Path) -> Path:
    """Lines with a byte order mark, blank lines, a broken one and no end of the last: numbers must stay right."""
    path = folder / "rows.jsonl"
    one = (ROOT / "vertex-agent").glob("*.jsonl")
    line = next(one).read_bytes().splitlines()[0]
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join([line, b"", b" ", line, b'{"torn', line, b"", line, line]))
    return path


def native(folder: Path) -> Path:
    write(folder / "in.trace.jsonl", range(40))
    return folder / "in.trace.jsonl"


def both(path: Path, size: int) -> tuple[list[InputPart], list[Sample], list[str], list[Sample], list[str]]:
    """The parts; what they give together; what the whole input gives."""
    chosen, variant = detect(path)
    broken: list[ReadError] = []
    expected: list[ReadError] = []
    with ExitStack() as held:
        parts = [*parts_of(path, chosen, variant, Cutting(size, held))]
        found = [sample for part in parts for sample in open_part(part, broken.append).samples]
    whole = [*open_run(path, chosen, variant, expected.append).samples]
    return parts, found, [str(each) for each in broken], whole, [str(each) for each in expected]


@pytest.mark.parametrize(
    "name",
    [
        "native",
        "torn",
        "adk-jsonl/shop_set.jsonl",
        "inspect/basic.eval",
        "inspect/partial_kill.eval",
        "opencode/database-1.18.33",
        "opencode/todo.db",
        "openhands-v0/output.jsonl",
    ],
)
@pytest.mark.parametrize("size", [1, 2_000])
def test_the_parts_together_are_the_input(name: str, size: int, tmp_path: Path) -> None:
    made = {"native": native, "torn": torn_lines}
    path = made[name](tmp_path) if name in made else ROOT / name
    if not path.exists():
        path = next((ROOT / name).parent.glob("*.jsonl"))
    parts, found, broken, whole, expected = both(path, size)
    assert found == whole
    assert broken == expected
    assert [part.number for part in parts] == [*range(len(parts))]
    assert [part.is_last for part in parts] == [False] * (len(parts) - 1) + [True]
    if size == 1 and len(whole) > 1:
        assert len(parts) > 1


def test_what_cannot_be_cut_is_one_part(tmp_path: Path) -> None:
    packed = tmp_path / "in.trace.jsonl.gz"
    packed.write_bytes(gzip.compress(native(tmp_path).read_bytes()))
    for path in (packed, ROOT / "inspect/basic_cut.json", ROOT / "opencode/storage-1.1.65"):
        parts, found, _, whole, _ = both(path, 1)
        assert len(parts) == 1
        assert parts[0].span is None
        assert found == whole


def test_the_summaries_of_a_log_are_read_once_for_all_its_parts(tmp_path: Path) -> None:
    """Each part needs those of all samples; a log that has changed is read anew."""
    path = tmp_path / "run.eval"
    for name in ("basic", "partial_kill"):
        path.write_bytes((ROOT / "inspect" / f"{name}.eval").read_bytes())
        before = reading._summarised_once.cache_info()
        parts, found, _, whole, _ = both(path, 1)
        after = reading._summarised_once.cache_info()
        assert len(parts) > 2
        assert (after.misses - before.misses, after.hits - before.hits) == (1, len(parts) - 1)
        assert found == whole
