"""Pictures of a recording: inline, or files next to it; no other file is ever opened."""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from .cuts import Cut, Keep, picture_kind, unpacked

LARGEST = 50_000_000
"""Maximum bytes of a picture."""


class Pictures:
    """Finds the pictures that steps name, in given folders only: a recording may name any file of this machine."""

    def __init__(self, roots: tuple[Path, ...], keep: Keep):
        self._roots = [root.resolve() for root in roots]
        self._keep = keep

    def in_step(self, step: dict[str, Any], source: str | None) -> list[Cut]:
        """Take the pictures out of a step (as plain data); each with its place."""
        cuts: list[Cut] = []
        for place, part in enumerate(step.get("parts", ())):
            if part.get("type") == "media":
                cuts += self._in_media(part, ["parts", place], source)
            elif part.get("type") == "result":
                for number, media in enumerate(part.get("media", ())):
                    cuts += self._in_media(media, ["parts", place, "media", number], source)
        return cuts

    def _in_media(self, media: dict[str, Any], path: list[str | int], source: str | None) -> list[Cut]:
        data = unpacked(media["data"]) if isinstance(media.get("data"), str) else None
        kind = picture_kind(data) if data else None
        if kind is not None:
            del media["data"]
        elif media.get("uri"):
            data = self._file(str(media["uri"]), source)
            kind = picture_kind(data) if data else None
        if data is None or kind is None:
            return []
        return [([*path, "picture"], {"image": self._keep(data, kind), "mime": kind, "bytes": len(data)})]

    def _file(self, uri: str, source: str | None) -> bytes | None:
        # Nothing is fetched from the network: a recording could otherwise learn who opens it, and when.
        if "://" in uri and not uri.startswith("file://"):
            return None
        names = PurePosixPath(unquote(uri.removeprefix("file://")).replace("\\", "/")).parts
        # A path that climbs up would leave the folder that the user named.
        if ".." in names or not names:
            return None
        names = tuple(name for name in names if name != "/")
        beside = [Path(source).resolve().parent] if source else []
        for folder in [*(each for each in beside if self._is_given(each)), *self._roots]:
            # Recordings are moved: a path from another machine often ends in one that exists here.
            for start in range(len(names)):
                found = folder.joinpath(*names[start:])
                if (data := self._content(found)) is not None:
                    return data
        return None

    def _is_given(self, path: Path) -> bool:
        return any(path == root or root in path.parents for root in self._roots)

    def _content(self, path: Path) -> bytes | None:
        try:
            # Resolved before the check: a symbolic link next to the recording may lead to any file.
            real = path.resolve(strict=True)
            status = real.stat()
            if not self._is_given(real) or not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                return None
            return real.read_bytes()
        except (OSError, ValueError):
            return None
