"""Names: which keys and variables hold a secret, and which of their values can be one.

`password: required` and `token usage: 500` name no secret, `DB_PASSWORD=hunter22` does. A name alone is never enough:
the value must look chosen or random."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Level = Literal["certain", "likely"]
"""certain: any value is secret (a password). likely: only a value that looks random (a token)."""

Style = Literal["member", "quoted", "plain", "bare"]
"""How a value follows its name: as a member of an object, in quotes, in a place where only values can be (an
environment file, a query), or bare in a text or in code."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_REPEATED = re.compile(r" \(duplicate [0-9]+\)\Z")
"""The suffix that our JSON reader gives to the earlier ones of repeated keys."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEUTRAL = _words(
    "value val raw string str text plain plaintext env var base pem b64 base64 prod production dev test staging old"
    " new current default primary secondary main live backup v"
)
_CERTAIN = ("password", "passwd", "passphrase", "passcode", "secret", "apikey", "secretkey", "privatekey", "accountkey")
_KEYS = _words("api secret private access auth account encryption signing master subscription admin sharedaccess")
_LIKELY_KEYS = _words("shared storage service ssh deploy webhook app application functions server host")
_LOGINS = _words(
    "db database user smtp mail email admin root mysql postgres pg redis ftp ssh sudo login auth api http proxy my"
)
_LIKELY = _words(
    "token jwt authorization cookie cookies credential credentials creds auth bearer sas dsn passwords secrets pat"
)
_NOT_OF_ACCESS = _words(
    "page next prev continuation cursor eos bos pad sep stop unk mask special max min per last first num sync start end"
    " image audio text word input output"
)
"""Words before "token" that make it harmless: tokens of pages and of language models."""

_ISSUERS = _words(
    "adafruit aio algolia alchemy alibaba aliyun amplitude anthropic asana aws azure bitbucket bittrex bugsnag cohere"
    " coinbase datadog deepgram discord dropbox elastic etsy facebook fastly figma finnhub firebase flickr"
    " gemini github gitlab google groq heroku huggingface ibm infura intercom jfrog jira kraken kucoin linear linkedin"
    " mailchimp mailgun mapbox mistral mixpanel netlify notion nvidia okta openai openrouter pagerduty paypal pinecone"
    " postman pusher rapidapi rollbar segment sendbird sendgrid sentry shodan shopify slack snyk square stripe supabase"
    " tavily telegram tinify trello twilio twitch twitter vercel wandb yandex zendesk zoom"
)
"""Issuers whose keys are named after them: ADAFRUIT_IO_KEY."""

_QUERY = _words("key sig signature code auth token session sid pass apikey")


def level_of(name: str, *, in_query: bool = False) -> Level | None:
    """What a name says about its value; None if it names no secret. In the query of a URL, short names count, too."""
    # A bound on the names in the cache below: a hostile recording has keys of megabytes.
    return _level(name, in_query) if len(name) <= _LONGEST_NAME else None


@lru_cache(1 << 12)
def _level(name: str, in_query: bool) -> Level | None:
    words = [word.lower() for word in _WORDS.findall(_REPEATED.sub("", name))]
    # PASSWORD_PROD, apiKey2 and secretValue are still a password, a key and a secret.
    while len(words) > 1 and (words[-1] in _NEUTRAL or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    # Public keys are made to be shown; replacing them would damage recordings for nothing.
    if "public" in words and last in ("key", "token"):  # publicKeyToken
        return None
    if last.endswith(_CERTAIN) or last == "pwd":
        return "certain"
    if last == "key" and (before in _KEYS or before in _LIKELY_KEYS):
        return "certain" if before in _KEYS else "likely"
    if last == "key" and not _ISSUERS.isdisjoint(words):
        return "likely"
    if last == "pass" and before in _LOGINS:
        return "certain"
    if last in _LIKELY and before not in _NOT_OF_ACCESS:
        return "likely"
    if before == "connection" and last == "string":
        return "likely"
    return "likely" if in_query and last in _QUERY else None


_STAND_IN = re.compile(
    r"""(?ix)
    \[redacted | [*x•.…\#?_-]++ \Z | (?P<same>.)(?P=same)*+ \Z
    | < | \$\{ | \$\( | \$[a-z_]\w*\Z | \{\{ | \{[\w.]*\}['"]?\Z | %[(\{] | %\w+%\Z | %s\Z
    | __\w+__\Z | (?:env|vault|file|op|arn|ref)[:+] | (?:process|os|import\.meta)\.env
    | [\w-]{0,12}[-_]none\Z | no[-_]\w
    | (?:your|my|insert|enter|replace|example|placeholder|dummy)(?:[-_. ]|\Z)
    """
)
_WORDS_OF_PROSE = _words(
    "required optional none null nil true false undefined string str text int integer bool boolean any object yes no"
    " on off empty missing invalid valid unset set hidden masked redacted changed ok error expired incorrect wrong"
    " unknown default secret password passwd token key prompt stdin env file path field input value type plain"
    " protected encrypted hashed disabled enabled needed generated supported updated correct reset self this"
    " reserved unreserved name"
)
_SENTENCE = _words(
    "a an and are as at be by can change enter for from has have if in is it must no not of on or please provide"
    " required should stored that the this to type use used user was which will with without you your password"
    " passwords secret token key"
)
_NAMED_THING = re.compile(r"[A-Za-z_$][\w$]*(?:[.-][A-Za-z_$][\w$]*)*")
_VARIABLE = re.compile(r"_{0,2}[A-Z]{2,20}(?:_[A-Z]{1,20}[0-9]{0,2}){1,8}_{0,2}")
_HANDED_ON = re.compile(r"(?:[a-z]{1,3}[0-9]_|[a-z]{2,20}_){1,6}[a-z]{2,20}")
"""Variables whose names have a digit: s3_connection."""
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:~|\.{1,2})?[/\\][\w./\\ ~-]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PIECE = re.compile(r"[A-Za-z0-9]{6,}")
_TURN = re.compile(r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")
_CHANGE = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")
_SCHEME = re.compile(
    r"(?i)(?:bearer|basic|token|api-?key|digest|negotiate|aws4-hmac-sha256|ssws|key)\s+(\S{4}.*)", re.DOTALL
)
_PAIRS = re.compile(r"[;,\s]\s*(?:[\w.-]{1,64}+=)?|=")
_SPACE = re.compile(r"\s")
_LONGEST = 4096
_SHORTEST = {"member": 1, "quoted": 4, "plain": 4}
_LONGEST_NAME = 128


_FORMAT = re.compile(r"%s(?![a-z])")


def is_stand_in(value: str) -> bool:
    """Whether a value is a placeholder for a secret: ${TOKEN}, <password>, ****, your-key-here."""
    if value.endswith("...") or any(each in value for each in ("***", "placeholder")) or _FORMAT.search(value):
        return True
    return _STAND_IN.match(value) is not None


def is_word(value: str) -> bool:
    """Whether a value says that there is no secret (required, none, ${TOKEN}) or where it is (OPENAI_API_KEY)."""
    return value.lower() in _WORDS_OF_PROSE or is_stand_in(value) or _is_variable(value)


def _is_variable(value: str) -> bool:
    return _VARIABLE.fullmatch(value) is not None and level_of(value) is not None


def looks_drawn(value: str, least: int = 16) -> bool:
    """Whether a value looks random: long, with alternating letters and digits. A slug, a path or a date does not."""
    # Longer values are files and pictures, not tokens, and looking at them would take long.
    if not least <= len(value) <= _LONGEST or len(set(value)) < 8 or _SPACE.search(value):
        return False
    if value.startswith(("http://", "https://")) or _DATE.match(value) or is_stand_in(value):
        return False
    pieces = _PIECE.findall(value)
    if sum(len(_TURN.findall(piece)) for piece in pieces) >= 2:
        return True
    return any(letter.isdigit() for letter in value) and sum(len(_CHANGE.findall(piece)) for piece in pieces) >= 6


def is_secret(value: str, name: str, level: Level, style: Style) -> bool:
    """Whether a value with such a name is a secret."""
    if level == "likely":
        return looks_drawn(value, 15) or _holds_one(value, name)
    if not value or is_word(value) or _is_own_name(value, name):
        return False
    if _is_sentence(value) or value.startswith(("http://", "https://")) or _is_path(value):
        return False
    # Quotes, or the form of the file, say that it is a value; a bare word may be a variable in code.
    if style != "bare":
        return len(value) >= _SHORTEST[style]
    return len(value) >= 6 and not _is_code(value, name)


def _is_own_name(value: str, name: str) -> bool:
    """Whether a value only repeats its name: `CHALLENGE_PASSWORD: "challengePassword"`, or is the name of its type:
    `private_key: "_RSAPrivateKey"`, or of a variable: `ACCESS_KEY = "AWS_ACCESS_KEY_ID"`."""
    if _NAMED_THING.fullmatch(value) is None:
        return False
    said, asked = ([word.lower() for word in _WORDS.findall(each)] for each in (value, name.rpartition(".")[2]))
    if len(asked) < 2 or any(letter.isdigit() for letter in value):
        return len(asked) > 1 and said == asked
    return _within(asked, said) or (len(said) > 1 and _within(said, asked))


def _within(few: list[str], many: list[str]) -> bool:
    """Whether some words occur among others in the same order: `SECRET_KEY = "aws_secret_access_key"`."""
    rest = iter(many)
    return all(word in rest for word in few)


def _holds_one(value: str, name: str) -> bool:
    """Whether one of several values is a secret: `a=1; session=...` of a cookie, `Bearer ...` of a header."""
    last = name.lower()
    if last.endswith("authorization"):
        scheme = _SCHEME.match(value)
        return scheme is not None and not is_word(scheme[1])
    return last.endswith(("cookie", "cookies")) and any(map(looks_drawn, _PAIRS.split(value)))


def _is_sentence(value: str) -> bool:
    words = value.lower().split()
    return len(words) > 8 or (len(words) > 1 and any(word.strip(".,:;!?'\"()") in _SENTENCE for word in words))


def _is_path(value: str) -> bool:
    return _PATH.fullmatch(value) is not None and len(_TURN.findall(value)) < 3


def _is_code(value: str, name: str) -> bool:
    """Whether a bare value is more likely a word, a variable or a date than a secret."""
    if _DATE.match(value) or value.startswith(":") or _HANDED_ON.fullmatch(value):
        return True
    if _NAMED_THING.fullmatch(value) is None:
        return False
    # A variable is often named like what it holds: `password = user_password`.
    own = any(word.lower() in value.lower() for word in _WORDS.findall(name) if len(word) > 2)
    return own or not any(letter.isdigit() for letter in value) or ("." in value and not looks_drawn(value))
