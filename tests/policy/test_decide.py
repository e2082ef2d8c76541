"""Decisions: undecided first, then failed, then passed; and the policy of the explain reports to the letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.read import read
from pantrace.errors import UsageError
from pantrace.metrics import measure_named
from pantrace.model import Maker, Scale, Score
from pantrace.policy import Profile, decide, load_profile, profile_names

FIVE = Scale(low=1, high=5)


def profile(**fields: Any) -> Profile:
    return msgspec.convert({"name": "p", "version": "1", **fields}, Profile)


def scored(name: str, value: Any, scale: Scale | None = FIVE) -> Score:
    return Score(name=name, value=value, scale=scale)


def unscored(name: str, why: str = "no judge configured") -> Score:
    return Score(name=name, status="unscored", explanation=why)


def not_applicable(name: str) -> Score:
    return Score(name=name, status="not_applicable", explanation="no tools")


LINE = {"scale": [1, 5], "thresholds": {"a": 3.0}}
TWO = {"scale": [1, 5], "thresholds": {"a": 3.0, "b": 3.0}}
WEIGHED = {"scale": [1, 5], "weights": {"a": 0.75, "b": 0.25}, "composite_min": 3.0}
HARD = {"scale": [1, 5], "hard_fail": {"below": 3.0, "metrics": ["a"]}}

ROWS: list[tuple[str, dict[str, Any], list[Score], bool | None, str]] = [
    # Undecided.
    ("no score at all", LINE, [], None, "a was not evaluated"),
    ("only scores it does not know", LINE, [scored("z", 1)], None, "a was not evaluated"),
    (
        "nothing to decide by, though nothing is demanded",
        {**LINE, "missing": "ignore"},
        [scored("z", 1)],
        None,
        "no score that the profile decides by",
    ),
    ("optional, and nothing else", {**LINE, "optional": ["a"]}, [], None, "no score that the profile decides by"),
    ("one of two demanded", TWO, [scored("a", 5)], None, "b was not evaluated"),
    ("a limit is a demand", {"limits": {"cost": 1}, **LINE}, [scored("a", 5)], None, "cost was not evaluated"),
    ("a hard fail is a demand", {**HARD, "thresholds": {"b": 3.0}}, [scored("b", 5)], None, "a was not evaluated"),
    ("a tenth of the weight is no composite", WEIGHED, [scored("b", 5)], None, "a was not evaluated"),
    (
        "no composite, which has a minimum",
        {**LINE, "weights": {"b": 1}, "composite_min": 3.0},
        [scored("a", 5), not_applicable("b")],
        None,
        "no metric with a weight has a number, so there is no composite",
    ),
    (
        "optional, of what the case does not list",
        {**TWO, "optional": ["b"], "demands": "case"},
        [scored("b", 5)],
        None,
        "a was not evaluated",
    ),
    ("unscored", LINE, [unscored("a")], None, "a is unscored: no judge configured"),
    ("failed to run", LINE, [Score(name="a", status="failed", explanation="boom")], None, "a is failed: boom"),
    ("all not applicable", LINE, [not_applicable("a")], None, "a is not applicable: no tools"),
    ("a word is no number", LINE, [scored("a", "good")], None, "a is a word ('good'), not a number"),
    ("an unscored hard-fail metric", HARD, [unscored("a")], None, "a is unscored: no judge configured"),
    ("off any scale", LINE, [scored("a", 9.0, None)], None, "a =9 declares no scale and is outside 1 to 5"),
    (
        "mixed scales without a common one",
        {"weights": {"a": 1, "b": 1}, "composite_min": 1},
        [scored("a", 3), scored("b", 0.5, Scale(low=0, high=1))],
        None,
        "the composite would mix scales; the profile must declare one (scale = [low, high])",
    ),
    (
        "an uncalibrated judge",
        {**LINE, "require_calibrated": True},
        [Score(name="a", value=5, scale=FIVE, maker=Maker(name="a", kind="rubric"))],
        None,
        "a comes from a judge that was not calibrated",
    ),
    *(
        (
            f"an uncalibrated judge, whatever unscored means: {unscored_means}",
            {"scale": [1, 5], "thresholds": {"a": 3, "b": 3}, "require_calibrated": True, "unscored": unscored_means},
            [Score(name="a", value=5, scale=FIVE, maker=Maker(name="a", kind="rubric")), scored("b", 4)],
            None,
            "a comes from a judge that was not calibrated",
        )
        for unscored_means in ("fail", "ignore")
    ),
    *(
        (
            f"not applicable where that matters, whatever unscored means: {unscored_means}",
            {**LINE, "thresholds": {"a": 3, "b": 3}, "not_applicable": "undecided", "unscored": unscored_means},
            [not_applicable("a"), scored("b", 4)],
            None,
            "a is not applicable: no tools",
        )
        for unscored_means in ("fail", "ignore")
    ),
    ("not a number", LINE, [scored("a", float("nan"))], None, "a is nan, which is not a number"),
    ("beyond all numbers", LINE, [scored("a", float("inf"), None)], None, "a is inf, which is not a number"),
    (
        "two judges that differ",
        LINE,
        [scored("a", 1), scored("a", 5)],
        None,
        "a has several scores that differ (1, 5)",
    ),
    # Failed.
    (
        "optional, but there and low",
        {**TWO, "optional": ["b"]},
        [scored("a", 3), scored("b", 1)],
        False,
        "Below threshold: b=1.00 (<3.00)",
    ),
    ("below, though another is missing", TWO, [scored("a", 1)], False, "Below threshold: a=1.00 (<3.00)"),
    ("below", LINE, [scored("a", 2.9)], False, "Below threshold: a=2.90 (<3.00)"),
    (
        "below, and another unscored",
        {"scale": [1, 5], "thresholds": {"a": 3, "b": 3}},
        [scored("a", 1), unscored("b")],
        False,
        "Below threshold: a=1.00 (<3.00)",
    ),
    (
        "unscored fails where told so",
        {**LINE, "unscored": "fail"},
        [unscored("a")],
        False,
        "a is unscored: no judge configured",
    ),
    ("hard", {**HARD, "thresholds": {"a": 4.0}}, [scored("a", 2)], False, "Hard-fail metrics (<3.00): a=2.00"),
    ("composite", WEIGHED, [scored("a", 2), scored("b", 5)], False, "Composite=2.75 (<3.00)"),
    ("above a limit", {"limits": {"cost": 0.5}}, [scored("cost", 0.75, None)], False, "Above limit: cost=0.75 (>0.50)"),
    (
        "contract",
        {"hard_fail": {"contract": True}, "thresholds": {"a": 1}},
        [scored("a", 3), Score(name="output_contract", value=False, explanation="no title")],
        False,
        "Contract violation: no title",
    ),
    ("another scale", LINE, [scored("a", 4, Scale(low=1, high=10))], False, "Below threshold: a=2.33 (<3.00)"),
    (
        "lower is better",
        LINE,
        [scored("a", 0.9, Scale(low=0, high=1, better="lower"))],
        False,
        "Below threshold: a=1.40 (<3.00)",
    ),
    (
        "an incorrect grade",
        {"thresholds": {"a": 1}},
        [scored("a", "I", None)],
        False,
        "Below threshold: a=0.00 (<1.00)",
    ),
    # Passed.
    ("a correct grade of Inspect", {"thresholds": {"a": 1}}, [scored("a", "C", None)], True, ""),
    ("two judges that agree", LINE, [scored("a", 4), scored("a", 4), unscored("a")], True, ""),
    ("at the threshold", LINE, [scored("a", 3.0)], True, ""),
    ("a boolean", {"thresholds": {"a": 1}}, [scored("a", True, None)], True, ""),
    ("composite over what is present", {**WEIGHED, "optional": ["b"]}, [scored("a", 3)], True, ""),
    ("composite over what applies", WEIGHED, [scored("a", 3), not_applicable("b")], True, ""),
    ("weights without a minimum demand nothing", {**LINE, "weights": {"b": 1}}, [scored("a", 3)], True, ""),
    ("optional and missing", {**TWO, "optional": ["b"]}, [scored("a", 3)], True, ""),
    ("optional and unscored", {**TWO, "optional": ["b"]}, [scored("a", 3), unscored("b")], True, ""),
    ("missing, where that is said not to matter", {**TWO, "missing": "ignore"}, [scored("a", 3)], True, ""),
    (
        "not applicable beside a pass",
        {"scale": [1, 5], "thresholds": {"a": 3, "b": 3}},
        [scored("a", 3), not_applicable("b")],
        None,
        "b is not applicable: no tools",
    ),
    (
        "not applicable and optional",
        {"scale": [1, 5], "thresholds": {"a": 3, "b": 3}, "optional": ["b"]},
        [scored("a", 3), not_applicable("b")],
        True,
        "",
    ),
    (
        "not applicable and ignored",
        {"scale": [1, 5], "thresholds": {"a": 3, "b": 3}, "not_applicable": "ignore"},
        [scored("a", 3), not_applicable("b")],
        True,
        "",
    ),
    (
        "a limit on seconds beside a scale",
        {**LINE, "limits": {"waited": 10}},
        [scored("a", 3), scored("waited", 12.5, None)],
        False,
        "Above limit: waited=12.50 (>10.00)",
    ),
    (
        "a limit on seconds that is kept beside a scale",
        {**LINE, "limits": {"waited": 10}},
        [scored("a", 3), scored("waited", 9.5, Scale(low=0, better="lower"))],
        True,
        "",
    ),
    (
        "the digits that decide",
        {"limits": {"a": 0.5}},
        [scored("a", 0.500001, None)],
        False,
        "Above limit: a=0.500001 (>0.500000)",
    ),
    (
        "unscored ignored where told so",
        {"scale": [1, 5], "thresholds": {"a": 3, "b": 3}, "unscored": "ignore"},
        [scored("a", 3), unscored("b")],
        True,
        "",
    ),
    (
        "stored sentinel does not count",
        LINE,
        [scored("a", 4), Score(name="b", status="unscored", details={"stored_value": -1})],
        True,
        "",
    ),
]


@pytest.mark.parametrize(
    ("fields", "scores", "passed", "reasons"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_decisions(fields: dict[str, Any], scores: list[Score], passed: bool | None, reasons: str) -> None:
    decision = decide("x", scores, profile(**fields))
    assert (decision.passed, "; ".join(decision.reasons)) == (passed, reasons)


USED = Score(
    name="token_usage",
    value=0.0053,
    values={"estimated_cost_usd": 0.0053, "total_tokens": 4826, "cached_tokens": None},
    scale=Scale(low=0, better="lower"),
)
WAITED = Score(name="latency_metrics", value=2.5, values={"total_latency_seconds": 2.5})
CALLED = Score(name="tool_utilization", value=7, values={"total_tool_calls": 7})


@pytest.mark.parametrize(
    ("fields", "passed", "reasons"),
    [
        ({"limits": {"cost": 0.005}}, False, "Above limit: cost 0.0053 USD, limit 0.0050"),
        ({"limits": {"token_usage.estimated_cost_usd": 0.01}}, True, ""),
        ({"limits": {"tokens": 4000}}, False, "Above limit: tokens 4826 tokens, limit 4000"),
        ({"limits": {"token_usage": 0.005}}, False, "Above limit: token_usage 0.0053 USD, limit 0.0050"),
        ({"limits": {"latency": 2}}, False, "Above limit: latency 2.50 s, limit 2.00"),
        ({"limits": {"token_usage.total_tokens": 5000, "latency": 3}}, True, ""),
        ({**LINE, "limits": {"latency": 2}}, False, "Above limit: latency 2.50 s, limit 2.00"),
        ({**LINE, "limits": {"latency": 3}, "optional": ["a"]}, True, ""),
        (
            {"scale": [1, 5], "thresholds": {"tool_utilization": 8}},
            False,
            "Below threshold: tool_utilization=7.00 (<8.00)",
        ),
        ({"scale": [1, 5], "thresholds": {"tool_utilization.total_tool_calls": 6}}, True, ""),
        (
            {"limits": {"token_usage.cached_tokens": 1}},
            None,
            "token_usage.cached_tokens is not applicable: no reason given",
        ),
        ({"limits": {"token_usage.llm_calls": 1}}, None, "token_usage.llm_calls is not applicable: no reason given"),
        ({"limits": {"gui.num_steps": 1}}, None, "gui.num_steps was not evaluated"),
    ],
)
def test_a_profile_decides_by_measures(fields: dict[str, Any], passed: bool | None, reasons: str) -> None:
    chosen = profile(**fields)
    known = {name: found for name in chosen.metrics if (found := measure_named(name)) is not None}
    decision = decide("x", [USED, WAITED, CALLED], chosen, measures=known)
    assert (decision.passed, "; ".join(decision.reasons)) == (passed, reasons)


def test_what_the_case_requires_must_have_been_evaluated() -> None:
    decision = decide("x", [scored("a", 4)], profile(**LINE), required=["a", "b"])
    assert (decision.passed, decision.reasons) == (None, ("b is required by the case and was not evaluated",))


def test_what_the_case_requires_is_not_ignored_where_the_profile_does_not_name_it() -> None:
    scores = [scored("a", 4), unscored("b", "budget exhausted")]
    decision = decide("x", scores, profile(**LINE), required=["a", "b"])
    assert (decision.passed, decision.reasons) == (
        None,
        ("b is required by the case and is unscored: budget exhausted",),
    )
    assert decide("x", scores, profile(**LINE, unscored="ignore"), required=["a", "b"]).passed is True
    assert decide("x", [scored("a", 4), not_applicable("b")], profile(**LINE), required=["a", "b"]).passed is True


def test_a_case_may_list_what_is_enough_where_the_profile_lets_it() -> None:
    some = {**TWO, "thresholds": {"a": 3.0, "b": 3.0, "c": 3.0}}
    for demands, passed in (("profile", None), ("case", True)):
        chosen = profile(**some, demands=demands)
        assert decide("x", [scored("a", 4), scored("b", 4)], chosen, required=["a", "b"]).passed is passed
        # What the case lists must be there, and what it does not list counts where it is there.
        assert decide("x", [scored("a", 4)], chosen, required=["a", "b"]).passed is None
        assert decide("x", [scored("a", 4), scored("c", 1)], chosen, required=["a"]).passed is False
        # A case that lists nothing leaves it to the profile.
        assert decide("x", [scored("a", 4), scored("b", 4)], chosen, required=[]).passed is None


def test_what_the_case_requires_is_missed_even_if_the_profile_calls_it_optional() -> None:
    chosen = profile(**TWO, optional=["b"])
    assert decide("x", [scored("a", 4)], chosen, required=["b"]).passed is None
    assert decide("x", [scored("a", 4), unscored("b")], chosen, required=["b"]).passed is None


def test_a_contract_that_nobody_held_the_answer_against_is_not_kept() -> None:
    chosen = profile(**LINE, hard_fail={"contract": True})
    unchecked = decide("x", [scored("a", 4)], chosen, contract="Plan")
    assert unchecked.reasons == ("output_contract was not evaluated, and the case names the contract Plan",)
    assert unchecked.passed is None
    assert decide("x", [scored("a", 4)], chosen).passed is True
    assert decide("x", [scored("a", 4), Score(name="output_contract", value=True)], chosen, contract="P").passed is True
    lost = Score(name="output_contract", status="unscored", explanation="lost")
    assert decide("x", [scored("a", 4), lost], chosen, contract="P").passed is None


@pytest.mark.parametrize("name", ["prep_default", "assessment_strict"])
def test_the_built_in_profiles_want_all_nine_evals_or_those_that_the_case_lists(name: str) -> None:
    nine = load_profile(name)
    everything = [scored(each, 5) for each in nine.thresholds]
    assert len(everything) == 9
    assert decide("x", everything, nine).passed is True
    fluent = decide("x", [scored("FluencyExplain", 5)], nine)
    assert (fluent.passed, len(fluent.reasons)) == (None, 8)
    for left_out in nine.thresholds:
        rest = [score for score in everything if score.name != left_out]
        assert decide("x", rest, nine).reasons == (f"{left_out} was not evaluated",)
        assert decide("x", rest, nine, required=[score.name for score in rest]).passed is True


def test_a_stored_sentinel_counts_only_for_parity() -> None:
    sentinel = Score(name="a", status="unscored", explanation="-1", details={"stored_value": -1})
    assert decide("x", [sentinel], profile(**HARD)).passed is None
    decision = decide("x", [sentinel], profile(**HARD, as_stored=True))
    assert (decision.passed, decision.reasons) == (False, ("Hard-fail metrics (<3.00): a=-1.00",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "p"\nversion = "1"\n', "names no metric"),
        ('name = "p"\nversion = "1"\ncomposite_min = 3\n[thresholds]\na = 1\n', "composite_min needs weights"),
        (
            'name = "p"\nversion = "1"\n[treshold]\na = 1\n',
            r"line 3: unknown key 'treshold'; did you mean thresholds\?",
        ),
        (
            'name = "p"\nversion = "1"\n[thresholds]\na = "high"\n',
            r"line 4: expected `float`, got `str` \(in thresholds\.a\)",
        ),
        ('name = "p"\nversion = "1"\n[thresholds]\na = nan\n', "nan cannot be a threshold"),
        ('name = "p"\nversion = "1"\n[weights]\na = -1\nb = 2\n', "the weight of a is negative"),
        (
            'name = "p"\nversion = "1"\noptional = ["qualty"]\n[thresholds]\nquality = 1\n',
            r"qualty is optional, but the profile decides nothing by it; did you mean quality\?",
        ),
        ('name = "p"\nversion = "1"\n[hard_fail]\nmetrics = ["a"]\n', r"hard_fail\.metrics needs hard_fail\.below"),
    ],
)
def test_a_profile_that_cannot_decide_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_profile(str(path))


def test_an_unknown_profile_is_not_a_default() -> None:
    with pytest.raises(UsageError, match=r"did you mean prep_default\?"):
        load_profile("prep_defualt")
    with pytest.raises(UsageError, match="built in: assessment_strict"):
        load_profile("our own")


@needs_corpus
def test_the_built_in_profiles_have_the_documented_numbers() -> None:
    facts = json.loads((CORPUS / "own/explain/policy-facts.json").read_bytes())
    for source, suffixes in (("documented", ("", ".documented")), ("runner_head", (".runner",))):
        tables = facts[source]
        for name, numbers in tables["profiles"].items():
            for suffix in suffixes:
                built = load_profile(name + suffix)
                assert built.thresholds == tables["metric_thresholds"]
                assert built.weights == numbers["weights"]
                assert built.composite_min == numbers["pass_composite"]
                assert built.hard_fail.below == tables["hard_fail"]["below"]
                assert built.hard_fail.metrics == tables["hard_fail"]["metrics"]
                assert built.hard_fail.contract == tables["hard_fail"]["contract_violation"]
    assert len(profile_names()) == 6


@needs_corpus
def test_the_documented_policy_gives_every_stored_decision_of_the_reports() -> None:
    cases = told = 0
    for path in sorted((CORPUS / "public/explain/agentsleague/reports").glob("*.json")):
        for case in json.loads(path.read_text("utf-8-sig"))["cases"]:
            if not case["metrics"]:
                continue
            scores = [Score(name=each["metricName"], value=float(each["score"])) for each in case["metrics"]]
            decision = decide(case["caseId"], scores, load_profile(f"{case['thresholdProfile']}.documented"))
            assert decision.composite == pytest.approx(case["compositeScore"], abs=1e-6)
            assert decision.passed is case["passed"]
            cases += 1
            if case.get("failureReason") is not None:
                assert "; ".join(decision.reasons) == case["failureReason"]
                told += 1
    assert (cases, told) == (253, 52)


@needs_corpus
def test_what_the_corrected_profiles_decide_differently_is_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs/eval.md").read_text()
    for path in sorted((CORPUS / "public/explain/agentsleague/reports").glob("*.json")):
        counts = []
        for suffix in (".documented", ""):
            passed = [
                decide(sample.id, list(sample.scores), load_profile(f"{sample.case.profile}{suffix}")).passed
                for sample in read(path).samples
                if sample.case is not None
            ]
            counts.append(f"{passed.count(True)} / {passed.count(False)} / {passed.count(None)}")
        assert f"| {path.stem.removeprefix('eval-report-')} | {counts[0]} | {counts[1]} |" in page
