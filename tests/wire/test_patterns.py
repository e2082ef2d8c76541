"""Patterns that never end are ended; the rest of the work goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pantrace.errors import UsageError
from pantrace.metrics import by_name
from pantrace.model import Sample, Step, Text, Trajectory
from pantrace.rules import RuleFile, load_rules, rule_scores
from pantrace.wire import patterns

ENDLESS = "^(a+)+$"
HOSTILE = "a" * 60 + "b"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "LONGEST", 0.2)


def _sample(text: str) -> Sample:
    return Sample(id="s", trajectory=Trajectory(steps=(Step(role="agent", parts=(Text(text=text),)),)))


def test_a_search_without_an_end_is_ended() -> None:
    with pytest.raises(UsageError, match=r"the pattern '\^\(a\+\)\+\$' takes more than 0.2 s of computing"):
        patterns.search(ENDLESS, HOSTILE)
    with pytest.raises(patterns.TooSlow):
        patterns.find_all(re.compile(ENDLESS), HOSTILE)
    found = patterns.search("b", HOSTILE)
    assert found is not None and found.start() == 60


def test_a_rule_that_never_ends_is_neither_kept_nor_broken(tmp_path: Path) -> None:
    rules = _rules(tmp_path, ENDLESS)
    (score,) = rule_scores(_sample(HOSTILE), rules)
    assert (score.status, score.value, score.passed) == ("failed", None, None)
    assert "takes more than" in (score.explanation or "")
    (score,) = rule_scores(_sample("aaa"), rules)
    assert score.value is True


def _rules(folder: Path, pattern: str) -> RuleFile:
    path = folder / "rules.toml"
    path.write_text(
        f"name = 'r'\nversion = '1'\n[[rule]]\nid = 'a'\nname = 'a'\nexpect = {{ matches = '{pattern}' }}\n"
    )
    return load_rules(str(path))


def test_a_metric_that_never_ends_fails_alone() -> None:
    metric = by_name("regex")
    score = metric.score(_sample(HOSTILE), metric.settings(pattern=ENDLESS))
    assert (score.status, score.value) == ("failed", None)
