"""What measuring loss costs: conversions with and without it, as CPU time.

Both are done in turns in the same process, and the least of several rounds counts. The ratio is what measuring adds to
the conversion: 1 means that it takes as long as the conversion itself. OpenCode's database is read by bare scans as
well, of which the conversion to vertex-seed with the loss measured should take at most six.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import GOLDEN
from opencode_read import bare_scans
from recordings import adk_history, adk_jsonl, eval_log, native, opencode_database

AIM = 1.0
SCANS = 6.0


def claude_code(folder: Path, count: int) -> Path:
    """Sessions of Claude Code: that of a golden file under new ids, each in a file of its own."""
    text = (GOLDEN / "claude-code" / "rewind.jsonl").read_text()
    session = json.loads(text.splitlines()[-1])["sessionId"]
    for number in range(count):
        name = f"{number:08}{session[8:]}"
        (folder / f"{name}.jsonl").write_text(text.replace(session, name))
    return folder


MAKERS: dict[str, Callable[[Path, int], Path]] = {
    "opencode": opencode_database,
    "adk-history": adk_history,
    "adk-jsonl": adk_jsonl,
    "inspect": eval_log,
    "native": native,
    "claude-code": claude_code,
}
PAIRS = (
    ("opencode", "vertex-seed"),
    ("opencode", "native"),
    ("opencode", "inspect"),
    ("adk-history", "adk-history"),
    ("adk-jsonl", "vertex-agent"),
    ("inspect", "native"),
    ("inspect", "inspect"),
    ("native", "explain"),
    ("native", "vertex-flat"),
    ("claude-code", "atif"),
    ("claude-code", "inspect"),
    ("adk-history", "vertex-seed"),
)


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one round."""
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def converted(source: Path, to: str, *, measure: bool) -> int:
    """How many samples were written."""
    from pantrace.engine.convert import convert
    from pantrace.formats import by_name

    format_ = by_name(to)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "out" if format_.is_split else f"out{format_.suffix}")
        return convert(source, target, to=to, measure=measure).samples


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=60, help="samples of each source (default 60)")
    parser.add_argument("--rounds", type=int, default=5, help="the least of so many counts (default 5)")
    parser.add_argument("--pair", action="append", help="only this one: opencode:native; repeat for more")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    pairs = [tuple(each.split(":")) for each in given.pair] if given.pair else PAIRS
    told: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="pantrace-bench-") as folder:
        sources: dict[str, Path] = {}
        for name in {source for source, _ in pairs}:
            (place := Path(folder, name)).mkdir()
            sources[name] = MAKERS[name](place, given.size)
        for source, to in pairs:
            row = _measured(source, to, sources[source], given.rounds)
            told.append(row)
            if not given.json:
                print(_line(row), flush=True)
    if given.json:
        print(json.dumps({"title": "Measuring loss", "at_most": AIM, "pairs": told}, indent=1))


def _measured(source: str, to: str, path: Path, rounds: int) -> dict[str, object]:
    samples = converted(path, to, measure=True)
    plain, measured, scans = [], [], []
    for _ in range(rounds):
        plain.append(seconds(lambda: converted(path, to, measure=False)))
        measured.append(seconds(lambda: converted(path, to, measure=True)))
        if source == "opencode":
            scans.append(seconds(bare_scans(path)))
    ratio = (min(measured) - min(plain)) / min(plain)
    row: dict[str, object] = {
        "from": source,
        "to": to,
        "samples": samples,
        "seconds": min(plain),
        "seconds_measured": min(measured),
        "ratio": ratio,
        "reached": ratio <= AIM,
    }
    if scans:
        row["bare_scans"] = min(measured) / min(scans)
        if to == "vertex-seed":
            row["reached"] = ratio <= AIM and min(measured) / min(scans) <= SCANS
    return row


def _line(row: dict[str, object]) -> str:
    scans = f", {row['bare_scans']:.1f} bare scans in all" if "bare_scans" in row else ""
    verdict = "reached" if row["reached"] else "MISSED"
    name = f"{row['from']} to {row['to']}"
    return f"  {name:28} measuring adds {row['ratio']:.2f}x the conversion (at most {AIM:.0f}){scans}: {verdict}"


if __name__ == "__main__":
    main()
