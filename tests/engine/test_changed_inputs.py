"""A run directory equals the inputs and the plan of the last evaluation, whatever it held before."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.recordings import READY, rows, sample, write
from goldens import ROOT
from pantrace.engine.convert import write_run
from pantrace.engine.evaluate import decide_again, evaluate_into
from pantrace.engine.intake import Done
from pantrace.engine.judge import Access, Bench, bench
from pantrace.engine.plan import MeasureTable, Plan, prepare
from pantrace.engine.select import Selection
from pantrace.engine.where import parse_where
from pantrace.errors import ReadError, UsageError
from pantrace.judges import Settings
from pantrace.model import Case, Run, Sample
from pantrace.policy import Profile
from pantrace.store import query
from scripted import Scripted, verdict
from thorough import quick, thorough


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three files: of three parts, of one, and of exactly one full part."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, numbers in (("a", range(150)), ("b", range(200, 240)), ("c", range(300, 364))):
        write(folder / f"{name}.trace.jsonl", numbers)
    return folder


def evaluated(runs: Path, out: Path, **options: Any) -> Done:
    """Evaluate into a directory that may hold something, and hold the outcome against a fresh one."""
    done = evaluate_into([runs], out, READY, "", **options)
    fresh = out.with_name("fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    evaluate_into([runs], fresh, READY, "", **options)
    assert rows(out) == rows(fresh)
    assert {path.name for path in parts(fresh)} <= {path.name for path in parts(out)}
    return done


def parts(out: Path) -> list[Path]:
    return sorted((out / "parts").iterdir())


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def counts(done: Done) -> tuple[int, int, int, int]:
    return done.measured, done.reused, done.superseded, done.removed


def test_one_edited_sample_is_measured_and_takes_the_place_of_the_old_one(runs: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", runs / "a.trace.jsonl"
    assert counts(evaluated(runs, out)) == (254, 0, 0, 0)
    before, original = rows(out), file.read_text()
    file.write_text(original.replace('"text":"answer 70"', '"text":"another answer"'))
    assert counts(evaluated(runs, out)) == (1, 253, 1, 0)
    assert query(out, "select response from samples where sample = 's0070'").rows == [("another answer",)]
    file.write_text(original)
    assert counts(evaluated(runs, out)) == (0, 254, 1, 0), "what was set aside was measured again"
    assert rows(out) == before


def test_appended_samples_are_added_and_a_removed_line_is_removed(runs: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", runs / "b.trace.jsonl"
    evaluated(runs, out)
    more = lines(write(tmp_path / "more.trace.jsonl", range(240, 270)))[1:]
    file.write_text("".join([*lines(file), *more]))
    assert counts(evaluated(runs, out)) == (30, 254, 0, 0)
    del_last = lines(file)[:-1]
    file.write_text("".join(del_last))
    assert counts(evaluated(runs, out)) == (0, 283, 1, 0)
    file.write_text("".join(del_last[:5] + del_last[6:]))
    assert counts(evaluated(runs, out)) == (0, 282, 1, 0)
    assert query(out, "select count(*), count(distinct sample) from samples").rows == [(282, 282)]


def test_a_removed_file_is_gone_and_comes_back_unmeasured(runs: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", runs / "b.trace.jsonl"
    evaluated(runs, out)
    content = file.read_bytes()
    file.unlink()
    assert counts(evaluated(runs, out)) == (0, 214, 0, 40)
    assert counts(evaluated(runs, out)) == (0, 214, 0, 0)
    file.write_bytes(content)
    assert counts(evaluated(runs, out)) == (0, 254, 0, 0)


def test_a_renamed_file_is_there_once_and_so_are_two_that_changed_names(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    evaluated(runs, out)
    (runs / "b.trace.jsonl").rename(runs / "d.trace.jsonl")
    assert evaluated(runs, out).measured == 0, "the same samples were measured again"
    (runs / "d.trace.jsonl").rename(runs / "x")
    (runs / "a.trace.jsonl").rename(runs / "d.trace.jsonl")
    (runs / "x").rename(runs / "a.trace.jsonl")
    evaluated(runs, out)
    assert query(out, "select count(*), count(distinct sample) from samples").rows == [(254, 254)]


def test_a_renamed_session_says_where_it_lies_now(tmp_path: Path) -> None:
    out, runs = tmp_path / "out", tmp_path / "runs"
    runs.mkdir()
    shutil.copy(ROOT / "opencode/bad_tool_calls.json", runs / "one.json")
    evaluated(runs, out)
    (runs / "one.json").rename(runs / "two.json")
    evaluated(runs, out)
    assert query(out, "select source from samples").rows == [(str(runs / "two.json"),)]


def test_copies_count_as_often_as_they_are_there(runs: Path, tmp_path: Path) -> None:
    shutil.copy(runs / "b.trace.jsonl", runs / "copy.trace.jsonl")
    done = evaluate_into([runs, runs / "b.trace.jsonl"], tmp_path / "out", READY, "")
    assert (done.measured + done.reused, done.measured) == (294, 294)
    shutil.rmtree(tmp_path / "out")
    assert evaluated(runs, tmp_path / "out").measured == 294


@pytest.mark.parametrize("seed", quick({0}, range(2)))
def test_any_order_of_edits_ends_like_a_fresh_directory(runs: Path, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    originals = {path.name: path.read_bytes() for path in runs.iterdir()}

    def edit(path: Path) -> None:
        found = lines(path)
        at = dice.randrange(1, len(found))
        found[at] = found[at].replace('"answer', f'"({dice.randrange(99)}) answer', 1)
        path.write_text("".join(found))

    def append(path: Path) -> None:
        more = lines(write(tmp_path / "more.trace.jsonl", range(900, 900 + dice.randrange(1, 70))))[1:]
        path.write_text("".join([*lines(path), *more]))

    def cut(path: Path) -> None:
        found = lines(path)
        del found[dice.randrange(1, len(found))]
        path.write_text("".join(found))

    def remove(path: Path) -> None:
        path.unlink()

    def rename(path: Path) -> None:
        path.rename(runs / f"{dice.choice('defg')}.trace.jsonl")

    def swap(path: Path) -> None:
        other = dice.choice(sorted(runs.iterdir()))
        one, two = path.read_bytes(), other.read_bytes()
        path.write_bytes(two)
        other.write_bytes(one)

    def revert(path: Path) -> None:
        name = dice.choice(sorted(originals))
        (runs / name).write_bytes(originals[name])

    changes: list[Callable[[Path], None]] = [edit, edit, append, cut, remove, rename, swap, revert]
    for _ in range(7):
        for _ in range(dice.randint(1, 3)):
            files = [path for path in sorted(runs.iterdir()) if len(lines(path)) > 1]
            dice.choice(changes if len(files) > 1 else [revert])(dice.choice(files))
        evaluated(runs, tmp_path / "out")


def test_a_narrower_selection_supersedes_and_a_wider_one_measures_nothing_again(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    evaluated(runs, out)
    odd = Selection(where=(parse_where("label.parity=odd"),))
    narrow = evaluated(runs, out, selection=odd)
    assert narrow.superseded == 127
    assert query(out, "select count(*) from samples").rows == [(127,)]
    assert evaluated(runs, out, selection=odd).superseded == 0
    assert counts(evaluated(runs, out)) == (0, 254, 0, 0), "what was set aside was measured again"


def test_a_limit_holds_for_all_inputs_together(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert evaluated(runs, out, selection=Selection(limit=170)).measured == 170
    assert counts(evaluated(runs, out, selection=Selection(limit=10))) == (0, 10, 160, 0)
    assert counts(evaluated(runs, out)) == (84, 170, 0, 0)


def test_a_selection_that_moves_with_the_clock_leaves_nothing_behind(runs: Path, tmp_path: Path) -> None:
    out, sizes = tmp_path / "out", set()
    for since in range(4):
        done = evaluate_into([ROOT / "opencode/todo.db"], out, READY, "", selection=Selection(since=float(since)))
        sizes.add((out / "manifest.sqlite").stat().st_size)
        with closing(sqlite3.connect(out / "manifest.sqlite")) as database:
            assert database.execute("select count(*) from intakes").fetchone() == (1,)
    assert done.reused > 0 and done.measured == 0 and len(sizes) == 1


def test_a_run_directory_as_input_is_not_read_again(runs: Path, tmp_path: Path) -> None:
    evaluate_into([runs / "b.trace.jsonl"], tmp_path / "first", READY, "")
    evaluate_into([tmp_path / "first"], tmp_path / "out", READY, "")
    seen: list[Sample] = []
    done = evaluate_into([tmp_path / "first"], tmp_path / "out", READY, "", on_sample=seen.append)
    assert (done.reused, seen) == (40, [])


def test_a_mistyped_command_costs_nothing_however_often_it_is_run(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    evaluated(runs, out)
    for _ in range(3):
        done = evaluate_into([runs / "b.trace.jsonl"], out, READY, "")
        assert done.measured == 0
    assert counts(evaluated(runs, out)) == (0, 254, 0, 0)
    before = {path.name for path in parts(out)}
    evaluate_into([runs / "b.trace.jsonl"], out, READY, "")
    evaluate_into([runs / "c.trace.jsonl"], out, READY, "")
    assert len(parts(out)) < len(before), "what two editions ago was set aside is still there"
    with pytest.raises(ReadError, match="nothing readable"):
        (tmp_path / "empty").mkdir()
        evaluate_into([tmp_path / "empty"], out, READY, "")
    assert query(out, "select count(*) from samples").rows == [(64,)]


def test_the_results_are_not_their_own_input(runs: Path) -> None:
    out = runs / "results"
    first = evaluate_into([runs], out, READY, "")
    second = evaluate_into([runs], out, READY, "")
    assert (first.measured, second.measured, second.reused) == (254, 0, 254)
    with pytest.raises(UsageError, match="as input and as out"):
        evaluate_into([out], out, READY, "")


def test_an_edited_reference_is_noticed(runs: Path, tmp_path: Path) -> None:
    from pantrace.engine.plan import ReferenceTable

    golden, out = tmp_path / "golden.trace.jsonl", tmp_path / "out"
    plan = Plan(measure=MeasureTable(metrics=("exact_match",)), reference=ReferenceTable(path=str(golden)))
    bare = [Sample(id=each.id, trajectory=each.trajectory) for each in (sample(number) for number in range(150))]
    write_run(Run(samples=bare), runs / "a.trace.jsonl", to="native", measure=False)
    right = "select count(*) from scores where name = 'exact_match' and value = 1"
    for answer, expected in (("42", 0), (None, 150)):
        known = [Sample(id=sample(n).id, case=Case(reference=answer or f"answer {n}")) for n in range(150)]
        write_run(Run(samples=known), golden, to="native", measure=False)
        done = evaluate_into([runs / "a.trace.jsonl"], out, prepare(plan, Path()), "")
        assert done.measured == 150
        assert query(out, right).rows == [(expected,)]
    again = evaluate_into([runs / "a.trace.jsonl"], out, prepare(plan, Path()), "")
    assert (again.measured, again.unmatched) == (0, done.unmatched)


def test_a_database_that_is_written_meanwhile_is_read_again(tmp_path: Path) -> None:
    database, out = tmp_path / "opencode.db", tmp_path / "out"
    shutil.copy(ROOT / "opencode/todo.db", database)
    evaluate_into([database], out, READY, "")
    with closing(sqlite3.connect(database, isolation_level=None)) as live:
        live.execute("pragma journal_mode = wal")
        live.execute("pragma wal_autocheckpoint = 0")
        evaluate_into([database], out, READY, "")
        main = database.read_bytes()
        live.execute("update session set title = 'new'")
        assert database.read_bytes() == main, "the change is not in the log alone"
        evaluate_into([database], out, READY, "")
        assert query(out, "select distinct title from samples").rows == [("new",)]


def test_a_file_beside_the_input_counts_as_part_of_it(tmp_path: Path) -> None:
    for path in (ROOT / "explain").iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    catalogue, dataset, out = tmp_path / "scenario-catalog.jsonl", tmp_path / "cases.explain.jsonl", tmp_path / "out"
    assert catalogue.is_file() and dataset.is_file()
    evaluate_into([dataset], out, READY, "")
    labels = "select labels from samples order by sample"
    before = query(out, labels).rows
    catalogue.unlink()
    evaluate_into([dataset], out, READY, "")
    assert query(out, labels).rows != before


def test_broken_records_are_told_each_time_and_no_longer_when_they_are_mended(runs: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", runs / "b.trace.jsonl"
    whole = file.read_text()
    file.write_text(whole + '{"id": 3}\n')
    first, second = (evaluated(runs, out).notes.broken for _ in range(2))
    assert len(first) == 1 and list(map(str, second)) == list(map(str, first))
    assert "broken_records" in query(out, "select config from runs").rows[0][0]
    file.write_text(whole)
    assert evaluated(runs, out).notes.broken == []
    assert query(out, "select config from runs").rows == [(None,)]


def test_decisions_of_gate_end_with_the_next_evaluation(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    evaluated(runs, out)
    decide_again(out, Profile(name="strict", version="1", thresholds={"quality": 100}))
    assert query(out, "select count(*) from decisions").rows == [(254,)]
    assert evaluated(runs, out).undone == ["strict"]
    assert query(out, "select count(*) from decisions").rows == [(0,)]
    assert evaluated(runs, out).undone == []


def test_an_edited_plugin_is_another_plan(runs: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    text = "from pantrace.metrics import Measurement, metric\n@metric()\ndef mine(sample, settings):\n"
    text += "    return Measurement(value={})\n"
    plan = Plan(measure=MeasureTable(metrics=("mine",), plugins=["mine.py"]))
    plugin.write_text(text.format(1))
    evaluate_into([runs], tmp_path / "out", prepare(plan, tmp_path), "")
    plugin.write_text(text.format(2))
    with pytest.raises(UsageError, match="something that it names has changed"):
        evaluate_into([runs], tmp_path / "out", prepare(plan, tmp_path), "")


# Judges

CASES = ROOT / "explain/cases.explain.jsonl"


def judging(judge: Scripted, cache: Path) -> Bench:
    return bench(Settings(models=("openai:m",)), Access(), cache=cache, judge=judge)


def test_an_edited_case_is_judged_again_and_no_other(tmp_path: Path) -> None:
    file, out = tmp_path / "cases.jsonl", tmp_path / "out"
    shutil.copy(CASES, file)
    first, second = Scripted(lambda _: verdict(4)), Scripted(lambda _: verdict(2))
    evaluate_into([file], out, READY, "", judging=judging(first, tmp_path / "cache.sqlite"))
    found = lines(file)
    last = json.loads(found[-1])
    file.write_text("".join([*found[:-1], json.dumps(last | {"question": "Another one?"}) + "\n"]))
    # Without the cache of the first run, whatever is asked is seen.
    done = evaluate_into([file], out, READY, "", judging=judging(second, tmp_path / "other.sqlite"))
    assert (done.measured, done.superseded) == (1, 1)
    assert 0 < len(second.requests) < len(first.requests)


# Crashes

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


@thorough
@pytest.mark.parametrize("first", [True, False], ids=["first run", "later run"])
def test_killed_while_inputs_change_it_never_shows_old_and_new_side_by_side(
    runs: Path, tmp_path: Path, first: bool
) -> None:
    out, dice = tmp_path / "out", random.Random(11)
    plan = tmp_path / "plan.toml"
    plan.write_text('[measure]\nmetrics = ["tool_success_rate", "exact_match"]\n')
    command = [sys.executable, "-m", "pantrace", "eval", str(runs), "--plan", str(plan)]

    def run(target: Path) -> dict[str, list[tuple[Any, ...]]]:
        subprocess.run([*command, "--out", str(target)], env=ENVIRONMENT, check=True, capture_output=True)
        return rows(target)

    before = None if first else run(out)
    killed = 0
    for turn in range(6):
        for path in sorted(runs.iterdir()):
            # Every answer changes, and so does every part.
            path.write_text(path.read_text().replace('"text":"', f'"text":"{turn} '))
        one, two = sorted(runs.iterdir())[:2]
        one.rename(tmp_path / "x")
        two.rename(one)
        (tmp_path / "x").rename(two)
        process = subprocess.Popen(
            [*command, "--out", str(out)], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        known = len(parts(out)) if out.exists() else 0
        while process.poll() is None and (len(parts(out)) if (out / "parts").exists() else 0) <= known:
            time.sleep(0.002)
        time.sleep(dice.uniform(0, 0.15))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        ended = process.wait() == 0
        if (out / "run.json").exists():
            found = query(out, "select count(*), count(distinct sample) from samples").rows[0]
            assert found[0] == found[1], "a sample is there twice"
        if before is not None:
            after = rows(out)
            after["runs"] = before["runs"]
            if after != before:
                assert ended or after == {**run(tmp_path / f"fresh{turn}"), "runs": before["runs"]}
                before = rows(out)
    assert killed >= 3
    done = run(out)
    assert done == run(tmp_path / "whole")
