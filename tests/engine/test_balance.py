"""What a source says and no sample holds is counted and named, whatever the container."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.balance import Balance
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, open_run, read_pile
from pantrace.engine.vocabulary import vocabulary
from pantrace.formats import Format, by_name
from pantrace.model import Run, Sample, with_samples
from pantrace.wire.rows import OnBroken, raise_broken

ROOT = Path(__file__).parents[1] / "golden"


def balance(path: Path) -> Balance:
    notes = Notes.keeping()
    notes.unread = Balance()
    for _ in read_pile([path], notes=notes).samples:
        pass
    return notes.unread


def test_what_a_reader_forgets_is_named(tmp_path: Path) -> None:
    """A key that no reader knows is kept; a reader that throws it away is found out."""
    row = {"task_id": 1, "reward": 1.0, "trial": 0, "traj": [{"role": "user", "content": "hello there"}], "info": {}}
    tau = tmp_path / "tau.json"
    tau.write_text(json.dumps([row, {**row, "task_id": 2, "rating": 5}]))
    assert balance(tau).missing == {}
    forgetful = replace(by_name("tau-bench"), load=_forgetting(by_name("tau-bench")))
    found = Balance()
    run = found.open(tau, forgetful, "", raise_broken, lambda broken: open_run(tau, forgetful, "", broken))
    assert len(list(run.samples)) == 2
    assert found.missing == {("tau-bench", "rating"): 1}
    assert found.sentence() == "1 of 11 values has no place in the model: rating 1"


def _forgetting(format_: Format) -> Callable[[Any], Sample]:
    assert format_.load is not None
    load = format_.load
    return lambda row: load({key: value for key, value in row.items() if key != "rating"})


@needs_corpus
def test_a_database_is_looked_at_row_by_row(tmp_path: Path) -> None:
    source = CORPUS / "own/opencode/sqlite-1.18.33/opencode.db"
    copy = tmp_path / "opencode.db"
    with sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True) as database, sqlite3.connect(copy) as other:
        database.backup(other)
        before = balance(copy)
        place, data = other.execute("select id, data from message limit 1").fetchone()
        changed = {**json.loads(data), "a_new_key": "a value that was never there before"}
        other.execute("update message set data = ? where id = ?", (json.dumps(changed), place))
        other.commit()
    after = balance(copy)
    assert (before.count, after.count) == (0, 0)  # the reader keeps the new key
    assert after.values == before.values + 1
    # A reader that throws it away is found out.
    forgetful = replace(by_name("opencode"), open=_without_keys(by_name("opencode")))
    found = Balance()
    run = found.open(copy, forgetful, "", raise_broken, lambda broken: open_run(copy, forgetful, "", broken))
    assert list(run.samples)
    assert any(path.endswith("a_new_key") for _, path in found.missing)


def _without_keys(format_: Format) -> Callable[[Path, OnBroken], Run]:
    assert format_.open is not None
    opened = format_.open

    def forgets(path: Path, on_broken: OnBroken) -> Run:
        run = opened(path, on_broken)
        return with_samples(run, (_forget(sample) for sample in run.samples))

    return forgets


def _forget(sample: Sample) -> Sample:
    assert sample.trajectory is not None
    steps = tuple(msgspec.structs.replace(step, extra={}) for step in sample.trajectory.steps)
    return msgspec.structs.replace(sample, trajectory=msgspec.structs.replace(sample.trajectory, steps=steps))


def test_files_beside_an_input_are_not_its_values(tmp_path: Path) -> None:
    """A dataset is joined with the catalogue of scenarios beside it, which is an input of its own."""
    cases = tmp_path / "cases.explain.jsonl"
    cases.write_bytes((ROOT / "explain/cases.explain.jsonl").read_bytes())
    alone = balance(cases).values
    scenario = {"scenario_id": "SCN-1", "topic_family": "a value that no case has", "weekly_hours": 6}
    (tmp_path / "scenario-catalog.jsonl").write_text(json.dumps(scenario) + "\n")
    assert balance(cases).values == alone > 0
    assert balance(cases).missing == {}


def test_a_vocabulary_is_that_of_the_reader() -> None:
    words = vocabulary(by_name("tau-bench"))
    assert {"traj", "task_id", "reward", "tool_calls"} <= words
    assert "rating" not in words
    assert "invocationId" in vocabulary(by_name("adk-session"))


@needs_corpus
def test_an_archive_is_looked_at_member_by_member() -> None:
    logs = sorted((CORPUS / "own/inspect").rglob("*.eval"))
    assert logs
    found: dict[str, Any] = {str(log): dict(balance(log).missing) for log in logs[:6]}
    assert {log: missing for log, missing in found.items() if missing} == {}


@pytest.mark.parametrize("to", ["inspect", "adk-history", "adk-jsonl"])
def test_what_pantrace_had_to_invent_is_nobodys_value(to: str, tmp_path: Path) -> None:
    """A log needs ids and times that the source does not have; what the source said is kept beside them."""
    target = tmp_path / f"out{by_name(to).suffix}"
    convert(ROOT / "opencode/bad_tool_calls.json", target, to=to)
    assert balance(target).missing == {}
    convert(target, tmp_path / "again.trace.jsonl", to="native", strict=to == "inspect")
