"""Collect: an OTLP receiver whose recordings pantrace reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pantrace.errors import UsageError
from pantrace.recording.receiver import Receiver

MESSAGES = {"traces": "Request", "logs": "LogsRequest"}


@contextmanager
def collecting(folder: Path, port: int = 0, on_spans: Callable[[int], None] = lambda _: None) -> Iterator[Receiver]:
    """A receiver on this machine while the block runs; `port` 0 chooses a free port."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        receiver = Receiver(folder, _decoded, port, on_spans)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used: {error.strerror} (is another collector running?)") from None
    thread = threading.Thread(target=receiver.serve_forever, name="collector", daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        receiver.server_close()
        thread.join()


def _decoded(data: bytes, signal: str) -> dict[str, Any]:
    from pantrace.formats.otlp.protobuf import decode

    return decode(data, MESSAGES[signal])


def environment(url: str) -> dict[str, str]:
    """The environment variables that tell an instrumented program where the receiver is."""
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
