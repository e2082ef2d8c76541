"""Agents, ids, tables and disks that mean no good: a sample or an error in words comes of them, never a wreck."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

import pantrace
from pantrace.engine.read import Notes, read_pile
from pantrace.engine.run import Ran, read_recording, run_cases
from pantrace.engine.run_cases import Asked, dataset, questions
from pantrace.engine.run_recordings import Recordings
from pantrace.engine.run_trial import Conditions
from pantrace.errors import ReadError, UsageError, WriteError
from pantrace.model import Case, Media, RunHeader, Sample, final_response

PYTHON = quote(sys.executable)


def run(folder: Path, code: str, *ids: str, question: str = "hello", **given: Any) -> Ran:
    """Put cases to a program, which is a piece of Python."""
    cases = [Asked(id=name, case=Case(id=name, question=question), turns=(question,)) for name in ids or ("a",)]
    conditions = Conditions(folder=folder / "workspaces", read=read_recording, environment=dict(os.environ), **given)
    (found,) = run_cases(cases, {"": f"cmd:{PYTHON} -c {quote(code)}"}, folder, conditions)
    return found


def samples(found: Ran) -> list[Sample]:
    return list(pantrace.read(found.recordings).samples)


def difference(sample: Sample) -> str:
    assert sample.trajectory is not None
    media = [part for step in sample.trajectory.steps for part in step.parts if isinstance(part, Media)]
    return b64decode(media[0].data or "").decode("utf-8", "surrogateescape") if media else ""


WRECKS = {
    "garbage": "import os, sys; sys.stdout.buffer.write(os.urandom(5000))",
    "its notes are gone": "import shutil; shutil.rmtree('../notes'); print('done')",
    "its workspace is gone": "import os; os.rmdir(os.getcwd()); print('done')",
    "its notes are a file": "import shutil; shutil.rmtree('../notes'); open('../notes', 'w').close(); print('done')",
    "broken records": """print('{"type":"thread.started","thread_id":{}}', '{"type":"item.completed"}', sep=chr(10))""",
    "nested": "print('[' * 100_000)",
    "closed": "import os; os.close(1); os.close(2)",
    "killed": "import os; os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("code", WRECKS.values(), ids=WRECKS)
def test_whatever_an_agent_does_its_trial_is_a_sample(code: str, tmp_path: Path) -> None:
    (sample,) = samples(run(tmp_path, code))
    assert sample.trajectory is not None and sample.trajectory.steps
    assert not list((tmp_path / "workspaces").iterdir())


def test_links_out_of_the_workspace_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("do not read me")
    inside = f"import os; os.symlink({str(tmp_path / 'secret')!r}, 'x'); os.symlink('.', 'loop'); os.mkfifo('pipe')"
    instead = f"import os; here = os.getcwd(); os.rmdir(here); os.symlink({str(tmp_path / 'secret')!r}, here)"
    for name, code in (("inside", inside), ("instead", instead)):
        (sample,) = samples(run(tmp_path / name, f"{code}; print('linked')"))
        assert difference(sample) == ""
    assert (tmp_path / "secret" / "key").read_text() == "do not read me"


def test_more_files_than_are_compared_are_not_kept_quiet_about(tmp_path: Path) -> None:
    (sample,) = samples(run(tmp_path, "[open(f'f{n}', 'w').close() for n in range(2100)]; print('done')"))
    assert difference(sample).startswith("New empty file f0\nNew empty file f1\n")
    assert difference(sample).endswith("More than 2,000 files: the others were not compared")


def test_a_daemon_ends_with_its_agent(tmp_path: Path) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("the system does not show the variables of processes")
    told = tmp_path / "pid"
    code = (
        "import subprocess, sys; daemon = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
        f"start_new_session=True); open({str(told)!r}, 'w').write(str(daemon.pid)); print('left one behind')"
    )
    run(tmp_path, code)
    status = Path(f"/proc/{told.read_text()}/status")
    assert not status.exists() or "(zombie)" in status.read_text()


@pytest.mark.parametrize(("name", "question"), [("a", "\ud800"), ("a\0b", "hello")])
def test_what_no_program_can_be_given_is_no_crash(name: str, question: str, tmp_path: Path) -> None:
    ((_, why),) = run(tmp_path, "print(input())", name, question=question).failed
    assert "the question, or the id, holds a character that no program can be given" in why


def test_ids_make_no_wild_places_and_no_shared_ones(tmp_path: Path) -> None:
    ids = ("../../x", "a" * 300, "é/😀", "a/b", "a_b", ".", "c\td")
    code = "import os; print(len(os.listdir('.'))); open('mine', 'w').write('x')"
    found = run(tmp_path / "in" / "out", code, *ids)
    assert {each.id: final_response(each.trajectory) for each in samples(found) if each.trajectory} == dict.fromkeys(
        ids, "0"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def looks(question: str, workspace: Path) -> str:
    """Answers with what it finds in its workspace, and takes its time."""
    found = sorted(each.name for each in workspace.iterdir())
    (workspace / "mine").write_text("x")
    time.sleep(0.2)
    return f"{found} {(workspace / 'mine').exists()}"


def test_agents_that_take_turns_have_workspaces_of_their_own(tmp_path: Path) -> None:
    spec = f"python:{__name__}:looks"
    cases = [Asked(id="a", case=Case(id="a", question="q"), turns=("q",))]
    conditions = Conditions(folder=tmp_path / "workspaces", read=read_recording, environment={})
    both = run_cases(cases, {"old": spec, "new": spec}, tmp_path, conditions, jobs=2)
    assert [final_response(each.trajectory) for ran in both for each in samples(ran) if each.trajectory] == [
        "[] True"
    ] * 2


def asked(path: Path) -> list[Asked]:
    return list(questions(dataset([path], {}, Notes.keeping()), follow_up=False))


def test_tables_that_cannot_be_meant_are_refused_and_wide_ones_are_read(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,question\na,one\na,two\n")
    with pytest.raises(UsageError, match="two cases have the id a and ask different questions"):
        asked(table)
    table.write_bytes(b"id,question\n1,caf\xe9\n")
    with pytest.raises(ReadError, match="byte 17: not UTF-8"):
        asked(table)
    table.write_text(f"id,question\n1,{'x' * 200_000},extra\n")
    (case,) = asked(table)
    assert len(case.turns[0]) == 200_000 and case.case.extra == {"table": {"more": ["extra"]}}


def test_only_one_program_writes_and_the_other_touches_nothing(tmp_path: Path) -> None:
    first = Recordings(tmp_path, RunHeader(agent="x"))
    with first.path.open("ab") as file:
        file.write(b'{"half a line')  # as the first would have it in the middle of writing
    with pytest.raises(UsageError, match="another `pantrace run`"):
        Recordings(tmp_path, RunHeader(agent="x"))
    assert first.path.read_bytes().endswith(b'{"half a line')
    first.close()
    Recordings(tmp_path, RunHeader(agent="x")).close()
    assert first.path.read_bytes().endswith(b"\n")


def test_a_full_disk_leaves_whole_lines_and_the_run_goes_on_later(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path, RunHeader(agent="x"))
    recordings.add(Sample(id="a"), "h")
    before = recordings.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
    try:
        with pytest.raises(WriteError, match="run the same command to continue"):
            recordings.add(Sample(id="b", extra={"long": "x" * 1000}), "h")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)
    assert recordings.path.read_bytes() == before
    recordings.add(Sample(id="b"), "h")
    recordings.close()
    assert [each.id for each in read_pile([recordings.path], notes=Notes()).samples] == ["a", "b"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_whoever_ends_a_run_ends_its_agents(number: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"id": name, "question": name}) + "\n" for name in "ab"))
    agent = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    words = ["run", "cases.jsonl", "--agent", f"cmd:{PYTHON} -c {quote(agent)}", "--out", "out", "--no-eval"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pantrace", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        # A shell lets what it runs in the background ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    complained = process.communicate(timeout=120)[1].decode()
    assert (
        process.returncode == code
        and "run the same command to continue" in complained
        and "Traceback" not in complained
    )
    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/status")
    assert not status.exists() or "(zombie)" in status.read_text()
    assert not list(pantrace.read(tmp_path / "out" / "recordings" / "run.trace.jsonl").samples)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_something_else_in_the_place_of_the_recordings_is_a_sentence(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "recordings" / "run.trace.jsonl"
    path.parent.mkdir()
    make(path)
    with pytest.raises(UsageError, match="not a regular file"):
        Recordings(tmp_path, RunHeader(agent="x"))


@pytest.mark.parametrize("half", [b"", b'{"id":', b"x" * 3_000_000])
def test_half_a_recording_is_cut_off_and_nothing_else(tmp_path: Path, half: bytes) -> None:
    first = Recordings(tmp_path, RunHeader(agent="x"))
    first.add(Sample(id="a", epoch=0), "h")
    first.close()
    whole = first.path.read_bytes()
    first.path.write_bytes(whole + half)
    again = Recordings(tmp_path, RunHeader(agent="x"))
    again.close()
    assert first.path.read_bytes() == whole and again.has("a", 0, "h")
