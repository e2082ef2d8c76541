"""One process against several: `measure` and `eval` on OpenCode, Inspect and JSON lines, by the clock and in CPU time.

Each command runs whole, as a user would run it, processes included. Results of both are held against each other.
`--kill N`: instead, kill a worker N times at random moments of an `eval`, and hold the results against an undisturbed
run.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import environment
from recordings import eval_log, native, opencode_database

MAKE = {"opencode": opencode_database, "inspect": eval_log, "jsonl": native}
SIZES = {"opencode": 20_000, "inspect": 12_000, "jsonl": 24_000}
"""Samples with which one process takes some 20 s for `measure`: with less, what is measured is how long Python takes to
begin, in which nobody who has so little to read is interested."""


def command(kind: str, source: Path, out: Path, jobs: int) -> list[str]:
    wanted = ["eval", str(source), "--out", str(out)] if kind == "eval" else ["measure", str(source)]
    return [sys.executable, "-m", "pantrace", *wanted, "--jobs", str(jobs)]


def adopt() -> None:
    """Become the parent of whatever a command leaves behind: workers are children of a server that ends after it, and
    nobody would count their time."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def wait_for_all() -> None:
    """Until everything that a command has started is over, and its time counted."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def timed(kind: str, source: Path, out: Path, jobs: int) -> dict[str, Any]:
    """Seconds by the clock and of CPU, workers included, and what came of it."""
    shutil.rmtree(out, ignore_errors=True)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command(kind, source, out, jobs),
        env=environment(),
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - begun
    wait_for_all()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = content(out) if kind == "eval" else hashlib.sha256(done.stdout.encode()).hexdigest()[:16]
    return {"wall": wall, "cpu": cpu, "found": found}


def warm_up(folder: Path, kind: str) -> None:
    """Each command once, so that nobody is measured while Python compiles our modules."""
    source = MAKE[kind](folder, 1)
    for what in ("measure", "eval"):
        timed(what, source, folder / "out", 1)
    source.unlink()


def content(out: Path) -> str:
    """A hash of the names of all parts, which say what is in them."""
    names = sorted(path.name for path in (out / "parts").iterdir())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def workers_of(pid: int) -> list[int]:
    """Worker processes that a process has started: children of the server that it has started for them."""
    found: dict[int, list[int]] = {}
    servers = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found.setdefault(parent, []).append(int(folder.name))
            if parent == pid and b"forkserver" in (folder / "cmdline").read_bytes():
                servers.add(int(folder.name))
        except OSError:
            continue
    return [worker for server in servers for worker in found.get(server, ())]


def killed(source: Path, out: Path, jobs: int, dice: random.Random, pause: float) -> str:
    """One `eval` of which a worker is killed at some moment; what came of it."""
    shutil.rmtree(out, ignore_errors=True)
    with subprocess.Popen(
        command("eval", source, out, jobs),
        env=environment(),
        cwd=source.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while process.poll() is None and not workers_of(process.pid):
            time.sleep(0.01)
        time.sleep(dice.uniform(0, pause))
        victims = workers_of(process.pid)
        if victims:
            os.kill(dice.choice(victims), signal.SIGKILL)
        _, told = process.communicate()
    if process.returncode:
        raise SystemExit(f"eval ended with {process.returncode}: {told.decode()}")
    return content(out) if victims else "nobody was left to be killed"


def kill_script(source: Path, folder: Path, jobs: int, times: int, seed: int) -> dict[str, Any]:
    begun = time.perf_counter()
    expected = timed("eval", source, folder / "out", jobs)
    dice, found = random.Random(seed), []
    # Until so many were killed in time: by then a run is over now and then.
    while sum(not each.startswith("nobody") for each in found) < times and len(found) < 3 * times:
        found.append(killed(source, folder / "out", jobs, dice, 0.9 * expected["wall"]))
        left = [*(folder / "out" / "parts").glob(".*.tmp")]
        if left:
            raise SystemExit(f"left behind: {left}")
    equal = sum(each == expected["found"] for each in found)
    late = sum(each.startswith("nobody") for each in found)
    seconds = round(time.perf_counter() - begun)
    return {"kills": len(found) - late, "equal": equal, "too_late": late, "seed": seed, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, help=f"samples of each input (default {SIZES})")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--input", action="append", choices=[*MAKE], help="only this one")
    parser.add_argument("--kill", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    adopt()
    results: dict[str, Any] = {"jobs": given.jobs, "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in given.input or MAKE:
            size = given.size or SIZES[kind]
            warm_up(folder, kind)
            source = MAKE[kind](folder, size)
            megabytes = source.stat().st_size / 1e6
            if given.kill:
                results[kind] = kill_script(source, folder, given.jobs, given.kill, given.seed)
            for what in () if given.kill else ("measure", "eval"):
                rounds = [
                    [timed(what, source, folder / "out", jobs) for jobs in (1, given.jobs)] for _ in range(given.rounds)
                ]
                one, many = (min((each[side] for each in rounds), key=lambda found: found["wall"]) for side in (0, 1))
                results[f"{what} {kind}"] = {
                    "size": size,
                    "mb": megabytes,
                    "one": one,
                    "many": many,
                    "faster": one["wall"] / many["wall"],
                    "more_cpu": many["cpu"] / one["cpu"] - 1,
                    "equal": len({each["found"] for pair in rounds for each in pair}) == 1,
                }
                if not given.json:
                    print(line(f"{what} {kind}", results[f"{what} {kind}"], given.jobs), flush=True)
            source.unlink()
    if given.json or given.kill:
        print(json.dumps(results, indent=2))


def line(name: str, found: dict[str, Any], jobs: int) -> str:
    one, many = found["one"], found["many"]
    return (
        f"{name:<18}{found['size']:7,} samples {found['mb']:6.0f} MB   "
        f"1: {one['wall']:6.2f} s ({one['cpu']:6.2f} CPU)   "
        f"{jobs}: {many['wall']:6.2f} s ({many['cpu']:6.2f} CPU)   "
        f"{found['faster']:4.2f} times as fast, {found['more_cpu']:+.0%} CPU"
        f"{'' if found['equal'] else '   RESULTS DIFFER'}"
    )


if __name__ == "__main__":
    main()
