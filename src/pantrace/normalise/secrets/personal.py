"""Personal data, on request: mail addresses, telephone numbers, cards, bank accounts, postal and network addresses.

Cards and accounts have a check digit, and only numbers that pass it count. Telephone numbers and postal addresses are
recognised by how they are written; names of people are not recognised at all."""

from __future__ import annotations

import re
from ipaddress import ip_address

from .shapes import Shape

_FILE = re.compile(
    r"@[0-9.-]+\.(?:png|jpe?g|gif|webp|svg|txt|jsonl?|csv|html?|xml|log|ya?ml|md|pdf|zip|gz|py|js)", re.IGNORECASE
)


def _is_mail(value: str) -> bool:
    """screenshot@030405.png is a file, and git@github.com is nobody's address."""
    return not value.startswith("git@") and _FILE.search(value) is None


EMAIL = Shape(
    "e-mail",
    "@",
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}+\.){1,8}+[A-Za-z]{2,24}\b",
    _is_mail,
)

_DIGITS = re.compile(r"[0-9]")
_OF_A_CARD = re.compile(r"(?i)card|(?:^|_)(?:pan|cc)(?:_|$)")


def is_card(value: str) -> bool:
    """Whether the digits pass Luhn's test, as those of payment cards do."""
    digits = [int(each) for each in _DIGITS.findall(value)]
    # 0000 0000 0000 0000 passes the test, and so do many filler numbers.
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 3:
        return False
    doubled = [each * 2 - 9 * (each > 4) for each in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def names_a_card(name: str) -> bool:
    """Whether a key names a card: card_number, cardNumber, pan."""
    return _OF_A_CARD.search(name) is not None


def is_account(value: str) -> bool:
    """Whether an international account number has the right check digits (ISO 7064)."""
    plain = value.replace(" ", "").upper()
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def _is_public(value: str) -> bool:
    """Whether an address is public; private ones identify nobody, and 120.0.0.0 is the version of a browser."""
    number = value.partition(":")[0]
    return ip_address(number).is_global and not number.endswith(".0.0")


def _is_telephone(value: str) -> bool:
    return 8 <= len(_DIGITS.findall(value)) <= 15


_STREETS = (
    "Street|St\\.?|Avenue|Ave\\.?|Road|Rd\\.?|Lane|Ln\\.?|Drive|Dr\\.?|Boulevard|Blvd\\.?|Court|Ct\\.?|Square|Terrace"
    "|Place|Pl\\.?|Way|Highway|Hwy\\.?"
)
_SCHEME = "(?:4[0-9]|5[1-5]|2[2-7]|3[47]|6[0-9])"
"""The first digits of the card schemes."""
_NAME = r"[A-Z][\w'.-]{1,24}+"

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"

PERSONAL = (
    EMAIL,
    # Only in groups as on the card, or after a word for one: every tenth id of 16 digits passes the test, too.
    Shape("card", "", rf"(?<![0-9A-Za-z.-]){_SCHEME}[0-9]{{2}}(?:([ -])[0-9]{{4}}){{3}}(?![0-9A-Za-z])", is_card),
    Shape("card", "", r"(?<![0-9A-Za-z.-])3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5}(?![0-9A-Za-z])", is_card),
    Shape(
        "card",
        "",
        r"(?i:\b(?:card|visa|mastercard|amex|credit|debit|pan|cc))\b[^\n0-9]{0,40}+"
        rf"(?P<secret>{_SCHEME}[0-9]{{11,17}})(?![0-9A-Za-z])",
        is_card,
    ),
    Shape(
        "iban",
        "",
        r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])",
        is_account,
    ),
    Shape(
        "telephone",
        "+",
        r"(?<![\w+])\+[1-9][0-9]{0,2}(?:[ ./-]?(?:\([0-9]{1,5}\)|[0-9]{1,5})){2,6}(?![0-9A-Za-z])",
        _is_telephone,
    ),
    Shape(
        "telephone",
        "",
        r"(?<![\w.+-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}(?![\w-]|\.[0-9])",
    ),
    Shape(
        "ip-address",
        ".",
        rf"(?<![\w./=-])(?<!ersion )(?:{_OCTET}\.){{3}}{_OCTET}(?::[0-9]{{1,5}})?(?![\w.])",
        _is_public,
    ),
    Shape(
        "address",
        "",
        rf"(?<![\w.,-])[0-9]{{1,5}}[A-Za-z]?(?! F(?:ee|oo)t R)(?: {_NAME}){{1,3}}? (?:{_STREETS})(?!\w)"
        rf"(?:,? (?:Apt\.?|Suite|Unit|#) ?[\w-]{{1,8}})?(?:, {_NAME}(?: {_NAME})?)?"
        r"(?:,? [A-Z]{2} [0-9]{5}(?:-[0-9]{4})?)?",
    ),
    Shape(
        "address",
        "",
        r"(?<!\w)[A-Z\u00c4\u00d6\u00dc][\w-]{1,30}(?:stra\u00dfe|strasse|str\.|weg|gasse|platz|allee) [0-9]{1,4}"
        r"[a-z]?(?!\w)"
        r"(?:, [0-9]{5} [A-Z\u00c4\u00d6\u00dc][\w-]{1,30})?",
    ),
)
