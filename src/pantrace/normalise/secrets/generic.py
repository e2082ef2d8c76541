"""Values that look random after a name that contains `key`, `token` or the like anywhere.

`named` knows names that clearly hold a secret. Here the name says little (`my_key_of_today => …`), so the value must
say more: many different characters, digits among them, no words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .drawn import is_random
from .tokens import Span
from .vendors import SIGN

KIND = "key"
_WORDS = ("access", "auth", "api", "cred", "key", "passw", "pwd", "secret", "token", "pass", "contrase")
_NAME = re.compile(
    r"(?:(?i:access|auth|credential|creds|key|passw(?:or)?d|pwd|secret|token|(?<=db)pass|(?<=db_)pass"
    r"|(?<=database)pass|(?<=database_)pass|(?<=key)pass|(?<=key_)pass|contrase[nñ]a)|[Aa]pi|API)"
)
_BARE = re.compile(
    rf"(?i:[ \t\w.-]{{0,20}}{SIGN}(?P<secret>[\w.=-]{{10,150}}+|[a-z0-9][a-z0-9+/]{{11,4096}}+={{0,3}})"
    r"(?=[`'\"\s;]|\\[nr]|\Z))"
)
_LONG_BARE = re.compile(
    rf"(?i:[ \t\w.-]{{0,20}}{SIGN}(?P<secret>[a-z0-9][a-z0-9+/]{{11,4096}}+={{0,3}})(?=[`'\"\s;]|\\[nr]|\Z))"
)
_QUOTED = re.compile(
    r"\w{0,32}+[\]'\"]{0,2}(?:\[[0-9]{0,4}\])?\s{0,32}+(?:(?:!==?|={1,3}|:=?|=>)\s{0,32}+@?|\((?=\"))"
    r"(?P<quote>[\"'`])(?P<secret>[^\"'\n]{8,256}?)(?P=quote)"
)
_QUOTED_WITH_QUOTES = re.compile(
    r"\w{0,32}+[\]'\"]{0,2}\s{0,32}+(?:!==?|={1,3}|:=?|=>)\s{0,32}+`(?P<secret>[^\"'\s]{8,128})`(?=[\s;,)]|\Z)"
)
"""A value in backticks that holds some: no word of code looks random across them."""
_ENDED = re.compile(r"\S{0,80}?\s{0,32}(?P<quote>[\"'`])(?P<secret>[^\"'\n]{8,128}?)(?P=quote);")
"""private_key "…"; as in configuration files."""
_COMPARED = re.compile(
    r"(?P<quote>[\"'`])(?P<secret>[^\"'\n]{8,256}?)(?P=quote)\s{0,32}[!=]{2,3}\s{0,32}\w{0,64}?"
    r"(?i:(?:api|auth|service|account|db|database|priv|private|client)_?key|(?:db|database|key)_?pass|password|passwd"
    r"|pwd|secret|contrase[nñ]a)"
)
_COMPARISONS = ("==", "!=", "=!", "!!")
_BEFORE = re.compile(r"[\w.-]{0,50}\Z")
_REACH = 50
_CODE = re.compile(r"(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*")
_UUID = re.compile(r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
"""Ids of requests and rows have this form far more often than keys."""
_OTHER = re.compile(
    r"(?i)public|pubkey|page|next|prev|cursor|continuation|cache|primary|foreign|natural|sort|partition|bucket|object"
    r"|idempoten|sequence|schema|hot[_.-]?key|key[_.-]?(?:board|code|frame|id|length|name|pair|press|ring|size|word|stone"
    r"|alias|selector|usage|type|file|path|up|down|event)|monkey|turkey|hockey|jockey|whiskey|donkey|access(?:ib|or|ed)"
    r"|access[_.-]?(?:id|time|mode|level)|author|authentic|api[_.-]?(?:id|name|version|base|url|path|server)|capi|rapid"
    r"|secret[_.-]?(?:name|length|size|id)|token[_.-]?(?:count|type|id|ize|url|uri|endpoint|file|s\b|usage)|tokeni"
    r"|pass[_.-]?(?:rate|count|ed\b|es\b|k\b|through|ing)|(?:etag|digest|hash|checksum|sha[0-9]*|md5|signature|nonce)\b"
)
"""Names that contain the word but hold no secret."""


def generic_in(text: str, small: str) -> Iterator[Span]:
    """Every value that looks random after such a name; `small` is the text in lower case."""
    if len(small) != len(text):  # a few letters become two in lower case, and places would be wrong
        return
    for word in _WORDS:
        # `find` instead of a pattern for all words: this runs on every text, and most contain none of them.
        place = small.find(word)
        while place >= 0:
            match = _behind(text, place)
            if match is not None:
                yield match.start("secret"), match.end("secret"), KIND
            place = small.find(word, place + 1 if match is None else match.end("secret"))
    if any(each in text for each in _COMPARISONS):
        for match in _COMPARED.finditer(text):
            if is_random(match["secret"]):
                yield match.start("secret"), match.end("secret"), KIND


def _behind(text: str, place: int) -> re.Match[str] | None:
    """The value after the name at a place."""
    name = _NAME.match(text, place)
    if name is None:
        return None
    for pattern in (_QUOTED, _QUOTED_WITH_QUOTES, _ENDED, _BARE, _LONG_BARE):
        match = pattern.match(text, name.end())
        if match is None or not is_random(match["secret"]) or _UUID.fullmatch(match["secret"]):
            continue
        if pattern not in (_QUOTED, _QUOTED_WITH_QUOTES) and _CODE.fullmatch(match["secret"]):
            return None
        before = _BEFORE.search(text[max(0, place - _REACH) : place])
        assert before is not None
        begins = place - len(before[0])
        # AWS::IAM::AccessKey is the name of a type.
        # The whole name counts, not only the word that was found: "page_token" and "public_key" hold no secret.
        if text[begins - 1 : begins] == ":" or _OTHER.search(before[0] + text[place : match.start("secret")]):
            return None
        return match
    return None
