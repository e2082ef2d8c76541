"""Comparisons: what cannot be concluded first, then verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.engine.compare import Comparison, compare_sides, side_of
from pantrace.model import Case, Maker, Run, Sample, Scale, Score

UP, DOWN = Scale(low=0, high=1), Scale(low=0, high=1, better="lower")


def side(
    values: dict[str, Any], *, scale: Scale | None = UP, metric: str = "m", labels: dict[str, str] | None = None
) -> Any:
    samples = []
    for case, found in values.items():
        for epoch, value in enumerate(found if isinstance(found, list) else [found], 1):
            scores = () if value is None else (Score(name=metric, value=value, scale=scale),)
            samples.append(
                Sample(id=f"{case}", epoch=epoch, case=Case(id=case, labels=labels or {"task": case[0]}), scores=scores)
            )
    return samples


def compared(a: Any, b: Any, **options: Any) -> Comparison:
    cluster = options.pop("cluster", None)
    first, second = (side_of(Run(name="r"), samples, cluster=cluster) for samples in (a, b))
    return compare_sides(first, second, **options)[0]


def many(n: int, value: Any) -> dict[str, Any]:
    return {f"c{number}": value(number) if callable(value) else value for number in range(n)}


def test_one_pair_concludes_nothing() -> None:
    found = compared(side({"c": 0.1}), side({"c": 0.9}))
    assert (found.verdict, found.difference is not None and found.difference.low) == ("inconclusive", None)
    assert "only 1 pairs" in found.notes


def test_equal_values_conclude_nothing() -> None:
    found = compared(side(many(40, 0.5)), side(many(40, 0.5)))
    assert found.verdict == "inconclusive"
    assert any("all values are equal" in note for note in found.notes)


def test_different_scales_are_not_compared() -> None:
    found = compared(side(many(40, 0.5)), side(many(40, 3), scale=Scale(low=1, high=5)))
    assert (found.verdict, found.difference) == ("inconclusive", None)
    assert "different scales" in found.notes[0]


def test_no_common_case_is_compared_as_independent() -> None:
    found = compared(side({f"a{n}": n % 2 for n in range(40)}), side({f"b{n}": 1 for n in range(40)}))
    assert (found.verdict, found.common, found.only_first) == ("better", 0, 40)
    assert found.difference is not None
    assert found.difference.method == "Newcombe, Fisher exact"
    assert found.notes == ("no common case: the two sides are compared as independent",)


def test_noise_is_inconclusive_and_says_what_it_could_have_seen() -> None:
    found = compared(side(many(50, lambda n: n % 2)), side(many(50, lambda n: (n // 2) % 2)))
    assert found.verdict == "inconclusive"
    assert found.detectable is not None
    assert 0.2 < found.detectable < 0.6


@pytest.mark.parametrize(("scale", "verdict"), [(UP, "better"), (DOWN, "worse"), (None, "higher")])
def test_a_clear_rise_is_judged_by_which_end_is_good(scale: Scale | None, verdict: str) -> None:
    found = compared(
        side(many(40, lambda n: 0.2 + n / 1000), scale=scale), side(many(40, lambda n: 0.5 + n / 900), scale=scale)
    )
    assert found.verdict == verdict
    assert (found.wins, found.losses, found.ties) == (40, 0, 0)


def test_yes_and_no_on_the_same_cases_uses_mcnemar() -> None:
    found = compared(side(many(40, lambda n: n < 10)), side(many(40, lambda n: n < 30)))
    assert found.difference is not None
    assert (found.verdict, found.difference.method) == ("better", "paired t, McNemar exact")
    assert found.first is not None
    assert found.first.method == "Wilson"


def test_a_count_of_our_own_is_neither_good_nor_bad() -> None:
    def samples(value: float) -> list[Sample]:
        score = Score(name="agent_handoffs", value=value, maker=Maker(name="agent_handoffs", kind="check", version="1"))
        return [Sample(id=str(number), scores=(score,)) for number in range(39)] + [
            Sample(id="x", scores=(Score(name="agent_handoffs", value=1 - value),))
        ]

    assert compared(samples(0.0), samples(1.0)).verdict == "higher"


def test_equivalence_needs_a_margin() -> None:
    a, b = side(many(60, lambda n: 0.5 + (n % 7) / 100)), side(many(60, lambda n: 0.5 + (n % 5) / 100))
    assert compared(a, b, margin=0.05).verdict == "equivalent"
    assert compared(a, b).verdict != "equivalent"


def test_epochs_are_averaged_and_clustered() -> None:
    found = compared(side(many(10, [0, 1, 1])), side(many(10, [1, 1, 1])))
    assert "epochs are averaged within each case" in found.notes
    assert found.first is not None
    assert (found.first.method, found.first.n) == ("clustered t", 30)


def test_clusters_widen_the_interval() -> None:
    a = {f"{task}{n}": 0.0 for task in "abcdef" for n in range(10)}
    b = {name: (1.0 if name[0] in "abcd" else 0.0) for name in a}
    plain, clustered = compared(side(a), side(b)), compared(side(a), side(b), cluster="task")
    assert plain.difference is not None
    assert clustered.difference is not None
    assert plain.difference.low is not None
    assert clustered.difference.low is not None
    assert clustered.difference.low < plain.difference.low
    assert (plain.verdict, clustered.verdict) == ("better", "inconclusive")


def test_the_cases_that_got_worse_come_first() -> None:
    found = compared(side({"a": 1, "b": 0, "c": 0.5}), side({"a": 0, "b": 1, "c": 0.5}))
    assert [flip.case for flip in found.flips] == ["a", "b"]


def test_unscored_is_left_out_and_counted_and_grades_are_numbers() -> None:
    a = [Sample(id=str(n), scores=(Score(name="m", value="C" if n % 2 else "I"),)) for n in range(4)]
    b = [
        Sample(id=str(n), scores=(Score(name="m", status="unscored") if n == 0 else Score(name="m", value="C"),))
        for n in range(4)
    ]
    found = compared(a, b)
    assert (found.common, found.left_out, found.only_first) == (3, 1, 1)


def test_p_values_are_adjusted_over_the_metrics_shown() -> None:
    def scores(shift: float) -> list[Sample]:
        return [
            Sample(
                id=str(n),
                scores=tuple(
                    Score(name=name, value=(n * k) % 7 / 7 + (shift if name == "a" else 0), scale=UP)
                    for k, name in enumerate("abc", 2)
                ),
            )
            for n in range(40)
        ]

    first, second = side_of(Run(), scores(0)), side_of(Run(), scores(0.1))
    found = {each.metric: each for each in compare_sides(first, second)}
    alone = compare_sides(first, second, metrics=["a"])[0]
    assert found["a"].p_adjusted is not None
    assert alone.p_adjusted is not None
    assert found["a"].p_adjusted == pytest.approx(3 * alone.p_adjusted)


def test_files_that_hold_only_numbers_are_compared_over_episodes(tmp_path: Any) -> None:
    from pantrace.engine.compare_stored import compare_stored
    from pantrace.wire.json import encode

    paths = []
    for name, accuracy, success in (("a", 0.3, 0.1), ("b", 0.8, 0.7)):
        metrics = {
            "num_episodes": 50,
            "num_steps": 300,
            "action_type_accuracy": accuracy,
            "episode_success_rate": success,
        }
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_bytes(
            encode({"config_path": "c", "backend": "qwen3", "metrics": {**metrics, "mean_coord_error": 0.1}})
        )
    found = {each.metric: each for each in compare_stored(*paths)}
    success = found["episode_success_rate"]
    assert success.difference is not None
    assert (success.verdict, success.difference.method) == ("better", "Newcombe, Fisher exact")
    assert success.difference.n == 100
    assert found["mean_coord_error"].verdict == "inconclusive"
    assert "no interval can be given" in found["mean_coord_error"].notes[-1]
