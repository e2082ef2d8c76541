"""The run directory: `eval` against `measure`, files, peak memory, the summary's share, `compare` against bare DuckDB.

Samples of one turn, four of each case and with two labels, go through every metric. Each command runs in a process of
its own; seconds are CPU times, its children's included, and memory is the peak of the whole process. `measure` writes
its scores as JSON lines; `eval` keeps samples, steps, calls and scores, and sums them up. The bare aggregation is one
statement of DuckDB over the same Parquet files: the mean of every measure of every case, for both runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measuring
import summary

BARE = """
import sys, duckdb
question = '''
with counted as (
    select x.case_id, s.name as metric, s.value, from_json(s.numbers, '"MAP(VARCHAR, DOUBLE)"') as named
    from read_parquet($scores) s join read_parquet($samples) x using (part, number)
), numbers as (
    select case_id, metric || '.' || each.key as measure, each.value as value
    from (select case_id, metric, unnest(map_entries(named)) as each from counted where named is not null)
    where each.value is not null
    union all select case_id, metric, value from counted where named is null and value is not null
)
select measure, case_id, avg(value), count(*) from numbers group by all
'''
database = duckdb.connect(config={"threads": "1"})
for folder in sys.argv[1:]:
    given = {name: f"{folder}/parts/*.{name}.*.parquet" for name in ("scores", "samples")}
    assert database.execute(question, given).fetchall()
"""
TARGETS = {"eval_per_measure": 1.6, "summary_share": 0.1, "compare_per_bare": 3.0}
FILES_OF_100_000 = 200
MEGABYTES = 300


def alone(*command: str) -> dict[str, float]:
    """CPU seconds and peak memory of one process."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, *command], env=measuring.environment(), stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        # 3: a comparison of a run with itself is inconclusive.
        if process.returncode not in (0, 3):
            raise SystemExit(log.read().decode())
    return {"seconds": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}


def pantrace(*arguments: object) -> dict[str, float]:
    return alone("-m", "pantrace", *map(str, arguments))


def measure(count: int, rounds: int) -> dict[str, Any]:
    """One size: the least of several rounds, taken in turns."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as name:
        folder = Path(name)
        source, out = summary.samples_file(folder, count), folder / "out"
        for _ in range(rounds):
            shutil.rmtree(out, ignore_errors=True)
            here = {
                # One process: workers are children of a server that outlives the command, and would not be counted.
                "measure": pantrace("measure", source, "-o", folder / "scores.jsonl", "--jobs", 1),
                "eval": pantrace("eval", source, "--out", out, "--jobs", 1),
                "summary": summary.alone("summarise", folder),
            }
            if count <= 10_000:
                here["compare"] = pantrace("compare", out, out)
                here["bare"] = alone("-c", BARE, str(out), str(out))
            for what, each in here.items():
                if what not in found or each["seconds"] < found[what]["seconds"]:
                    found[what] = each
        files = len([*(out / "parts").iterdir()])
        size = sum(each.stat().st_size for each in (out / "parts").iterdir())
        given = source.stat().st_size
    ratios = {
        "eval_per_measure": found["eval"]["seconds"] / found["measure"]["seconds"],
        "summary_share": found["summary"]["seconds"] / found["eval"]["seconds"],
    }
    if "compare" in found:
        ratios["compare_per_bare"] = found["compare"]["seconds"] / found["bare"]["seconds"]
    return {
        "samples": count,
        "input_bytes": given,
        "files": files,
        "bytes": size,
        "rounds": rounds,
        "processes": found,
        "ratios": {what: {"value": value, "at_most": TARGETS[what]} for what, value in ratios.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = [measure(count, given.rounds) for count in given.samples]
    if given.json:
        told = {"python": platform.python_version(), "load": os.getloadavg(), "sizes": found}
        print(json.dumps(told, indent=1))
        return
    for each in found:
        print(f"{each['samples']:,} samples, {each['input_bytes'] / 1e6:.0f} MB: {each['files']} files in parts/")
        for what, process in each["processes"].items():
            print(f"  {what:8} {process['seconds']:8.2f} s {process['megabytes']:6.0f} MB")
        for what, ratio in each["ratios"].items():
            verdict = "reached" if ratio["value"] <= ratio["at_most"] else "MISSED"
            print(f"  {what}: {ratio['value']:.2f} (target: at most {ratio['at_most']:g}): {verdict}")
        if each["samples"] == 100_000:
            few, small = each["files"] <= FILES_OF_100_000, each["processes"]["eval"]["megabytes"] < MEGABYTES
            print(f"  at most {FILES_OF_100_000} files: {'reached' if few else 'MISSED'}")
            print(f"  under {MEGABYTES} MB: {'reached' if small else 'MISSED'}")


if __name__ == "__main__":
    main()
