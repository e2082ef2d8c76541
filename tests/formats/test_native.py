"""The native format: whatever a line says is kept, and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldens import golden_inputs
from pantrace.engine.convert import write
from pantrace.engine.read import open_run, read
from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.model import Sample, ToolResult


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


def test_a_copy_of_a_native_file_has_the_same_bytes(tmp_path: Path) -> None:
    """Whole numbers stay whole, whatever field they stand in, and no trace of the copying is left."""
    path, again = tmp_path / "x.trace.jsonl", tmp_path / "y.trace.jsonl"
    path.write_text(
        '{"pantrace":"2","run":{"created":3,"results":[{"name":"mean","value":1,"low":0,"high":2.5}]}}\n'
        '{"id":"a","trajectory":{"created":1,"steps":[{"role":"agent","parts":['
        '{"type":"action","kind":"click","target":{"point":{"x":3,"y":4.0,"space":"pixels"}}},'
        '{"type":"thinking","text":"t","started":1,"ended":2.0}],"at":12345678901,"usage":{"cost_usd":0}}]},'
        '"scores":[{"name":"s","value":1,"scale":{"low":0,"high":1},"values":{"other":2},"threshold":1},'
        '{"name":"t","value":true},{"name":"u","value":0.5}]}\n'
    )
    write(read(path), again, to="native")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "path", [each for name, each in golden_inputs() if name == "native"], ids=lambda path: path.name
)
def test_what_was_written_once_is_copied_byte_for_byte(path: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.trace.jsonl", tmp_path / "twice.trace.jsonl"
    write(read(path), once, to="native")
    write(read(once), twice, to="native")
    assert twice.read_bytes() == once.read_bytes()


def test_unknown_keys_of_parts_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.jsonl"
    part = '{"type": "result", "output": "o", "rating": 5, "media": [{"type": "media", "uri": "u", "zoom": 2}]}'
    path.write_text(
        f'{{"pantrace": "2"}}\n{{"id": "a", "trajectory": {{"steps": [{{"role": "tool", "parts": [{part}]}}]}}}}\n'
    )
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    (result,) = sample.trajectory.steps[0].parts
    assert isinstance(result, ToolResult)
    assert result.extra == {"native": {"rating": 5}}
    assert result.media[0].extra == {"native": {"zoom": 2}}


def test_a_time_of_400_digits_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.jsonl"
    path.write_text(f'{{"pantrace":"2"}}\n{{"id":"x","trajectory":{{"steps":[{{"role":"user","at":{"1" * 400}}}]}}}}\n')
    broken: list[ReadError] = []
    assert [*open_run(path, by_name("native"), "", broken.append).samples] == []
    assert "steps[0].at" in str(broken[0]) and "line 2" in str(broken[0])
