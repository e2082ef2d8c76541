"""Labels that people give in the viewer."""

from __future__ import annotations

from pathlib import Path

from pantrace.store import LABELS
from pantrace.viewer.labels import checked, keep, kept


def test_half_a_line_of_a_full_disk_spoils_only_itself(tmp_path: Path) -> None:
    first, second = (checked({"label": "pass"}, by="me", sample=name, id=name, epoch=None) for name in "ab")
    keep(tmp_path, first)
    with (tmp_path / LABELS).open("ab") as file:
        file.write(b'{"label":"fa')
    keep(tmp_path, second)
    assert [each.sample for each in kept(tmp_path)] == ["a", "b"]
