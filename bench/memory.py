"""Memory and time over the number of samples: flat and linear, or not.

Samples of one turn are read and dropped, from a thousand to a hundred thousand of them, for three formats: native JSON
Lines, ADK interactions as evaluation rows, and `.eval` logs. An archive's directory grows with its members, so `.eval`
is the one that cannot be wholly flat.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import recordings
from measuring import Measured, Work, race, take_part
from recordings import made_sample

READ = "read"
SIZES = (1_000, 10_000, 100_000)


def read(path: Path) -> Work:
    import pantrace

    return lambda: sum(1 for _ in pantrace.read(path).samples)


def repeated(row: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """One encoded sample under as many names."""
    for number in range(count):
        name = f"sample {number}"
        yield name, row.replace(b'"sample 0"', f'"{name}"'.encode())


def native(folder: Path, count: int) -> Path:
    from pantrace.wire.json import encode

    path = folder / "made.trace.jsonl"
    with path.open("wb") as file:
        file.write(b'{"pantrace":"1","run":{}}\n')
        file.writelines(row + b"\n" for _, row in repeated(encode(made_sample(0, turns=1)), count))
    return path


def adk_jsonl(folder: Path, count: int) -> Path:
    from pantrace.formats import by_name
    from pantrace.wire.json import encode

    format_ = by_name("adk-jsonl")
    assert format_.dump is not None
    row = encode(format_.dump(made_sample(0, turns=1), format_.options()))
    path = folder / "made.jsonl"
    with path.open("wb") as file:
        file.writelines(each + b"\n" for _, each in repeated(row, count))
    return path


def eval_log(folder: Path, count: int) -> Path:
    from pantrace.wire import zip_archive

    one = recordings.eval_log(folder, 1, turns=1)
    path = folder / "many.eval"
    with zip_archive.reading(one) as archive, path.open("wb") as file:
        writer = zip_archive.Writer(file)
        for name in archive.members:
            content = archive.read(name)
            if not name.startswith("samples/"):
                writer.add(name, content)
                continue
            for sample, row in repeated(content, count):
                writer.add(f"samples/{sample}_epoch_1.json", row)
        writer.finish()
    return path


INPUTS: dict[str, Callable[[Path, int], Path]] = {"native": native, "adk-jsonl": adk_jsonl, "inspect": eval_log}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=[*INPUTS], action="append", help="only this one; repeat for more")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger numbers of samples")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--contestant", choices=[READ], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant is not None:
        take_part(read, given.file)
        return
    results: dict[str, dict[int, Measured]] = {}
    for name in given.format or [*INPUTS]:
        for count in (size for size in SIZES if size <= given.largest):
            with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as folder:
                path = INPUTS[name](Path(folder), count)
                rounds = 3 if count < 100_000 else 1
                results.setdefault(name, {})[count] = race(Path(__file__), [READ], path, rounds)[READ]
    if given.json:
        told = {name: {count: asdict(each) for count, each in found.items()} for name, found in results.items()}
        print(json.dumps(told, indent=1))
        return
    print(f"{'format':12} {'samples':>8} {'us/sample':>10} {'peak MB':>8} {'grown MB':>9}")
    for name, found in results.items():
        for count, each in found.items():
            each_us = each.seconds / count * 1e6
            print(f"{name:12} {count:>8} {each_us:>10.0f} {each.peak_mb:>8.0f} {each.grown_mb:>9.1f}")


if __name__ == "__main__":
    main()
