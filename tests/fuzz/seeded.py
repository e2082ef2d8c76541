"""A seeded run of the mutator: `make fuzz`, or `python tests/fuzz/seeded.py COUNT SEED [FORMAT or KIND...]`.

The inputs are tried in forked workers, in chunks: one that takes too much memory, never ends or dies ends only its
worker. Each failure is printed with the number that makes it again; its input is kept in the folder that is named at
the end. FUZZ_WORKERS says how many work at once (1 unless told).
"""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from pkgutil import iter_modules

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

import pantrace.cli
import pantrace.engine
import pantrace.library
import pantrace.metrics
import pantrace.viewer
from fuzz.kinds import KINDS, Goldens, Ground, told
from fuzz.whole import Whole
from goldens import golden_inputs
from pantrace.formats import all_formats

CHUNK = 100
MOST_MEMORY = 1_000_000_000
"""Bytes that a worker may hold; one that had more is replaced, so that the next input is measured by itself."""
DATA = 4_000_000_000
"""Bytes beyond which the system says no, so that the machine is spared. Not of address space: engines reserve much more
of that than they use."""
STUCK = 900
"""Seconds after which a worker that gives no sign is ended: C code does not listen to `patience`."""

Failure = tuple[int, str, str]
"""Number of the input, kind of failure, and what happened."""


def one(seed: int, number: int, goldens: Goldens, whole: Whole, work: Path, only: Sequence[str] = ()) -> list[str]:
    """One damaged input, tried; gives what the frame caught."""
    dice = random.Random(f"{seed}/{number}")
    shutil.rmtree(work, ignore_errors=True)
    ground = Ground(goldens, whole, work)
    ground.out.mkdir(parents=True)
    kinds = {kind: share for kind, share in KINDS.items() if not only or kind.__name__ in only}
    kind = dice.choices(list(kinds), list(kinds.values()))[0]
    with told(str(number)):
        return kind(number, ground, dice)


def several(
    numbers: list[int], seed: int, goldens: Goldens, kept: Path, only: list[str]
) -> tuple[list[Failure], list[str], int]:
    """A chunk of inputs, in a worker: failures, what the frame caught, and the most memory in bytes."""
    resource.setrlimit(resource.RLIMIT_DATA, (DATA, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    failures: list[Failure] = []
    caught: list[str] = []
    work = kept / f"work-{os.getpid()}"
    whole = Whole(kept / "whole")
    for number in numbers:
        (kept / f"at-{os.getpid()}").write_text(str(number))
        faulthandler.dump_traceback_later(STUCK, exit=True)
        before = _most_memory()
        try:
            caught += one(seed, number, goldens, whole, work, only)
        except AssertionError as error:
            failures.append((number, _kind(error), str(error)))
        except Exception as error:  # noqa: BLE001 -- a fault of the fuzz itself must not pass for a good input
            failures.append((number, f"the fuzz itself: {type(error).__name__}", f"{number}: {error}"))
        if before < MOST_MEMORY < (now := _most_memory()):
            failures.append((number, "memory", f"{number}: {now // 1_000_000} MB"))
        if failures and failures[-1][0] == number:
            shutil.copytree(work, kept / str(number), symlinks=True, dirs_exist_ok=True)
    faulthandler.cancel_dump_traceback_later()
    shutil.rmtree(work, ignore_errors=True)
    (kept / f"at-{os.getpid()}").unlink()
    return failures, caught, _most_memory()


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _kind(error: AssertionError) -> str:
    cause = error.__cause__
    frames = traceback.extract_tb(cause.__traceback__) if cause else []
    ours = [each for each in frames if "/pantrace/" in each.filename]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return f"{type(cause).__name__} {place}"


def _chunks(count: int) -> Iterator[list[int]]:
    return (list(range(at, min(at + CHUNK, count))) for at in range(0, count, CHUNK))


class Tally:
    """What came of the inputs so far. One is counted when a worker has told of it, not when it was sent."""

    def __init__(self) -> None:
        self.tried = self.most = 0
        self.found: Counter[str] = Counter()
        self.caught: list[str] = []

    def add(self, chunk: list[int], told: tuple[list[Failure], list[str], int]) -> None:
        failures, caught, memory = told
        self.tried += len(chunk)
        self.most = max(self.most, memory)
        self.caught += caught
        for _, kind, said in failures:
            self.found[kind] += 1
            if self.found[kind] == 1:
                print(f"[{kind}] {said[:600]}", flush=True)
        if self.tried % 5_000 < len(chunk):
            print(f"{self.tried} tried, {self.failures} failures, at most {self.most // 1_000_000} MB", flush=True)

    @property
    def failures(self) -> int:
        return sum(self.found.values())

    def death(self, number: int) -> None:
        self.add([number], ([(number, "a worker died", f"at input {number}")], [], 0))


def import_everything() -> None:
    """So that each worker begins with it: most of what a short one does would be importing."""
    for package in (pantrace.cli, pantrace.engine, pantrace.library, pantrace.metrics, pantrace.viewer):
        for each in iter_modules(package.__path__, f"{package.__name__}."):
            if not each.name.endswith(("ray_cluster", "pytest_plugin")):
                import_module(each.name)
    for each in all_formats():
        import_module(f"pantrace.formats.{each.name.replace('-', '_')}")
    for name in ("duckdb", "pyarrow.parquet", "pyarrow.dataset", "rich.table", "scipy.stats"):
        import_module(name)


def main(count: int, seed: int, only: list[str], workers: int) -> int:
    import_everything()
    kinds = [each.__name__ for each in KINDS if each.__name__ in only]
    formats = [each for each in only if each not in kinds]
    goldens = [each for each in golden_inputs() if not formats or each[0] in formats]
    kept = Path(tempfile.mkdtemp(prefix="pantrace-fuzz-"))
    # In a process of its own: engines with threads must not be forked.
    made = get_context("fork").Process(target=Whole, args=(kept / "whole",))
    made.start()
    made.join()
    assert made.exitcode == 0
    tally, began = Tally(), time.monotonic()
    left = deque(_chunks(count))
    while left:
        # A pool lives for twenty chunks: what leaks in one input does not count against a later one for ever.
        now = [left.popleft() for _ in range(min(20 * workers, len(left)))]
        again: list[list[int]] = []
        with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
            for chunk, future in [(chunk, pool.submit(several, chunk, seed, goldens, kept, kinds)) for chunk in now]:
                try:
                    tally.add(chunk, future.result())
                except BrokenProcessPool:
                    again.append(chunk)
        # The others of a worker that died have not been told of: they are tried once more.
        dead = {int(each.read_text()) for each in kept.glob("at-*")}
        for each in kept.glob("at-*"):
            each.unlink()
        for number in dead:
            tally.death(number)
        left.extendleft([[number for number in chunk if number not in dead] for chunk in reversed(again)])
    took = time.monotonic() - began
    print(f"{tally.tried} inputs, seed {seed}: {tally.failures} failures of {len(tally.found)} kinds; kept in {kept}")
    print(f"{took:.0f} s, at most {tally.most // 1_000_000} MB in one worker")
    for key, times in tally.found.most_common():
        print(f"{times:6} {key}")
    print(f"{len(tally.caught)} times the frame caught what a reader or a writer stumbled over:")
    for text in tally.caught[:20]:
        print(f"  {text[:400]}")
    return 1 if tally.found else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(
        main(
            int(given[0]) if given else 100_000,
            int(given[1]) if len(given) > 1 else 1,
            given[2:],
            int(os.environ.get("FUZZ_WORKERS", "1")),
        )
    )
