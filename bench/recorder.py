"""What recording costs: an event of the recorder beside a bare json.dumps and write of the same event."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pantrace

EVENTS = 1_000_000 if "--whole" in sys.argv else 50_000


def bare(folder: Path) -> float:
    """Seconds for each event: a dictionary made, encoded and written."""
    file = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    begun = time.perf_counter()
    for number in range(EVENTS):
        step = {"id": str(number), "role": "agent", "kind": "note", "parts": [{"type": "text", "text": "progress"}]}
        event = {"event": "step", "step": {**step, "at": time.time(), "extra": {"recorder": {"n": number}}}}
        os.write(file, json.dumps(event).encode() + b"\n")
    took = time.perf_counter() - begun
    os.close(file)
    return took / EVENTS


def recorded(folder: Path) -> tuple[float, float]:
    """Seconds for each event, and for putting all of them in their place."""
    with pantrace.recorder(folder / "run.trace.jsonl") as rec:
        begun = time.perf_counter()
        for number in range(EVENTS):
            rec.note("progress", n=number)
        took = time.perf_counter() - begun
        ending = time.perf_counter()
    return took / EVENTS, time.perf_counter() - ending


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rounds = [(bare(Path(folder)), *recorded(Path(folder))) for _ in range(1 if EVENTS > 100_000 else 3)]
    for plain, ours, end in rounds:
        print(
            f"{EVENTS:,} events: bare {plain * 1e6:.1f} us, recorder {ours * 1e6:.1f} us each: {ours / plain:.1f}x;"
            f" finished in {end:.2f} s"
        )


if __name__ == "__main__":
    main()
