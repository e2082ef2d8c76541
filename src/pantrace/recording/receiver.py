"""The receiver: takes what OpenTelemetry exporters send over HTTP, and writes it to files as it arrives.

It listens on this machine only. Each trace has its own file, to which export requests are added line by line; a
request is in its file before it is answered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from pantrace.errors import ReadError
from pantrace.wire.append import append_whole
from pantrace.wire.file_names import name_of
from pantrace.wire.json import decode_document, encode

from .request_body import read_body

SIGNALS = {"traces": ("resourceSpans", "scopeSpans", "spans"), "logs": ("resourceLogs", "scopeLogs", "logRecords")}
MOST_BYTES = 64_000_000
"""Maximum size of one request, unpacked. Exporters send a few megabytes."""
LOOSE = "untraced"
"""The name of the file for records that belong to no trace."""

Decode = Callable[[bytes, str], dict[str, Any]]
"""Turns a protobuf export request of a signal into OTLP/JSON; ReadError if it is none."""


class Receiver(ThreadingHTTPServer):
    """An OTLP/HTTP server that writes into a folder. Requests below `/of/KEY/` go to a folder of that name."""

    daemon_threads = True

    def __init__(self, folder: Path, decode: Decode, port: int = 0, on_spans: Callable[[int], None] = lambda _: None):
        # Loopback only: spans contain prompts and answers, and anybody who can reach the port could add recordings.
        super().__init__(("127.0.0.1", port), _Request)
        self.folder = folder
        self.decode = decode
        self.on_spans = on_spans
        self._lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that disconnects in the middle is not worth a traceback, which is what the base class prints."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def url_of(self, key: str) -> str:
        """The URL for one of several senders."""
        return f"{self.url}/of/{quote(name_of(key), safe='')}"

    def folder_of(self, key: str) -> Path:
        """The folder for what that sender sent."""
        return self.folder / name_of(key)

    def keep(self, request: dict[str, Any], signal: str, key: str | None) -> int:
        """Write a request to files, trace by trace; returns its number of spans or records."""
        folder = self.folder_of(key) if key else self.folder
        by_trace, count = _by_trace(request, *SIGNALS[signal])
        kind = "" if signal == "traces" else ".logs"
        # One request at a time: a request's lines must follow each other, and threads must not write into each other's.
        with self._lock:
            folder.mkdir(parents=True, exist_ok=True)
            for trace, part in by_trace.items():
                name = f"{name_of(trace)}{kind}.otlp.jsonl"
                file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                try:
                    append_whole(file, encode(part) + b"\n")
                finally:
                    os.close(file)
        self.on_spans(count)
        return count


def _by_trace(request: dict[str, Any], top: str, middle: str, inner: str) -> tuple[dict[str, dict[str, Any]], int]:
    """A request as one request for each trace, each with its resources and scopes."""
    found: dict[str, dict[str, Any]] = {}
    count = 0
    for resource in request.get(top) or ():
        for scope in resource.get(middle) or ():
            sorted_: dict[str, list[Any]] = {}
            for record in scope.get(inner) or ():
                count += 1
                sorted_.setdefault(str(record.get("traceId") or LOOSE), []).append(record)
            for trace, records in sorted_.items():
                part = {**resource, middle: [{**scope, inner: records}]}
                found.setdefault(trace, {top: []})[top].append(part)
    return found, count


class _Request(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_: Any) -> None:
        """Do not print a line for each request, as the base class does."""

    def do_POST(self) -> None:
        if "origin" in self.headers:
            # A page in a browser of this machine reaches this port, too; exporters of programs send no origin.
            self._answer(403, b"requests of web pages are not accepted")
            return
        *prefix, version, signal = ["", *self.path.partition("?")[0].strip("/").split("/")][-4:]
        if version != "v1" or signal not in (*SIGNALS, "metrics"):
            self._answer(404, b"traces go to /v1/traces, logs to /v1/logs")
            return
        key = unquote(prefix[-1]) if len(prefix) >= 2 and prefix[-2] == "of" else None
        as_json = "json" in (self.headers.get("content-type") or "")
        try:
            body = read_body(self.rfile, self.headers, MOST_BYTES)
            # Metrics are accepted and dropped: an exporter that is refused would log an error every minute.
            if signal != "metrics":
                request = decode_document(body) if as_json else self.server.decode(body, signal)
                if not isinstance(request, dict):
                    raise ReadError("an export request is an object")
                self.server.keep(request, signal, key)
        except ReadError as error:
            self._answer(400, str(error).encode())
        except OSError as error:
            # 503 makes the sender keep its data and try again: a full disk may be emptied.
            self._answer(503, f"cannot be written: {error.strerror}".encode())
        # A request of any shape may arrive: it is the sender's mistake (400), and the server keeps running.
        except (AttributeError, TypeError, ValueError, LookupError, RecursionError) as error:
            self._answer(400, f"not an export request: {error}".encode())
        else:
            self._answer(200, b"{}" if as_json else b"", "application/json" if as_json else "application/x-protobuf")

    def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if status >= 400:
            # The rest of the refused request would be taken for the next one.
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)
