"""Measuring side by side: each contestant in a process of its own, rounds taken in turns, the best of several counts.

Only ratios mean anything: times are CPU times of one machine under whatever load it has, so both sides of a ratio are
measured in the same run. A contestant is a function that imports what it needs and gives back the work to be timed;
memory is the peak of its whole process, imports included.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
if str(ROOT / "src") not in sys.path:
    sys.path.insert(0, str(ROOT / "src"))

Work = Callable[[], int]
"""What is timed; gives the number of things it found, so that both sides can be seen to do the same."""

Contestant = Callable[[Path], Work]
"""Everything that is not timed: imports, opening; gives the work on one input."""


@dataclass(frozen=True)
class Measured:
    """What one contestant needed."""

    seconds: float
    """CPU time of the best round."""
    peak_mb: float
    """Largest memory of its process."""
    grown_mb: float
    """How much of that came with the work."""
    found: int
    wall: float = 0.0
    """Time by the clock, of the round that the clock found best."""


@dataclass(frozen=True)
class Aim:
    """One contestant against another, and what is to be reached."""

    what: str
    against: str
    faster: float | None = None
    """At least so many times its speed."""
    slower: float | None = None
    """At most so many times its time."""
    memory: float | None = None
    """At most this share of its memory."""


@dataclass(frozen=True)
class Ratio:
    """How an aim was met."""

    aim: Aim
    times_faster: float
    memory_share: float

    @property
    def reached(self) -> bool | None:
        """None where nothing is to be reached."""
        met = []
        if self.aim.faster is not None:
            met.append(self.times_faster >= self.aim.faster)
        if self.aim.slower is not None:
            met.append(1 / self.times_faster <= self.aim.slower)
        if self.aim.memory is not None:
            met.append(self.memory_share <= self.aim.memory)
        return all(met) if met else None

    def told(self) -> str:
        """In words."""
        aim, words = self.aim, []
        if aim.slower is None and self.times_faster >= 1:
            words.append(f"{self.times_faster:.1f}x the speed" + _target("at least", aim.faster))
        else:
            words.append(f"{1 / self.times_faster:.2f}x the time" + _target("at most", aim.slower))
        words.append(f"{self.memory_share:.2f}x the memory" + _target("at most", aim.memory))
        verdict = {True: ": reached", False: ": MISSED", None: ""}[self.reached]
        return f"{aim.what}: {', '.join(words)} of {aim.against}{verdict}"

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            **asdict(self.aim),
            "times_faster": self.times_faster,
            "memory_share": self.memory_share,
            "reached": self.reached,
        }


def _target(words: str, number: float | None) -> str:
    return "" if number is None else f" (target: {words} {number:.3g}x)"


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that is measured: our sources, and bytecode kept as an installed package has it.
    Where Python was told to keep none, every process would compile our modules anew, which takes up to a second."""
    found = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}
    if found.pop("PYTHONDONTWRITEBYTECODE", ""):
        found["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "bytecode")
    return found


def race(script: Path, names: Sequence[str], path: Path, rounds: int) -> dict[str, Measured]:
    """Every contestant on the same input: all processes wait, and each round asks them one after the other."""
    processes = {name: _start(script, name, path) for name in names}
    best: dict[str, Measured] = {}
    try:
        for _ in range(rounds):
            for name, process in processes.items():
                found = _ask(name, process)
                known = best.get(name)
                seconds = found.seconds if known is None else min(found.seconds, known.seconds)
                wall = found.wall if known is None else min(found.wall, known.wall)
                best[name] = Measured(seconds, found.peak_mb, found.grown_mb, found.found, wall)
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    return best


def _start(script: Path, name: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), "--contestant", name, "--file", str(path)]
    # Peers write to stderr as they please; it is shown only if one of them fails.
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115
    process = subprocess.Popen(
        command,
        env=environment(XDG_DATA_HOME=str(path.parent / "data")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    process.log = log  # type: ignore[attr-defined]
    return process


def _ask(name: str, process: subprocess.Popen[str]) -> Measured:
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write("go\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass
    for line in process.stdout:
        if line.startswith("MEASURED "):
            return Measured(**json.loads(line.removeprefix("MEASURED ")))
    process.log.seek(0)  # type: ignore[attr-defined]
    raise SystemExit(f"{name} failed:\n{process.log.read()}")  # type: ignore[attr-defined]


def take_part(contestant: Contestant, path: Path) -> None:
    """The other end: do the work once for every line that comes in."""
    work = contestant(path)
    before = memory_mb()[0]
    for _ in sys.stdin:
        gc.collect()
        begin, clock = time.process_time(), time.perf_counter()
        found = work()
        seconds, wall = time.process_time() - begin, time.perf_counter() - clock
        peak = memory_mb()[1]
        told = Measured(seconds, peak, max(peak - before, 0.0), found, wall)
        print("MEASURED", json.dumps(asdict(told)), flush=True)


def memory_mb() -> tuple[float, float]:
    """Memory of this process, now and at its peak."""
    try:
        # Not getrusage: its peak begins with that of the process which started this one.
        lines = Path("/proc/self/status").read_text().splitlines()
        values = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
        return int(values["VmRSS"]) / 1024, int(values["VmHWM"]) / 1024
    except (OSError, KeyError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        return 0.0, peak


def contest(
    script: str,
    contestants: Mapping[str, Contestant],
    aims: Sequence[Aim],
    make: Callable[[Path, int], Path],
    *,
    size: int,
    unit: str,
    rounds: int = 5,
) -> None:
    """A whole benchmark with its command line."""
    document = sys.modules["__main__"].__doc__ or ""
    parser = argparse.ArgumentParser(description=document.partition("\n")[0])
    parser.add_argument("--size", type=int, default=size, help=f"how many {unit} (default {size})")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"the best of so many counts (default {rounds})")
    parser.add_argument("--file", type=Path, help="measure on this file instead of one made for it")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--contestant", choices=[*contestants], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant is not None:
        take_part(contestants[given.contestant], given.file)
        return
    with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as folder:
        path = given.file or make(Path(folder), given.size)
        measured = race(Path(script), list(contestants), path, given.rounds)
        ratios = [ratio(measured, aim) for aim in aims]
        input_bytes = path.stat().st_size if path.is_file() else None
    show(document.partition("\n")[0], measured, ratios, as_json=given.json, input_bytes=input_bytes)


def ratio(measured: Mapping[str, Measured], aim: Aim) -> Ratio:
    """One contestant's time and memory against another's."""
    one, other = measured[aim.what], measured[aim.against]
    return Ratio(aim, other.seconds / max(one.seconds, 1e-9), one.peak_mb / max(other.peak_mb, 1e-9))


def show(
    title: str, measured: Mapping[str, Measured], ratios: Sequence[Ratio], *, as_json: bool, input_bytes: int | None
) -> None:
    """The result as a table for people or as JSON for programs."""
    if as_json:
        told: dict[str, Any] = {
            "title": title,
            "input_bytes": input_bytes,
            "measured": {name: asdict(each) for name, each in measured.items()},
            "ratios": [each.plain() for each in ratios],
        }
        print(json.dumps(told, indent=1))
        return
    print(title)
    width = max(len(name) for name in measured)
    for name, each in measured.items():
        print(f"  {name:{width}}  {each.seconds * 1000:10.1f} ms  peak {each.peak_mb:6.0f} MB  found {each.found}")
    for each in ratios:
        print(f"  {each.told()}")
