"""Several JSON objects on one line, where the line break between them was never written.

Qwen Code leaves such lines when two of its writers append at once, and so do programs that are ended in the middle of
a line and append to the file later. No object of them is broken, so none is thrown away.
"""

from __future__ import annotations

import re

_SEAM = re.compile(rb"\}\s*\{")
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}]', re.DOTALL)
"""A string, in which brackets mean nothing, or a bracket. A torn string runs to the end of the line: it would be tried
again from each of its quotes on."""


def objects_on_line(line: bytes) -> list[bytes]:
    """The objects of a line that holds at least two, the last perhaps torn; [] for any other line."""
    if not line.lstrip().startswith(b"{") or not _SEAM.search(line):
        return []
    found, depth, begin = [], 0, 0
    for mark in _MARK.finditer(line):
        sign = line[mark.start() : mark.start() + 1]
        if sign == b"{":
            if depth == 0 and line[begin : mark.start()].strip():
                return []  # other words stand between two objects: that is no JSON at all
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
