"""Beginning, going on, refusing, deciding again."""

from __future__ import annotations

import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pantrace.errors import ReadError, UsageError
from pantrace.model import Decision, RunHeader, Sample, Trajectory
from pantrace.store import Result, RunDirectory, is_run_directory, query, stage_part
from store.writer import result, write


def ours(folder: Path, plan: str = "hash", header: RunHeader | None = None) -> RunDirectory:
    return RunDirectory.open_for_writing(folder, header or RunHeader(), "plan = 1", plan)


def decided(folder: Path, profile: str = "strict") -> dict[str, bool | None]:
    asked = query(folder, f"select sample, passed from decisions where profile = '{profile}'").rows
    directory = RunDirectory.open(folder)
    told = [(each.sample, each.passed) for each in directory.decisions() if each.profile == profile]
    joined = [
        (each.sample, each.passed) for one in directory.results() for each in one.decisions if each.profile == profile
    ]
    assert sorted(asked) == sorted(told) == sorted(joined)
    assert len(dict(told)) == len(told), "decided twice"
    return dict(told)


def test_what_is_a_run_directory(tmp_path: Path) -> None:
    assert not is_run_directory(tmp_path)
    assert not is_run_directory(tmp_path / "absent")
    with ours(tmp_path / "run"):
        assert is_run_directory(tmp_path / "run")
    (tmp_path / "run.json").write_text('{"run": 1}')
    (tmp_path / "manifest.sqlite").touch()
    assert not is_run_directory(tmp_path)
    assert not is_run_directory(tmp_path / "run.json")


def test_another_plan_is_refused(tmp_path: Path) -> None:
    with ours(tmp_path / "run", "one"):
        pass
    told = r"something that it names has changed since.*choose another directory for out, or remove"
    with pytest.raises(UsageError, match=told) as caught:
        ours(tmp_path / "run", "two")
    assert caught.value.exit_code == 2
    with ours(tmp_path / "run", "one"):
        pass


def test_going_on_keeps_the_header(tmp_path: Path) -> None:
    with ours(tmp_path / "run", header=RunHeader(name="first", created=1.0)) as directory:
        directory.write_part("a", [result(1)])
    with ours(tmp_path / "run", header=RunHeader(name="second", created=2.0)) as directory:
        assert directory.header == RunHeader(name="first", created=1.0)
        assert directory.is_done("a")
        assert not directory.is_done("b")


def test_no_run_begins_among_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"not empty \(it contains notes.txt\)"):
        ours(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        ours(tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "run.json").write_text('{"mine": true}')
    with pytest.raises(ReadError, match="not a run directory"):
        ours(tmp_path)
    assert (tmp_path / "run.json").read_text() == '{"mine": true}'


def test_a_run_that_died_before_its_first_word_begins_anew(tmp_path: Path) -> None:
    with ours(tmp_path):
        pass
    (tmp_path / "run.json").unlink()
    (tmp_path / ".0123.tmp").touch()
    with ours(tmp_path) as directory:
        directory.write_part("a", [result(1)])
    assert not (tmp_path / ".0123.tmp").exists()


def test_another_version_of_the_layout_is_refused(tmp_path: Path) -> None:
    with ours(tmp_path):
        pass
    path = tmp_path / "run.json"
    path.write_text(re.sub(r',\s*"sha256": "\w+"', "", path.read_text()).replace('"store": 2', '"store": 99'))
    for opening in (ours, RunDirectory.open):
        with pytest.raises(UsageError, match="version 99, this pantrace knows versions 1 to 2"):
            opening(tmp_path)


def test_only_a_writer_writes(tmp_path: Path) -> None:
    with ours(tmp_path):
        pass
    with RunDirectory.open(tmp_path) as directory, pytest.raises(UsageError, match="not open for writing"):
        directory.write_part("a", [])
    with pytest.raises(ReadError, match="not a run directory"):
        RunDirectory.open(tmp_path / "parts")


def test_files_without_a_row_in_the_manifest_do_not_count_and_are_overwritten(tmp_path: Path) -> None:
    with ours(tmp_path / "other") as other:
        other.write_part("a", [result(7), result(8)])
    with ours(tmp_path / "run") as directory:
        for path in (tmp_path / "other/parts").iterdir():
            shutil.copy(path, tmp_path / "run/parts")
        (tmp_path / "run/parts/b.samples.parquet").write_bytes(b"torn")
        assert not directory.is_done("a")
        assert list(directory.samples()) == []
        assert query(directory.path, "select count(*) from samples").rows == [(0,)]
        directory.write_part("a", [result(1)])
        directory.write_part("b", [result(2)])
    assert [sample.id for sample in directory.samples()] == ["sample-1", "sample-2"]


def test_a_part_whose_source_fails_leaves_nothing(tmp_path: Path) -> None:
    def torn() -> Iterator[Result]:
        yield result(1)
        raise ReadError("the input is torn")

    with ours(tmp_path) as directory:
        with pytest.raises(ReadError, match="the input is torn"):
            directory.write_part("a", torn())
        assert list((tmp_path / "parts").iterdir()) == []
        directory.write_part("a", [])
        assert directory.is_done("a")


def test_workers_write_and_the_writer_commits(tmp_path: Path) -> None:
    with ours(tmp_path) as directory:
        first, again = (stage_part(tmp_path, "a", [result(number)]) for number in (1, 2))
        assert list(directory.samples()) == []
        directory.commit(pickle.loads(pickle.dumps(first)))
        directory.commit(again)
        assert [sample.id for sample in directory.samples()] == ["sample-1"]
        stage_part(tmp_path, "b", [result(3)])
    with ours(tmp_path):
        assert not list((tmp_path / "parts").glob(".*")), "what a dead worker wrote is still there"


def test_a_part_that_was_lost_is_said_and_made_again(tmp_path: Path) -> None:
    write(str(tmp_path), 2, 3)
    before = query(tmp_path, "select * from steps order by all").rows
    next(tmp_path.glob("parts/00001-abc.steps.*.parquet")).unlink()
    with pytest.raises(ReadError, match=r"00001-abc.steps\..*is damaged: it is missing \(run the same `pantrace eval`"):
        query(tmp_path, "select * from steps")
    next(tmp_path.glob("parts/00000-abc.samples.*.parquet")).write_bytes(b"torn")
    with pytest.raises(ReadError, match=r"00000-abc.samples\..*it has 4 bytes, and [\d,]+ were written"):
        list(RunDirectory.open(tmp_path).samples())
    write(str(tmp_path), 2, 3)
    assert query(tmp_path, "select * from steps order by all").rows == before
    assert len(decided(tmp_path)) == 6


def test_a_manifest_that_is_none_is_said(tmp_path: Path) -> None:
    write(str(tmp_path), 1, 1)
    (tmp_path / "manifest.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 20)
    with pytest.raises(ReadError, match=r"manifest of the run is damaged: file is not a database \(run the same"):
        list(RunDirectory.open(tmp_path).samples())


@pytest.mark.parametrize("name", ["UPPER", "a/b", "../up", "ü", "a b", "", "x" * 300, "con\ud800"])
def test_any_name_of_a_part_is_a_file(tmp_path: Path, name: str) -> None:
    with ours(tmp_path / "run") as directory:
        directory.write_part("upper", [result(0)])
        directory.write_part(name, [result(1)])
        assert directory.is_done(name)
        assert {sample.id for sample in directory.samples()} == {"sample-0", "sample-1"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_deciding_again_replaces_the_profile_and_nothing_else(tmp_path: Path) -> None:
    write(str(tmp_path), 2, 3)
    before = decided(tmp_path)
    assert before["sample-0"] is False
    ids = list(before)
    with RunDirectory.open(tmp_path, writing=True) as directory:
        directory.replace_decisions("lax", [Decision(sample=each, profile="lax", passed=True) for each in ids])
        assert decided(tmp_path) == before
        assert decided(tmp_path, "lax") == dict.fromkeys(ids, True)
        undecided = [Decision(sample=each, profile="strict") for each in ids]
        for answer in (None, True, None):
            directory.replace_decisions("strict", [_with(each, answer) for each in undecided])
            assert decided(tmp_path) == dict.fromkeys(ids, answer)
        assert decided(tmp_path, "lax") == dict.fromkeys(ids, True)
        directory.replace_decisions("strict", [])
        assert decided(tmp_path) == {}
    write(str(tmp_path), 3, 3)
    assert sorted(decided(tmp_path)) == ["sample-6", "sample-7", "sample-8"], "new parts come with their own decisions"


def _with(decision: Decision, passed: bool | None) -> Decision:
    return Decision(sample=decision.sample, profile=decision.profile, passed=passed)


def test_decisions_made_again_stay_with_their_epoch(tmp_path: Path) -> None:
    epochs = [Sample(id="same \ud800", epoch=epoch, trajectory=Trajectory()) for epoch in (1, 2)]
    with ours(tmp_path) as directory:
        directory.write_part("a", [Result(sample=each) for each in epochs])
        answers = [Decision(sample="same \ud800", profile="p", passed=passed) for passed in (True, False)]
        directory.replace_decisions("p", answers)
        assert [(one.sample.epoch, one.decisions[0].passed) for one in directory.results()] == [(1, True), (2, False)]
        joined = "select epoch, passed from decisions join samples using (part, number, epoch) order by epoch"
        assert query(tmp_path, joined).rows == [(1, True), (2, False)]
        with pytest.raises(UsageError, match="which the run does not have"):
            directory.replace_decisions("p", [*answers, answers[0]])
        with pytest.raises(UsageError, match="a decision of profile 'p' among those of 'q'"):
            directory.replace_decisions("q", answers)
        assert len(list(directory.decisions())) == 2
