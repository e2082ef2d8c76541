"""Long tool outputs: OpenCode keeps a shortened text in the part, and the full text in a file under `tool-output/`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from .taken_keys import Raw


class Outputs:
    """The folder `tool-output` beside a database or a storage tree."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.exists = folder.is_dir()

    def follow(self, part: Raw) -> None:
        """Add the full text to a tool part (`state.full_output`) if its file is there.

        Only the name is taken from the recording: a path in it may point anywhere on the reader's machine."""
        state = part.get("state") if self.exists else None
        metadata = state.get("metadata") if type(state) is dict else None
        recorded = metadata.get("outputPath") if type(metadata) is dict else None
        if type(recorded) is not str or type(state) is not dict:
            return
        # A recording made on Windows may be read on another system, and the other way round.
        name = (PureWindowsPath if "\\" in recorded else PurePosixPath)(recorded).name
        file = self.folder / name
        try:
            # A link in the folder must not lead out of it either.
            if name and file.is_file() and file.resolve().parent == self.folder.resolve():
                state["full_output"] = file.read_bytes().decode("utf-8", "replace")
        except OSError:
            return
