"""The same run directory by Ray as by one process, also when a node is lost in mid-run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.recordings import READY, write
from engine.run_content import run_content
from pantrace.cli.engine_options import RAY
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.executor import ONE_PROCESS, Engine
from pantrace.engine.judge import Access, bench
from pantrace.engine.plan import JudgeTable, MeasureTable, Plan, prepare
from pantrace.errors import PantraceError
from pantrace.judges import Settings
from scripted import Scripted, verdict

os.environ.update(RAY)  # as the command does, before Ray is imported


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ray") / "runs"
    folder.mkdir()
    for name in "ab":
        write(folder / f"{name}.trace.jsonl", range(150))
    with (folder / "a.trace.jsonl").open("a") as file:
        file.write('{"torn\n')
    return folder


@pytest.fixture(scope="module")
def expected(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    out = tmp_path_factory.mktemp("alone") / "out"
    evaluate_into([runs], out, READY, "", span_bytes=4_000)
    return run_content(out)


def test_ray_of_our_own_gives_the_same_run_directory_and_listens_on_loopback_only(
    runs: Path, expected: dict[str, object], tmp_path: Path
) -> None:
    heard: list[set[str]] = []
    engine = Engine(name="ray", jobs=2)
    done = evaluate_into(
        [runs], tmp_path / "out", READY, "", engine=engine, span_bytes=4_000, on_sample=lambda _: _look(heard)
    )
    assert done.measured == 300
    assert [error.place for error in done.notes.broken] == ["line 152"]
    assert run_content(tmp_path / "out") == expected
    assert heard
    assert heard[0] <= {"127.0.0.1", "::1"}


def _look(heard: list[set[str]]) -> None:
    if not heard:
        heard.append(listening())


def listening() -> set[str]:
    """Addresses on which processes of ours listen."""
    sockets = {link for pid in _family() for link in _links(Path(f"/proc/{pid}/fd"))}
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        local, state, inode = (line.split()[place] for place in (1, 3, 9))
        if state == "0A" and f"socket:[{inode}]" in sockets:
            number = int(local.partition(":")[0], 16)
            found.add(".".join(str(number >> shift & 255) for shift in (0, 8, 16, 24)))
    for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]:
        local, state, inode = (line.split()[place] for place in (1, 3, 9))
        if state == "0A" and f"socket:[{inode}]" in sockets:
            known = {"0" * 24 + "01000000": "::1", "0000000000000000FFFF00000100007F": "127.0.0.1"}
            found.add(known.get(local.partition(":")[0], local))
    return found


def _family() -> set[int]:
    """This process and all that it started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _links(folder: Path) -> Iterator[str]:
    """What the files of a process are. It may close one, or end, while they are looked at."""
    with suppress(OSError):
        for each in [*folder.iterdir()]:
            with suppress(OSError):
                yield str(each.readlink())


def test_a_node_killed_in_mid_run_loses_nothing_and_doubles_nothing(
    runs: Path, expected: dict[str, object], tmp_path: Path
) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False},
    )
    try:
        victim = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
        killed: list[int] = []

        def kill(_: object) -> None:
            if not killed:
                cluster.remove_node(victim, allow_graceful=False)
                killed.append(1)

        engine = Engine(name="ray", address=cluster.address)
        done = evaluate_into([runs], tmp_path / "out", READY, "", engine=engine, span_bytes=4_000, on_sample=kill)
        assert killed
        assert done.measured == 300
        assert run_content(tmp_path / "out") == expected
    finally:
        cluster.shutdown()


def test_judges_are_asked_from_here_whoever_works_on_ray(runs: Path, tmp_path: Path) -> None:
    judged = prepare(Plan(judge=JudgeTable(rubrics=["HelpfulnessExplain"]), measure=MeasureTable(metrics=())), Path())
    found = {}
    for name, engine in (("alone", ONE_PROCESS), ("ray", Engine(name="ray", jobs=2))):
        judge = Scripted(lambda request: verdict(1 + sum(request.prompt.encode()) % 5))
        access = Access(keys={"openai": "Zq81unheardOfForm77xKk"}, calls=1_000)
        bench_ = bench(Settings(models=("openai:m",)), access, cache=tmp_path / f"{name}.sqlite", judge=judge)
        heard: list[set[str]] = []
        done = evaluate_into(
            [runs],
            tmp_path / name,
            judged,
            "",
            judging=bench_,
            engine=engine,
            span_bytes=4_000,
            on_sample=lambda _, heard=heard: _look(heard),  # type: ignore[misc]
        )
        assert done.by == ([] if name == "alone" else ["Ray with 2 cores"])
        assert heard[0] <= {"127.0.0.1", "::1"}
        # Both files hold the same samples: each question goes out once.
        assert len(judge.requests) == len({request.prompt for request in judge.requests}) == 150
        found[name] = run_content(tmp_path / name), bench_.summary()
    assert found["ray"] == found["alone"]


def test_a_cluster_that_is_not_there_is_a_sentence(runs: Path, tmp_path: Path) -> None:
    engine = Engine(name="ray", address="127.0.0.1:1")
    with pytest.raises(PantraceError, match=r"Ray 127\.0\.0\.1:1: cannot be reached"):
        evaluate_into([runs], tmp_path / "out", READY, "", engine=engine)


def test_metrics_are_loaded_where_they_are_used(runs: Path, tmp_path: Path) -> None:
    from pantrace.engine.measure_part import MeasureParts
    from pantrace.engine.pile_parts import done_parts
    from pantrace.engine.read import Notes
    from pantrace.engine.select import Selection

    plugin = tmp_path / "own.py"
    plugin.write_text(
        "from pantrace.metrics import Measurement, metric\n\n\n"
        '@metric(better="higher")\ndef steps(sample, settings):\n'
        '    """How many steps."""\n    return Measurement(value=len(sample.trajectory.steps))\n'
    )
    task = MeasureParts(
        metrics=("steps",),
        settings=(),
        plugins=(plugin,),
        selection=Selection(),
        sub_agents=False,
        by_turn=False,
        stored=False,
        by=None,
        in_sums=False,
    )
    with Engine(name="ray", jobs=2).executor(0) as executor:
        parts = [*done_parts([runs], None, task, executor, Notes.keeping(), span_bytes=4_000)]
    assert [row.value for part in parts for row in part.rows] == [2] * 300
