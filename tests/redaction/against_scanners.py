"""What other scanners report, and whether we replace it: the comparison of docs/redaction.md, to be run by hand.

    python tests/redaction/against_scanners.py --gitleaks CHECKOUT --detect-secrets CHECKOUT

Texts are drawn from each rule of the checkouts. A text counts when the scanner itself would report it: with its
keyword, enough entropy, and nothing of its lists of what to let pass. Nothing of the checkouts is kept."""

from __future__ import annotations

import argparse
import importlib
import math
import random
import re
import sys
import tomllib
from base64 import b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

sys.path.insert(0, str(Path(__file__).parents[1]))

from pantrace.normalise.secrets import Redactor
from redaction.drawn_from import compiled, drawer

DRAWS = 50
_TRIES = 600
_END = 12
_LEAST = 3.5
_DIGIT = re.compile("[0-9]")
_NOT_IN_ADDRESSES = re.compile(r"[\"<>\\^`{|}]")


class Compared(NamedTuple):
    """One rule of a scanner: how many of its findings there were, and how many of them we replace."""

    rule: str
    reported: int
    replaced: int
    missed: str | None
    """A text that is left."""


def entropy(text: str) -> float:
    """Shannon's, in bits for each letter."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values()) if text else 0.0


def is_gone(secret: str, text: str, redactor: Redactor) -> bool:
    """Whether neither the secret nor its end is left: behind a user comes the password, behind an address the token."""
    clean = redactor.text(text)[0]
    return secret not in clean and secret.strip(" \"'=")[-_END:] not in clean


class Gitleaks(NamedTuple):
    """One of its rules."""

    name: str
    pattern: re.Pattern[str]
    keywords: tuple[str, ...]
    least: float
    group: int
    pass_by: tuple[Callable[[str, str, str], bool], ...]

    def finding(self, text: str) -> str | None:
        """The secret that it would report in a text."""
        if self.keywords and not any(each in text.lower() for each in self.keywords):
            return None
        match = self.pattern.search(text)
        if match is None:
            return None
        secret = match[self.group] if self.group else next(filter(None, match.groups()), match[0])
        line = next((each for each in text.splitlines() if secret in each), match[0])
        if entropy(secret) <= self.least or any(each(secret, match[0], line) for each in self.pass_by):
            return None
        return secret


def _allowed(lists: list[dict[str, Any]]) -> Iterator[Callable[[str, str, str], bool]]:
    for each in lists:
        patterns = [compiled(pattern) for pattern in each.get("regexes", ())]
        words = [word.lower() for word in each.get("stopwords", ())]
        place = ("secret", "match", "line").index(each.get("regexTarget", "secret"))

        def passes(*texts: str, patterns: Any = patterns, words: Any = words, place: int = place) -> bool:
            return any(each.search(texts[place]) for each in patterns) or any(
                each in texts[0].lower() for each in words
            )

        yield passes


def gitleaks_rules(checkout: Path) -> Iterator[Gitleaks]:
    """Every rule that looks into files; those that know only names of files have nothing to draw from."""
    config = tomllib.loads((checkout / "config/gitleaks.toml").read_text("utf-8"))
    always = [config["allowlist"]] if "allowlist" in config else config.get("allowlists", [])
    for rule in config["rules"]:
        if "regex" in rule:
            yield Gitleaks(
                rule["id"],
                compiled(rule["regex"]),
                tuple(each.lower() for each in rule.get("keywords", ())),
                rule.get("entropy", 0.0),
                rule.get("secretGroup", 0),
                tuple(_allowed([*always, *rule.get("allowlists", [])])),
            )


def against_gitleaks(checkout: Path) -> Iterator[Compared]:
    redactor = Redactor()
    for rule in gitleaks_rules(checkout):
        draw = drawer(rule.pattern)
        yield _compared(rule.name, draw, rule.finding, rule.keywords, redactor)


def _compared(
    name: str,
    draw: Callable[[random.Random], str],
    finding: Callable[[str], str | None],
    keywords: tuple[str, ...],
    redactor: Redactor,
) -> Compared:
    dice = random.Random(name)
    reported = replaced = 0
    missed = None
    for _ in range(_TRIES):
        text = draw(dice)
        if keywords and not any(each in text.lower() for each in keywords):
            # The keyword may stand anywhere in the file.
            text = f"# {dice.choice(keywords)}\n{text}"
        text = f"line 1\n{text}\nline 3\n"
        secret = finding(text)
        if secret is None:
            continue
        reported += 1
        if is_gone(secret, text, redactor):
            replaced += 1
        else:
            missed = text
        if reported == DRAWS:
            break
    return Compared(name, reported, replaced, missed)


def against_detect_secrets(checkout: Path) -> Iterator[Compared]:
    """Its plugins; those for anything of high entropy are left out: without a name in front that is no secret."""
    sys.path.insert(0, str(checkout))
    sys.modules.setdefault("requests", Mock())
    redactor = Redactor(personal=True)
    for path in sorted((checkout / "detect_secrets/plugins").glob("*.py")):
        if path.stem in ("__init__", "base", "high_entropy_strings"):
            continue
        module = importlib.import_module(f"detect_secrets.plugins.{path.stem}")
        plugin = next(
            each()
            for each in vars(module).values()
            if isinstance(each, type) and each.__module__ == module.__name__ and hasattr(each, "secret_type")
        )
        patterns = getattr(plugin, "denylist", None) or module.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP
        for number, pattern in enumerate(patterns):
            name = f"{path.stem} {number + 1}" if len(patterns) > 1 else path.stem
            yield _compared(name, _drawing(path.stem, pattern), _finding(path.stem, plugin), (), redactor)


def _drawing(plugin: str, pattern: re.Pattern[str]) -> Callable[[random.Random], str]:
    """Two plugins report the beginning of something: the first line of a key, a token that says JSON."""
    draw = drawer(pattern, one_line=True)
    if plugin == "private_key":
        return lambda dice: _key_file(draw(dice), dice)
    return _token_of_json if plugin == "jwt" else draw


def _key_file(begins: str, dice: random.Random) -> str:
    lines = "\n".join(b64encode(dice.randbytes(48)).decode() for _ in range(5))
    if begins.startswith("PuTTY"):
        return f"{begins}: ssh-rsa\nEncryption: none\nPrivate-Lines: 5\n{lines}"
    return f"-----{begins}-----\n{lines}\n-----{begins.replace('BEGIN', 'END')}-----"


def _token_of_json(dice: random.Random) -> str:
    parts = (b'{"alg": "HS256"}', b'{"sub": "%d"}' % dice.getrandbits(40), dice.randbytes(32))
    return ".".join(urlsafe_b64encode(each).decode().rstrip("=") for each in parts)


def _finding(name: str, plugin: Any) -> Callable[[str], str | None]:
    def finding(text: str) -> str | None:
        found = [each or line for line in text.splitlines() for each in plugin.analyze_string(line)]
        secret = max(found, key=len, default=None)
        if name == "private_key" and secret is not None:
            return text.rstrip("\n").removesuffix("line 3").rstrip("\n").splitlines()[-2]
        if name == "keyword" and secret is not None and (entropy(secret) <= _LEAST or len(_DIGIT.findall(secret)) < 2):
            return None  # any word behind such a name is reported; ours must look drawn, or stand right behind it
        if name == "basic_auth" and (len(secret or "") < 4 or _NOT_IN_ADDRESSES.search(text.split("\n")[1])):
            return None  # these signs cannot stand in an address, and a letter or two hold the place of a password
        if name == "ip_public" and secret is not None and not _is_public(secret):
            return None
        return secret

    return finding


def _is_public(address: str) -> bool:
    """By the registry, and not what ends as versions do."""
    number = address.partition(":")[0]
    return ip_address(number).is_global and not number.endswith(".0.0")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--gitleaks", type=Path)
    arguments.add_argument("--detect-secrets", type=Path)
    asked = arguments.parse_args()
    missed = 0
    for title, checkout, compare in (
        ("gitleaks", asked.gitleaks, against_gitleaks),
        ("detect-secrets", asked.detect_secrets, against_detect_secrets),
    ):
        if checkout is None:
            continue
        found = list(compare(checkout))
        whole = sum(each.reported == each.replaced > 0 for each in found)
        texts = sum(each.reported for each in found)
        print(
            f"{title}: {len(found)} rules, {whole} of them found whatever was drawn; {texts} texts, "
            f"{sum(each.replaced for each in found)} replaced"
        )
        for each in found:
            if each.reported != each.replaced or not each.reported:
                missed += 1
                print(f"  {each.rule}: {each.replaced} of {each.reported}; left: {each.missed!r}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
