"""Placeholders: templates in the style of Python's format, which may also contain ordinary braces.

If every brace of a template is doubled or belongs to a {name}, doubled braces mean one, as in Python. If one is not (as
in a JSON example), all braces except those of a {name} mean themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

_NAME = r"[A-Za-z_][\w.:!\[\]-]*"
_STRICT = re.compile(rf"\{{\{{|\}}\}}|\{{({_NAME})\}}|[{{}}]")
_LOOSE = re.compile(rf"(?<!\{{)\{{({_NAME})\}}(?!\}})")


class Piece(msgspec.Struct, frozen=True):
    """A piece of a template: literal text, or the name of a value."""

    text: str = ""
    name: str | None = None


def pieces(template: str) -> list[Piece]:
    """The pieces of a template."""
    # One single brace decides for the whole template: nobody mixes both styles.
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
    """The names in a template, each once, in its order."""
    return list(dict.fromkeys(piece.name for piece in pieces(template) if piece.name is not None))


def fill_in(template: str, value: Callable[[str], str]) -> str:
    """A template with its values filled in."""
    return "".join(piece.text if piece.name is None else value(piece.name) for piece in pieces(template))


def as_jinja(template: str) -> str:
    """The template in Jinja, as in rubrics; each input on its own lines, because a fence needs whole lines."""
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
