"""Texts with pieces cut out, doubled, put elsewhere or put in: settings, SQL, conditions."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_WORDS = "{{ }} {% %} [[ ]] -- /* .. ''' null true nan inf -1 0 1e999 é 𝄞 select from union copy attach install"
TOKENS = (*"{}[]()<>=:,;.\"'`#*%$&|!?~^-_/\\\n\t\r\0 ", *_WORDS.split(), '"""', "\ud800", "\u202e", "\ufeff", "9" * 400)


def damaged_text(dice: random.Random, text: str, hostile: Sequence[str]) -> tuple[str, str]:
    """A text with something wrong in it, and what was done."""
    told = []
    for _ in range(dice.choice((1, 1, 2, 3))):
        begin = dice.randrange(len(text) + 1)
        end = min(len(text), begin + dice.choice((1, 3, 20, 200)))
        deed = dice.choice(("cut", "hole", "double", "move", "token", "token", "token", "word", "number"))
        if deed == "cut":
            text = text[:begin]
        elif deed == "hole":
            text = text[:begin] + text[end:]
        elif deed == "double":
            text = text[:end] + text[begin:]
        elif deed == "move":
            piece, rest = text[begin:end], text[:begin] + text[end:]
            there = dice.randrange(len(rest) + 1)
            text = rest[:there] + piece + rest[there:]
        elif deed == "token":
            text = text[:begin] + dice.choice(TOKENS) + text[dice.choice((begin, end)) :]
        elif deed == "word":
            text = text[:begin] + dice.choice(hostile) + text[end:]
        elif found := list(re.finditer(r"\d+", text)):
            number = dice.choice(found)
            text = text[: number.start()] + dice.choice(("-1", "0", "1e9", "9" * 30, "nan", "")) + text[number.end() :]
        told.append(f"{deed} at {begin}")
    return text, "; ".join(told)
