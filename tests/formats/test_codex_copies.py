"""Codex: parts of rollouts that lie beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.model import Trajectory

GOLDEN = ROOT / "codex"


def only(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


@pytest.mark.parametrize("name", ["0.jsonl", "z.jsonl"])
@pytest.mark.parametrize("lines", [1, 3, 8])
@pytest.mark.parametrize("folder", ["work", "agents"])
def test_a_rollout_is_the_same_beside_parts_of_those_that_belong_to_it(
    folder: str, lines: int, name: str, tmp_path: Path
) -> None:
    """The source of a fork and the sub-agents of a session are read from the whole files, each once."""
    files = [Path(shutil.copy(each, tmp_path)) for each in sorted((GOLDEN / folder).glob("*.jsonl"))]
    before = {file: only(file) for file in files}
    assert any(each.origin is not None or each.children for each in before.values())
    for file in files:
        copy = tmp_path / name
        copy.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]))
        assert {each: only(each) for each in files} == before
        copy.unlink()
