"""How long it takes to begin: `import pantrace`, `pantrace --help` and every command's against bare `python -c pass`.

Each is a process of its own; counted is its whole CPU time, the best of several, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from measuring import environment

from pantrace.cli import COMMANDS as NAMES

BARE, IMPORT, HELP = "python -c pass", "import pantrace", "pantrace --help"
EVERY = {f"pantrace {name} --help": ["-m", "pantrace", name, "--help"] for name in NAMES}
COMMANDS = {
    BARE: ["-c", "pass"],
    IMPORT: ["-c", "import pantrace"],
    HELP: ["-m", "pantrace", "--help"],
    **EVERY,
    "import msgspec": ["-c", "import msgspec"],
    "import click": ["-c", "import click"],
}
TARGETS = {IMPORT: 3, HELP: 5, **dict.fromkeys(EVERY, 6)}
"""At most so many times bare Python."""


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one process."""
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(given.rounds):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], cpu_seconds(arguments))
    times = {name: seconds / best[BARE] for name, seconds in best.items()}
    if given.json:
        reached = {name: times[name] <= most for name, most in TARGETS.items()}
        print(json.dumps({"seconds": best, "times": times, "targets": TARGETS, "reached": reached}, indent=1))
        return
    for name, seconds in best.items():
        aim = ""
        if name in TARGETS:
            aim = f"  target: at most {TARGETS[name]}x: {'reached' if times[name] <= TARGETS[name] else 'MISSED'}"
        print(f"  {name:26} {seconds * 1000:7.1f} ms  {times[name]:5.1f}x{aim}")


if __name__ == "__main__":
    main()
