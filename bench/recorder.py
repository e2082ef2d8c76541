"""What recording costs: an event of the recorder beside a bare json.dumps and write of the same event; and what a kill
in the middle leaves. `--whole`: a million events."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pantrace

EVENTS = 1_000_000 if "--whole" in sys.argv else 50_000


def now() -> tuple[float, float]:
    """Seconds on the wall, and of the processor for this program alone: the second is the same on a busy machine."""
    return time.perf_counter(), time.process_time()


def each_since(begun: tuple[float, float]) -> tuple[float, float]:
    wall, processor = now()
    return (wall - begun[0]) / EVENTS, (processor - begun[1]) / EVENTS


def bare(folder: Path) -> tuple[float, float]:
    """Seconds for each event: a dictionary made, encoded and written."""
    file = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    begun = now()
    for number in range(EVENTS):
        step = {"id": str(number), "role": "agent", "kind": "note", "parts": [{"type": "text", "text": "progress"}]}
        event = {"event": "step", "step": {**step, "at": time.time(), "extra": {"recorder": {"n": number}}}}
        os.write(file, json.dumps(event).encode() + b"\n")
    took = each_since(begun)
    os.close(file)
    return took


def recorded(folder: Path) -> tuple[tuple[float, float], float]:
    """Seconds for each event, and for putting all of them in their place."""
    with pantrace.recorder(folder / "run.trace.jsonl") as rec:
        begun = now()
        for number in range(EVENTS):
            rec.note("progress", n=number)
        took = each_since(begun)
        ending = time.perf_counter()
    return took, time.perf_counter() - ending


RECORDING = """
import mmap, sys, pantrace
with open(sys.argv[1], "r+b") as file, pantrace.recorder(sys.argv[2]) as rec:
    told = mmap.mmap(file.fileno(), 8)
    for number in range(1, 1 << 40):
        rec.note("progress", n=number)
        told[:] = number.to_bytes(8, "little")
"""


def killed(folder: Path, after: int) -> tuple[int, int]:
    """Events that the recorder had taken when its program was killed, and events that can be read."""
    counter = folder / "counter"
    counter.write_bytes(bytes(8))
    with counter.open("r+b") as file:
        told = mmap.mmap(file.fileno(), 8)
        process = subprocess.Popen([sys.executable, "-c", RECORDING, counter, folder / "killed.trace.jsonl"])
        while int.from_bytes(told[:], "little") < after:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        taken = int.from_bytes(told[:], "little")
    (journal,) = folder.glob("*killed*")
    (sample,) = pantrace.read(journal).samples
    assert sample.trajectory is not None
    return taken, len(sample.trajectory.steps)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 if EVENTS > 100_000 else 3):
            plain, (ours, end) = bare(Path(folder)), recorded(Path(folder))
            print(
                f"{EVENTS:,} events: bare {plain[0] * 1e6:.1f} us, recorder {ours[0] * 1e6:.1f} us each"
                f" ({ours[0] / plain[0]:.2f}x); of the processor's time {plain[1] * 1e6:.1f} and {ours[1] * 1e6:.1f} us"
                f" ({ours[1] / plain[1]:.2f}x); finished in {end:.1f} s; load {os.getloadavg()[0]:.1f}"
            )
        taken, read = killed(Path(folder), EVENTS // 2)
        print(f"kill -9 after {taken:,} events: {read:,} can be read")
        assert taken <= read <= taken + 1


if __name__ == "__main__":
    main()
