"""Values that a person names: in Markdown, in a sentence, in other languages, in settings that need no sign."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .drawn import is_random
from .named import KIND
from .names import is_secret, is_word, level_of
from .tokens import Span

_HINTS = re.compile(r"passw|secret|token|key|contrase|mot de passe|senha|парол|密码|密碼|口令|パスワード|비밀번호")
_OURS = r"(?P<name>(?:[A-Za-z]{2,20}[ _-]){0,2}(?i:password|passphrase|passcode|secret|token|key))"
_MARK = r"(?:\*\*|__|`)"
_VALUE = r"[ \t]{0,4}(?:\*\*|__)?[\"'`“]?(?P<value>[^\s\"'`“”|,;<>()\[\]{}*：]{6,256}+)"

_BOLD = re.compile(rf"(?<![A-Za-z0-9_-]){_OURS}(?:{_MARK}[ \t]?[:：]|[:：]{_MARK}|：){_VALUE}")
"""**Password:** x, **API key**: x"""
_CELL = re.compile(rf"(?<=\|)[ \t]{{0,8}}{_MARK}?{_OURS}{_MARK}?[ \t]{{0,40}}\|{_VALUE}")
"""| API key | `x` |"""
_SAID = re.compile(rf"(?<![A-Za-z0-9_-]){_OURS} (?:is|was|will be|=>|->|→):?{_VALUE}")
"""Your API token is x"""
_OTHER_WORDS = re.compile(
    r"(?i:passwort|kennwort|mot de passe|contraseñ?a|contrasena|senha|пароль|密码|密碼|口令|パスワード|비밀번호)"
    rf"(?:{_MARK})?(?:[ \t]{{0,4}}[:：=]|是|は|[ \t](?:ist|est|es|é|lautet))(?:{_MARK})?{_VALUE}"
)
_SET = re.compile(
    r"(?:(?<=^)|(?<=[\n;&(]))[ \t]{0,16}(?:ENV|ARG|setenv|setx|set[ \t]-[a-zA-Z]{1,4})[ \t]{1,4}"
    r"(?P<name>[A-Za-z_]\w{0,63}+)[ \t]{1,4}"
    r"[\"']?(?P<value>[^\s\"']{4,256}+)"
)
"""ENV NAME x, as Docker, fish and csh write it"""
_FIELD = re.compile(r"<input\b[^<>]{1,512}+>")
_FIELD_VALUE = re.compile(r"\bvalue=\\?[\"'](?P<value>[^\"'<>\\]{4,256}+)")
_OF_PASSWORD = re.compile(r"(?i)\btype=\\?[\"']?password\b")
_TURN = re.compile(r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]|(?<=[A-Za-z0-9])[^A-Za-z0-9._/:-]")


def told_in(text: str, small: str) -> Iterator[Span]:
    """Every value that is told in such a way; `small` is the text in lower case."""
    if _HINTS.search(small) is None and "passwort" not in small:
        return
    for pattern in (_BOLD, _CELL):
        for match in pattern.finditer(text):
            if _is_secret(match["name"], match["value"]):
                yield _span(match)
    for match in _SAID.finditer(text):
        # A sentence says much about passwords: the value itself must look like one.
        if _is_secret(match["name"], match["value"]) and _is_mixed(match["value"]):
            yield _span(match)
    for match in _OTHER_WORDS.finditer(text):
        if not is_word(match["value"]) and _is_mixed(match["value"]):
            yield _span(match)
    for match in _SET.finditer(text):
        level = level_of(match["name"])
        if level is not None and is_secret(match["value"], match["name"], level, "plain"):
            yield _span(match)
    for field in _FIELD.finditer(text) if "<input" in small else ():
        value = _FIELD_VALUE.search(field[0]) if _OF_PASSWORD.search(field[0]) else None
        if value is not None and not is_word(value["value"]):
            yield field.start() + value.start("value"), field.start() + value.end("value"), KIND


def _span(match: re.Match[str]) -> Span:
    value = match["value"].rstrip(".:!?。")
    return match.start("value"), match.start("value") + len(value), KIND


def _is_secret(name: str, value: str) -> bool:
    # The last two words: "your API key" is named like API_KEY.
    level = level_of("_".join(re.split(r"[ _-]", name)[-2:]))
    if level is None:
        return False
    return is_secret(value.rstrip(".:!?"), name, level, "bare")


def _is_mixed(value: str) -> bool:
    """Whether letters, digits and signs alternate, as in no word: `Tr0ub4dor&3`, not `base64` or `python3.11`."""
    return len(value) >= 8 and (is_random(value) or len(_TURN.findall(value.rstrip(".:!?。"))) > 2)
