"""Personal data on request: what must be left alone first. Numbers that pass their check are made here, not written."""

from __future__ import annotations

import random

import pytest

from pantrace.normalise.secrets import Redactor


def _card(dice: random.Random, begin: str, length: int) -> str:
    body = begin + "".join(str(dice.randrange(10)) for _ in range(length - len(begin) - 1))
    total = sum(
        value if index % 2 else value * 2 - 9 * (value > 4) for index, value in enumerate(map(int, reversed(body)))
    )
    return body + str(-total % 10)


def _account(dice: random.Random, country: str, length: int) -> str:
    body = "".join(str(dice.randrange(10)) for _ in range(length - 4))
    number = int("".join(str(int(letter, 36)) for letter in f"{body}{country}00"))
    return f"{country}{98 - number % 97:02}{body}"


INNOCENT = [
    "550e8400-e29b-41d4-a716-446655440000",
    "2026-11-17T20:15:30.123456Z took 1234567890123 ns",
    "version 1.2.3.4 on port 8080, lines 100-200-300",
    "call_4242424242424241 and toolu_4242424242424242",
    "pi = 3.14159265358979323846",
    "10 Large Files were read; 5 Tests passed in 3.2 s",
    "a+1 +2 +345",
    "screenshot-step_0_20260102@030405.png",
    "DE00 1234 5678 9012 3456 78 has wrong check digits",
    "git clone git@github.com:org/repo.git",
    "Indiranagar, particularly 100 Feet Road, is a prime place",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_ordinary_numbers_are_left_alone(text: str) -> None:
    assert Redactor(personal=True).text(text) == (text, {})


FOUND = [
    ("write to ann@example.org", "e-mail"),
    ("call +49 30 901820 now", "telephone"),
    ("call +1 (415) 555-0132 now", "telephone"),
    ("call (415) 555-0132 now", "telephone"),
    ("(+1-702-555-1212)", "telephone"),
    ("it lives at 221 Baker Street, London", "address"),
    ("ship to 1600 Pennsylvania Ave, Washington, DC 20500", "address"),
    ("wohnt Hauptstraße 5, 10115 Berlin", "address"),
]


@pytest.mark.parametrize(("text", "kind"), FOUND)
def test_personal_data_goes_only_when_asked(text: str, kind: str) -> None:
    clean, counts = Redactor(personal=True).text(text)
    assert counts == {kind: 1}, clean
    assert Redactor().text(text) == (text, {})
    assert Redactor(personal=True).text(clean) == (clean, {})


def test_cards_and_accounts_by_their_check_digits() -> None:
    dice, redactor = random.Random(5), Redactor(personal=True)
    for first, length in (("4", 16), ("51", 16), ("37", 15), ("6011", 16)):
        card = _card(dice, first, length)
        wrong = card[:-1] + str((int(card[-1]) + 1) % 10)
        cuts = (4, 10) if length == 15 else (4, 8, 12)
        spaced = " ".join(card[begin:end] for begin, end in zip((0, *cuts), (*cuts, length), strict=True))
        assert redactor.text(f"paid by card: {card}.")[1] == {"card": 1}
        assert redactor.value({"card_number": card, "n": 1}) == {"card_number": "[redacted:card]", "n": 1}
        assert redactor.text(f"paid with {spaced}.")[1] == {"card": 1}
        # An id that happens to pass the test is none, nor is a card with a wrong digit.
        assert redactor.value({"span_id": card}) == {"span_id": card}
        assert redactor.text(f"paid by card: {wrong}.")[1] == {}
        assert Redactor().text(card)[1] == {}
    for country, length in (("DE", 22), ("FR", 27), ("NO", 15), ("GB", 22)):
        account = _account(dice, country, length)
        wrong = account[:-1] + str((int(account[-1]) + 1) % 10)
        assert redactor.text(f"to {account}, please")[1] == {"iban": 1}
        assert redactor.text(f"to {wrong}, please")[1] == {}
