"""The corpus of real recordings, where there is one: the variable PANTRACE_CORPUS names its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_named = os.environ.get("PANTRACE_CORPUS")
CORPUS = Path(_named).resolve() if _named else Path("no-corpus")

needs_corpus = pytest.mark.skipif(not _named, reason="PANTRACE_CORPUS does not name a folder of recordings")
