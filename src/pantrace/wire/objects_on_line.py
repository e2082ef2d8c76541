"""Several JSON objects on one line, because the line break between them was never written.

Qwen Code leaves such lines when two of its writers append at once, and so do programs that are killed in the middle of
a line and append to the file later. None of these objects is broken, so none is dropped.
"""

from __future__ import annotations

import re

_SEAM = re.compile(rb"\}\s*\{")
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}]', re.DOTALL)
"""A string, in which brackets mean nothing, or a bracket. A cut-off string matches up to the end of the line; otherwise
the search would start again at each of its quotes."""


def objects_on_line(line: bytes) -> list[bytes]:
    """The objects of a line that holds at least two, the last perhaps torn; [] for any other line."""
    # A quick look: this runs for every line that could not be decoded.
    if not line.lstrip().startswith(b"{") or not _SEAM.search(line):
        return []
    found, depth, begin = [], 0, 0
    for mark in _MARK.finditer(line):
        sign = line[mark.start() : mark.start() + 1]
        if sign == b"{":
            if depth == 0 and line[begin : mark.start()].strip():
                return []  # other text between two objects: this is not JSON at all
            depth += 1
        elif sign == b"}":
            depth -= 1
            if depth == 0:
                found.append(line[begin : mark.end()])
                begin = mark.end()
            elif depth < 0:
                return []
    if rest := line[begin:].strip():
        if not rest.startswith(b"{"):
            return []
        found.append(rest)
    return found if len(found) > 1 else []
