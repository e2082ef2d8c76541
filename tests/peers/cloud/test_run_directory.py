"""A run directory in a bucket: evaluated into, resumed after `kill -9`, guarded against a second writer, asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import obstore.store
import pytest

import pantrace
from engine.recordings import READY, rows, write
from engine.run_content import run_content
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import Engine
from pantrace.errors import WriteError
from pantrace.model import RunHeader
from pantrace.places import path_at, run_path_at
from pantrace.store import Result, RunDirectory
from peers.cloud.conftest import Command
from peers.cloud.s3_server import Server, names_in, upload

SAMPLES = 600


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(6):
        write(folder / f"{number}.trace.jsonl", range(number * SAMPLES // 6, (number + 1) * SAMPLES // 6))
    return folder


def content(store: obstore.store.S3Store, prefix: str, folder: Path) -> dict[str, Any]:
    """What a run directory in a bucket holds, looked at without pantrace."""
    (folder / "parts").mkdir(parents=True)
    for key in names_in(store, prefix):
        (folder / key.removeprefix(f"{prefix}/")).write_bytes(bytes(store.get(key).bytes()))
    found = run_content(folder)
    found["manifest"]["facts"] = [each for each in found["manifest"]["facts"] if each[0] != "writer"]
    found["files"] = sorted(found["files"])
    return found


def test_every_engine_makes_the_same_of_a_bucket(
    runs: Path, server: Server, bucket: str, machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = server.store(bucket)
    upload(store, runs, "runs")
    for name, jobs in (("one", 1), ("two", 2)):
        monkeypatch.setenv("PANTRACE_CACHE", str(tmp_path / name))
        source, out = path_at(f"s3://{bucket}/runs"), run_path_at(f"s3://{bucket}/{name}")
        done = evaluate_into([source], out, READY, "", engine=Engine(jobs=jobs), span_bytes=10_000)
        assert (done.measured, done.reused) == (SAMPLES, 0)
        assert bool(done.by) == (jobs == 2)
    assert content(store, "one", tmp_path / "copy-one") == content(store, "two", tmp_path / "copy-two")
    assert "lock" not in {key.rpartition("/")[2] for key in names_in(store, "")}
    # The same samples and scores as those of a folder.
    evaluate_into([runs], tmp_path / "local", READY, "", span_bytes=10_000)
    here, there = rows(tmp_path / "local"), rows(path_at(f"s3://{bucket}/one"))
    for table in ("scores", "calls"):
        assert _without_parts(here[table], table) == _without_parts(there[table], table) != []


def _without_parts(found: list[tuple[Any, ...]], table: str) -> list[str]:
    from pantrace.store.schema import TABLES, columns

    names = [*columns(TABLES[table])]
    place = names.index("part")
    return sorted(repr(row[:place] + row[place + 1 :]) for row in found)


KILLED = """
import os, signal, sqlite3, sys, tempfile, time
import obstore.store, pantrace
source, out, bucket = sys.argv[1:]
store = obstore.store.S3Store(bucket, client_options={"allow_http": True})
seen = 0

def kill_when_something_is_committed(_):
    global seen
    seen += 1
    if seen % 20:
        return
    # The slower the bucket answers, the longer a manifest is not sent again.
    time.sleep(0.5)
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(store.get("out/manifest.sqlite").bytes()))
        file.flush()
        if sqlite3.connect(file.name).execute("select count(*) from parts").fetchone()[0] > 1:
            os.kill(os.getpid(), signal.SIGKILL)

pantrace.evaluate(source, out=out, on_sample=kill_when_something_is_committed)
"""


def killed_in_mid_run(bucket: str, machine: Path) -> None:
    words = [sys.executable, "-c", KILLED, f"s3://{bucket}/runs", f"s3://{bucket}/out", bucket]
    process = subprocess.run(words, env={**os.environ, "PANTRACE_CACHE": str(machine)}, check=False)
    assert process.returncode == -signal.SIGKILL


def measured(told: subprocess.CompletedProcess[str]) -> tuple[int, int]:
    assert told.returncode == 0, told.stderr
    words = told.stderr.rpartition("samples measured")
    return int(words[0].split()[-1]), int(words[2].split()[1])


def test_after_kill_9_the_same_command_goes_on_and_another_machine_must_wait(
    runs: Path, server: Server, bucket: str, machine: Path, command: Command, tmp_path: Path
) -> None:
    store = server.store(bucket)
    upload(store, runs, "runs")
    killed_in_mid_run(bucket, machine)
    evaluation = ("eval", f"s3://{bucket}/runs", "--out", f"s3://{bucket}/out")
    refused = command(*evaluation, cache=tmp_path / "elsewhere")
    assert refused.returncode == 2
    assert "another process is writing here (pid" in " ".join(refused.stderr.split())
    assert "can be taken over in" in " ".join(refused.stderr.split())
    now, before = measured(command(*evaluation))
    assert now + before == SAMPLES
    assert 0 < before < SAMPLES
    assert measured(command(*evaluation, cache=tmp_path / "third")) == (0, SAMPLES)
    answer = command("query", f"s3://{bucket}/out", "select count(*), count(distinct sample) from samples", "--csv")
    assert answer.stdout.splitlines()[1:] == [f"{SAMPLES},{SAMPLES}"]


def test_an_abandoned_lock_is_taken_over_from_another_machine(
    runs: Path, server: Server, bucket: str, machine: Path, command: Command, tmp_path: Path
) -> None:
    store = server.store(bucket)
    upload(store, runs, "runs")
    killed_in_mid_run(bucket, machine)
    # As if the stated time had passed.
    lock = {**json.loads(bytes(store.get("out/lock").bytes())), "lost_after": 0}
    store.put("out/lock", json.dumps(lock).encode())
    words = ("eval", f"s3://{bucket}/runs", "--out", f"s3://{bucket}/out")
    now, before = measured(command(*words, cache=tmp_path / "elsewhere"))
    assert now + before == SAMPLES
    assert before > 0
    assert "out/lock" not in names_in(store, "out")


def test_a_second_writer_is_refused_and_one_that_lost_its_lock_writes_no_more(
    runs: Path, server: Server, bucket: str, machine: Path, command: Command, tmp_path: Path
) -> None:
    store = server.store(bucket)
    upload(store, runs, "runs")
    words = ("eval", f"s3://{bucket}/runs", "--out", f"s3://{bucket}/out")
    # Of the plan that `eval` has without one.
    from pantrace.engine.evaluate import plan_hash
    from pantrace.library.evaluate import read_plan

    planned = read_plan(None)
    ours = RunDirectory.open_for_writing(
        f"s3://{bucket}/out", RunHeader(created=1.0), planned.text, plan_hash(planned.ready)
    )
    refused = command(*words, cache=tmp_path / "elsewhere")
    assert refused.returncode == 2
    assert f"another process is writing here (pid {os.getpid()} on" in " ".join(refused.stderr.split())
    lock = {**json.loads(bytes(store.get("out/lock").bytes())), "lost_after": 0}
    store.put("out/lock", json.dumps(lock).encode())
    assert measured(command(*words, cache=tmp_path / "elsewhere")) == (SAMPLES, 0)
    theirs = content(store, "out", tmp_path / "theirs")
    sample = next(iter(pantrace.read(runs).samples))
    with pytest.raises(WriteError, match="another process has taken this run directory over"):
        ours.write_part("late", [Result(sample=sample)])
        ours.close()
    assert {**content(store, "out", tmp_path / "after"), "files": None} == {**theirs, "files": None}


def test_what_is_asked_of_a_run_directory_is_answered_from_the_bucket(
    runs: Path, server: Server, bucket: str, machine: Path, command: Command, tmp_path: Path
) -> None:
    upload(server.store(bucket), runs, "runs")
    url = f"s3://{bucket}/out"
    assert measured(command("eval", f"s3://{bucket}/runs", "--out", url)) == (SAMPLES, 0)
    assert measured(command("eval", f"s3://{bucket}/runs/[0-2]*", "--out", f"s3://{bucket}/half")) == (SAMPLES // 2, 0)

    elsewhere = tmp_path / "elsewhere"
    answer = command("query", url, "select run, count(*) as n from samples group by run", "--json", cache=elsewhere)
    assert json.loads(answer.stdout) == [{"run": url, "n": SAMPLES}]
    tables = {path.name.split(".")[-3] for path in elsewhere.rglob("*.parquet")}
    assert tables == {"samples"}, "only what the question needs is fetched"

    compared = command("compare", f"s3://{bucket}/half", url, "--metric", "exact_match", cache=elsewhere)
    assert compared.returncode == 0, compared.stderr
    assert "out" in compared.stdout

    gated = command("gate", url, "--profile", "prep_default", cache=elsewhere)
    assert gated.returncode in (1, 3), gated.stderr
    decided = command("query", url, "select count(*) as n from decisions", "--json", cache=tmp_path / "third")
    assert json.loads(decided.stdout) == [{"n": SAMPLES}]

    page = tmp_path / "report.md"
    assert command("report", url, "-o", str(page), cache=elsewhere).returncode == 0
    assert f"**{SAMPLES} samples**" in page.read_text()
    assert str(elsewhere) not in page.read_text()
    shown = command("show", url, "--sample", "s0003", cache=elsewhere)
    assert "answer 3" in shown.stdout

    words = [sys.executable, "-m", "pantrace", "view", url, "--port", "0", "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert viewer.stdout is not None
            address = viewer.stdout.readline().strip()
            found: list[dict[str, Any]] = []
            while not found or found[0]["samples"] < SAMPLES:  # it answers before all is read
                assert viewer.poll() is None
                with urlopen(f"{address}index", timeout=60) as index:
                    found = json.load(index)["runs"]
                time.sleep(0.2)
        finally:
            viewer.kill()
    assert [run["path"] for run in found] == [url]
    assert found[0]["header"]["dataset"] == {"inputs": [f"s3://{bucket}/runs"]}


def test_a_part_that_is_gone_or_changed_is_told_and_renewed(
    runs: Path, server: Server, bucket: str, machine: Path, command: Command, tmp_path: Path
) -> None:
    store = server.store(bucket)
    upload(store, runs, "runs")
    words = ("eval", f"s3://{bucket}/runs", "--out", f"s3://{bucket}/out")
    command(*words)
    parts = sorted(key for key in names_in(store, "out/parts") if ".samples." in key)
    data = bytearray(store.get(parts[0]).bytes())
    data[len(data) // 2] ^= 1
    store.put(parts[0], bytes(data))
    store.delete(parts[1])
    count = ("query", f"s3://{bucket}/out", "select count(*) from samples where question is not null")
    told = command(*count, cache=tmp_path / "second")
    assert told.returncode == 2
    assert f"s3://{bucket}/{parts[1]}" in told.stderr or f"s3://{bucket}/{parts[0]}" in told.stderr
    assert "damaged" in told.stderr
    # A part of the right size is believed until it is read: a machine that has read it knows.
    store.delete(parts[0])
    renewed = command(*words, cache=tmp_path / "third")
    now, before = measured(renewed)
    assert now + before == SAMPLES
    assert now > 0
    assert "renewed:" in renewed.stderr
    assert command(*count, cache=tmp_path / "fourth").returncode == 0


def test_a_folder_that_holds_something_else_is_no_place_for_a_run(
    runs: Path, server: Server, bucket: str, machine: Path, command: Command
) -> None:
    upload(server.store(bucket), runs, "runs")
    inside = command("eval", f"s3://{bucket}/runs", "--out", f"s3://{bucket}/runs/out")
    assert (inside.returncode, "which is an input" in " ".join(inside.stderr.split())) == (2, True)
    told = command("eval", str(runs), "--out", f"s3://{bucket}/runs")
    assert "is not a run directory and not empty (it contains 0.trace.jsonl)" in " ".join(told.stderr.split())
    assert not [key for key in names_in(server.store(bucket), "") if "lock" in key or "manifest" in key]
