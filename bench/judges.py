"""A judged `eval` with one process against several, by the clock and in CPU time; the judge answers after some time.

    .venvs/judge/bin/python bench/judges.py [--size N] [--jobs N] [--delay SECONDS] [--concurrency N]

The judge is a small HTTP server on loopback in a process of its own, whose CPU time is told apart. Each command runs
whole, with an empty cache and an empty run directory, and the results are held against each other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from measuring import environment
from pool import adopt, content
from recordings import native

PLAN = """
[judge]
models = ["openai:scripted"]
rubrics = ["HelpfulnessExplain"]
max_chars = 20000
concurrency = {concurrency}
"""


async def _connected(delay: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            body = json.loads(await reader.readexactly(size))
            await asyncio.sleep(delay)
            # A grade that follows from the prompt alone, so that every run gets the same.
            grade = 1 + sha256(body["messages"][-1]["content"].encode()).digest()[0] % 5
            message = {"role": "assistant", "content": json.dumps({"reason": "it shows", "score": grade})}
            answer = json.dumps(
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 1,
                    "model": body["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": size // 4, "completion_tokens": 20, "total_tokens": size // 4 + 20},
                }
            ).encode()
            kind = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
            writer.write(kind + str(len(answer)).encode() + b"\r\n\r\n" + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(delay: float) -> None:
    server = await asyncio.start_server(lambda *line: _connected(delay, *line), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def timed(words: list[str], folder: Path, judge: int) -> dict[str, Any]:
    """Seconds by the clock and of CPU, workers included; of the judge, its CPU time meanwhile."""
    served, before, begun = cpu_of(judge), resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, env=environment(), cwd=folder, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - begun
    while [pid for pid in children() if pid != judge]:
        if os.waitpid(-1, os.WNOHANG)[0] == 0:
            time.sleep(0.01)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = next(line for line in done.stderr.splitlines() if " calls (" in line)
    return {"wall": wall, "cpu": cpu, "judge_cpu": cpu_of(judge) - served, "told": told}


def children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=3_000, help="samples, one question each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds until the judge answers")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.delay))
        return
    adopt()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--serve", "--delay", str(given.delay)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as judge:
            try:
                assert judge.stdout is not None
                measured(given, folder, f"http://127.0.0.1:{int(judge.stdout.readline())}/v1", judge.pid)
            finally:
                judge.kill()


def measured(given: argparse.Namespace, folder: Path, url: str, judge: int) -> None:
    (folder / "plan.toml").write_text(PLAN.format(concurrency=given.concurrency))
    source = native(folder, given.size)
    found: dict[int, list[dict[str, Any]]] = {1: [], given.jobs: []}
    for _ in range(given.rounds):
        for jobs in found:
            for old in (folder / "out", *folder.glob("cache.sqlite*")):
                shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
            words = [sys.executable, "-m", "pantrace", "eval", str(source), "--plan", "plan.toml", "--out", "out"]
            words += ["--cache", "cache.sqlite", "--base-url", url, "--jobs", str(jobs)]
            found[jobs].append({**timed(words, folder, judge), "found": content(folder / "out")})
    best = {jobs: min(rounds, key=lambda each: each["wall"]) for jobs, rounds in found.items()}
    one, many = best[1], best[given.jobs]
    equal = len({each["found"] for rounds in found.values() for each in rounds}) == 1
    megabytes = source.stat().st_size / 1e6
    print(f"{given.size:,} samples, {megabytes:.0f} MB, judge {given.delay * 1e3:g} ms, {given.concurrency} at a time")
    for jobs, each in best.items():
        print(
            f"--jobs {jobs}: {each['wall']:6.2f} s by the clock, {each['cpu']:6.2f} s of CPU time "
            f"(the judge {each['judge_cpu']:.2f} s); {each['told']}"
        )
    print(f"{one['wall'] / many['wall']:.2f} times as fast, {many['cpu'] / one['cpu'] - 1:+.0%} CPU", end="")
    print("" if equal else "   RESULTS DIFFER", f"   load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
