"""Kills: commands are ended at any moment and begun again; what is there at the end is held against a quiet run.

`python tests/fuzz/kills.py COUNT SEED`, or `make fuzz`. Each command runs in a fork of this process, which has imported
everything already, so that kills fall into the work and not into the start.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

from pantrace.cli import cli
from pantrace.engine import judge as judging
from pantrace.errors import PantraceError
from pantrace.judges import Reply, Request
from pantrace.store import query
from scripted import Scripted, verdict

FILES, SAMPLES = 8, 12
TABLES = ("samples", "steps", "calls", "scores", "decisions")
ROUNDS = 5
"""Kills before a command is let to its end."""
PLAN = '[judge]\nrubrics = ["final_response_quality"]\n'
Rows = dict[str, list[tuple[Any, ...]]]


def recordings(folder: Path, files: range) -> None:
    """Small recordings; nothing in them depends on when or where they are made."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        lines = [{"pantrace": "2"}]
        for number in range(SAMPLES):
            call = {"type": "call", "id": "c", "name": "read", "arguments": {"path": f"/{number}"}}
            result = {"type": "result", "call_id": "c", "name": "read", "output": "text " * 200}
            steps = [
                {"role": "user", "parts": [{"type": "text", "text": f"question {file}/{number}"}]},
                {"role": "agent", "parts": [call, result], "usage": {"input": 10 + number, "output": 3}},
                {"role": "agent", "parts": [{"type": "text", "text": f"answer {number}"}]},
            ]
            lines.append({"id": f"{file}-{number}", "trajectory": {"steps": steps}})  # type: ignore[dict-item]
        (folder / f"{file}.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def begun(words: list[str]) -> int:
    """A command in a fork of this process; its number."""
    if child := os.fork():
        return child
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1) if os.environ.get("KILLS_TOLD") else (0, 1, 2):
        os.dup2(null, stream)
    try:
        cli.main(args=words, prog_name="pantrace", standalone_mode=False)
    except PantraceError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(error.exit_code)
    except SystemExit as error:
        os._exit(error.code if isinstance(error.code, int) else 2)
    except BaseException:  # noqa: BLE001 -- whatever it is, the parent is to know
        os._exit(70)
    os._exit(0)


def ended(child: int) -> int:
    """How it ended; negative: by a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(child: int, after: float) -> bool:
    """Kill it after so many seconds; False when it was done before."""
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    return ended(child) == -signal.SIGKILL


def finished(words: list[str]) -> float:
    """Let a command run to its end; how long it took."""
    begin = time.monotonic()
    code = ended(begun(words))
    assert code == 0, f"{' '.join(words)} ended with {code}"
    return time.monotonic() - begin


def _rows_in_a_fork(folder: Path) -> Rows:
    """Rows of a run directory; asked in a fork, because an engine with threads must not be forked."""
    with tempfile.NamedTemporaryFile() as file:
        if child := os.fork():
            assert ended(child) == 0, f"{folder} cannot be asked"
            return {
                name: [tuple(row) for row in rows] for name, rows in json.loads(Path(file.name).read_text()).items()
            }
        code = 1
        try:
            # Paths and times of writing differ from run to run.
            found = {
                table: [[str(value) for value in row] for row in query(folder, _question(folder, table)).rows]
                for table in TABLES
            }
            Path(file.name).write_text(json.dumps(found))
            code = 0
        finally:
            os._exit(code)


def _question(folder: Path, table: str) -> str:
    columns = query(folder, f"select * from {table} limit 0").columns
    varying = {"run", "path", "source_path", "source", "part", "input", "measured_at", "asked_at", "seconds", "latency"}
    kept = ", ".join(f'"{name}"' for name in columns if name not in varying)
    return f"select {kept} from {table} order by all"


class Harness:
    """Counts, and the folder in which all happens."""

    def __init__(self, folder: Path, seed: int):
        self.folder = folder
        self.dice = random.Random(seed)
        self.kills = self.missed = self.wrong = 0
        self.told: list[str] = []

    def differs(self, what: str, one: Any, other: Any) -> None:
        if one != other:
            self.wrong += 1
            self.told.append(what)

    def evaluated(self, name: str, count: int, *extra: str, grows: bool = False, writers: int = 1) -> None:
        """eval, killed again and again, then let to its end."""
        runs = self.folder / f"{name}-runs"
        recordings(runs, range(FILES))
        words = ["eval", str(runs), *extra, "--out"]
        finished([*words, str(self.folder / f"{name}-undisturbed")])
        # Once more: with what judges said in the cache it is shorter, and kills are to fall into the work.
        longest = finished([*words, str(self.folder / f"{name}-again")])
        want = _rows_in_a_fork(self.folder / f"{name}-undisturbed")
        assert len(want["samples"]) == FILES * SAMPLES
        assert want["scores"]
        aim, number = self.kills + count, 0
        while self.kills < aim:
            out = self.folder / f"{name}-{number}"
            number += 1
            if grows:
                shutil.rmtree(runs)
                recordings(runs, range(FILES // 2))
                finished([*words, str(out)])
                recordings(runs, range(FILES))
            for _ in range(ROUNDS):
                others = [begun([*words, str(out)]) for _ in range(writers - 1)]
                if killed(begun([*words, str(out)]), self.dice.uniform(0, longest)):
                    self.kills += 1
                else:
                    self.missed += 1
                for code in map(ended, others):
                    # The second of two writers goes on, or says that there is another one.
                    self.differs(f"{name}: the other writer ended with {code}", code in (0, 2), True)
                if (out / "manifest.sqlite").exists():
                    half = _rows_in_a_fork(out)["samples"]
                    self.differs(f"{name}: a sample is there twice after a kill", len(half), len(set(half)))
                    self.differs(f"{name}: a strange sample after a kill", set(half) <= set(want["samples"]), True)
            finished([*words, str(out)])
            now = _rows_in_a_fork(out)
            for table in TABLES:
                self.differs(f"{name} {number}: {table} differs", now[table], want[table])
            shutil.rmtree(out)

    def converted(self, count: int) -> None:
        """convert: the output is whole or not there."""
        runs, target = self.folder / "convert-runs", self.folder / "convert"
        recordings(runs, range(FILES))
        for to in ("native", "inspect", "adk-jsonl"):
            target.mkdir()
            out = target / {"native": "a.trace.jsonl", "inspect": "a.eval", "adk-jsonl": "a.jsonl"}[to]
            words = ["convert", str(runs), "--to", to, "-o", str(out)]
            longest = finished(words)
            want = out.read_bytes()
            out.unlink()
            aim = self.kills + count // 3 + 1
            while self.kills < aim:
                done = not killed(begun(words), self.dice.uniform(0, longest))
                self.kills, self.missed = self.kills + (not done), self.missed + done
                if out.exists():
                    self.differs(f"convert --to {to}: the output is not whole", len(out.read_bytes()), len(want))
                    out.unlink()
            finished(words)
            self.differs(f"convert --to {to}: differs", len(out.read_bytes()), len(want))
            self.differs(f"convert --to {to}: left behind", [each.name for each in target.iterdir()], [out.name])
            shutil.rmtree(target)


class _Judge(Scripted):
    """Grades by the length of the question; takes its time, so that kills fall into the asking."""

    def __init__(self, *_: Any, **__: Any):
        super().__init__(lambda request: verdict(1 + len(request.prompt) % 5))

    def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(0.005)
        return await super().ask(request)


def main(count: int, seed: int) -> int:
    # In the place of a provider: the cache, the budget and all else about judges are real.
    judging.Provider = _Judge  # type: ignore[assignment,misc]
    with tempfile.TemporaryDirectory(prefix="pantrace-kills-") as name:
        harness = Harness(Path(name), seed)
        plan = Path(name) / "plan.toml"
        plan.write_text(PLAN)
        judge = ["--plan", str(plan), "--judge", "openai:scripted", "--cache"]
        each = count // 5
        parts: dict[str, Callable[[], None]] = {
            "eval": lambda: harness.evaluated("eval", each),
            "judged eval": lambda: harness.evaluated("judged", each, *judge, str(Path(name) / "cache.sqlite")),
            "resume": lambda: harness.evaluated("resume", each, grows=True),
            "two writers": lambda: harness.evaluated("two", each, writers=2),
            "convert": lambda: harness.converted(each),
        }
        for part, work in parts.items():
            before = harness.kills
            work()
            print(f"{part}: {harness.kills - before} kills", flush=True)
    print(f"{harness.kills} kills, seed {seed} ({harness.missed} came too late): {harness.wrong} differences")
    for each_told in harness.told[:20]:
        print(f"  {each_told}")
    return 1 if harness.wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("OPENAI_API_KEY", "none-is-needed")
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(given[0] if given else 200, given[1] if len(given) > 1 else 1))
