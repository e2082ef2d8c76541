"""The benchmarks run. How fast they find pantrace is no test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pantrace.cli import COMMANDS
from thorough import thorough

BENCH = Path(__file__).parent.parent / "bench"
GOLDEN = Path(__file__).parent / "golden"


def run(script: str, *arguments: str) -> Any:
    command = [sys.executable, str(BENCH / f"{script}.py"), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@thorough
def test_start() -> None:
    reached = set(run("start", "--rounds", "1")["reached"])
    assert reached == {"import pantrace", "pantrace --help", *(f"pantrace {name} --help" for name in COMMANDS)}


@thorough
def test_layer1_reads_what_it_decodes() -> None:
    for found in run("layer1", "--size", "3", "--rounds", "1", "--format", "native", "--format", "inspect").values():
        assert found["measured"]["read"]["found"] == 3
        assert len(found["ratios"]) == 3


def test_floors_are_those_of_the_samples_that_are_read() -> None:
    found = run("floor", "--size", "3", "--rounds", "1", "--format", "adk-jsonl")["adk-jsonl"]
    assert {each["found"] for each in found.values()} == {3}


@thorough
def test_layer1_measures_every_recording_it_reads() -> None:
    found = run("layer1_recorded", "--folder", str(GOLDEN), "--size", "1", "--rounds", "1")
    assert {"native", "opencode", "inspect", "together"} <= set(found)
    for each in found.values():
        assert len({one["found"] for one in each["measured"].values()}) == 1


@thorough
def test_memory_reads_every_sample() -> None:
    found = run("memory", "--largest", "1000")
    assert {name: each["1000"]["found"] for name, each in found.items()} == {
        "native": 1000,
        "adk-jsonl": 1000,
        "inspect": 1000,
    }


def test_codex_counts_every_response() -> None:
    found = run("codex_read", "--size", "5", "--rounds", "1")["measured"]
    assert {each["found"] for each in found.values()} == {15}


@thorough
def test_opencode_converts_every_session() -> None:
    found = run("opencode_read", "--size", "30", "--rounds", "1")["measured"]
    counts = {name: each["found"] for name, each in found.items()}
    assert counts["pantrace: to vertex-seed, loss measured"] >= 30
    assert counts["pantrace: every session"] > 30


@thorough
def test_the_store_is_measured_against_bare_sums() -> None:
    (found,) = run("store", "--samples", "100", "--rounds", "1")["sizes"]
    assert found["processes"].keys() == {"measure", "eval", "summary", "compare", "bare"}
    # Parts of 64 and of 36 samples: samples, steps, calls and scores.
    assert found["files"] == 8
    assert found["ratios"].keys() == {"eval_per_measure", "summary_share", "compare_per_bare"}


@thorough
def test_measuring_loss_is_compared_with_the_conversion() -> None:
    found = run("loss", "--size", "2", "--rounds", "1", "--pair", "opencode:vertex-seed", "--pair", "native:explain")
    assert [(each["from"], each["to"], each["samples"]) for each in found["pairs"]] == [
        ("opencode", "vertex-seed", 2),
        ("native", "explain", 2),
    ]
    assert found["pairs"][0]["bare_scans"] > 0


@thorough
def test_all_of_them_in_one_table(tmp_path: Path) -> None:
    """Two runs of two scripts: every row has its spread and what is wanted; the docs take no such figures."""
    target = tmp_path / "bench.json"
    chosen = ("--only", "store", "--only", "codex_read", "--quick", "--repeats", "2", "-o", str(target))
    command = [sys.executable, str(BENCH / "all.py"), *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(target.read_bytes())
    assert told["failed"] == told["absent"] == {} and told["versions"]["own"]["msgspec"]
    assert [len(runs) for runs in told["runs"].values()] == [2, 2]
    assert all(row["runs"] == 2 and row["low"] <= row["value"] <= row["high"] for row in told["rows"])
    (row,) = (row for row in told["rows"] if row["what"].startswith("eval"))
    assert (row["against"], row["wanted"]) == ("measure", 1.6)
    assert row["reached"] == (row["value"] <= 1.6)
    assert "eval, 100 samples / measure" in done.stdout and max(map(len, done.stdout.splitlines())) <= 120
    again = tmp_path / "again.json"
    chosen = ("--only", "codex_read", "--quick", "--repeats", "1", "--update", str(target), "-o", str(again))
    assert subprocess.run([*command[:2], *chosen], capture_output=True, check=False).returncode == 0
    both = json.loads(again.read_bytes())
    assert [each["scripts"] for each in both["measured"]] == [["store"], ["codex_read"]]
    assert [row for row in both["rows"] if row["script"] == "store"] == [
        row for row in told["rows"] if row["script"] == "store"
    ]
    assert {row["runs"] for row in both["rows"] if row["script"] == "codex_read"} == {1}
    refused = subprocess.run([sys.executable, str(BENCH / "page.py"), str(target)], capture_output=True, check=False)
    assert refused.returncode == 2 and b"no measurement" in refused.stderr
