"""The summary of an evaluation over the number of samples: a small part of the run's time, and flat memory.

Samples of one turn, four of each case and with two labels, are evaluated with every metric; then the run directory is
summed up. Words, tokens, times, failures of tools and reasons differ from sample to sample, by a seed. Seconds are CPU
times, memory is the peak of the whole process, imports included. The share that counts is that of the summary in the
process of the run, as `pantrace eval` has it: what both import is loaded once. Summed up in a process of its own, as a
directory that is only opened, it loads everything anew.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import measuring
from recordings import made_sample

REPEATS = 4
SEED = 14


def samples_file(folder: Path, count: int) -> Path:
    """A native file of so many samples: repeats of a quarter as many cases, half of them passed."""
    from msgspec.structs import replace

    from pantrace.model import Case, Outcome
    from pantrace.wire.json import encode

    source = random.Random(SEED)
    made = [made_sample(number, turns=1) for number in range(50)]
    path = folder / "made.trace.jsonl"
    with path.open("wb") as file:
        file.write(b'{"pantrace":"1","run":{}}\n')
        for number in range(count):
            case = Case(id=f"case {number // REPEATS}", labels={"difficulty": "hard" if number % 3 else "easy"})
            sample = made[number % len(made)]
            trajectory = replace(
                sample.trajectory,
                outcome=Outcome(status="passed" if number % 2 else "failed"),
                steps=tuple(varied(step, number, source) for step in sample.trajectory.steps),
            )
            judged = judgement(number, source)
            told = replace(sample, id=f"sample {number}", epoch=number % REPEATS + 1, case=case, trajectory=trajectory)
            file.write(encode(replace(told, scores=(*sample.scores, judged))) + b"\n")
    return path


def varied(step: Any, number: int, source: random.Random) -> Any:
    """The same step with other words, tokens and times; one tool call in four fails."""
    from msgspec.structs import replace

    from pantrace.model import Text, ToolResult, Usage

    parts = []
    for part in step.parts:
        if isinstance(part, ToolResult):
            took = source.lognormvariate(-1, 1)
            code = source.randrange(1, 128) if source.random() < 0.25 else 0
            error = f"exit code {code}" if code else None
            part = replace(part, ended=part.started + took, exit_code=code, error=error)
        elif isinstance(part, Text) and step.role != "system":
            part = replace(part, text=f"{part.text[: source.randrange(40, len(part.text) + 41)]} {number}")
        parts.append(part)
    if step.usage is None:
        return replace(step, parts=tuple(parts))
    used, said = source.randrange(50, 90_000), source.randrange(10, 4_000)
    usage = Usage(input=used, output=said, total=used + said)
    return replace(step, parts=tuple(parts), usage=usage, ended=step.at + source.lognormvariate(0, 1))


def judgement(number: int, source: random.Random) -> Any:
    """What a judge said: a grade, or why there is none, in words that no other sample has."""
    from pantrace.model import Maker, Score

    maker = Maker(kind="rubric", name="helpful")
    if source.random() < 0.1:
        why = f"the answer to question {number} was cut off after {source.randrange(4_000)} tokens"
        return Score(name="helpful", status="unscored", explanation=why, maker=maker)
    return Score(name="helpful", value=source.randrange(1, 6), explanation=f"grade for answer {number}", maker=maker)


def evaluate(folder: Path) -> float:
    """Gives the CPU seconds of the summary in the same process."""
    from pantrace.engine.evaluate import evaluate_into
    from pantrace.engine.plan import Plan, prepare

    evaluate_into([folder / "made.trace.jsonl"], folder / "out", prepare(Plan(), Path()), "")
    before = time.process_time()
    summarise(folder)
    return time.process_time() - before


def summarise(folder: Path) -> None:
    from pantrace.engine.summary import summarise as summary_of

    found = summary_of(folder / "out")
    success = next(each for each in found.metrics if each.metric == "outcome.success")
    assert success.estimate is not None and abs(success.estimate.value - 0.5) < 1e-9
    assert success.reliability is not None


PARTS = {"evaluate": evaluate, "summarise": summarise}


def alone(part: str, folder: Path) -> dict[str, Any]:
    """CPU seconds and peak memory (MB) of one part in a process of its own, and seconds of a summary inside it."""
    done = subprocess.run(
        [sys.executable, __file__, "--part", part, str(folder)],
        env=measuring.environment(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples_file(folder, count)
        run, summary = alone("evaluate", folder), alone("summarise", folder)
    return {"samples": count, "evaluate": run, "summarise": summary, "share": run["summary"] / run["seconds"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, nargs="*", default=[2_000, 100_000])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("folder", nargs="?")
    given = parser.parse_args()
    if given.part:
        before = time.process_time()
        inside = PARTS[given.part](Path(given.folder))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": time.process_time() - before, "megabytes": peak, "summary": inside}))
        return
    found = [measure(count) for count in given.samples]
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print("samples   run s    MB   its summary s   share   summary alone s    MB")
    for each in found:
        run, summary = each["evaluate"], each["summarise"]
        print(
            f"{each['samples']:>7,} {run['seconds']:>7.1f} {run['megabytes']:>5.0f} {run['summary']:>15.2f}"
            f" {each['share']:>7.1%} {summary['seconds']:>17.2f} {summary['megabytes']:>5.0f}"
        )


if __name__ == "__main__":
    main()
