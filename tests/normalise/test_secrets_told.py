"""Secrets that a person names, and those in parts of URLs."""

from __future__ import annotations

import pytest

from pantrace.normalise.secrets import Redactor

WORD = "s3cretpw99"
TOKEN = "kV6um4yvMpy62O6SQ1IEE1HSa2bB9UoK"

FOUND = [
    f"**Password:** {WORD}",
    f"| API key | `{TOKEN}` |",
    f"Your API token is {TOKEN}.",
    f'the password is "{WORD}"',
    f"password：{WORD}",
    f"Passwort: {WORD}",
    f"mot de passe : {WORD}",
    f"contraseña: {WORD}",
    f"密码: {WORD}",
    f"пароль: {WORD}",
    f"ENV SECRET_TOKEN {TOKEN}",
    f"set -x API_KEY {TOKEN}",
    f'<input type="password" name="pw" value="{WORD}">',
    f"https://h/p?q=password%3D{WORD}%20x",
    f"redirect=https%3A%2F%2Fx%2F%3Faccess_token%3D{TOKEN}%26x%3D1",
    f"https://h/?b=https%3A%2F%2Fx%2F%3Fr%3Dhttps%253A%252F%252Fy%252F%253Faccess_token%253D{TOKEN}",
]


@pytest.mark.parametrize("text", FOUND)
def test_it_is_replaced_and_nothing_else(text: str) -> None:
    clean, counts = Redactor().text(text)
    assert sum(counts.values()) == 1
    value = TOKEN if TOKEN in text else WORD
    before, behind = text.split(value)
    assert clean.startswith(before) and clean.endswith(behind) and value not in clean


ORDINARY = [
    "The password is required.",
    "**Password:** required",
    "| API key | string |",
    "the key is base64encoded",
    "the secret is stored in v2config1",
    "Passwort: erforderlich",
    "密码: 必填",
    "ENV PATH /usr/local/bin",
    "set -x PATH_KEY",
    '<input type="password" placeholder="x">',
    "https://h/p?q=100%25%20of%20tokens",
    "fmt %d%s %20s 50%ab",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == (text, {})
