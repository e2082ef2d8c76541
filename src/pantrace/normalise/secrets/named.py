"""Named values in a text: NAME=value, "name": "value", --name value, ?name=value, <name>value</name>."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .names import Level, Style, is_secret, is_word, level_of
from .tokens import Span

KIND = "password"
# One quick look: most texts contain none of these words, and the patterns below are much slower.
_HINTS = re.compile(r"pass|pwd|secret|token|key|cred|auth|cookie|sig|sas|dsn|jwt|bearer|pat|code=|session=|sid=")

_NAMED = re.compile(
    r"(?<![A-Za-z0-9_$])(?P<name>[A-Za-z_][A-Za-z0-9_]{0,63}+(?:[.-][A-Za-z0-9_]{1,63}+){0,6}+)"
    r"(?:\\{0,3}[\"'`]\]?)?+"
    r"(?:(?P<space>[ \t]{0,4}+)(?P<sign>=>|:=|[:=]=?)[ \t]{0,4}+|(?P<flag>[ \t]{1,4}+))"
    r"(?P<quote>\\{0,3}[\"'`])?+"
)
_TAGGED = re.compile(r"<(?P<name>[A-Za-z][\w:.-]{1,63}+)>(?P<value>[^<>\s]{4,512}+)</")
_ATTRIBUTES = re.compile(
    r"\b(?:key|name)=\\{0,3}[\"'](?P<name>[\w:.-]{1,64}+)\\{0,3}[\"']\s{1,4}value=\\{0,3}[\"'](?P<value>[^\"'<>\\\n]{1,512}+)"
)
_MANIFEST = re.compile(r"\bkind:[ \t]{0,4}[\"']?Secret\b")
_MANIFEST_DATA = re.compile(
    r"(?:^|\n)(?:stringData|data):[ \t]{0,4}\r?\n(?P<lines>(?:[ \t]{1,16}+[^\r\n]{1,8192}+(?:\r?\n|\Z))++)"
)
_MANIFEST_LINE = re.compile(
    r"^[ \t]{1,16}+[\w.-]{1,128}+:[ \t]{1,4}[\"']?(?P<value>[^\s\"'|>#][^\r\n\"']{0,8192}+)", re.MULTILINE
)
_LONGEST = 256
"""Characters of a value that are examined; if it is a secret, all of it is replaced."""
_IN_QUOTES = {
    '"': r"(?:[^\"\\\n]|\\.)",
    "'": r"(?:[^'\\\n]|\\.)",
    "`": r"[^`\n]",
}
_IN_ESCAPED_QUOTES = r"[^\"'`\\\n]"
_BARE = r"[^\s\"'`,;&<>(){}\[\]|\\]"
_PLAIN = r"[^\s\"'`;&\\]"
_LINE_ENDS = re.compile(r"[ \t]*+(?:\r?\n|#|\Z)")
_LETTERS = re.compile(r"[a-z]{6,64}")
_BEFORE = ("", " ", "\t", "\n", ";")
_BEHIND = ("", " ", "\t", "\n", "\r", ";", "&", ".")
_WORD_BEFORE = re.compile(r"([A-Za-z]{2,20})[ \t]\Z")
_NEXT_VARIABLE = re.compile(r",(?=[A-Za-z_]\w{0,63}+=)")


def named_in(text: str, small: str) -> Iterator[Span]:
    """Every value whose name shows that it is a secret; `small` is the text in lower case."""
    if _HINTS.search(small) is None:
        return
    place = 0
    while (match := _NAMED.search(text, place)) is not None:
        found = _value(text, match)
        if found is None:
            # Continue after the name, not after the value, which may contain more names.
            place = max(match.end("name"), match.start() + 1)
        else:
            yield (*found, KIND)
            place = found[1]
    yield from _in_manifests(text)
    for match in (*_TAGGED.finditer(text), *_ATTRIBUTES.finditer(text)):
        level = level_of(match["name"])
        if level is not None and is_secret(match["value"], match["name"], level, "plain"):
            yield match.start("value"), match.end("value"), KIND


def _in_manifests(text: str) -> Iterator[Span]:
    """All values in the data of a Kubernetes Secret: their names are free and say nothing."""
    if _MANIFEST.search(text) is None:
        return
    for block in _MANIFEST_DATA.finditer(text):
        for line in _MANIFEST_LINE.finditer(text, block.start("lines"), block.end("lines")):
            if not is_word(line["value"]):
                yield line.start("value"), line.end("value"), "kubernetes-secret"


def _value(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Start and end of the secret value after a name; None if there is none."""
    name, start = match["name"], match.end()
    before = text[max(0, match.start() - 2) : match.start()]
    # Without a sign, only `--password x` names a value; "the password is" does not.
    if match["flag"] is not None and before != "--":
        return None
    if before == "::" or (
        before.endswith(":") and match["sign"] == ":"
    ):  # arn:aws:secretsmanager:*:*:secret:name, AWS::IAM::AccessKey
        return None
    # In a URL, short names such as `key=` and `code=` are credentials; elsewhere they are not.
    in_query = before.endswith(("?", "&", "#")) or text.endswith("&amp;", 0, match.start())
    level = level_of(name, in_query=in_query) or _level_of_two_words(text, match)
    if level is None:
        return None
    quote = match["quote"]
    if quote is not None:
        if before.endswith(quote) and text[match.end("name") : start - len(quote)].rstrip(" ") == ":":
            return None  # 'Password: ' is a prompt in quotes
        letters = _IN_ESCAPED_QUOTES if quote[0] == "\\" else _IN_QUOTES[quote]
        style: Style = "quoted"
    elif in_query or (match["sign"] == "=" and not match["space"] and name.isupper()):
        letters, style = _PLAIN, "plain"
    else:
        letters, style = _BARE, "bare"
    end = _reach(letters, text, start, _LONGEST)
    if style != "quoted":
        end = _without_the_rest(text, start, end, style)
        # token = get_token(): a call in code is not a value.
        if style == "bare" and text[end : end + 1] in ("(", "["):
            return None
        if style == "bare" and _stands_alone(text, match, end):
            style = "plain"
    if not is_secret(text[start:end], name, level, style):
        return None
    return start, end if end - start < _LONGEST else _reach(letters, text, end)


def _stands_alone(text: str, match: re.Match[str], end: int) -> bool:
    """Whether NAME: value is a line of its own in a file of variables, or name=value a word of its own outside of code.
    There, an ordinary word can be a password, too."""
    if match["sign"] == ":":
        # A name in quotes belongs to a program's data, where a word without quotes is a variable.
        quoted = text[match.end("name") : match.end("name") + 1] in ("'", '"')
        return (
            not quoted and match["name"].isupper() and "_" in match["name"] and _LINE_ENDS.match(text, end) is not None
        )
    if match["sign"] != "=" or match["space"] or text[match.start() - 1 : match.start()] not in _BEFORE:
        return False
    word = text[match.end() : end].lower()
    own = match["name"].lower() in word
    return not own and _LETTERS.fullmatch(word) is not None and text[end : end + 1] in _BEHIND


def _level_of_two_words(text: str, match: re.Match[str]) -> Level | None:
    """The level of `API key: ...`, which people write and programs do not."""
    if match["name"].lower() not in ("key", "token"):
        return None
    word = _WORD_BEFORE.search(text[max(0, match.start() - 24) : match.start()])
    return level_of(f"{word[1]}_{match['name']}") if word is not None else None


def _reach(letters: str, text: str, start: int, most: int | str = "") -> int:
    """Where a run of such characters ends."""
    match = _run(letters, most).match(text, start)
    assert match is not None
    return match.end()


@cache
def _run(letters: str, most: int | str) -> re.Pattern[str]:
    return re.compile(f"{letters}{{0,{most}}}+")


def _without_the_rest(text: str, start: int, end: int, style: Style) -> int:
    """The end of a value without quotes, without the punctuation of its sentence and without the next variable."""
    if style == "plain" and (following := _NEXT_VARIABLE.search(text, start, end)) is not None:
        return following.start()
    return start + len(text[start:end].rstrip(".,:!?"))
