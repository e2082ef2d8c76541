"""How long it takes to begin: `import pantrace` and `pantrace --help` against bare `python -c pass`.

Each is a process of its own; counted is its whole CPU time, the best of several, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from measuring import ROOT, Measured, Ratio, ratio, told_ratio

BARE, IMPORT, HELP = "python -c pass", "import pantrace", "pantrace --help"
COMMANDS = {
    BARE: ["-c", "pass"],
    IMPORT: ["-c", "import pantrace"],
    HELP: ["-m", "pantrace", "--help"],
    "pantrace measure --help": ["-m", "pantrace", "measure", "--help"],
    "import msgspec": ["-c", "import msgspec"],
    "import click": ["-c", "import click"],
}
RATIOS = ((IMPORT, BARE, 1 / 8), (HELP, BARE, 1 / 12))


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(given.rounds):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], cpu_seconds(arguments))
    measured = {name: Measured(seconds, 1.0, 0.0, 0) for name, seconds in best.items()}
    ratios: list[Ratio] = [ratio(measured, what, peer, target) for what, peer, target in RATIOS]
    if given.json:
        told = {
            "seconds": best,
            "ratios": [
                {"what": each.what, "times_the_time": 1 / each.times_faster, "reached": each.reached} for each in ratios
            ],
        }
        print(json.dumps(told, indent=1))
        return
    for name, seconds in best.items():
        print(f"  {name:26} {seconds * 1000:7.1f} ms  {seconds / best[BARE]:5.1f}x")
    for each in ratios:
        print(f"  {each.what}: {told_ratio(each)} of {each.against}")


if __name__ == "__main__":
    main()
