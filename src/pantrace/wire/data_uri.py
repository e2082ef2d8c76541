"""Data URIs: a file inside an address, as chat APIs send pictures."""

from __future__ import annotations


def split_data_uri(url: str) -> tuple[str, str] | None:
    """MIME type and base64 of a data URI; None for any other address."""
    head, comma, data = url.partition(",")
    # Only base64: a percent-encoded data URI is kept as an address.
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")], data
