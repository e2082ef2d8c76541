"""What a part costs beside its own work: on a Ray of our own, and in the pool of processes.

Many parts that have nothing to do are sent to two workers; starting them is told apart. Needs the extra `cluster`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import measuring  # noqa: F401 -- puts the sources on the path


@dataclass
class Nothing:
    """The task: it does nothing."""

    def __call__(self, part: Any) -> Iterator[int]:
        yield part.number


def timed(engine: Any, count: int) -> dict[str, float]:
    """Seconds until the first part came back, and milliseconds for each of the others, by the clock."""
    from pantrace.engine.input_part import InputPart

    # As heavy as a real part, or the pool would hand out many at a time.
    parts = [InputPart(path="x", format="native", variant="", number=n, weight=16_000_000) for n in range(count)]
    begun, first, found = time.perf_counter(), 0.0, []
    with engine.executor(1 << 30) as executor:
        for _, records in executor.map_parts(Nothing(), parts):
            found += [*records]
            first = first or time.perf_counter() - begun
        whole = time.perf_counter() - begun
    if found != [*range(count)]:
        raise SystemExit("not every part came back, once and in its place")
    return {"start": first, "per_part_ms": (whole - first) / (count - 1) * 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=500, help="parts")
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many counts")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()

    from pantrace.cli.engine_options import RAY

    os.environ.update(RAY)
    from pantrace.engine.executor import Engine

    found: dict[str, Any] = {}
    for name in ("ray", "local"):
        rounds = [timed(Engine(name=name, jobs=2), given.size) for _ in range(given.rounds)]  # type: ignore[arg-type]
        found[name] = min(rounds, key=lambda each: each["per_part_ms"])
    if given.json:
        print(json.dumps(found))
        return
    for name in ("ray", "local"):
        print(f"{name}: {found[name]['start']:.1f} s to start, {found[name]['per_part_ms']:.2f} ms for each part")


if __name__ == "__main__":
    main()
