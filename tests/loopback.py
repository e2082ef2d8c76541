"""A scripted judge on 127.0.0.1 that speaks the chat completions of OpenAI, and misbehaves on request.

A script is a function from the number of the call (from 0) and the request's body to an `Act`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Act:
    """What the server does with one request."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    """Close the connection in the middle of the body."""
    body: bytes | None = None
    """Sent instead of a completion."""
    finish: str = "stop"
    logprobs: list[dict[str, Any]] | None = None


Script = Callable[[int, dict[str, Any]], Act]


def verdict(score: Any, reason: str = "the evidence shows it") -> Act:
    return Act(json.dumps({"reason": reason, "score": score}))


class Loopback(ThreadingHTTPServer):
    """The server, with every request it was sent."""

    daemon_threads = True

    def __init__(self, script: Script):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def take(self, body: dict[str, Any], path: str) -> int:
        with self._lock:
            self.requests.append(body)
            self.paths.append(path)
            return len(self.requests) - 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up early is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    server: Loopback
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        act = self.server.script(self.server.take(body, self.path), body)
        if act.delay:
            self.server.stopping.wait(act.delay)
        data = act.body if act.body is not None else json.dumps(_completion(act, body)).encode()
        self.send_response(act.status)
        self.send_header("content-type", "application/json")
        for name, value in act.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if act.cut:
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name in the library
        """Tests have their own words."""


def _completion(act: Act, body: dict[str, Any]) -> dict[str, Any]:
    if act.status != 200:
        return {"error": {"message": act.text or "scripted trouble", "type": "scripted"}}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": act.text},
                "finish_reason": act.finish,
                "logprobs": {"content": act.logprobs} if act.logprobs else None,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


@contextmanager
def loopback(script: Script) -> Iterator[Loopback]:
    """A server for the length of a test."""
    server = Loopback(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
