"""Profiles that contradict what their metrics declare are refused; those that say it is meant are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.engine.plan import DecideTable, Plan, prepare
from pantrace.engine.profile_sense import load_sensible
from pantrace.errors import UsageError
from pantrace.metrics import Found, Measurement, NoSettings, metric
from pantrace.model import Sample
from pantrace.policy import profile_names

HEAD = 'name = "p"\nversion = "1"\n'


def written(folder: Path, text: str) -> str:
    path = folder / "p.toml"
    path.write_text(HEAD + text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[limits]\ntoken_usage = 20000\n",
            r"p\.toml: line 4: limits: 'token_usage' could mean token_usage\.estimated_cost_usd \(USD\), "
            r"token_usage\.total_tokens \(tokens\).*write the full name",
        ),
        ("[limits]\ncontext_saturation = 0.8\n", r"context_saturation\.saturation \(share\)"),
        (
            '[thresholds]\n"token_usage.total_tokens" = 100\n',
            r"line 4: thresholds: token_usage\.total_tokens = 100 is a minimum, but lower is better \(tokens\); "
            r"write it under \[limits\], or add allow_contrary = \[\"token_usage\.total_tokens\"\]",
        ),
        ("[limits]\ntool_success_rate = 0.9\n", r"is a maximum, but higher is better; write it under \[thresholds\]"),
        ("[thresholds]\ntool_success_rate = 90\n", r"outside its scale \(0 to 1\); for 90 % write 0\.9"),
        ("[thresholds]\nANSWERS = 90\n", r"ANSWERS = 90 is outside its scale \(0 to 1\)"),
        ("[limits]\nANSWERS = 0\n", r"ANSWERS = 0 is a maximum, but higher is better"),
        ("[limits]\ncost = -1\n", r"cost = -1 is outside its scale \(0 upwards\)"),
        ('[limits]\n"wasted_tail.wasted_share" = 30\n', r"for 30 % write 0\.3"),
        ('[hard_fail]\nbelow = 3\nmetrics = ["rouge_1"]\n', r"hard_fail\.below: rouge_1 = 3 is outside its scale"),
        # On the profile's scale, more is better: 0.3 would fail every sample that wastes nothing.
        ('scale = [0, 1]\n[limits]\n"wasted_tail.wasted_share" = 0.3\n', "is a maximum, but higher is better"),
        ("scale = [1, 5]\n[thresholds]\ncontains = 0.5\n", r"outside its scale \(1 to 5\)"),
        ("composite_min = -5\n[weights]\ncontains = 1\n", r"line 3: composite_min = -5 can never fail: .* 0 to 1"),
        ("composite_min = 2\n[weights]\ncontains = 1\nrouge_1 = 1\n", "can never pass: the composite is 0 to 1"),
        ("scale = [1, 5]\ncomposite_min = 0.8\n[weights]\nANSWERS = 1\n", "can never fail: the composite is 1 to 5"),
    ],
)
def test_a_bound_that_cannot_mean_what_it_says_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        load_sensible(written(tmp_path, text), rules=["ANSWERS"])


@pytest.mark.parametrize(
    "text",
    [
        "[thresholds]\ntool_success_rate = 0.9\noutcome = 1\ncontains = 0\n",
        "[limits]\ncost = 0.5\nlatency = 30\nrepeated_calls = 2\nlatency_metrics = 60\n",
        '[limits]\n"token_usage.total_tokens" = 20000\n',
        "scale = [1, 5]\n[thresholds]\ntool_success_rate = 4.5\n[limits]\nrepeated_calls = 9\n",
        # A number without a good direction may have both.
        "[thresholds]\ntool_utilization = 1\n[limits]\nagent_handoffs = 3\n",
        # Nothing is known about these.
        "[thresholds]\nquality = 90\nTaskAdherenceExplain = 3.5\n[limits]\nrisk = -4\n",
        'allow_contrary = ["token_usage.total_tokens"]\n[thresholds]\n"token_usage.total_tokens" = 100\n',
    ],
)
def test_what_makes_sense_is_left_alone(text: str, tmp_path: Path) -> None:
    assert load_sensible(written(tmp_path, text)).name == "p"


def test_the_built_in_profiles_make_sense() -> None:
    for name in profile_names():
        assert load_sensible(name).name == name


def test_a_plan_refuses_it_before_anything_is_measured(tmp_path: Path) -> None:
    written(tmp_path, "[limits]\ntoken_usage = 20000\n")
    with pytest.raises(UsageError, match="write the full name"):
        prepare(Plan(decide=DecideTable(profile="p.toml")), tmp_path)


def test_allow_contrary_for_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"costs is in allow_contrary, but .*did you mean cost\?"):
        load_sensible(written(tmp_path, 'allow_contrary = ["costs"]\n[limits]\ncost = 1\n'))


def test_the_scale_that_a_plugin_declares_counts(tmp_path: Path) -> None:
    @metric(better="higher", low=0, high=10)
    def mark(sample: Sample, settings: NoSettings) -> Found:
        """Marks.

        Formula: 5
        Not applicable when: never
        Source: a test
        """
        return Measurement(value=5)

    path = written(tmp_path, "[thresholds]\nmark = 50\n")
    with pytest.raises(UsageError, match=r"outside its scale \(0 to 10\)"):
        load_sensible(path, own=[mark])
    assert load_sensible(path).thresholds == {"mark": 50}
