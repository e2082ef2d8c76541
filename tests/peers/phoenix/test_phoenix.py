"""A real Phoenix on loopback takes what pantrace writes over OTLP/HTTP, and its API returns the conversation."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.formats.otlp.plain_spans import plain_in
from pantrace.formats.otlp.protobuf import decode, encode
from pantrace.model import Sample, agent_trajectories, call_pairs, final_response, turns, usage_total

PATIENCE = 300
"""Seconds: a bound for a machine that is busy, not a measurement."""


def _free_port() -> int:
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


class Server:
    def __init__(self, address: str):
        self.address = address

    def get(self, path: str) -> Any:
        with urlopen(f"{self.address}{path}", timeout=60) as reply:
            return json.load(reply)

    def send(self, data: bytes) -> int:
        headers = {"content-type": "application/x-protobuf"}
        with urlopen(Request(f"{self.address}/v1/traces", data, headers), timeout=60) as reply:
            return int(reply.status)

    def until(self, path: str, count: int) -> Any:
        """Spans are stored behind the reply; asked again until so many are there."""
        end = time.monotonic() + PATIENCE
        found: Any = {"data": []}
        while time.monotonic() < end:
            try:
                found = self.get(path)
            except HTTPError as error:
                if error.code != 404:  # a project is there when its first span is
                    raise
            if len(found["data"]) >= count:
                return found
            time.sleep(0.5)
        raise AssertionError(f"{path}: {len(found['data'])} of {count} after {PATIENCE} s")


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("phoenix")
    port = _free_port()
    given = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(_free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [str(Path(sys.executable).with_name("phoenix")), "serve"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **given}, stdout=log, stderr=log)
        try:
            server = Server(f"http://127.0.0.1:{port}")
            _wait(server, process, folder / "log")
            yield server
        finally:
            process.terminate()
            process.wait(60)


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"{server.address}/healthz", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise AssertionError(f"Phoenix did not start: {log.read_text()[-2000:]}")


def story(sample: Sample) -> dict[str, Any]:
    trajectory = sample.trajectory
    assert trajectory is not None
    total = usage_total(trajectory)
    assert total is not None
    return {
        "turns": [turn.number for turn in turns(trajectory) if turn.number],
        "said": [
            (step.role, part.text)
            for step in trajectory.steps
            for part in step.parts
            if hasattr(part, "text") and step.kind != "note" and step.role in ("user", "agent")
        ],
        "calls": [
            (pair.call.name, pair.call.arguments, pair.result is not None and str(_plain(pair.result.output)))
            for pair in call_pairs(trajectory, children=True)
        ],
        "agents": [[agent.name for agent in each.agents] for each in agent_trajectories(trajectory)],
        "answer": final_response(trajectory),
        "tokens": (total.input, total.output, total.cache_read),
    }


def _plain(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


@pytest.mark.parametrize("flavour", ["openinference", "genai"])
def test_its_api_returns_the_conversation(flavour: str, phoenix: Server, tmp_path: Path) -> None:
    source = ROOT / "otlp" / "two_turns.otlp.json"
    (meant,) = read(source).samples
    target = tmp_path / "out.otlp.pb"
    # Each flavour goes into a project of its own: the same sample has the same ids.
    convert([source], target, to="otlp", options={"flavour": flavour}, carry=False)
    data = _in_project(target, flavour)
    assert phoenix.send(data) == 200
    found = phoenix.until(f"/v1/projects/{flavour}/spans/otlpv1?limit=1000", _spans(target))
    back = tmp_path / "back.json"
    back.write_text(json.dumps(found))
    (sample,) = read(back).samples
    assert story(sample) == story(meant)
    if flavour == "openinference":
        (session,) = phoenix.get(f"/v1/projects/{flavour}/sessions")["data"]
        tokens = story(meant)["tokens"]
        assert session["session_id"] == meant.id
        assert (session["token_count_prompt"], session["token_count_completion"]) == tokens[:2]
        assert len(session["traces"]) == 2


def _spans(path: Path) -> int:
    return len(list(plain_in(decode(path.read_bytes(), "Request"))))


def _in_project(path: Path, name: str) -> bytes:
    """The request with the resource attribute by which Phoenix tells projects apart, and ids of its own."""
    request = decode(path.read_bytes(), "Request")
    for each in request["resourceSpans"]:
        project = {"key": "openinference.project.name", "value": {"stringValue": name}}
        each["resource"]["attributes"] = [*each["resource"]["attributes"], project]
        for scope in each.get("scopeSpans", ()):
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span and name == "genai":
                        span[key] = f"{int(span[key], 16) ^ 1:0{len(span[key])}x}"
    return encode(request, "Request")
