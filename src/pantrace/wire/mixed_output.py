"""Mixed output: a tool's answer in several pieces, texts and pictures in their order.

A result in the model has one output, and its pictures separately. If all pieces are texts and pictures, the output is
the texts, joined by a blank line, and a form says where they were joined; otherwise it is the list of pieces, in which
a picture is `{"media": number}`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pantrace.model import Media, Part, Text

BETWEEN = "\n\n"
Form = list[int | None]
"""For each piece the length of its text, or None for a picture. A single text has the length 0, which means all of it:
so it still fits after a secret was removed from it."""


def split(content: list[Any], part_from: Callable[[Any], Part]) -> tuple[Any, tuple[Media, ...], Form | None]:
    """The output, the pictures, and the form of the pieces; with form None, the output is the list of pieces."""
    parts = [part_from(raw) for raw in content]
    media = tuple(part for part in parts if isinstance(part, Media))
    if all(isinstance(part, Media) or (isinstance(part, Text) and not part.extra) for part in parts):
        texts = [part.text for part in parts if isinstance(part, Text)]
        alone = len(texts) == 1
        form = [(0 if alone else len(part.text)) if isinstance(part, Text) else None for part in parts]
        return (BETWEEN.join(texts) if texts else None), media, form
    numbers = iter(range(len(media)))
    pairs = zip(content, parts, strict=True)
    return [{"media": next(numbers)} if isinstance(part, Media) else raw for raw, part in pairs], media, None


def join(output: Any, media: list[Any], form: Form | None, text_to: Callable[[str], Any]) -> list[Any]:
    """The pieces as they were, for writing. If the texts no longer fit the form, one text is written before the
    pictures."""
    # `split` has left the number of each picture in its place.
    if isinstance(output, list):
        return [
            media[each["media"]] if isinstance(each, dict) and each.keys() == {"media"} else each for each in output
        ]
    text = "" if output is None else str(output)
    lengths = [each for each in form or () if each is not None]
    if len(lengths) == 1:
        lengths = [len(text)]
        form = [None if each is None else len(text) for each in form or ()]
    whole = sum(lengths) + len(BETWEEN) * max(len(lengths) - 1, 0)
    # The text has changed since (a redaction, for example), so the old lengths are wrong.
    if whole != len(text) or len(form or ()) != len(lengths) + len(media):
        return [*([text_to(text)] if text else []), *media]
    pictures, pieces, place = iter(media), [], 0
    for length in form or ():
        if length is None:
            pieces.append(next(pictures))
        else:
            pieces.append(text_to(text[place : place + length]))
            place += length + len(BETWEEN)
    return pieces
