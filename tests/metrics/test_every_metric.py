"""What holds for every check: it is documented, pure, never raises, and never turns absent data into a number."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples
from pantrace.cli.metrics import describe
from pantrace.metrics import all_metrics, by_name, names
from pantrace.model import Sample, Score
from pantrace.wire.json import encode

NAMES = names()


@pytest.mark.parametrize("name", NAMES)
def test_is_documented(name: str) -> None:
    documented = by_name(name).documented
    assert documented.keys() == {"Formula", "Not applicable when", "Source"}
    assert all(documented.values())
    assert by_name(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_explained(name: str) -> None:
    told = describe(by_name(name))
    assert all(each["help"] for each in told["settings"])
    assert told["scale"] is None or told["scale"]["better"] in ("higher", "lower")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_that_was_not_run_is_not_measured(name: str) -> None:
    score = by_name(name).score(Sample(id="x"))
    assert (score.status, score.value) == ("not_applicable", None)
    assert score.explanation


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_any_sample_gives_a_score_with_a_reason_and_the_same_one_again(sample: Sample) -> None:
    for each in all_metrics():
        score = each.score(sample)
        assert score.status in ("scored", "not_applicable"), score.details.get("traceback")
        assert (score.value is None) == (score.status == "not_applicable")
        assert score.status == "scored" or score.explanation
        assert score.maker is not None
        assert score.maker.version
        assert encode(each.score(sample)) == encode(score)


def test_a_check_that_raises_gives_a_failed_score() -> None:
    from pantrace.metrics import Found, NoSettings, metric

    @metric()
    def broken(sample: Sample, settings: NoSettings) -> Found:
        """Always breaks."""
        raise ZeroDivisionError("on purpose")

    score: Score = broken.score(Sample(id="x"))
    assert (score.status, score.value) == ("failed", None)
    assert "ZeroDivisionError" in score.details["traceback"]
