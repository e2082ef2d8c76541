"""An S3 server that means harm, in a process of its own: `python hostile_server.py` prints its port.

The bucket's name says what it does to whoever asks: `s3://endless/runs` is a listing that never ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

SAMPLE = (
    b'{"pantrace":"2"}\n{"id":"a","trajectory":{"steps":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}}\n'
)
_numbers = count()
_signed: list[str] = []
"""Requests with a signature that came to the other host, which no user has named."""


class Visited(BaseHTTPRequestHandler):
    """The other host: it notes who comes with a signature."""

    def do_GET(self) -> None:
        if "authorization" in self.headers:
            _signed.append(self.path)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 -- names of the library

    def log_message(self, *_: object) -> None: ...


def entry(key: str, size: int = len(SAMPLE), tag: str = '"tag"') -> str:
    return (
        f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>{tag}</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
    )


def listing(entries: str, token: str | None = None) -> bytes:
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f'<?xml version="1.0"?><ListBucketResult>{entries}{more}</ListBucketResult>'.encode()


def _page(number: int) -> str:
    return "".join(entry(f"runs/{number * 1000 + each:09}.jsonl") for each in range(1000))


LISTINGS: dict[str, Callable[[str], bytes]] = {
    "endless": lambda _: listing(_page(next(_numbers)), f"t{next(_numbers)}"),
    "again": lambda _: listing(entry("runs/a.trace.jsonl"), "the-same"),
    "empty-pages": lambda _: listing("", "the-same"),
    "garbage": lambda _: b"<ListBucketResult><Contents><Key>",
    "not-xml": lambda _: b"\x00\xff" * 1000,
    "entities": lambda _: b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + listing(entry("&b;")),
    "no-numbers": lambda _: listing(entry("runs/a.trace.jsonl").replace("<Size>", "<Size>x")),
    "negative": lambda _: listing(entry("runs/a.trace.jsonl", -5)),
    "huge": lambda _: listing(entry("runs/a.trace.jsonl", 10**15)),
    "sum": lambda _: listing("".join(entry(f"runs/{each}.trace.jsonl", 2**62) for each in range(8))),
    "up": lambda _: listing(entry("runs/../../../outside.trace.jsonl") + entry("../../outside.trace.jsonl")),
    "encoded-up": lambda _: listing(entry("runs/%2e%2e/%2e%2e/outside.trace.jsonl")),
    "backslash": lambda _: listing(entry("runs/..\\..\\outside.trace.jsonl")),
    "root": lambda _: listing(entry("/etc/outside.trace.jsonl") + entry("runs//etc/outside.trace.jsonl")),
    "elsewhere": lambda _: listing(entry("other/outside.trace.jsonl")),
    "long-name": lambda _: listing(entry("runs/" + "a" * 1000 + ".trace.jsonl")),
    "deep-name": lambda _: listing(entry("runs/" + "a/" * 5000 + "b.trace.jsonl")),
    "both": lambda _: listing(entry("runs/a.jsonl") + entry("runs/a.jsonl/b.jsonl")),
}
"""Listings by the name of the bucket; every other bucket has one recording."""

BODIES = ("larger", "endless-body", "truncated", "no-length", "drip", "silent", "error", "elsewhere-body", "lying-run")
"""What else a bucket may be called."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    other = ""
    stopping = Event()

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        bucket, _, key = address.path.strip("/").partition("/")
        asked = parse_qs(address.query)
        if bucket == "redirect":
            return self._answer(307, b"", location=f"{self.other}{self.path}")
        if bucket == "error":
            return self._answer(500, b"<Error><Code>InternalError</Code><Message>\x1b[2J</Message></Error>")
        if bucket == "denied":
            return self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        if bucket == "silent":
            self.stopping.wait(600)
            return None
        if "list-type" in asked:
            made = LISTINGS.get(bucket)
            if bucket == "drip-listing":
                return self._drip(listing(entry("runs/a.trace.jsonl")))
            if bucket == "lying-run":
                names = ("manifest.sqlite", "run.json", "parts/a.parquet")
                return self._answer(200, listing("".join(entry(f"runs/{name}", 10) for name in names)))
            return self._answer(200, made(key) if made else listing(entry("runs/a.trace.jsonl")))
        if self.command == "HEAD" and not key.endswith(".jsonl"):
            return self._answer(404, b"")
        return self._body(bucket)

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self._answer(200 if urlsplit(self.path).path.startswith("/no-tag") else 500, b"")

    do_POST = do_DELETE = do_PUT  # noqa: N815

    def _body(self, bucket: str) -> None:
        if self.command == "HEAD" or bucket not in BODIES:
            return self._answer(200, SAMPLE)
        if bucket == "larger":
            return self._answer(200, SAMPLE * 1000)
        if bucket in ("endless-body", "lying-run"):
            return self._stream(SAMPLE * 10_000, 10**12)
        if bucket == "truncated":
            return self._answer(200, SAMPLE, length=10_000)
        if bucket == "no-length":
            self._head(200, {})
            self.wfile.write(SAMPLE * 3)
            self.close_connection = True
            return None
        if bucket == "drip":
            return self._drip(SAMPLE)
        return self._answer(307, b"", location=f"{self.other}{self.path}")

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            "etag": '"tag"',
            "last-modified": formatdate(1_767_225_600, usegmt=True),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()

    def _answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self._head(status, {"content-length": str(len(body) if length is None else length), **headers})
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = length is not None

    def _stream(self, piece: bytes, length: int) -> None:
        self._head(200, {"content-length": str(length)})
        while not self.stopping.is_set():
            self.wfile.write(piece)

    def _drip(self, body: bytes) -> None:
        """A byte each second: no silence is long enough to be noticed."""
        self._head(200, {"content-length": str(len(body) * 1000)})
        for byte in body * 1000:
            self.wfile.write(bytes([byte]))
            if self.stopping.wait(0.5):
                return


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Whoever hangs up has every reason to."""


def main() -> None:
    other = Server(("127.0.0.1", 0), Visited)
    Thread(target=other.serve_forever, daemon=True).start()
    Handler.other = f"http://localhost:{other.server_address[1]}"
    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    # Its parent asks who has been sent to the other host, or closes the pipe to end it.
    for _ in sys.stdin:
        print(len(_signed), flush=True)
    time.sleep(0.05)


if __name__ == "__main__":
    main()
