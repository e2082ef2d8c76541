"""Inspect writes buffers and traces into the user's data directory, from its import on: give it one of its own."""

from __future__ import annotations

import os
import tempfile

_data = tempfile.TemporaryDirectory(prefix="pantrace-inspect-")
os.environ["XDG_DATA_HOME"] = _data.name
