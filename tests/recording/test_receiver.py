"""The receiver takes what exporters send, trace by trace, and what it took is read."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import pantrace
from goldens import ROOT as GOLDEN
from pantrace.engine.collect import collecting
from pantrace.engine.run import read_recording, run_cases
from pantrace.engine.run_cases import Asked
from pantrace.engine.run_trial import Conditions
from pantrace.errors import UsageError
from pantrace.formats.otlp.protobuf import encode
from pantrace.model import Case, call_pairs, final_response

ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 12,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "hi there"}]}]),
}


def request(trace: str = "0af7651916cd43dd8448eb211c80319c") -> dict[str, object]:
    told = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in ATTRIBUTES.items()
    ]
    span = {
        "traceId": trace,
        "spanId": "b7ad6b7169203331",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": "1794000000000000000",
        "endTimeUnixNano": "1794000001000000000",
        "attributes": told,
    }
    return {
        "resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]
    }


def post(url: str, body: bytes, *, path: str = "/v1/traces", **headers: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", parts.path + path, body, named)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


JSON = {"content_type": "application/json"}
PROTOBUF = {"content_type": "application/x-protobuf"}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("words", [JSON, PROTOBUF])
def test_json_and_protobuf_are_read_alike(tmp_path: Path, words: dict[str, str], packed: bool) -> None:
    body = json.dumps(request()).encode() if words is JSON else encode(request(), "Request")
    with collecting(tmp_path) as receiver:
        extra = {"content_encoding": "gzip"} if packed else {}
        status, _ = post(receiver.url, gzip.compress(body) if packed else body, **words, **extra)
    assert status == 200
    assert [each.name for each in tmp_path.iterdir()] == ["0af7651916cd43dd8448eb211c80319c.otlp.jsonl"]
    (sample,) = pantrace.read(tmp_path).samples
    assert sample.trajectory is not None and final_response(sample.trajectory) == "hi there"
    (usage,) = [step.usage for step in sample.trajectory.steps if step.usage]
    assert (usage.input, usage.output) == (12, 3)


def test_traces_lie_apart_and_senders_too(tmp_path: Path) -> None:
    both = request("a" * 32)
    both["resourceSpans"] += request("b" * 32)["resourceSpans"]  # type: ignore[operator]
    with collecting(tmp_path) as receiver:
        assert post(receiver.url, json.dumps(both).encode(), **JSON)[0] == 200
        assert post(receiver.url_of("case 1"), json.dumps(request()).encode(), **JSON)[0] == 200
    names = sorted(each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*.jsonl"))
    assert len(names) == 3 and [name[0] for name in names[:2]] == ["a", "b"] and "/" in names[2]


@pytest.mark.parametrize(
    ("body", "path", "headers", "status"),
    [
        (b"{", "/v1/traces", JSON, 400),
        (b"[]", "/v1/traces", JSON, 400),
        (b'{"resourceSpans": 5}', "/v1/traces", JSON, 400),
        (b'{"resourceSpans": [5]}', "/v1/traces", JSON, 400),
        (b"\xff\xff\xff", "/v1/traces", PROTOBUF, 400),
        (b"not gzip", "/v1/traces", {**JSON, "content_encoding": "gzip"}, 400),
        (gzip.compress(b"[" * 70_000_000), "/v1/traces", {**JSON, "content_encoding": "gzip"}, 400),
        (b"{}", "/v1/nothing", JSON, 404),
        (b"{}", "/", JSON, 404),
        (b"", "/v1/metrics", PROTOBUF, 200),
    ],
)
def test_what_is_no_export_is_answered_so(
    tmp_path: Path, body: bytes, path: str, headers: dict[str, str], status: int
) -> None:
    with collecting(tmp_path) as receiver:
        assert post(receiver.url, body, path=path, **headers)[0] == status
        # It goes on.
        assert post(receiver.url, json.dumps(request()).encode(), **JSON)[0] == 200


SENDER = """
import json, os, sys, urllib.request
url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
sent = urllib.request.Request(url, sys.argv[1].encode(), {"content-type": "application/json"})
urllib.request.urlopen(sent, timeout=20).read()
print("printed, not told")
"""


@pytest.mark.parametrize("words", [JSON, PROTOBUF, {"content_type": "text/plain;json"}])
@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null"])
def test_a_web_page_cannot_write_recordings(origin: str, words: dict[str, str], tmp_path: Path) -> None:
    with collecting(tmp_path) as receiver:
        body = json.dumps(request()).encode()
        assert post(receiver.url, body, origin=origin, **words) == (403, b"requests of web pages are not accepted")
    assert [*tmp_path.iterdir()] == []


def test_run_records_what_an_agent_sends(tmp_path: Path) -> None:
    body = json.dumps(request())
    command = f"cmd:{shlex.quote(sys.executable)} -c {shlex.quote(SENDER)} {shlex.quote(body)}"
    with collecting(tmp_path / "collected") as receiver:
        given = Conditions(folder=tmp_path / "w", read=read_recording, environment=dict(os.environ), collector=receiver)
        asked = [Asked(id="a/b", case=Case(id="a/b", question="hello"), turns=("hello",))]
        (ran,) = run_cases(asked, {"": command}, tmp_path / "out", given)
    (sample,) = pantrace.read(ran.recordings).samples
    assert ran.failed == [] and sample.trajectory is not None
    assert final_response(sample.trajectory) == "hi there"
    assert len([step for step in sample.trajectory.steps if step.role == "user"]) == 1


def test_the_command_says_where_it_listens_and_ends_when_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pantrace", "collect", "--out", "runs", "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().split()[2].rstrip(";")
        assert post(url, json.dumps(request()).encode(), **JSON)[0] == 200
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(30) == 0
    assert told.index("the first data arrived (1 spans and records)") < told.index("1 spans and records in 1 request;")


def test_golden_exports_come_back(tmp_path: Path) -> None:
    """What real exporters wrote to files is sent again, and read as the files are."""
    path = next(each for each in sorted((GOLDEN / "otlp").glob("*.otlp.json")) if not each.name.endswith("native.json"))
    with collecting(tmp_path) as receiver:
        assert post(receiver.url, path.read_bytes(), **JSON)[0] == 200
    was = [each.trajectory for each in pantrace.read(path).samples]
    now = [each.trajectory for each in pantrace.read(tmp_path).samples]
    calls = [[len(call_pairs(each)) for each in side if each is not None] for side in (was, now)]
    assert calls[0] == calls[1] and sum(calls[0]) > 0


@pytest.mark.parametrize(
    ("length", "body"),
    [("\xb2", b"{}"), ("-1", b"{}"), ("1e9", b"{}"), ("9" * 30, b"{}"), ("", b"{}"), ("5000", b"{}")],
    ids=["no digit", "negative", "no integer", "endless", "none", "more than comes"],
)
def test_a_wrong_length_is_answered_and_nothing_is_written(
    length: str, body: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with collecting(tmp_path) as receiver:
        with socket.create_connection(("127.0.0.1", receiver.server_address[1]), timeout=20) as sender:
            start = f"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n"
            sender.sendall(start.encode("latin-1") + body)
            sender.shutdown(socket.SHUT_WR)
            assert sender.recv(1000).startswith(b"HTTP/1.1 400 ")
        # One that goes away at once is no news.
        socket.create_connection(("127.0.0.1", receiver.server_address[1]), timeout=20).close()
        assert post(receiver.url, json.dumps(request()).encode(), **JSON)[0] == 200
    assert len(list(tmp_path.iterdir())) == 1
    assert capfd.readouterr().err == ""


def test_chunks_are_taken_one_request_after_another(tmp_path: Path) -> None:
    """Exporters that pack while they send do not know the length before. Nothing of a request is left for the next."""
    with collecting(tmp_path) as receiver:
        connection = http.client.HTTPConnection("127.0.0.1", receiver.server_address[1], timeout=20)
        for trace in ("a" * 32, "b" * 32):
            packed = gzip.compress(encode(request(trace), "Request"))
            pieces = (packed[place : place + 7] for place in range(0, len(packed), 7))
            headers = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
            connection.request("POST", "/v1/traces", pieces, headers, encode_chunked=True)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"")
        connection.close()
    assert sorted(each.name[0] for each in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    ("coding", "body", "why"),
    [
        ("chunked", b"5\r\n{}", b"ended early"),
        ("chunked", b"2\r\n{}\r\n", b"ended early between two chunks"),
        ("chunked", b"1\r\n{}\r\n0\r\n\r\n", b"longer than it says"),
        ("chunked", b"two\r\n{}\r\n0\r\n\r\n", b"no length"),
        ("chunked", b"-2\r\n{}\r\n0\r\n\r\n", b"no length"),
        ("chunked", b"fffffffff\r\n{}\r\n", b"more than 64,000,000 bytes"),
        ("chunked", b"2\r\n{}\r\n0\r\n" + b"a: b\r\n" * 200, b"lines follow"),
        ("chunked", b"2;" + b"x" * 5000, b"too long"),
        ("gzip, chunked", b"0\r\n\r\n", b"is not supported"),
    ],
)
def test_wrong_chunks_are_answered_and_nothing_is_written(coding: str, body: bytes, why: bytes, tmp_path: Path) -> None:
    with collecting(tmp_path) as receiver:
        with socket.create_connection(("127.0.0.1", receiver.server_address[1]), timeout=20) as sender:
            start = f"POST /v1/traces HTTP/1.1\r\nhost: x\r\ntransfer-encoding: {coding}\r\n\r\n"
            sender.sendall(start.encode() + body)
            sender.shutdown(socket.SHUT_WR)
            with sender.makefile("rb") as answer:
                told = answer.read()
        assert told.startswith(b"HTTP/1.1 400 ") and why in told
    assert not list(tmp_path.iterdir())


def test_half_a_packed_request_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(encode(request(), "Request"))
    with collecting(tmp_path) as receiver:
        assert post(receiver.url, packed[:-12], content_encoding="gzip", **PROTOBUF)[0] == 400
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("trace", ["../../x", "x" * 400, "\x00", "CON", "é" * 200])
def test_the_name_of_a_trace_makes_no_wild_files(trace: str, tmp_path: Path) -> None:
    with collecting(tmp_path / "in" / "out") as receiver:
        assert post(receiver.url, json.dumps(request(trace)).encode(), **JSON)[0] == 200
    (file,) = (each for each in tmp_path.rglob("*") if each.is_file())
    assert file.parent == tmp_path / "in" / "out"


def test_a_port_that_is_taken_and_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with (
        collecting(tmp_path) as receiver,
        pytest.raises(UsageError, match="is another collector running"),
        collecting(tmp_path, receiver.server_address[1]),
    ):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(OSError), collecting(tmp_path / "file"):
        pass
