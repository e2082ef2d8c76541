"""The one door for outputs: whole or not at all, links followed, devices and pipes never replaced."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pantrace
from pantrace.engine.read import Notes, read_pile
from pantrace.errors import UnknownFormat, WriteError
from pantrace.wire import private_folder as module
from pantrace.wire.files import read_all
from pantrace.wire.output import staging, writing
from pantrace.wire.private_folder import is_private, private_folder

SOURCE = str(Path(pantrace.__file__).parent.parent)


def put(target: Path, data: bytes = b"new") -> None:
    with writing(target) as file:
        file.write(data)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def received(pipe: Path) -> tuple[threading.Thread, list[bytes]]:
    """A thread that reads a pipe to its end, and what it has read."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    return reader, found


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "out.json"
    with writing(target) as file:
        file.write(b"1")
        assert not target.parent.exists()
    assert target.read_bytes() == b"1"
    assert names_in(target.parent) == ["out.json"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("name", ["out.json", "new/deep/out.json", "x" * 255])
def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "out.json").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), writing(tmp_path / name) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert names_in(tmp_path) == ["out.json"]
    assert (tmp_path / "out.json").read_bytes() == b"old"


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    put(tmp_path / ("x" * 255))
    assert names_in(tmp_path) == ["x" * 255]


def test_compression_follows_the_name(tmp_path: Path) -> None:
    for name in ("a.json", "a.json.gz", "a.json.zst"):
        put(tmp_path / name, b"text" * 100)
        assert read_all(tmp_path / name) == b"text" * 100
    assert len({(tmp_path / name).read_bytes()[:2] for name in ("a.json", "a.json.gz", "a.json.zst")}) == 3


def test_a_replaced_file_keeps_its_mode_and_owner(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    if os.geteuid() == 0:
        os.chown(target, 12345, 23456)
    target.chmod(0o640)
    before = target.stat()
    put(target)
    after = target.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert target.read_bytes() == b"new"


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "out").write_bytes(b"old")
    (tmp_path / "first").symlink_to("real/out")
    (tmp_path / "second").symlink_to("first")
    put(tmp_path / "second")
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "real" / "out").read_bytes() == b"new"
    assert names_in(tmp_path / "real") == ["out"]


def test_a_link_that_leads_nowhere_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("not/there/yet")
    put(tmp_path / "link")
    assert (tmp_path / "not/there/yet").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_what_cannot_be_written_is_a_sentence_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "file").write_bytes(b"old")
    reached = []
    for target, words in (
        (tmp_path / "a", "symbolic links"),
        (tmp_path / "file" / "out", "Not a directory"),
        (tmp_path, "is a directory"),
        (tmp_path / ("x" * 256), "too long"),
    ):
        with pytest.raises(WriteError, match=words), writing(target):
            reached.append(target)
    assert not reached
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write any file")
def test_a_protected_file_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o444)
    with pytest.raises(WriteError, match="Permission denied"), writing(target):
        pass
    assert target.read_bytes() == b"old"


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json.gz"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for target in (pipe, tmp_path / "link"):
        reader, found = received(pipe)
        put(target, b"x" * 200_000)
        reader.join(10)
        assert len(found) == 1
        assert pipe.is_fifo()
    assert sorted(names_in(tmp_path)) == ["link", "pipe.json.gz"]


def test_who_reads_a_pipe_sees_its_end_when_writing_fails(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader, found = received(pipe)
    with pytest.raises(ValueError, match="no"), writing(pipe) as file:
        file.write(b"half")
        raise ValueError("no")
    reader.join(10)
    assert found == [b""]


def test_a_device_is_written_into(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("only root makes devices, and not on every file system")
    put(device)
    with staging(device) as staged:
        staged.write_bytes(b"more")
    assert device.is_char_device()
    assert names_in(tmp_path) == ["null"]


def test_a_disk_is_not_written_into(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    try:
        os.mknod(disk, 0o666 | stat.S_IFBLK, os.makedev(250, 250))
    except OSError:
        pytest.skip("only root makes devices, and not on every file system")
    with pytest.raises(WriteError, match="a disk"):
        put(disk)
    assert disk.is_block_device()


def test_an_open_file_is_continued_not_replaced(tmp_path: Path) -> None:
    """/dev/stdout of `>> log` and /dev/fd/N of `N> file`: what was there stays, what comes goes behind it."""
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    program = (
        "import sys; from pathlib import Path; from pantrace.wire.output import writing\n"
        "for name in sys.argv[1:]:\n"
        "    with writing(Path(name)) as file: file.write(name.encode() + b'\\n')\n"
        "print('after')"
    )
    with log.open("ab") as out:
        words = [sys.executable, "-c", program, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        names = [name for name in words[3:] if Path(name).exists()]
        subprocess.run([*words[:3], *names], stdout=out, check=True, env={"PYTHONPATH": SOURCE})
    assert log.read_text().split() == ["before", *names, "after"]


def test_a_folder_appears_whole_or_joins_the_one_that_is_there(tmp_path: Path) -> None:
    for round_, names in enumerate((("a", "b"), ("b", "c"))):
        with staging(tmp_path / "out") as staged:
            staged.mkdir()
            for name in names:
                (staged / name).write_text(str(round_))
            assert not (tmp_path / "out/c").exists()
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"a": "0", "b": "1", "c": "1"}


def test_a_folder_that_cannot_be_written_whole_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out/b").mkdir(parents=True)
    with pytest.raises(WriteError, match="directory"), staging(tmp_path / "out") as staged:
        staged.mkdir()
        (staged / "a").write_text("1")
        (staged / "b").write_text("1")
    assert names_in(tmp_path / "out") == ["b"]


def test_what_a_killed_writer_leaves_is_not_read(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from pantrace.wire.output import staging\n"
        "with staging(Path(sys.argv[1])) as staged:\n"
        '    staged.write_text(\'{"pantrace": "1"}\\n{"id": "half"}\\n\')\n'
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    target = tmp_path / "out.trace.jsonl"
    killed = subprocess.run([sys.executable, "-c", program, str(target)], check=False, env={"PYTHONPATH": SOURCE})
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert is_private(left.name)
    assert (left / target.name).exists()
    with pytest.raises(UnknownFormat, match="nothing readable"):
        read_pile([tmp_path], notes=Notes())
    put(target)
    assert names_in(tmp_path) == [target.name], "the next one removes it"


def test_what_somebody_may_still_be_working_in_is_left_alone(tmp_path: Path) -> None:
    """A folder of a live process, of another machine, of a form that is not ours, and a link to something precious."""
    precious, link = tmp_path / "precious", tmp_path / "links"
    precious.mkdir()
    (precious / "file").write_text("1")
    with private_folder(tmp_path) as living:
        dead = living.name.replace(f"_{os.getpid()}_", "_999999999_")
        (tmp_path / dead.replace(living.name[10:18], "0123abcd")).mkdir()
        (tmp_path / ".pantrace-mine.tmp").mkdir()
        link.mkdir()
        (link / dead).symlink_to(precious)
        before = sorted(names_in(tmp_path))
        program = "import sys; from pathlib import Path; from pantrace.wire.private_folder import private_folder\n"
        program += "for each in sys.argv[1:]:\n    with private_folder(Path(each)): pass"
        words = [sys.executable, "-c", program, str(tmp_path), str(link)]
        subprocess.run(words, check=True, env={"PYTHONPATH": SOURCE})
        assert sorted(names_in(tmp_path)) == before
        assert names_in(precious) == ["file"] and names_in(link) == [dead]


def test_a_folder_that_another_process_took_for_a_leftover_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made and not locked yet when another process looked for leftovers."""
    taken: list[Path] = []
    open_lock = module._open_lock

    def opened_too_late(folder: Path) -> int | None:
        if not taken:
            taken.append(folder)
            folder.rmdir()
        return open_lock(folder)

    monkeypatch.setattr(module, "_open_lock", opened_too_late)
    with private_folder(tmp_path) as folder:
        assert folder.exists() and folder not in taken
    assert names_in(tmp_path) == [] and len(taken) == 1
