"""Every benchmark, several times each: one table of ratios beside what is wanted, and all of it as JSON.

    python bench/all.py [--repeats N] [--only SCRIPT ...] [--quick] [-o build/bench.json]

Each script runs in the environment of its peer, where that is set up (`make bench` does). All run once, then all run
again, so that what disturbs the machine for a while does not disturb one row alone. A figure is the median of its
repeats; how far they lie apart stands beside it. `bench/page.py` puts the JSON into the docs, as a table and a chart.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from measuring import ROOT
from rows import Row, rows_of


@dataclass(frozen=True)
class Script:
    """A script of this folder, and how it is run."""

    name: str
    peer: str | None = None
    """The environment that has what it is measured against; None: our own."""
    quick: str = "--size 3 --rounds 1"
    """Arguments that make it small: they show that it runs, and their figures mean nothing."""
    usual: str = ""
    first: str | None = None
    """The same in the first of several repeats, with rows that take too long to be measured three times."""


SCRIPTS = (
    Script("start", quick="--rounds 1", usual="--rounds 5"),
    Script("layer1"),
    Script("layer1_recorded", quick="--size 1 --rounds 1"),
    Script("memory", quick="--largest 1000"),
    Script(
        "store",
        quick="--samples 100 --rounds 1",
        usual="--samples 1000 10000 --rounds 1",
        first="--samples 1000 10000 100000 --rounds 1",
    ),
    Script("loss"),
    Script("pool", quick="--size 20 --rounds 1 --input jsonl", usual="--rounds 1"),
    Script("ray_parts", "ray"),
    Script("opencode_read"),
    Script("codex_read"),
    Script("inspect_read", "inspect"),
    Script("adk_read", "adk"),
    Script("vertex_write", "vertex"),
    Script("claude_read", "scout"),
    Script("harbor_convert", "harbor"),
    Script("codex_tokens", "agents"),
    Script("viewer", "browser", quick="--steps 200 --megabytes 1 --samples 200"),
)
PACKAGES = {
    None: ("msgspec", "zstandard", "pyarrow", "duckdb"),
    "ray": ("ray",),
    "inspect": ("inspect-ai",),
    "adk": ("google-adk",),
    "vertex": ("google-cloud-aiplatform",),
    "scout": ("inspect-scout",),
    "harbor": ("harbor",),
    "agents": (),
    "browser": ("playwright",),
}


def interpreter(peer: str | None) -> Path | None:
    """The Python of an environment; None where it is not set up."""
    if peer is None:
        return Path(sys.executable)
    found = ROOT / ".venvs" / peer / "bin" / "python"
    return found if found.exists() else None


def versions(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """Which packages an environment has."""
    code = (
        "import importlib.metadata as m, json, platform, sys\n"
        "have = {d.name.lower(): d.version for d in m.distributions()}\n"
        "told = {n: have[n] for n in sys.argv[1:] if n in have}\n"
        "print(json.dumps({'python': platform.python_version(), **told}))"
    )
    out = subprocess.run([str(python), "-c", code, *packages], capture_output=True, check=True).stdout
    found: dict[str, str] = json.loads(out)
    return found


def run(script: Script, python: Path, *, quick: bool, first: bool) -> dict[str, Any]:
    """One run of a script: what it found, and what it took."""
    arguments = (script.quick if quick else script.usual).split()
    if first and not quick and script.first is not None:
        arguments = script.first.split()
    command = [str(python), str(ROOT / "bench" / f"{script.name}.py"), *arguments, "--json"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = {
        "arguments": arguments,
        "wall": time.perf_counter() - begun,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "load": os.getloadavg(),
    }
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        return {**taken, "error": last}
    return {**taken, "found": json.loads(done.stdout)}


def gathered(script: Script, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a script over all of its runs: the median, and the least and the most."""
    told: dict[tuple[str, str, str], list[Row]] = {}
    for each in runs:
        for row in rows_of(script.name, each["found"]) if "found" in each else ():
            told.setdefault(row.key, []).append(row)
    rows = []
    for same in told.values():
        values = [row.value for row in same]
        middle = min(same, key=lambda row: abs(row.value - median(values)))
        row = Row(**{**asdict(middle), "value": median(values)})
        spread = {"low": min(values), "high": max(values), "runs": len(values)}
        reached = row.distance <= 1 if row.distance is not None else None
        rows.append({"script": script.name, **asdict(row), **spread, "distance": row.distance, "reached": reached})
    return rows


def measurement(told: dict[str, Any]) -> dict[str, Any]:
    """When and how a set of scripts was measured."""
    return {
        "made": told["made"],
        "repeats": told["repeats"],
        "load": told["machine"]["load"],
        "scripts": [*told["runs"]],
    }


def updated(before: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Earlier figures with those of some scripts replaced: after a change that concerns only these, measuring the rest
    again tells nothing new. `measured` says which script was measured when."""
    known = before.get("measured") or [measurement(before)]
    for each in known:
        each["scripts"] = [name for name in each["scripts"] if name not in told["runs"]]
    order = [script.name for script in SCRIPTS]
    rows = [row for row in before["rows"] if row["script"] not in told["runs"]] + told["rows"]
    return {
        **told,
        "quick": told["quick"] or before["quick"],
        "repeats": min(told["repeats"], before["repeats"]),
        "versions": before["versions"] | told["versions"],
        "measured": [*(each for each in known if each["scripts"]), *told["measured"]],
        "rows": sorted(rows, key=lambda row: order.index(row["script"])),
        "absent": {name: why for name, why in before["absent"].items() if name not in told["runs"]} | told["absent"],
        "failed": {name: why for name, why in before["failed"].items() if name not in told["runs"]} | told["failed"],
        "runs": before["runs"] | told["runs"],
    }


def line(row: dict[str, Any]) -> str:
    """A row in 80 columns."""
    what = f"{row['what']} / {row['against']}" if row["against"] else row["what"]
    spread = f"{number(row['low'])}-{number(row['high'])}"
    bound = "at most" if row["better"] == "less" else "at least"
    wanted = f"{bound} {row['wanted']:g}" if row["wanted"] is not None else ""
    verdict = {True: "reached", False: "MISSED", None: ""}[row["reached"]]
    figure = f"{number(row['value'])} {row['unit']} ({spread})"
    return f"{what}\n    {figure:44} {wanted:15} {verdict}".rstrip()


def number(value: float) -> str:
    """With three digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="how many times each script runs (default 3)")
    parser.add_argument("--only", action="append", choices=[each.name for each in SCRIPTS], metavar="SCRIPT")
    parser.add_argument("--quick", action="store_true", help="small inputs: the figures mean nothing")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "bench.json")
    parser.add_argument("--update", type=Path, metavar="FILE", help="keep the figures that FILE has of other scripts")
    given = parser.parse_args()
    chosen = [each for each in SCRIPTS if given.only is None or each.name in given.only]
    runs: dict[str, list[dict[str, Any]]] = {}
    absent: dict[str, str] = {}
    begin = os.getloadavg()
    for number_ in range(given.repeats):
        for script in chosen:
            python = interpreter(script.peer)
            if python is None:
                absent[script.name] = f"its peer is not set up: make .venvs/{script.peer}/ready"
                continue
            found = run(script, python, quick=given.quick, first=number_ == 0)
            runs.setdefault(script.name, []).append(found)
            state = f"failed: {found['error']}" if "error" in found else f"{found['wall']:.0f} s"
            print(f"[{number_ + 1}/{given.repeats}] {script.name}: {state}", file=sys.stderr, flush=True)
    rows = [row for script in chosen for row in gathered(script, runs.get(script.name, []))]
    failed = {name: each["error"] for name, tried in runs.items() for each in tried if "error" in each}
    peers = {each.peer for each in chosen if each.name in runs}
    told = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": given.quick,
        "repeats": given.repeats,
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "load": [begin, os.getloadavg()]},
        "versions": {
            peer or "own": versions(python, PACKAGES[peer])
            for peer in sorted(peers, key=str)
            if (python := interpreter(peer)) is not None
        },
        "rows": rows,
        "absent": absent,
        "failed": failed,
        "runs": runs,
    }
    told["measured"] = [measurement(told)]
    if given.update is not None:
        told = updated(json.loads(given.update.read_bytes()), told)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(told, indent=1) + "\n")
    for script in chosen:
        if mine := [row for row in rows if row["script"] == script.name]:
            print(f"\n{script.name}", *map(line, mine), sep="\n  ")
        elif script.name in absent:
            print(f"\n{script.name}: not measured, {absent[script.name]}")
    missed = sum(row["reached"] is False for row in rows)
    aims = sum(row["reached"] is not None for row in rows)
    print(f"\n{aims - missed} of {aims} aims reached, {missed} missed; {given.output}")
    if given.quick:
        print("The inputs were small (--quick): these figures mean nothing.")
    for name, why in failed.items():
        print(f"{name} failed: {why}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
