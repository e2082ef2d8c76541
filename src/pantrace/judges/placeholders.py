"""Placeholders: templates in the style of Python's format, read without tripping over braces that are only braces.

Where every brace of a template is doubled or belongs to a {name}, doubled ones stand for one, as in Python. Where one
is not (an example in JSON, say), all braces but those of a {name} stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

_NAME = r"[A-Za-z_][\w.:!\[\]-]*"
_STRICT = re.compile(rf"\{{\{{|\}}\}}|\{{({_NAME})\}}|[{{}}]")
_LOOSE = re.compile(rf"(?<!\{{)\{{({_NAME})\}}(?!\}})")


class Piece(msgspec.Struct, frozen=True):
    """A stretch of a template: text as it stands, or the name of what is put in."""

    text: str = ""
    name: str | None = None


def pieces(template: str) -> list[Piece]:
    """A template taken apart."""
    strict = all(match[0] not in ("{", "}") for match in _STRICT.finditer(template))
    return list(_split(template, _STRICT if strict else _LOOSE))


def _split(template: str, pattern: re.Pattern[str]) -> Iterator[Piece]:
    text, place = "", 0
    for match in pattern.finditer(template):
        text += template[place : match.start()]
        place = match.end()
        if match[1] is None:
            text += match[0][0]
            continue
        if text:
            yield Piece(text)
        text = ""
        yield Piece(name=match[1])
    if text + template[place:]:
        yield Piece(text + template[place:])


def names_in(template: str) -> list[str]:
    """The names that a template asks for, each once, in its order."""
    return list(dict.fromkeys(piece.name for piece in pieces(template) if piece.name is not None))


def fill_in(template: str, value: Callable[[str], str]) -> str:
    """A template with its values put in."""
    return "".join(piece.text if piece.name is None else value(piece.name) for piece in pieces(template))


def as_jinja(template: str) -> str:
    """The template as rubrics write theirs; each input on lines of its own, as a fence needs them."""
    found = ""
    behind_input = False
    for piece in pieces(template):
        if piece.name is None:
            text = piece.text.replace("{", '{{ "{" }}')
            if behind_input and not text.startswith("\n"):
                text = "\n" + text.lstrip(" ")
            found += text
        else:
            found = found.rstrip(" ")
            found += ("" if not found or found.endswith("\n") else "\n") + f"{{{{ {piece.name} }}}}"
        behind_input = piece.name is not None
    return found
