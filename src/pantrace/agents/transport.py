"""JSON over HTTP, with limits on the time and on the size of the answer."""

from __future__ import annotations

import http.client
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from pantrace.errors import ReadError, UsageError
from pantrace.wire.json import decode_document, encode

from .agent import AgentFailed, Trial

BUSY = (408, 425, 429, 503)
"""With these a server says that it has not begun. After 500, 502 or 504 the agent may have run."""


def post(url: str, body: Any, trial: Trial, headers: dict[str, str] | None = None, *, method: str = "POST") -> Any:
    """Send JSON and return the JSON of the answer; AgentFailed if there is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not the address of a server; it must begin with http:// or https://")
    began = time.monotonic()
    # The standard library: one request at a time needs no client library, and `run` must work without extras.
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=max(trial.seconds, 0.1))
    connected = False
    try:
        connection.connect()
        connected = True
        data = None if body is None else encode(body)
        sent = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), data, sent)
        response = connection.getresponse()
        found = _taken(response, trial, began)
    except TimeoutError:
        raise AgentFailed("limit", f"{url} took longer than {trial.seconds:g} s") from None
    except (ConnectionError, http.client.HTTPException, OSError, ssl.SSLError) as error:
        # Once there is a connection the question may have arrived: asking again could run the agent twice.
        why = f"{url} cannot be reached: {error or type(error).__name__} (is it running?)"
        raise AgentFailed("error", why, again=not connected) from None
    finally:
        connection.close()
    if response.status >= 300:
        why = found.decode("utf-8", "replace").strip()[:300]
        hint = " (is a key needed?)" if response.status in (401, 403) else ""
        message = f"{url} answered {response.status} {response.reason}{hint}: {why}"
        raise AgentFailed("error", message, again=response.status in BUSY)
    try:
        return decode_document(found)
    except ReadError:
        start = found.decode("utf-8", "replace").strip()[:200]
        raise AgentFailed("error", f"{url} did not answer with JSON: {start!r}") from None


def _taken(response: http.client.HTTPResponse, trial: Trial, began: float) -> bytes:
    found = bytearray()
    # A server that sends one byte a second never reaches the socket's time limit, which starts anew with each read.
    while chunk := response.read1(65536):
        found += chunk
        if len(found) > trial.most_output:
            raise AgentFailed("limit", f"the server answered more than {trial.most_output:,} bytes")
        if time.monotonic() - began > trial.seconds:
            raise TimeoutError
    return bytes(found)
