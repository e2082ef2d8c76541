"""The comparison with other scanners: texts are drawn as their rules have them, and what is left is counted."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from redaction.against_scanners import against_gitleaks
from redaction.drawn_from import compiled, drawer

PATTERNS = [
    r"\b(dor_(?i)[a-f0-9]{8}|x)(?:[\x60'\"\s;]|\\[nr]|$)",
    r"a(?i)b|[[:alnum:]]{3}(?-i:[Aa]pi)\z",
    r"(?P<quote>['\"])[^'\"]{2,}(?P=quote)\d?[^\s]\w*?(?s:.){0,3}",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_drawn_from_a_pattern_matches_it(pattern: str) -> None:
    made = compiled(pattern)
    dice = random.Random(1)
    texts = {drawer(made)(dice) for _ in range(40)}
    assert len(texts) > 5
    assert all(made.search(text) for text in texts)


RULES = """
[allowlist]
stopwords = ["zzz"]
[[rules]]
id = "known"
regex = '''\\b(ghp_[0-9a-zA-Z]{36})\\b'''
entropy = 3
keywords = ["ghp_"]
[[rules]]
id = "nobody-knows"
regex = '''\\bunheard=([a-f]{9})\\b'''
keywords = ["unheard"]
[[rules]]
id = "let-pass"
regex = '''\\b(zzz[0-9]{9})\\b'''
"""


def test_a_rule_whose_texts_are_left_is_told(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/gitleaks.toml").write_text(RULES)
    known, unknown, passed = against_gitleaks(tmp_path)
    assert known.reported == known.replaced == 50
    assert (unknown.reported, unknown.replaced) == (50, 0)
    assert "unheard=" in (unknown.missed or "")
    assert passed.reported == 0
