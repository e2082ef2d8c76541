"""Claude Code: copies of a session that lie beside it, whole, in part or torn."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.read import Notes, read, read_pile
from pantrace.model import Sample, Trajectory, call_pairs, has_failed, total_tokens, usage_total

GOLDEN = ROOT / "claude-code"
NAME = "3b0f579b-7e64-4b4e-a2f3-7660973d7285"
REASON = "a copy of a session that is read from another file"
PARTS = [4, 8, 10, 12, 20, 38, 39, "torn"]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "trouble.jsonl", tmp_path / f"{NAME}.jsonl"))


def cut(whole: Path, part: int | str, copy: Path) -> Path:
    data = whole.read_bytes()
    copy.write_bytes(data[:9000] if part == "torn" else b"".join(data.splitlines(keepends=True)[: int(part)]))
    return copy


def only(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def in_folder(folder: Path) -> tuple[list[Sample], Notes]:
    notes = Notes.keeping()
    return list(read_pile([folder], notes=notes).samples), notes


def source_of(sample: Sample) -> str:
    assert sample.trajectory is not None and sample.trajectory.source is not None
    return Path(str(sample.trajectory.source.path)).name


def tokens(trajectory: Trajectory | None) -> int:
    usage = usage_total(trajectory) if trajectory is not None else None
    assert usage is not None
    return total_tokens(usage) or 0


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["0.jsonl", "copy.jsonl"])
def test_a_session_that_is_named_is_read_whole_whatever_lies_beside_it(
    part: int | str, name: str, session: Path
) -> None:
    alone = only(session)
    cut(session, part, session.with_name(name))
    assert only(session) == alone
    assert alone.origin is None and tokens(alone) > 0


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["0.jsonl", "copy.jsonl"])
def test_in_a_folder_the_most_complete_copy_is_read(part: int | str, name: str, session: Path) -> None:
    alone = only(session)
    copy = cut(session, part, session.with_name(name))
    (sample,), notes = in_folder(session.parent)
    assert sample.trajectory == alone
    assert [(each.path, each.reason) for each in notes.ignored] == [(copy, REASON)]
    assert not notes.broken and not notes.twice.sentences()


def test_the_complete_one_wins_under_any_name(session: Path) -> None:
    whole = Path(shutil.copy(session, session.with_name("backup.jsonl")))
    cut(whole, 20, session)
    (sample,), notes = in_folder(session.parent)
    assert source_of(sample) == whole.name
    assert [each.path for each in notes.ignored] == [session]


def test_a_copy_can_be_read_alone(session: Path) -> None:
    copy = cut(session, 20, session.with_name("copy.jsonl"))
    beside = only(copy)
    session.unlink()
    assert only(copy) == beside


def test_copies_that_went_on_apart_are_both_read_and_said_to_be_counted_twice(session: Path) -> None:
    lines = session.read_text().splitlines(keepends=True)
    last = json.loads(next(line for line in reversed(lines) if '"type":"assistant"' in line))
    last |= {"uuid": last["uuid"][:-4] + "ffff"}
    other = session.with_name("other.jsonl")
    other.write_text("".join(lines[:20]) + json.dumps(last) + "\n")
    samples, notes = in_folder(session.parent)
    assert [source_of(sample) for sample in samples] == [session.name, other.name]
    assert all(sample.trajectory is not None and sample.trajectory.origin is None for sample in samples)
    assert notes.twice.sentences() == [f"{NAME} occurs twice and is counted twice: in {session} and {other}"]


def test_a_copy_that_has_the_sub_agents_is_not_left_out(tmp_path: Path) -> None:
    """The other one is longer, but knows nothing of them."""
    shutil.copytree(GOLDEN / "subagent", tmp_path, dirs_exist_ok=True)
    (session,) = tmp_path.glob("*.jsonl")
    shutil.copy(session, tmp_path / "backup.jsonl")
    cut(session, 12, session)
    samples, notes = in_folder(tmp_path)
    assert [len(sample.trajectory.children) for sample in samples if sample.trajectory is not None] == [1, 0]
    (told,) = notes.twice.sentences()
    assert "is counted twice" in told


@pytest.mark.parametrize("which", ["1098", "a8ad"])
@pytest.mark.parametrize("part", [6, 10, 14, "torn"])
def test_copies_of_a_fork_and_of_its_source_change_neither(which: str, part: int | str, tmp_path: Path) -> None:
    """Part of a fork has no lines but those of its source, which is no fork of it for that."""
    for file in (GOLDEN / "fork").glob("*.jsonl"):
        shutil.copy(file, tmp_path)
    before = {sample.id: sample.trajectory for sample in in_folder(tmp_path)[0]}
    assert sorted(each is not None and each.origin is not None for each in before.values()) == [False, True]
    (file,) = tmp_path.glob(f"{which}*.jsonl")
    cut(file, part, tmp_path / "0.jsonl")
    samples, notes = in_folder(tmp_path)
    assert {sample.id: sample.trajectory for sample in samples} == before
    assert [each.path.name for each in notes.ignored] == ["0.jsonl"]
    assert {name: only(tmp_path / f"{name}.jsonl") for name in before} == before


def test_a_neighbour_that_cannot_be_read_does_not_matter(session: Path) -> None:
    alone = only(session)
    session.with_name("0.jsonl").symlink_to("nowhere")
    session.with_name("1.jsonl").write_bytes(b"\x1f\x8b\x08 no archive")
    assert only(session) == alone
    assert len(in_folder(session.parent)[0]) == 1


@needs_corpus
@pytest.mark.parametrize("part", [4, 8, 10, 12, 16, "torn"])
def test_the_recorded_session_beside_a_part_of_itself(part: int | str, tmp_path: Path) -> None:
    name = "61420542-ae56-4101-9eae-6ba5db2dd5cd.jsonl"
    session = Path(shutil.copy(CORPUS / "own" / "claude_code" / name, tmp_path))
    cut(session, part, tmp_path / "copy.jsonl")
    for place in (session, tmp_path):
        trajectory = only(place)
        assert tokens(trajectory) == 4461
        assert [pair.result is not None and has_failed(pair.result) for pair in call_pairs(trajectory)] == [False, True]


def test_sessions_that_are_only_numbered_alike_are_no_forks(tmp_path: Path) -> None:
    """Cleaned copies have the same ids and times in every session; what was asked first tells them apart."""
    for name, question in (("a", "Read the map."), ("b", "Read the log.")):
        call = [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]
        told = [("user", "m1", question), ("assistant", "m2", call), ("user", "m3", f"And {name}?")]
        lines = [
            {
                "type": kind,
                "uuid": each,
                "timestamp": f"2026-01-02T03:04:0{place}Z",
                "message": {"role": kind, "content": said},
            }
            for place, (kind, each, said) in enumerate(told[: 3 if name == "b" else 2])
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for name in ("a", "b"):
        trajectory = only(tmp_path / f"{name}.jsonl")
        assert trajectory.origin is None
        assert len(call_pairs(trajectory)) == 1
