"""Reading an OpenCode database: pantrace against two bare scans and a JSON decode of all rows, without any model.

There is no peer to run: the original script that turns OpenCode sessions into evaluation rows cannot be run here. It
was measured once beside such scans, on sessions of this size, at 34 times their CPU time (12.4 against 0.36 ms per
session). The ratios here are multiples of the same scans; 34 divided by one of them says how pantrace stands to it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measuring import Aim, Work, contest
from recordings import opencode_database


def bare_scans(path: Path) -> Work:
    import sqlite3

    import msgspec

    decode = msgspec.json.Decoder().decode

    def work() -> int:
        database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        messages = database.execute("select id, session_id, data from message order by session_id, time_created, id")
        count = sum(1 for *_, data in messages if decode(data))
        parts = database.execute("select id, message_id, data from part order by session_id, message_id, id")
        return count + sum(1 for *_, data in parts if decode(data))

    return work


def pantrace_reads(path: Path) -> Work:
    from pantrace.formats import by_name
    from pantrace.model import all_trajectories
    from pantrace.wire.rows import raise_broken

    open_run = by_name("opencode").open
    assert open_run is not None

    def work() -> int:
        samples = open_run(path, raise_broken).samples
        return sum(len(each.steps) for sample in samples for each in all_trajectories(sample.trajectory))

    return work


def _converts(path: Path, *, measure: bool) -> Work:
    from pantrace.engine.convert import convert

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            report = convert(path, Path(folder, "out.jsonl"), to="vertex-seed", format="opencode", measure=measure)
            return report.samples

    return work


def pantrace_converts(path: Path) -> Work:
    return _converts(path, measure=False)


def pantrace_converts_and_measures(path: Path) -> Work:
    return _converts(path, measure=True)


BARE = "sqlite3 and msgspec: two scans, no model"
OURS = "pantrace: every session"
CONVERTED = "pantrace: to vertex-seed, loss not measured"
MEASURED = "pantrace: to vertex-seed, loss measured"

if __name__ == "__main__":
    contest(
        __file__,
        {
            BARE: bare_scans,
            OURS: pantrace_reads,
            CONVERTED: pantrace_converts,
            MEASURED: pantrace_converts_and_measures,
        },
        # 15 times the original ingest, which takes 34 times the bare scans, is 34/15 of these.
        [Aim(OURS, BARE), Aim(CONVERTED, BARE), Aim(MEASURED, BARE, slower=6)],
        opencode_database,
        size=200,
        unit="sessions",
    )
