"""Reading and all deterministic metrics, against a bare untyped decode of the same bytes.

One table per format: the bare decode of all JSON in the file (unpacked or queried, where the format demands it),
reading into the model, all metrics over samples that are held, and both together as `pantrace measure` does it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from measuring import Aim, Measured, Work, race, ratio, take_part
from recordings import adk_history, adk_jsonl, eval_log, native, opencode_database, vertex_rows

BARE, READ, CHECKS, BOTH = "bare decode", "read", "all metrics", "read and all metrics"
READING = {"native": 1, "inspect": 1.5, "adk-history": 1.4, "adk-jsonl": 2, "opencode": 2, "vertex-agent": 2}
"""At most so many times the bare decode."""


def aims(name: str) -> list[Aim]:
    return [Aim(READ, BARE, slower=READING.get(name)), Aim(BOTH, BARE, slower=3), Aim(CHECKS, READ)]


INPUTS: dict[str, tuple[Callable[[Path, int], Path], int]] = {
    "native": (native, 200),
    "adk-history": (adk_history, 100),
    "adk-jsonl": (adk_jsonl, 100),
    "inspect": (eval_log, 100),
    "opencode": (opencode_database, 200),
    "vertex-agent": (lambda folder, count: vertex_rows(folder, count, "vertex-agent"), 200),
}


def bare(path: Path) -> Work:
    import sqlite3

    import msgspec

    from pantrace.wire import zip_archive

    decode = msgspec.json.Decoder().decode

    def lines() -> int:
        with path.open("rb") as file:
            return sum(1 for line in file if decode(line))

    def document() -> int:
        return len(decode(path.read_bytes()))

    def archive() -> int:
        with zip_archive.reading(path) as opened:
            return sum(1 for name in opened.members if decode(opened.read(name)))

    def database() -> int:
        opened = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        tables = ("message order by session_id, time_created, id", "part order by session_id, message_id, id")
        return sum(1 for table in tables for (data,) in opened.execute(f"select data from {table}") if decode(data))

    return {".jsonl": lines, ".eval": archive, ".db": database}.get(path.suffix, document)


def read(path: Path) -> Work:
    import pantrace

    return lambda: sum(1 for _ in pantrace.read(path).samples)


def checks(path: Path) -> Work:
    import pantrace
    from pantrace.engine.measure import choose, scores_of

    chosen = choose((), (), ())
    samples = list(pantrace.read(path).samples)
    return lambda: sum(len(scores_of(sample, chosen)) for sample in samples)


def both(path: Path) -> Work:
    import pantrace
    from pantrace.engine.measure import choose, scores_of

    chosen = choose((), (), ())
    return lambda: sum(len(scores_of(sample, chosen)) for sample in pantrace.read(path).samples)


CONTESTANTS = {BARE: bare, READ: read, CHECKS: checks, BOTH: both}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=[*INPUTS], action="append", help="only this one; repeat for more")
    parser.add_argument("--size", type=int, help="how many samples")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", type=Path, help="measure on this file instead")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--contestant", choices=[*CONTESTANTS], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant is not None:
        take_part(CONTESTANTS[given.contestant], given.file)
        return
    results: dict[str, dict[str, Measured]] = {}
    with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as folder:
        wanted = [given.file.name] if given.file else given.format or [*INPUTS]
        for name in wanted:
            path = given.file
            if path is None:
                make, size = INPUTS[name]
                path = make(Path(folder), given.size or size)
            results[name] = race(Path(__file__), [*CONTESTANTS], path, given.rounds)
    if given.json:
        tables = {
            name: {
                "measured": {each: asdict(found) for each, found in measured.items()},
                "ratios": [ratio(measured, aim).plain() for aim in aims(name)],
            }
            for name, measured in results.items()
        }
        print(json.dumps(tables, indent=1))
        return
    for name, measured in results.items():
        print(name, *(f"{each} {found.seconds * 1000:.1f} ms" for each, found in measured.items()), sep="   ")
        for aim in aims(name):
            print(f"  {ratio(measured, aim).told()}")


if __name__ == "__main__":
    main()
