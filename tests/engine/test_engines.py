"""The same run directory whoever does the work, also when they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.recordings import READY, write
from engine.run_content import run_content
from goldens import ROOT
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import Engine, InProcess
from pantrace.engine.input_part import InputPart
from pantrace.engine.pool import DEATHS, Pool
from pantrace.errors import ReadError, UsageError
from pantrace.store import RunDirectory


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of several parts with a broken line, a database, an archive, and small files."""
    folder = tmp_path_factory.mktemp("engines") / "runs"
    folder.mkdir()
    write(folder / "a.trace.jsonl", range(150))
    with (folder / "a.trace.jsonl").open("a") as file:
        file.write('{"torn\n')
    for number in range(3):
        write(folder / f"small{number}.trace.jsonl", range(number, number + 2))
    (folder / "todo.db").write_bytes((ROOT / "opencode/todo.db").read_bytes())
    (folder / "basic.eval").write_bytes((ROOT / "inspect/basic.eval").read_bytes())
    return folder


def evaluated(runs: Path, out: Path, jobs: int) -> dict[str, object]:
    done = evaluate_into([runs], out, READY, "", engine=Engine(jobs=jobs), span_bytes=8_000)
    assert len(done.notes.broken) == 1
    assert done.notes.broken[0].place == "line 152"
    assert done.measured > 150
    return run_content(out)


def test_run_directories_are_equal_whatever_the_number_of_processes(runs: Path, tmp_path: Path) -> None:
    alone = evaluated(runs, tmp_path / "1", 1)
    assert len(alone["files"]) > 20  # type: ignore[arg-type]
    for jobs in (2, 3):
        assert evaluated(runs, tmp_path / str(jobs), jobs) == alone
    again = evaluate_into([runs], tmp_path / "1", READY, "", engine=Engine(jobs=2), span_bytes=8_000)
    assert (again.measured, run_content(tmp_path / "1")) == (0, alone)


def test_what_ctrl_c_leaves_is_gone_on_with_by_another_number_of_processes(runs: Path, tmp_path: Path) -> None:
    seen: list[object] = []

    def interrupt(sample: object) -> None:
        seen.append(sample)
        if len(seen) == 70:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_into([runs], tmp_path / "out", READY, "", engine=Engine(jobs=2), span_bytes=8_000, on_sample=interrupt)
    done = evaluate_into([runs], tmp_path / "out", READY, "", span_bytes=8_000)
    assert done.reused >= 64
    assert run_content(tmp_path / "out") == evaluated(runs, tmp_path / "fresh", 1)


def test_samples_stand_as_the_inputs_are_named_whoever_read_them_and_whatever_was_there(tmp_path: Path) -> None:
    first, second, third = (
        write(tmp_path / f"{name}.trace.jsonl", range(begin, begin + 40))
        for name, begin in (("c", 0), ("a", 40), ("b", 80))
    )
    orders = {
        "one": [(1, [first, second, third])],
        "two": [(2, [first, second, third])],
        "went on": [(2, [second]), (1, [third, first]), (2, [first, second, third])],
    }
    found = {}
    for name, calls in orders.items():
        for jobs, paths in calls:
            evaluate_into(paths, tmp_path / name, READY, "", engine=Engine(jobs=jobs), span_bytes=2_000)
        directory = RunDirectory.open(tmp_path / name)
        ids = [sample.id for sample in directory.samples()]
        assert ids == [f"s{number:04d}" for number in range(120)] == [each.id for each in directory.outlines()]
        found[name] = run_content(tmp_path / name)["manifest"]["parts"]
    assert found["one"] == found["two"] == found["went on"]


PARTS = [InputPart(path=f"part {number}", format="native", variant="", weight=600_000) for number in range(7)]


@dataclass
class Dies:
    """A task that ends its process the first times a part comes, and counts in files how often it came."""

    folder: Path
    times: int

    def __call__(self, part: InputPart) -> Iterator[str]:
        mark = self.folder / part.path
        came = len(mark.read_text()) if mark.exists() else 0
        mark.write_text("x" * (came + 1))
        if came < self.times and part.path == "part 3":
            os.kill(os.getpid(), signal.SIGKILL)
        if part.path == "part 5" and self.times == 0:
            raise UsageError("this part is wrong")
        yield part.path


def mapped(task: Dies) -> list[tuple[str, list[str]]]:
    with Pool(2) as pool:
        return [(part.path, [*records]) for part, records in pool.map_parts(task, PARTS)]


def test_a_process_that_dies_is_replaced_and_its_part_done_again(tmp_path: Path) -> None:
    assert mapped(Dies(tmp_path, DEATHS - 1)) == [(part.path, [part.path]) for part in PARTS]
    assert (tmp_path / "part 3").read_text() == "x" * DEATHS


def test_a_part_that_always_kills_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"^part 3: the process that read it ended by SIGKILL, 3 times \(was there too"):
        mapped(Dies(tmp_path, 99))


def test_an_error_of_a_part_is_raised_here_behind_the_results_before_it(tmp_path: Path) -> None:
    seen = []
    with Pool(2) as pool, pytest.raises(UsageError, match="this part is wrong"):
        for part, _ in pool.map_parts(Dies(tmp_path, 0), PARTS):
            seen.append(part.path)
    assert seen == [part.path for part in PARTS[:5]]


def test_one_part_alone_and_small_input_start_no_process(tmp_path: Path) -> None:
    started: list[str] = []
    with Pool(2, started.append) as pool:
        assert [part.path for part, _ in pool.map_parts(Dies(tmp_path, 0), PARTS[:1])] == ["part 0"]
    assert not started
    assert isinstance(Engine().executor(1_000), InProcess)
    with pytest.raises(UsageError, match="ray_address is for engine ray"):
        Engine(address="auto").executor(1_000)


ENDLESS = """
import sys, time
from dataclasses import dataclass
from pathlib import Path
from pantrace.engine.input_part import InputPart
from pantrace.engine.pool import Pool

@dataclass
class Waits:
    folder: str
    def __call__(self, part):
        import os
        (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(600)
        yield 1

if __name__ == "__main__":
    with Pool(2) as pool:
        parts = [InputPart(path=str(n), format="native", variant="", weight=10**7) for n in range(4)]
        list(pool.map_parts(Waits(sys.argv[1]), parts))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_one_that_started_it(how: signal.Signals, tmp_path: Path) -> None:
    script, marks = tmp_path / "endless.py", tmp_path / "marks"
    marks.mkdir()
    script.write_text(ENDLESS)
    command = [sys.executable, str(script), str(marks)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        wait_until(lambda: len([*marks.iterdir()]) == 2)
        workers = [int(path.name) for path in marks.iterdir()]
        process.send_signal(how)
        process.wait()
    wait_until(lambda: not any(lives(pid) for pid in workers))


def lives(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


def wait_until(true: object) -> None:
    for _ in range(6_000):
        if true():  # type: ignore[operator]
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


PLUGIN = '''
from pantrace.metrics import Measurement, metric


@metric(better="higher")
def steps(sample, settings):
    """How many steps."""
    if sample.id == "s0007":
        raise ValueError("not this one")
    return Measurement(value=len(sample.trajectory.steps))
'''


@pytest.mark.parametrize(
    "options",
    [
        ["measure", "--plugin", "own.py", "--by", "label.parity", "--reference", "runs/small1.trace.jsonl"],
        ["measure", "--plugin", "own.py", "--json", "--where", "label.parity=odd"],
        ["check", "--rules", "stateless-handoff", "--json"],
    ],
)
def test_commands_say_the_same_whatever_the_number_of_processes(runs: Path, options: list[str]) -> None:
    (runs.parent / "own.py").write_text(PLUGIN)
    said = []
    for jobs in ("1", "2"):
        command = [sys.executable, "-m", "pantrace", options[0], "runs", *options[1:], "--jobs", jobs]
        done = subprocess.run(command, cwd=runs.parent, capture_output=True, text=True, check=False)
        told = [line for line in done.stderr.splitlines() if line != "done by 2 processes"]
        assert len(told) == len(done.stderr.splitlines()) - (jobs == "2")
        said.append((done.returncode, done.stdout, told))
    assert said[0] == said[1]
    assert said[0][1]


@dataclass
class Surroundings:
    """Tells where it is done, and what was set."""

    def __call__(self, part: InputPart) -> Iterator[tuple[str, str | None]]:
        yield str(Path.cwd()), os.environ.get("SET_LATE")


def test_workers_see_folder_and_environment_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be forked from a process that was started for an earlier pool."""
    parts = [InputPart(path=name, format="native", variant="", weight=2_000_000) for name in "ab"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("SET_LATE", name)
        with Pool(2) as pool:
            found = [[*records] for _, records in pool.map_parts(Surroundings(), parts)]
        assert found == [[(str(tmp_path / name), name)]] * 2
