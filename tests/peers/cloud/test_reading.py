"""What is in a bucket is read as what is in a folder, and named by its URL."""

from __future__ import annotations

import json
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import pantrace
from peers.cloud.conftest import Command
from peers.cloud.s3_server import Server, upload

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Recordings of three kinds: an archive, a database, sessions with files beside them."""
    folder = tmp_path / "runs"
    for name in ("inspect", "opencode", "claude-code"):
        shutil.copytree(GOLDEN / name, folder / name, ignore=shutil.ignore_patterns("*.native*", "README.md"))
    return folder


@pytest.mark.parametrize(
    "words", [["measure"], ["show"], ["detect"], ["validate"], ["check", "--rules", "stateless-handoff"]]
)
def test_commands_say_the_same_of_a_bucket_as_of_a_folder(
    words: list[str], runs: Path, server: Server, bucket: str, command: Command
) -> None:
    upload(server.store(bucket), runs, "some/runs")
    url = f"s3://{bucket}/some/runs"
    here, there = command(*words, str(runs), "--json"), command(*words, url, "--json")
    assert there.returncode == here.returncode
    assert there.stdout == here.stdout.replace(str(runs), url)
    assert json.loads(there.stdout)


def test_an_object_comes_with_what_belongs_to_it_and_without_its_neighbours(
    server: Server, bucket: str, machine: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    session = next(path for path in (GOLDEN / "claude-code").rglob("*.jsonl") if (path.parent / path.stem).is_dir())
    shutil.copy(session, folder)
    shutil.copytree(session.parent / session.stem, folder / session.stem)
    (folder / "neighbour.jsonl").write_text("{}")
    upload(server.store(bucket), folder, "a")
    found = [*pantrace.read(f"s3://{bucket}/a/{session.name}").samples]
    alone = [*pantrace.read(folder / session.name).samples]
    children = [len(each.trajectory.children) for each in alone if each.trajectory is not None]
    assert sum(children) > 0
    assert [len(each.trajectory.children) for each in found if each.trajectory is not None] == children
    assert {each.trajectory.source.path for each in found if each.trajectory and each.trajectory.source} == {
        f"s3://{bucket}/a/{session.name}"
    }
    assert not [*machine.rglob("neighbour*")]


def test_a_pattern_matches_objects_and_folders(server: Server, bucket: str, command: Command) -> None:
    store = server.store(bucket)
    line = (GOLDEN / "native").glob("*.trace.jsonl")
    data = next(iter(sorted(line))).read_bytes()
    for name in ("x/a1.trace.jsonl", "x/a2.trace.jsonl", "x/b.trace.jsonl", "x/deep/a3.trace.jsonl"):
        store.put(name, data)
    for pattern, expected in {
        "x/a*.jsonl": ["a1", "a2"],
        "x/**/a*.jsonl": ["a1", "a2", "deep/a3"],
        "x/a[2-3].*": ["a2"],
        "x/d*": ["deep/a3"],
    }.items():
        told = command("detect", f"s3://{bucket}/{pattern}", "--json")
        assert told.returncode == 0, told.stderr
        for name in ("a1", "a2", "b", "deep/a3"):
            assert (f"s3://{bucket}/x/{name}.trace.jsonl" in told.stdout) == (name in expected), (pattern, name)
    assert "no object matches" in command("show", f"s3://{bucket}/x/z*").stderr


def test_an_object_that_changed_is_fetched_again_and_one_that_did_not_is_not(
    server: Server, bucket: str, command: Command, machine: Path
) -> None:
    store = server.store(bucket)
    first, second = sorted((GOLDEN / "native").glob("*.trace.jsonl"))[:2]
    store.put("a.trace.jsonl", first.read_bytes())
    url = f"s3://{bucket}/a.trace.jsonl"
    before = command("show", url, "--json").stdout
    copies = {path.name for path in (machine / "objects").rglob("*") if path.is_file()}
    assert command("show", url, "--json").stdout == before
    assert {path.name for path in (machine / "objects").rglob("*") if path.is_file()} == copies
    store.put("a.trace.jsonl", second.read_bytes())
    assert command("show", url, "--json").stdout == command("show", str(second), "--json").stdout != before


def test_the_cache_stays_as_small_as_it_was_told(server: Server, bucket: str, command: Command, machine: Path) -> None:
    store = server.store(bucket)
    data = sorted((GOLDEN / "native").glob("*.trace.jsonl"))[0].read_bytes()
    for number in range(6):
        store.put(f"{number}.trace.jsonl", data + b"\n" * number)
        told = command("show", f"s3://{bucket}/{number}.trace.jsonl", PANTRACE_CACHE_SIZE=str(3 * len(data)))
        assert told.returncode == 0, told.stderr
    sizes = [path.stat().st_size for path in (machine / "objects").rglob("*") if path.is_file()]
    assert 0 < len(sizes) <= 3


WRONG = {
    "s3://no-such-bucket-here/x": "s3://no-such-bucket-here: there is no such bucket",
    "s3://{bucket}/nothing": "s3://{bucket}/nothing: there is nothing with this name",
    "s4://{bucket}/x": "s4:// is not known; did you mean s3://?",
    "s3://": "names no bucket",
    "https://example.org/a.json": "download it and name the file",
    "file:///etc": "name the path itself",
}


@pytest.mark.parametrize(("url", "words"), WRONG.items())
def test_what_cannot_be_read_is_a_sentence(url: str, words: str, bucket: str, command: Command) -> None:
    told = command("show", url.format(bucket=bucket))
    assert told.returncode == 2
    assert words.format(bucket=bucket) in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr


def test_a_server_that_is_not_there_and_missing_credentials_are_sentences(bucket: str, command: Command) -> None:
    url = f"s3://{bucket}/x"
    assert "the server cannot be reached" in command("show", url, AWS_ENDPOINT_URL="http://127.0.0.1:1").stderr
    told = command("show", url, AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    assert "AWS_ACCESS_KEY_ID" in told.stderr


class _Refusing(BaseHTTPRequestHandler):
    """A server that lets nobody in."""

    def do_GET(self) -> None:
        self.send_response(403)
        self.end_headers()
        self.wfile.write(b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


def test_what_the_credentials_do_not_allow_is_a_sentence(command: Command) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as refusing:
        Thread(target=refusing.serve_forever, daemon=True).start()
        told = command("show", "s3://theirs/x", AWS_ENDPOINT_URL=f"http://127.0.0.1:{refusing.server_port}")
        refusing.shutdown()
    assert told.returncode == 2
    assert "s3://theirs/x: access is denied" in told.stderr


def test_only_run_directories_are_written_to_a_bucket(
    runs: Path, bucket: str, command: Command, tmp_path: Path
) -> None:
    url = f"s3://{bucket}/all.trace.jsonl"
    for words in (
        ["convert", str(runs), "--to", "native", "-o", url],
        ["report", str(runs), "-o", f"s3://{bucket}/r.html"],
        ["run", str(runs), "--agent", "cmd:true", "--out", f"s3://{bucket}/run"],
    ):
        told = command(*words)
        assert told.returncode == 2
        assert "writes to a bucket" in told.stderr
    with pytest.raises(pantrace.errors.WriteError, match="cannot be written to s3://"):
        pantrace.convert(runs / "inspect", url, to="native")
