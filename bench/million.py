"""A million small samples on one machine: time for each sample, peak memory of every process, and whether it answers.

Samples are those of `bench/summary.py`. `eval` with two workers reads, measures and keeps them, and sums them up; then
`query` asks the new directory for the mean of every metric. The same is done with a tenth of the samples, so that the
two can be compared: time should grow in proportion, memory should not. All of it `--rounds` times, in turns. A million
samples are 5.5 GB, and need 7 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import measuring
import summary

MEANS = "select name, avg(value) as mean, count(*) as scored from scores where value is not null group by name"


def watched(folder: Path, *command: object) -> dict[str, float]:
    """One command: seconds by the clock and of CPU time, peak memory of its own process and of its largest worker."""
    with (folder / "log").open("wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "pantrace", *map(str, command)],
            env=measuring.environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        peaks: dict[int, float] = {}
        seconds: dict[int, float] = {}
        while process.poll() is None:
            for number, held, used in of_session(process.pid):
                peaks[number] = max(held, peaks.get(number, 0.0))
                seconds[number] = max(used, seconds.get(number, 0.0))
            time.sleep(0.2)
        took = time.monotonic() - began
    if process.returncode:
        raise SystemExit((folder / "log").read_text())
    workers = [held for number, held in peaks.items() if number != process.pid]
    return {
        "wall": took,
        "cpu": sum(seconds.values()),
        "megabytes": peaks[process.pid],
        "worker_megabytes": max(workers, default=0.0),
    }


def of_session(leader: int) -> Iterator[tuple[int, float, float]]:
    """Number, peak memory (MB) and CPU seconds of each process that a command has started, and of itself."""
    for each in Path("/proc").iterdir():
        if not each.name.isdigit():
            continue
        try:
            # The name in brackets may contain spaces; what follows it does not.
            stat = (each / "stat").read_text().rpartition(") ")[2].split()
            status = (each / "status").read_text()
        except OSError:  # it has ended meanwhile
            continue
        if stat[3] == str(leader) and "VmHWM:" in status:
            held = float(status.partition("VmHWM:")[2].split()[0]) / 1024
            yield int(each.name), held, (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def measure(source: Path, folder: Path) -> dict[str, Any]:
    """`eval` and a query of what it kept."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    found = {
        "eval": watched(folder, "eval", source, "--out", out, "--jobs", 2),
        "query": watched(folder, "query", out, MEANS, "--json"),
    }
    parts = list((out / "parts").iterdir())
    return {**found, "files": len(parts), "bytes": sum(each.stat().st_size for each in parts)}


def middle(rounds: list[dict[str, Any]], command: str, what: str) -> tuple[float, float, float]:
    """The median, the least and the most of several rounds."""
    values = [each[command][what] for each in rounds]
    return median(values), min(values), max(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="pantrace-million-") as name:
        folder = Path(name)
        sources: dict[int, Path] = {}
        for count in (given.samples // 10, given.samples):
            sources[count] = folder / f"{count}.trace.jsonl"
            summary.samples_file(folder, count).rename(sources[count])
        found: dict[int, list[dict[str, Any]]] = {count: [] for count in sources}
        for _ in range(given.rounds):
            for count, source in sources.items():
                found[count].append(measure(source, folder))
        sizes = {count: source.stat().st_size for count, source in sources.items()}
    if given.json:
        print(json.dumps({"load": load, "bytes": sizes, "rounds": found}, indent=1))
        return
    print(f"load at the beginning: {load[0]:.1f}")
    for count, rounds in found.items():
        print(f"{count:,} samples, {sizes[count] / 1e9:.2f} GB; {rounds[0]['files']} files of parts")
        for command in ("eval", "query"):
            for what, unit in (("wall", "s"), ("cpu", "s"), ("megabytes", "MB"), ("worker_megabytes", "MB")):
                usual, least, most = middle(rounds, command, what)
                if usual:
                    print(f"  {command} {what:16} {usual:8.1f} {unit} ({least:.1f} to {most:.1f})")
        print(f"  CPU time for each sample: {1000 * middle(rounds, 'eval', 'cpu')[0] / count:.3f} ms")


if __name__ == "__main__":
    main()
