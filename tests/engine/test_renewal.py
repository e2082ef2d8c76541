"""A damaged run directory: readers say what is wrong, never something else, and the same evaluation renews it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pantrace
from engine.recordings import READY, rows, write
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.evaluate import decide_again, evaluate_into, plan_hash
from pantrace.engine.intake import Done
from pantrace.engine.judge import Access, bench
from pantrace.engine.plan import Plan, load_plan, prepare
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.summary import summarise
from pantrace.errors import PantraceError, ReadError, UsageError
from pantrace.judges import Settings
from pantrace.policy import Profile
from pantrace.store import RunDirectory, query, unverified
from scripted import Scripted, verdict
from thorough import quick

STRICT = Profile(name="strict", version="1", thresholds={"quality": 100})
DECIDING = msgspec.structs.replace(READY, default=STRICT)
TABLES = ("samples", "steps", "calls", "scores", "decisions")
FLIPS = 25
HARMS = ("flipped", "cut", "longer", "empty", "gone", "another's", "a folder")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write(folder / "in.trace.jsonl", range(100))
    evaluate_into([folder / "in.trace.jsonl"], folder / "run", DECIDING, "")
    return folder


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole / "run", tmp_path / "run"))


def renewed(whole: Path, out: Path) -> Done:
    """The same evaluation again; afterwards the directory is as a fresh one."""
    done = evaluate_into([whole / "in.trace.jsonl"], out, DECIDING, "")
    assert rows(out) == rows(whole / "run")
    return done


def part_files(out: Path) -> list[Path]:
    return sorted((out / "parts").iterdir())


def flips(path: Path, count: int, seed: int) -> Iterator[None]:
    """The file with one bit changed, at another place each time: somewhere, in its first bytes, in its last."""
    data, dice = path.read_bytes(), random.Random(seed)
    places = [*range(4), *(len(data) - near for near in range(1, 9))]
    places += [dice.randrange(len(data)) for _ in range(count)]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        yield
    path.write_bytes(data)


@pytest.mark.parametrize("table", quick({"decisions"}, TABLES))
def test_no_flipped_bit_in_a_part_changes_an_answer(whole: Path, out: Path, table: str) -> None:
    question = f"select * exclude (run) from {table}"
    (file, *_) = (out / "parts").glob(f"*.{table}.*.parquet")
    message = rf"{file.name}: this part of the run is damaged: its content is not what was written \(run the same"
    for _ in flips(file, FLIPS, seed=len(table)):
        with pytest.raises(ReadError, match=message):
            query(out, question)
        if table in ("samples", "scores", "decisions"):
            with pytest.raises(ReadError, match=message):
                list(RunDirectory.open(out).results())
    assert sorted(query(out, question).rows, key=repr) == rows(whole / "run")[table]


@pytest.mark.parametrize("table", ["samples", "scores"])
def test_whoever_reads_a_run_hears_of_its_damage(whole: Path, out: Path, tmp_path: Path, table: str) -> None:
    (file, *_) = (out / "parts").glob(f"*.{table}.*.parquet")
    next(flips(file, 0, seed=1))
    readers = [
        lambda: summarise(out),
        lambda: decide_again(out, STRICT),
        lambda: convert(out, tmp_path / "out.trace.jsonl", to="native", strict=True),
        lambda: list(read_pile([out], notes=Notes()).samples),
    ]
    for reader in readers:
        with pytest.raises(ReadError, match=rf"{file.name}: this part of the run is damaged"):
            reader()
    assert renewed(whole, out).damaged == [file]
    for reader in readers:
        reader()


@pytest.mark.parametrize("table", quick({"scores"}, TABLES))
@pytest.mark.parametrize("harm", quick({"flipped", "gone"}, HARMS))
def test_the_same_evaluation_renews_a_part_and_measures_no_other(whole: Path, out: Path, table: str, harm: str) -> None:
    file, *others = (out / "parts").glob(f"*.{table}.*.parquet")
    data = file.read_bytes()
    file.unlink()
    if harm == "a folder":
        file.mkdir()
    elif harm != "gone":
        harmed = {
            "flipped": data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
            "cut": data[: len(data) // 2],
            "longer": data + b"\0",
            "empty": b"",
            "another's": others[0].read_bytes() if others else data[::-1],
        }
        file.write_bytes(harmed[harm])
    with pytest.raises(ReadError, match=rf"{file.name}: this part of the run is damaged"):
        query(out, f"select * from {table}")
    if harm == "a folder":
        # What is not ours is not removed; the message names it.
        with pytest.raises(PantraceError, match="cannot be written"):
            renewed(whole, out)
        file.rmdir()
    done = renewed(whole, out)
    size = query(out, f"select count(*) from samples where part = '{file.name.split('.')[0]}'").rows[0][0]
    assert (done.measured, done.renewed, done.reused, done.damaged) == (size, size, 100 - size, [file])
    assert part_files(out) == [out / "parts" / path.name for path in part_files(whole / "run")]


def test_all_parts_gone_are_all_renewed(whole: Path, out: Path) -> None:
    shutil.rmtree(out / "parts")
    with pytest.raises(ReadError, match="it is missing"):
        query(out, "select * from samples")
    assert renewed(whole, out).renewed == 100


def test_damage_and_an_edited_input_together(whole: Path, out: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.trace.jsonl"
    text = (whole / "in.trace.jsonl").read_text()
    source.write_text(text)
    evaluate_into([source], out, DECIDING, "")
    source.write_text(text.replace('"text":"answer 3"', '"text":"edited"'))
    for file in part_files(out):
        next(flips(file, 0, seed=2))
    evaluate_into([source], out, DECIDING, "")
    evaluate_into([source], tmp_path / "fresh", DECIDING, "")
    assert rows(out) == rows(tmp_path / "fresh")


def told(out: Path) -> tuple[Any, ...]:
    """All that a directory says, in the quickest way."""
    directory = RunDirectory.open(out)
    asked = query(out, "select count(*), sum(value), (select count(*) from decisions where passed) from scores")
    return directory.header, list(directory.results()), asked.rows


@pytest.mark.parametrize("name", quick({"run.json"}, ("manifest.sqlite", "run.json")))
def test_flipped_bits_in_the_books_are_told_or_change_nothing(
    whole: Path, out: Path, tmp_path: Path, name: str
) -> None:
    expected, refused = told(out), 0
    for number, _ in enumerate(flips(out / name, 40, seed=3)):
        try:
            assert told(out) == expected
        except ReadError as error:
            assert "damaged" in str(error) and "run the same `pantrace eval`" in str(error)
            refused += 1
        if number % 8 == 0:
            copy = Path(shutil.copytree(out, tmp_path / f"copy{number}"))
            renewed(whole, copy)
    assert refused >= 5


BOOKS = {
    "gone": None,
    "empty": b"",
    "garbage": b"This is not what it was. " * 400,
    "cut": 5000,
    "cut in a page": 5001,
    "of another run": b"",
}


@pytest.mark.parametrize("harm", quick({"garbage"}, BOOKS))
@pytest.mark.parametrize("name", ["manifest.sqlite", "run.json"])
def test_books_that_are_gone_or_garbage_are_told_and_written_anew(
    whole: Path, out: Path, tmp_path: Path, harm: str, name: str
) -> None:
    file, content = out / name, BOOKS[harm]
    data = file.read_bytes()
    file.unlink()
    if harm == "of another run":
        write(tmp_path / "other.trace.jsonl", range(5))
        evaluate_into([tmp_path / "other.trace.jsonl"], tmp_path / "other", DECIDING, "")
        shutil.copy(tmp_path / "other" / name, file)
    elif content is not None:
        file.write_bytes(data[: min(content, len(data) // 2)] if isinstance(content, int) else content)
    if (name, harm) != ("run.json", "of another run"):
        for reading in (rows, lambda folder: decide_again(folder, STRICT)):
            with pytest.raises(ReadError, match=r"run the same `pantrace eval` with --out .* again"):
                reading(out)
    done = renewed(whole, out)
    assert done.anew == (() if harm == "of another run" else (name,))
    assert done.measured == (100 if name == "manifest.sqlite" else 0)
    assert part_files(out) == [out / "parts" / path.name for path in part_files(whole / "run")]


def test_what_is_left_of_a_directory_is_enough_to_begin_anew(whole: Path, out: Path) -> None:
    shutil.rmtree(out / "parts")
    (out / "manifest.sqlite").unlink()
    assert renewed(whole, out).measured == 100


def test_another_plan_is_refused_also_where_the_header_is_damaged(whole: Path, out: Path) -> None:
    (out / "run.json").write_bytes(b"{")
    before = {path: path.read_bytes() for path in part_files(out)}
    other = prepare(Plan(name="other"), Path())
    with pytest.raises(UsageError, match="another plan"):
        evaluate_into([whole / "in.trace.jsonl"], out, other, "")
    assert {path: path.read_bytes() for path in part_files(out)} == before


def test_nothing_is_deleted_before_the_new_parts_count(whole: Path, out: Path) -> None:
    (out / "manifest.sqlite").write_bytes(b"garbage" * 100)
    before = part_files(out)

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_into([whole / "in.trace.jsonl"], out, DECIDING, "", on_sample=interrupted)
    assert set(before) <= set(part_files(out))
    renewed(whole, out)


def test_judged_scores_of_a_renewed_part_come_from_the_cache(tmp_path: Path) -> None:
    cases, out = ROOT / "explain/cases.explain.jsonl", tmp_path / "out"

    def judging(judge: Scripted) -> Any:
        return bench(Settings(models=("openai:m",)), Access(), cache=tmp_path / "cache.sqlite", judge=judge)

    first, second = Scripted(lambda _: verdict(4)), Scripted(lambda _: verdict(1))
    evaluate_into([cases], out, READY, "", judging=judging(first))
    before = rows(out)
    (file, *_) = (out / "parts").glob("*.scores.*.parquet")
    file.unlink()
    done = evaluate_into([cases], out, READY, "", judging=judging(second))
    assert first.requests and second.requests == [] and done.renewed == len(before["samples"])
    assert rows(out) == before


# Directories that were written before parts had hashes

OLD = Path(__file__).parents[1] / "store/before_hashes"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of that time, bound to what its plan is called today."""
    folder = Path(shutil.copytree(OLD, tmp_path / "old"))
    monkeypatch.chdir(folder)
    loaded, text, beside = load_plan(Path("plan.toml"))
    header = msgspec.json.decode((folder / "run/run.json").read_bytes())
    header["plan_hash"] = plan_hash(prepare(loaded, beside, text))
    (folder / "run/run.json").write_bytes(msgspec.json.encode(header))
    return folder


def test_an_old_directory_is_read_and_said_to_be_unverified(old: Path) -> None:
    run = old / "run"
    assert query(run, "select sample, passed from decisions order by all").rows == [
        ("s00001", False),
        ("s00002", True),
        ("s00003", True),
    ]
    assert run in unverified()
    assert len(list(RunDirectory.open(run).results())) == 3
    assert summarise(run).samples == 3
    decide_again(run, Profile(name="p", version="1", thresholds={"quality": 9}))
    assert query(run, "select count(*) from decisions where profile = 'p' and not passed").rows == [(3,)]


def test_the_command_line_says_that_it_could_not_verify(old: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(pantrace.__file__).parent.parent)}
    command = [sys.executable, "-m", "pantrace", "query", "run", "select count(*) from scores", "--csv"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "count_star()\n6\n"
    assert found.stderr.startswith("run: not verified: its parts were written before") and found.stderr.count("\n") == 1


def test_the_next_evaluation_gives_an_old_directory_hashes_and_measures_nothing(old: Path) -> None:
    loaded, text, folder = load_plan(Path("plan.toml"))
    ready = prepare(loaded, folder, text)
    done = evaluate_into([Path("in.trace.jsonl")], Path("run"), ready, text)
    assert (done.measured, done.reused, done.superseded, done.removed) == (0, 3, 0, 0)
    evaluate_into([Path("in.trace.jsonl")], Path("fresh"), ready, text)
    before, after = rows(Path("run")), rows(Path("fresh"))
    # Scores of that version told their main number only; the others stood in their details.
    assert before.pop("scores") != after.pop("scores")
    # Which evals a case requires had no column.
    assert before.pop("samples") != after.pop("samples")
    samples = "select * exclude (run, required_evals) from samples order by all"
    assert query(Path("run"), samples).rows == query(Path("fresh"), samples).rows
    assert before == after
    question = "select sample, name, value, status, explanation from scores order by all"
    assert query(Path("run"), question).rows == query(Path("fresh"), question).rows
    with closing(sqlite3.connect("run/manifest.sqlite")) as database:
        assert database.execute("select count(*), count(sha256) from files").fetchone() == (5, 5)
    assert Path("run") not in unverified()


def test_an_old_directory_that_is_damaged_is_renewed(old: Path) -> None:
    loaded, text, folder = load_plan(Path("plan.toml"))
    (file, *_) = (old / "run/parts").glob("*.scores.parquet")
    for place in range(50, file.stat().st_size, 400):
        data = bytearray(file.read_bytes())
        data[place] ^= 0xFF
        file.write_bytes(data)
    with pytest.raises(PantraceError):
        list(RunDirectory.open(old / "run").results())
    file.write_bytes(b"")
    done = evaluate_into([Path("in.trace.jsonl")], Path("run"), prepare(loaded, folder, text), text)
    assert done.measured == 3
    evaluate_into([Path("in.trace.jsonl")], Path("fresh"), prepare(loaded, folder, text), text)
    assert rows(Path("run")) == rows(Path("fresh"))
