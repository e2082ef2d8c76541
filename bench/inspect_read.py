"""How fast and how small reading an `.eval` log is, against inspect_ai's own reader on the same file.

Run it with a Python that has inspect_ai: `.venvs/inspect/bin/python bench/inspect_read.py [--samples N] [--json]`.
Each reader runs in a process of its own; times are without imports, memory is the peak of the whole process. CPU time
tells more than the clock where the machine has other things to do; both are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

READERS = {
    "pantrace: every sample, one held at a time": """
        from pathlib import Path
        from pantrace.formats import by_name
        from pantrace.wire.rows import raise_broken
        from pantrace.formats.inspect import resolved_events
        open_run = by_name("inspect").open
        def work(path):
            count = 0
            for sample in open_run(Path(path), raise_broken).samples:
                # Like read_eval_log: pools resolved, attachments left as references.
                count += sum(1 for _ in resolved_events(sample, attachments=False))
            return count
    """,
    "pantrace: header only": """
        from pathlib import Path
        from pantrace.formats import by_name
        from pantrace.wire.rows import raise_broken
        open_run = by_name("inspect").open
        def work(path):
            return len(open_run(Path(path), raise_broken).results)
    """,
    "pantrace: summaries": """
        from pathlib import Path
        from pantrace.formats.inspect import summaries
        def work(path):
            return len(summaries(Path(path)))
    """,
    "inspect_ai: read_eval_log": """
        from inspect_ai.log import read_eval_log
        def work(path):
            return sum(len(sample.events) for sample in read_eval_log(path).samples)
    """,
    "inspect_ai: read_eval_log_samples": """
        from inspect_ai.log import read_eval_log_samples
        def work(path):
            return sum(len(sample.events) for sample in read_eval_log_samples(path))
    """,
    "inspect_ai: header only": """
        from inspect_ai.log import read_eval_log
        def work(path):
            return len(read_eval_log(path, header_only=True).results.scores)
    """,
    "inspect_ai: summaries": """
        from inspect_ai.log import read_eval_log_sample_summaries
        def work(path):
            return len(read_eval_log_sample_summaries(path))
    """,
}
AGAINST = {
    "pantrace: every sample, one held at a time": "inspect_ai: read_eval_log",
    "pantrace: header only": "inspect_ai: header only",
    "pantrace: summaries": "inspect_ai: summaries",
}


def write_log(target: Path, count: int) -> None:
    """A log of many samples, each a conversation of ten prompts with tool calls, as Inspect itself would write it."""
    from pantrace.formats import by_name
    from pantrace.model import Run

    inspect = by_name("inspect")

    def rewritten(number: int):  # type: ignore[no-untyped-def]
        row = inspect.dump(_sample(number), inspect.options())
        row["metadata"].pop("pantrace", None)
        return inspect.load(row)

    run = Run(name="bench", model="model/one", samples=(rewritten(number) for number in range(count)))
    inspect.save(run, target, inspect.options())


def _sample(number: int):  # type: ignore[no-untyped-def]
    from pantrace.model import Sample, Score, Step, Text, Thinking, ToolCall, ToolResult, Trajectory, Usage

    words = [f"word{(number * 7919 + place * 104729) % 9973}" for place in range(4000)]
    at = 1_794_766_798.0 + number
    steps = [Step(id="system", role="system", parts=(Text(text="You are careful. " * 20),))]
    for turn in range(10):
        text = " ".join(words[turn * 300 : turn * 300 + 120])
        steps.append(Step(id=f"u{turn}", role="user", at=at + turn, parts=(Text(text=f"Question {turn}: {text}"),)))
        call = ToolCall(id=f"c{turn}", name="bash", arguments={"command": f"grep {words[turn]} notes.txt"})
        steps.append(
            Step(
                id=f"a{turn}",
                role="agent",
                at=at + turn + 0.1,
                ended=at + turn + 0.3,
                model="model/one",
                usage=Usage(input=100 * turn + 50, output=40, total=100 * turn + 90),
                parts=(Thinking(text=" ".join(words[turn : turn + 60])), Text(text="Let me look."), call),
            )
        )
        output = "\n".join(words[turn * 200 : turn * 200 + 250])
        result = ToolResult(
            call_id=f"c{turn}", name="bash", output=output, started=at + turn + 0.3, ended=at + turn + 0.4
        )
        steps.append(Step(id=f"t{turn}", role="tool", parts=(result,)))
        steps.append(
            Step(
                id=f"b{turn}",
                role="agent",
                at=at + turn + 0.5,
                ended=at + turn + 0.9,
                model="model/one",
                usage=Usage(input=100 * turn + 80, output=20, total=100 * turn + 100),
                parts=(Text(text=" ".join(words[turn * 100 : turn * 100 + 90])),),
            )
        )
    trajectory = Trajectory(id=f"trajectory-{number}", created=at, ended=at + 10, steps=tuple(steps))
    return Sample(
        id=f"sample {number}",
        epoch=1,
        trajectory=trajectory,
        scores=(Score(name="accuracy", value=float(number % 2)),),
    )


def measure(name: str, path: Path, repeat: int) -> dict[str, float]:
    """Seconds (best of several), peak memory in MB, and what the reader counted."""
    script = textwrap.dedent(READERS[name]) + textwrap.dedent(
        f"""
        import json, resource, time
        best, cpu = 1e9, 1e9
        for _ in range({repeat}):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            found = work({str(path)!r})
            best, cpu = min(best, time.perf_counter() - begin), min(cpu, time.process_time() - begin_cpu)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print("RESULT", json.dumps({{"seconds": best, "cpu": cpu, "peak_mb": peak, "found": found}}))
        """
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_DATA_HOME": str(path.parent / "data")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            found: dict[str, float] = json.loads(line.removeprefix("RESULT "))
            return found
    raise SystemExit(f"{name} failed:\n{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--file", type=Path, help="read this log instead of one made here")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder, "bench.eval")
        if given.file is None:
            write_log(path, given.samples)
        measured = {name: measure(name, path, given.repeat) for name in READERS}
        ratios = {
            name: {
                "against": peer,
                "times_faster": measured[peer]["seconds"] / measured[name]["seconds"],
                "times_less_cpu": measured[peer]["cpu"] / measured[name]["cpu"],
                "memory_share": measured[name]["peak_mb"] / measured[peer]["peak_mb"],
            }
            for name, peer in AGAINST.items()
        }
        if given.json:
            size = path.stat().st_size
            print(json.dumps({"file_bytes": size, "readers": measured, "ratios": ratios}, indent=1))
            return
        for name, found in measured.items():
            times = f"{found['seconds']:8.3f} s {found['cpu']:8.3f} s CPU"
            print(f"{name:45} {times} {found['peak_mb']:6.0f} MB  ({found['found']:.0f} found)")
        for name, ratio in ratios.items():
            times = f"{ratio['times_faster']:6.1f} x faster, {ratio['times_less_cpu']:6.1f} x less CPU"
            print(f"{name:45} {times}, {ratio['memory_share']:.2f} of the memory of {ratio['against']}")


if __name__ == "__main__":
    main()
