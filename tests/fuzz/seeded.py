"""A seeded run of the mutator: `make fuzz`, or `python tests/fuzz/seeded.py COUNT SEED [FORMAT...]`.

Each failure is printed with the number that makes it again; its input is kept in the folder that is named at the end.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

from fuzz.attempt import attempt
from fuzz.mutations import mutated
from goldens import golden_inputs


def one(seed: int, number: int, goldens: list[tuple[str, Path]], work: Path) -> list[str]:
    """One damaged recording, tried; gives what the frame caught."""
    dice = random.Random(f"{seed}/{number}")
    name, golden = goldens[number % len(goldens)]
    shutil.rmtree(work, ignore_errors=True)
    out = work / "out"
    out.mkdir(parents=True)
    copy, deed = mutated(golden, work, dice)
    asked = name if dice.random() < 0.7 else None
    try:
        return [f"{name}/{golden.name}: {deed}: {each}" for each in attempt(copy, asked, out, dice)]
    except AssertionError as error:
        raise AssertionError(f"{number}: {name}/{golden.name}: {deed}: {error}") from error.__cause__


def main(count: int, seed: int, only: list[str]) -> int:
    goldens = [each for each in golden_inputs() if not only or each[0] in only]
    kept = Path(tempfile.mkdtemp(prefix="pantrace-fuzz-"))
    found: Counter[str] = Counter()
    caught: list[str] = []
    for number in range(count):
        work = kept / "work"
        try:
            caught += one(seed, number, goldens, work)
        except AssertionError as error:
            cause = error.__cause__
            frames = traceback.extract_tb(cause.__traceback__) if cause else []
            ours = [each for each in frames if "/pantrace/" in each.filename]
            place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
            key = f"{type(cause).__name__} {place}"
            found[key] += 1
            if found[key] == 1:
                print(f"[{key}] {str(error)[:600]}", flush=True)
                shutil.copytree(work, kept / str(number), symlinks=True)
    print(f"{count} inputs, {sum(found.values())} failures of {len(found)} kinds; kept in {kept}")
    for key, times in found.most_common():
        print(f"{times:6} {key}")
    print(f"{len(caught)} times the frame caught what a reader or a writer stumbled over:")
    for each in caught[:20]:
        print(f"  {each[:400]}")
    return 1 if found else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 100_000, int(given[1]) if len(given) > 1 else 1, given[2:]))
