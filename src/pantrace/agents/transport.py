"""JSON over HTTP, with a time limit and a limit on what is taken in."""

from __future__ import annotations

import http.client
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from pantrace.errors import ReadError, UsageError
from pantrace.wire.json import decode_document, encode

from .agent import AgentFailed, Trial

BUSY = (408, 425, 429, 500, 502, 503, 504)


def post(url: str, body: Any, trial: Trial, headers: dict[str, str] | None = None, *, method: str = "POST") -> Any:
    """Send JSON, and give the JSON that comes back; AgentFailed when none does."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not the address of a server; it must begin with http:// or https://")
    began = time.monotonic()
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=max(trial.seconds, 0.1))
    try:
        data = None if body is None else encode(body)
        sent = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), data, sent)
        response = connection.getresponse()
        found = _taken(response, trial, began)
    except TimeoutError:
        raise AgentFailed("limit", f"{url} took longer than {trial.seconds:g} s") from None
    except (ConnectionError, http.client.HTTPException, OSError, ssl.SSLError) as error:
        refused = isinstance(error, (ConnectionRefusedError, OSError)) and not isinstance(error, ConnectionResetError)
        why = f"{url} cannot be reached: {error or type(error).__name__} (is it running?)"
        raise AgentFailed("error", why, again=refused) from None
    finally:
        connection.close()
    if response.status >= 300:
        why = found.decode("utf-8", "replace").strip()[:300]
        hint = " (is a key needed?)" if response.status in (401, 403) else ""
        told = f"{url} answered {response.status} {response.reason}{hint}: {why}"
        raise AgentFailed("error", told, again=response.status in BUSY)
    try:
        return decode_document(found)
    except ReadError:
        told = found.decode("utf-8", "replace").strip()[:200]
        raise AgentFailed("error", f"{url} did not answer with JSON: {told!r}") from None


def _taken(response: http.client.HTTPResponse, trial: Trial, began: float) -> bytes:
    found = bytearray()
    # A server that drips a byte a second never runs into the time limit of its socket.
    while chunk := response.read1(65536):
        found += chunk
        if len(found) > trial.most_output:
            raise AgentFailed("limit", f"the server answered more than {trial.most_output:,} bytes")
        if time.monotonic() - began > trial.seconds:
            raise TimeoutError
    return bytes(found)
