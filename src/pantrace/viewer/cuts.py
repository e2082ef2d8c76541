"""Cuts: values that are too large for a page, or that a browser's JSON cannot represent, are taken out and listed.

They are listed next to the data, not replaced by a marker: a recording could contain the same marker and imitate it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from pantrace.wire.json import NonFinite

LONGEST = 32_768
"""Characters of a text that stay in the page itself."""
LEFT = 4_096
"""Characters that are left of a longer one."""
EXACT = 2**53
"""From here on a browser rounds whole numbers."""
_DATA_URI = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)")

Keep = Callable[[bytes, str], str]
"""Stores bytes of a kind (text, image/png …) separately and returns their key."""
Cut = tuple[list[str | int], dict[str, Any]]


def cut(value: Any, keep: Keep) -> tuple[Any, list[Cut]]:
    """Plain data without what is too large, and where each piece was."""
    cuts: list[Cut] = []
    return _without(value, [], cuts, keep), cuts


def _without(value: Any, path: list[str | int], cuts: list[Cut], keep: Keep) -> Any:
    if isinstance(value, str):
        return _text(value, path, cuts, keep) if len(value) > 256 or value.startswith("data:") else value
    if isinstance(value, dict):
        return {key: _without(item, [*path, key], cuts, keep) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, [*path, place], cuts, keep) for place, item in enumerate(value)]
    if isinstance(value, NonFinite):
        cuts.append((path, {"number": value.literal}))
        return None
    # JSON.parse would round it silently, and an id would look right but be another one.
    if isinstance(value, int) and not -EXACT < value < EXACT:
        cuts.append((path, {"number": str(value)}))
        return None
    return value


def _text(text: str, path: list[str | int], cuts: list[Cut], keep: Keep) -> str:
    # Inline pictures would otherwise be shown as megabytes of base64.
    if text.startswith("data:image/") and (found := _DATA_URI.fullmatch(text)) and (data := unpacked(found[2])):
        cuts.append((path, {"image": keep(data, found[1]), "mime": found[1], "bytes": len(data)}))
        return ""
    if len(text) <= LONGEST:
        return text
    data = text.encode("utf-8", "surrogatepass")
    cuts.append((path, {"text": keep(data, "text"), "size": len(text), "bytes": len(data)}))
    return text[:LEFT]


def unpacked(text: str) -> bytes | None:
    """The bytes of base64; None if it is not base64."""
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None


_MAGIC = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def picture_kind(data: bytes) -> str | None:
    """The type of a picture that browsers show and that cannot contain a script; otherwise None, also for SVG."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
