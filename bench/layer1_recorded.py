"""All deterministic metrics against reading, on recordings as tools wrote them: each in its own format.

The recordings of a directory (PANTRACE_CORPUS, else the golden files) are gone through again and again until there are
as many samples as wanted; formats share them as the directory does. What cannot be read is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measuring import GOLDEN, Aim, Measured, Work, race, ratio, take_part

READ, CHECKS, BOTH = "read", "all metrics", "read and all metrics"
AIM = Aim(CHECKS, READ)


def readable(folder: Path) -> dict[str, list[tuple[str, int]]]:
    """The files of a directory that are read without a complaint, by format, with their numbers of samples."""
    import pantrace
    from pantrace.errors import PantraceError

    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        try:
            run = pantrace.read(path)
            count = sum(1 for _ in run.samples)
        except PantraceError:
            continue
        if count and run.source is not None:
            found[run.source.format].append((str(path), count))
    return found


def _told_again(listed: Path) -> Iterator[Any]:
    import pantrace

    told = json.loads(listed.read_bytes())
    for _ in range(told["times"]):
        for path in told["paths"]:
            yield from pantrace.read(path).samples


def read(listed: Path) -> Work:
    return lambda: sum(1 for _ in _told_again(listed))


def checks(listed: Path) -> Work:
    import pantrace
    from pantrace.engine.measure import choose, scores_of

    chosen = choose((), (), ())
    told = json.loads(listed.read_bytes())
    samples = [sample for path in told["paths"] for sample in pantrace.read(path).samples]
    return lambda: sum(bool(scores_of(sample, chosen)) for _ in range(told["times"]) for sample in samples)


def both(listed: Path) -> Work:
    from pantrace.engine.measure import choose, scores_of

    chosen = choose((), (), ())
    return lambda: sum(bool(scores_of(sample, chosen)) for sample in _told_again(listed))


CONTESTANTS = {READ: read, CHECKS: checks, BOTH: both}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("PANTRACE_CORPUS") or GOLDEN))
    parser.add_argument("--size", type=int, default=10_000, help="how many samples in all (default 10000)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--contestant", choices=[*CONTESTANTS], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant is not None:
        take_part(CONTESTANTS[given.contestant], given.file)
        return
    formats = readable(given.folder)
    count = sum(each for files in formats.values() for _, each in files)
    if not count:
        parser.error(f"nothing in {given.folder} can be read")
    times = -(-given.size // count)
    results: dict[str, dict[str, Measured]] = {}
    with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as folder:
        for name, files in sorted(formats.items()):
            listed = Path(folder) / "recordings.json"
            listed.write_text(json.dumps({"times": times, "paths": [path for path, _ in files]}))
            results[name] = race(Path(__file__), [*CONTESTANTS], listed, given.rounds)
    results["together"] = _together(results)
    if given.json:
        told = {
            name: {
                "measured": {each: asdict(one) for each, one in found.items()},
                "ratio": ratio(found, AIM).plain(),
            }
            for name, found in results.items()
        }
        print(json.dumps(told, indent=1))
        return
    for name, found in results.items():
        samples = found[READ].found
        print(name, f"{samples} samples", *(f"{each} {one.seconds:.2f} s" for each, one in found.items()), sep="   ")
        print(f"  {ratio(found, AIM).told()}")


def _together(results: dict[str, dict[str, Measured]]) -> dict[str, Measured]:
    """The sums over all formats; memory is that of the largest."""
    return {
        each: Measured(
            sum(found[each].seconds for found in results.values()),
            max(found[each].peak_mb for found in results.values()),
            max(found[each].grown_mb for found in results.values()),
            sum(found[each].found for found in results.values()),
        )
        for each in CONTESTANTS
    }


if __name__ == "__main__":
    main()
