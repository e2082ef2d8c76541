"""The native format: whatever a line says is kept, and told."""

from __future__ import annotations

from pathlib import Path

from pantrace.engine.convert import write
from pantrace.engine.read import read
from pantrace.formats import by_name
from pantrace.model import Sample


def test_unknown_and_repeated_keys_are_kept_and_named(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    path.write_text(
        '{"pantrace": "1", "run": {"name": "n", "mood": "good"}, "by": "hand"}\n'
        '{"id": "a", "case": {"requird_evals": ["x"]}, "id": "b"}\n'
        '{"id": "c", "epoch": null}\n'
    )
    run = read(path)
    assert run.extra == {"native": {"mood": "good", "by": "hand"}}
    first, second = run.samples
    assert (first.id, first.extra) == ("b", {})
    assert first.case is not None and first.case.extra == {"native": {"requird_evals": ["x"]}}
    assert second == Sample(id="c")
    told = [(each.level, each.place, each.message) for each in (by_name("native").validate or list)(path)]
    meant = "unknown key 'requird_evals', kept in extra.native; did you mean required_evals?"
    assert ("warning", "line 2, case", meant) in told
    assert ("warning", "line 2", "repeated key 'id': the last one counts") in told
    assert {level for level, _, _ in told} == {"warning"} and len(told) == 4
    again = tmp_path / "y.trace.jsonl"
    write(read(path), again, to="native")
    assert [*read(again).samples] == [first, second]
