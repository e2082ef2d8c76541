"""What `show` counts is what `detect` counts."""

from __future__ import annotations

from itertools import tee
from pathlib import Path

import pytest

from goldens import golden_inputs
from pantrace.engine.contents import contents
from pantrace.engine.listing import listed
from pantrace.engine.read import Notes, read_pile

WITH_SUB_AGENTS = ("claude-code", "codex", "opencode", "gemini-cli")
PATHS = [path for name, path in golden_inputs() if name in WITH_SUB_AGENTS]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_calls_are_counted_alike(path: Path) -> None:
    detected, shown = tee(read_pile([path], notes=Notes()).samples)
    assert contents(detected)["calls"] == sum(listed(sample).calls or 0 for sample in shown)
