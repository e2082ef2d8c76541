"""The page itself: one document with style and program, which its policy allows by their hashes only."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

PROGRAM = (
    "vendor/marked.js", "dom.js", "words.js", "source.js", "remembered.js", "notes.js", "window_list.js", "ansi.js",
    "code.js", "diff.js", "markdown.js", "json_tree.js", "texts.js", "screen.js", "copying.js", "step.js",
    "copying_sample.js", "branches.js", "time_lanes.js", "token_bars.js", "axis.js", "search.js", "labels.js",
    "scores.js", "expected.js", "outline.js", "transcript.js", "sample_page.js", "charts.js", "plots.js",
    "measures.js", "failures.js", "run_page.js", "runs_page.js", "compare_page.js", "compare_many.js", "app.js",
)  # fmt: skip
"""Modules, each after those it needs. Joined into one script, since pages from file:// cannot load modules."""

STYLES = ("frame.css", "transcript.css", "texts.css", "panels.css", "tables.css", "media.css")
"""Later rules override earlier ones."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_SPACE = re.compile(r"^(?:[ \t]*//.*\n|[ \t]+|\n)", re.MULTILINE)
"""Comments on lines of their own, and indentation: a fifth of the program, and useless in a report."""
_SPACE_OF_STYLE = re.compile(r"\s*(?:/\*.*?\*/\s*)*([{};])\s*", re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|let|class) )", re.MULTILINE)


@cache
def program() -> str:
    """All modules as one script that runs at once; a module would wait until more of the document is read."""
    own = (_SPACE.sub("", _EXPORT.sub("", _IMPORT.sub("", _file(name)))) for name in PROGRAM if "/" not in name)
    # Libraries are wrapped in functions: their start-up takes longer than the first screen, which rarely needs them.
    libraries = (f"function load{Path(name).stem.title()}() {{\n{_file(name)}\n}}" for name in PROGRAM if "/" in name)
    joined = "\n".join([*libraries, *own])
    return f"(() => {{'use strict';\n{joined}\n}})();"


@cache
def style() -> str:
    """The style sheets as one."""
    return _SPACE_OF_STYLE.sub(r"\1", "".join(_file(name) for name in STYLES))


def policy(*, served: bool = False) -> str:
    """The content security policy: this script, this style, pictures made from data, nothing from the network."""
    rules = {
        "default-src": "'none'",
        "script-src": _hash(program()),
        "style-src": _hash(style()),
        "img-src": "data: blob:",
        # Without these two, injected markup could send a form, or redirect all relative links.
        "base-uri": "'none'",
        "form-action": "'none'",
        # Texts of a recording are hostile: with these two, no code path can turn a string into HTML or a script.
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    if served:
        rules |= {"connect-src": "'self'", "frame-ancestors": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def template() -> Any:
    """The HTML document."""
    from jinja2 import Environment

    return Environment(autoescape=True).from_string(_file("page.html"))


def _file(name: str) -> str:
    return files(__package__).joinpath("web", *name.split("/")).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
