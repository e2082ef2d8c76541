"""Shapes: secrets that are recognised by their whole form, not by a prefix.

Each pattern is tried only where its anchor occurs, and takes linear time even on hostile text: a run of letters is read
possessively and only from its beginning, or it is bounded."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from functools import cache

import msgspec

from .names import is_secret, is_stand_in, is_word, looks_drawn
from .tokens import Span

_URL = r"[A-Za-z0-9_-]"
_ALONE = r"(?<![A-Za-z0-9_-])"
# Up to five dashes in a row, read possessively: the pattern never goes back, even without an end line.
_BODY = r"(?:[^-]|-(?!----))*+"


class Shape(msgspec.Struct, frozen=True):
    """A form that secrets of one kind have."""

    kind: str
    anchor: str
    """A substring, in lower case, that every such text contains."""
    pattern: str
    """If it has a group `secret`, only that is replaced."""
    holds: Callable[[str], bool] | None = None
    """A check that a regular expression cannot express."""
    begins: bool = False
    """Whether the pattern begins with the anchor, so that it needs to be tried only there."""
    near: str = ""
    """A pattern that must match somewhere in the text in lower case."""


def _is_login(value: str) -> bool:
    """Whether base64 encodes user:password."""
    try:
        plain = urlsafe_b64decode(
            value.rstrip("=").replace("+", "-").replace("/", "_") + "=" * (-len(value.rstrip("=")) % 4)
        )
        return ":" in plain.decode().replace("[redacted:", "")
    except (binascii.Error, UnicodeDecodeError):
        return False


def _is_key(value: str) -> bool:
    """Whether there is a key between the first and the last line; code that mentions both has only names there."""
    inside = re.sub(r"-{5,8}[A-Z0-9 ]+-{5}|\\[nr]", "", value)
    if '"' in inside or "'" in inside:
        return re.search(r"[A-Za-z0-9+/=]{24}", inside) is not None
    return any(letter.isalnum() for letter in inside)


def _is_bearer(value: str) -> bool:
    if is_stand_in(value) or not any(letter.isdigit() for letter in value):
        return False
    return len(value) >= 16 or (len(value) >= 8 and any(letter.isalpha() for letter in value))


def _is_header(value: str) -> bool:
    return looks_drawn(value, 8)


def _is_cookie(value: str) -> bool:
    return is_secret(value, "cookie", "likely", "plain")


def _is_number(value: str) -> bool:
    """Whether the first part is a number in base64, as in Discord's tokens."""
    try:
        return urlsafe_b64decode(value.partition(".")[0] + "==").isdigit()
    except binascii.Error:
        return False


def _is_password(value: str) -> bool:
    return not is_word(value) and value.lower() not in ("pass", "pwd")


def _is_no_number(value: str) -> bool:
    """curl -u ann:hunter22, but not docker run -u 1000:1000."""
    return not value.rstrip(".,;)`").isdigit() and not is_stand_in(value)


SHAPES = (
    Shape(
        "private-key",
        "private key",
        rf"-{{5,8}}BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-{{5}}"
        rf"(?:(?=[^-]){_BODY}-{{5,8}}END [A-Z0-9 ]{{0,40}}-{{5}}"
        r"|(?=[ \t]*+(?:\r?\n|\\n|\\r))[\sA-Za-z0-9+/=\\:,-]*+)",
        _is_key,
    ),
    Shape("jwt", "eyj", rf"{_ALONE}eyJ{_URL}{{8,}}+\.(?:eyJ{_URL}{{4,}}+(?:\.{_URL}*+)?|(?:{_URL}*+\.){{3}}{_URL}++)"),
    Shape("sendgrid-key", "sg.", rf"{_ALONE}SG\.{_URL}{{16,32}}+\.{_URL}{{16,64}}+"),
    Shape("telegram-token", ":aa", rf"(?<![0-9])[0-9]{{8,10}}+:AA{_URL}{{33}}(?!{_URL})"),
    Shape(
        "discord-token",
        ".",
        rf"{_ALONE}[MNO][DTjz]{_URL}{{21,27}}+\.{_URL}{{5,8}}+\.{_URL}{{25,45}}+",
        _is_number,
    ),
    Shape("airtable-token", "pat", rf"{_ALONE}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}(?![A-Za-z0-9])"),
    Shape("azure-secret", "q~", r"(?<![\w~.-])[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~-])"),
    Shape("mailchimp-key", "-us", r"(?<![0-9a-f])[0-9a-f]{32}-us[0-9]{1,2}(?![0-9a-z])"),
    Shape("mailgun-key", "-", r"(?<![0-9a-f-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])"),
    Shape("terraform-token", ".atlasv1.", rf"{_ALONE}[A-Za-z0-9]{{14}}\.atlasv1\.[\w=-]{{60,70}}+"),
    Shape("sendgrid-key", "sg.", rf"{_ALONE}SG\.[\w.=-]{{66}}(?![\w=-])"),
    Shape("facebook-token", "|", r"(?<![0-9])[0-9]{15,16}\|[\w-]{27,40}(?![\w-])"),
    Shape("facebook-token", "%7c", r"(?<![0-9])[0-9]{15,16}%7[Cc][\w-]{27,40}(?![\w-])"),
    Shape("softlayer-key", "api.softlayer.com", r"api\.softlayer\.com/soap/v[0-9.]{1,4}/(?P<secret>[0-9a-z]{64})"),
    Shape("gitlab-token", "_gitlab_session", r"_gitlab_session=(?P<secret>[0-9a-z]{32})(?![0-9a-z])"),
    Shape("braintree-token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    Shape("cloudflare-key", "v1.0-", r"(?<![0-9A-Za-z.])v1\.0-[0-9a-f]{24}-[0-9a-f]{140,160}"),
    Shape(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/-]{20,}+)",
    ),
    Shape(
        "discord-webhook",
        "/webhooks/",
        rf"discord(?:app)?\.com/api/(?:v[0-9]{{1,2}}/)?webhooks/(?P<secret>[0-9]{{15,22}}/{_URL}{{40,}}+)",
    ),
    Shape("teams-webhook", "/webhook", r"office(?:365)?\.com/webhook(?:b2)?/(?P<secret>[A-Za-z0-9@/_-]{40,}+)"),
    Shape("zapier-webhook", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/(?P<secret>[A-Za-z0-9/]{8,}+)"),
    Shape(
        "aws-secret",
        "ia",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9/+]{1,12}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    Shape(
        # Possessive parts and bounds: a URL of megabytes in a hostile recording must not take quadratic time.
        "connection-password",
        "://",
        r"://[^\s:/?#@'\"<>\[]{0,256}+:(?:(?P<secret>[^\s'\"/?#<>]{1,512})@"
        r"|(?![0-9]{1,5}[/?#])(?P<secret2>[^\s'\"@<>]{1,256}+)@)",
        _is_password,
    ),
    Shape(
        "connection-password",
        "@",
        r"://(?P<secret>[A-Za-z0-9_-]{20,256}+)@",
        looks_drawn,
    ),
    Shape(
        "onepassword-key",
        "a3-",
        r"(?<![A-Za-z0-9])A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    Shape("azure-token", "azdo", r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    Shape("azure-token", "azse", r"(?<![A-Za-z0-9])[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}(?![A-Za-z0-9])"),
    Shape(
        "harness-token", "at.", rf"{_ALONE}[ps]at\.{_URL}{{22}}\.[A-Za-z0-9]{{24}}\.[A-Za-z0-9]{{20}}(?![A-Za-z0-9])"
    ),
    Shape(
        "authress-key",
        ".acc",
        rf"{_ALONE}(?:sc|ext|scauth|authress)_[a-z0-9]{{5,30}}\.[a-z0-9]{{4,6}}\.acc[_-][a-z0-9-]{{10,32}}"
        r"\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    Shape("maxmind-key", "_mmk", r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])"),
    Shape("yandex-key", "t1.", rf"{_ALONE}t1\.{_URL}{{30,100}}+={{0,2}}\.{_URL}{{86}}={{0,2}}"),
    Shape(
        "twitter-token",
        "aaaaaaaaaaaaaaaaaaaa",
        r"(?<![A-Za-z0-9+/_-])A{21,23}[A-Za-z0-9%]{80,120}+(?![A-Za-z0-9+/_=-])",
        looks_drawn,
    ),
    Shape(
        "password-hash",
        "$",
        r"\$(?:apr1|[156y]|2[abxy]?|argon2(?:id|i|d)|scrypt|pbkdf2-sha(?:256|512))\$[./A-Za-z0-9$=,+]{30,200}+",
    ),
    Shape("private-key", "private-lines:", r"Private-Lines: [0-9]{1,4}\s{1,2}(?P<secret>[A-Za-z0-9+/=\s]{16,}+)"),
    Shape("bearer-token", "bearer", r"(?i:\bbearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{8,}+)", _is_bearer),
    Shape("basic-login", "basic", r"(?i:\bbasic)\s{1,4}(?P<secret>[A-Za-z0-9+/_-]{4,}+={0,2})", _is_login),
    Shape(
        "authorization",
        "authorization",
        r"(?<![a-z])(?i:authorization)\\{0,3}[\"']?\s{0,3}[:=,]\s{0,3}\\{0,3}[\"']?"
        r"(?:[A-Za-z][A-Za-z0-9-]{1,20}+ {1,3})?"
        r"(?P<secret>[^\s\"'\\,<>]{8,}+)",
        _is_header,
    ),
    Shape(
        "cookie",
        "cookie",
        r"(?i:\b(?:set-)?cookie)\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?(?P<secret>[^\r\n\"'\\]{8,4096}+)",
        _is_cookie,
    ),
    Shape(
        "password",
        "'",
        r"(?:(?i:\bidentified (?:with \w{1,40}+ )?by)|\bPASSWORD) '(?P<secret>[^'\n]{1,256}+)'",
        _is_password,
    ),
    Shape(
        "password",
        "convertto-securestring",
        r"(?i:convertto-securestring)\s{1,4}(?:-\w{1,20}+\s{1,4})?[\"'](?P<secret>[^\"'\n]{1,256}+)",
        _is_password,
    ),
    Shape(
        "password",
        # Only after -u or --user: other pairs with a colon are ports and labels.
        "curl",
        r"(?<=\s)(?:-u|--user|--proxy-user|-U)[ =]{1,3}[\"']?[^\s:\"']{1,128}+:(?P<secret>[^\s\"']{3,256}+)",
        _is_no_number,
    ),
    Shape(
        "password",
        "machine",
        r"\bmachine \S{1,200}+\s{1,4}login \S{1,200}+\s{1,4}password (?P<secret>\S{1,512}+)",
        _is_password,
    ),
    Shape(
        "password",
        "-p",
        r"\b(?:sshpass|docker login)\b[^\n|;&]{0,200}?\s-p\s?[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,256}+)",
        _is_password,
    ),
    Shape(
        "password",
        "mysql",
        r"\bmysql\w{0,10}+ [^\n|;&]{0,200}?(?<=\s)-p[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,256}+)",
        _is_password,
    ),
    Shape(
        "password",
        "redis-cli",
        r"\bredis-cli\b[^\n|;&]{0,200}?\s-a\s[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,256}+)",
        _is_password,
    ),
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def shapes_in(text: str, small: str, shapes: tuple[Shape, ...]) -> Iterator[Span]:
    """Every secret of these forms; `small` is the text in lower case."""
    for shape in shapes:
        # The anchor is a plain substring, which is searched ten times faster than any pattern.
        if shape.anchor not in small or (shape.near and _compiled(shape.near).search(small) is None):
            continue
        for match in _matches(shape, text, small):
            group = match.lastgroup or 0
            if match.end(group) > match.start(group) and (shape.holds is None or shape.holds(match[group])):
                yield match.start(group), match.end(group), shape.kind


def _matches(shape: Shape, text: str, small: str) -> Iterator[re.Match[str]]:
    pattern = _compiled(shape.pattern)
    if not shape.begins or len(small) != len(text):  # a few letters become two in lower case
        yield from pattern.finditer(text)
        return
    place = small.find(shape.anchor)
    while place >= 0:
        if (match := pattern.match(text, place)) is not None:
            yield match
        place = small.find(shape.anchor, place + 1 if match is None else max(match.end(), place + 1))
