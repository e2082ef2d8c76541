"""What reading into the model cannot go below: the same structs made blindly, and the same samples decoded by type.

Beside the bare decode of a file and its reading: all structs of its samples made by one Python call each, with every
value at hand and no look at any (`structs`), and the same samples decoded by msgspec from native text (`typed`), which
is what a compiled reader could come near to. A reader in Python needs its decode and the structs; what it needs beyond
is the looking.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from layer1 import BARE, INPUTS, READ, bare, read
from measuring import Measured, Work, race, take_part

STRUCTS, TYPED = "structs", "typed"


def structs(path: Path) -> Work:
    import msgspec

    import pantrace

    def made(value: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Every struct with the fields that are not left to their defaults."""
        if isinstance(value, msgspec.Struct):
            fields = {field.name: getattr(value, field.name) for field in msgspec.structs.fields(value)}
            for each in fields.values():
                yield from made(each)
            needed = {field.name for field in msgspec.structs.fields(value) if field.required}
            yield type(value), {name: each for name, each in fields.items() if each or name in needed}
        elif isinstance(value, list | tuple):
            for each in value:
                yield from made(each)
        elif isinstance(value, dict):
            for each in value.values():
                yield from made(each)

    samples = [list(made(sample)) for sample in pantrace.read(path).samples]

    def work() -> int:
        for calls in samples:
            # Held until the sample is whole, as a reader holds them.
            held = [kind(**fields) for kind, fields in calls]
        return len(samples) if held else 0

    return work


def typed(path: Path) -> Work:
    import msgspec

    import pantrace
    from pantrace.model import Sample

    texts = [msgspec.json.encode(sample) for sample in pantrace.read(path).samples]
    decode = msgspec.json.Decoder(Sample).decode
    return lambda: sum(1 for text in texts if decode(text))


CONTESTANTS = {BARE: bare, READ: read, STRUCTS: structs, TYPED: typed}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", choices=[*INPUTS], action="append", help="only this one; repeat for more")
    parser.add_argument("--size", type=int, help="how many samples")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--contestant", choices=[*CONTESTANTS], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant is not None:
        take_part(CONTESTANTS[given.contestant], given.file)
        return
    results: dict[str, dict[str, Measured]] = {}
    with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as folder:
        for name in given.format or INPUTS:
            make, size = INPUTS[name]
            path = make(Path(folder), given.size or size)
            results[name] = race(Path(__file__), [*CONTESTANTS], path, given.rounds)
    if given.json:
        print(json.dumps({name: {each: asdict(one) for each, one in found.items()} for name, found in results.items()}))
        return
    for name, found in results.items():
        count = found[READ].found
        print(name, f"{count} samples, bare decode {found[BARE].seconds / count * 1e6:.0f} microseconds each")
        for what in (READ, STRUCTS, TYPED):
            share = found[what].seconds / found[BARE].seconds
            print(f"  {what:8} {found[what].seconds / count * 1e6:6.0f} microseconds, {share:.2f} bare decodes")


if __name__ == "__main__":
    main()
