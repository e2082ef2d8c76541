"""Comparisons: what cannot be concluded first, then verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.engine.compare import compare_sides
from pantrace.engine.compare_result import Comparison
from pantrace.engine.compare_side import side_of
from pantrace.model import Case, Maker, Run, Sample, Scale, Score
from pantrace.stats import mcnemar_power

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
    assert "only 1 pair" in found.notes


def test_equal_values_conclude_nothing() -> None:
    found = compared(side(many(40, 0.5)), side(many(40, 0.5)))
    assert found.verdict == "no change"
    assert any("all differences are equal" in note for note in found.notes)
    assert found.detectable is None


def test_five_pairs_or_clusters_cannot_show_anything_and_say_so() -> None:
    for n, verdict in ((5, "inconclusive"), (6, "better")):
        found = compared(side(many(n, False)), side(many(n, True)))
        assert found.verdict == verdict
        assert any("cannot show a difference" in note for note in found.notes) == (n == 5)
    five = compared(side(many(5, False)), side(many(5, True)))
    # Two of the 2^5 ways in which five pairs can fall are as extreme: p is never below 0.0625.
    assert any("0.0625" in note for note in five.notes)
    assert five.detectable is None
    tasks = {f"{task}{n}": 0.1 + n / 100 for task in "abcde" for n in range(10)}
    higher = {name: value + 0.5 for name, value in tasks.items()}
    clustered = compared(side(tasks), side(higher), cluster="task")
    assert (clustered.verdict, clustered.detectable) == ("inconclusive", None)
    assert any("only 5 clusters" in note for note in clustered.notes)


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


def test_a_few_values_far_out_are_warned_of() -> None:
    constant = side(many(20, 1.0), scale=None)
    far_out = side(many(20, lambda n: 0.5 + (n == 7) * 10 + (n == 12) * 4), scale=None)
    assert any("far larger than all others" in note for note in compared(constant, far_out).notes)
    below = side(many(20, lambda n: 0.5 - (n == 7) * 10 - (n == 12) * 4), scale=None)
    assert any("the differences are skewed: up to" in note for note in compared(constant, below).notes)
    even = side(many(20, lambda n: 1 + n / 20), scale=None)
    assert not any("skewed" in note or "larger" in note for note in compared(constant, even).notes)
    other = side({f"x{n}": 0.5 - (n == 7) * 10 for n in range(20)}, scale=None)
    assert any("the values of the second run are skewed" in note for note in compared(even, other).notes)


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
    assert (found.verdict, found.difference.method) == ("better", "Tango, McNemar exact")
    assert found.first is not None
    assert found.first.method == "Wilson"


def test_a_count_of_our_own_is_neither_good_nor_bad() -> None:
    def samples(value: float) -> list[Sample]:
        score = Score(name="agent_handoffs", value=value, maker=Maker(name="agent_handoffs", kind="check", version="1"))
        return [Sample(id=str(number), scores=(score,)) for number in range(39)] + [
            Sample(id="x", scores=(Score(name="agent_handoffs", value=1 - value),))
        ]

    found = compared(samples(0.0), samples(1.0))
    assert found.verdict == "higher"
    assert found.difference is not None
    assert found.difference.method == "paired bootstrap-t and t (the wider), sign-flip permutation"


def test_a_count_with_an_open_scale_is_no_share() -> None:
    """Retries may be none or one in every case; a third case could have ten."""
    retries = Scale(low=0, better="lower")
    found = compared(side(many(40, lambda n: n % 2), scale=retries), side(many(40, 0), scale=retries))
    assert found.first is not None
    assert found.difference is not None
    assert (found.verdict, found.first.method) == ("better", "t")
    assert "McNemar" not in found.difference.method
    # Of numbers that cannot be negative, no interval of a mean is.
    few = compared(side(many(4, lambda n: n), scale=retries), side(many(4, 0), scale=retries))
    assert few.first is not None
    assert few.first.low == 0


def test_equivalence_needs_a_margin() -> None:
    a, b = side(many(60, lambda n: 0.5 + (n % 7) / 100)), side(many(60, lambda n: 0.5 + (n % 5) / 100))
    assert compared(a, b, margin=0.05).verdict == "equivalent"
    assert compared(a, b).verdict != "equivalent"


def test_epochs_are_averaged_within_the_case() -> None:
    found = compared(side(many(10, [0, 1, 1])), side(many(10, [1, 1, 1])))
    assert "epochs are averaged within each case" in found.notes
    assert found.first is not None
    assert (found.first.method, found.first.n) == ("Wilson over cases", 10)


def test_unequal_repeats_weigh_a_case_once_in_every_column() -> None:
    # Case 1 passes 9 of 9 and case 2 fails its one trial: (1 + 0) / 2. The other side the other way round: (0 + 1) / 2.
    found = compared(side({"c1": [1] * 9, "c2": [0]}), side({"c1": [0], "c2": [1] * 9}))
    assert found.first is not None
    assert found.second is not None
    assert found.difference is not None
    assert (found.first.value, found.second.value, found.difference.value) == (0.5, 0.5, 0.0)
    assert 0 <= (found.first.low or 0) < (found.first.high or 0) <= 1


def test_a_row_speaks_of_one_set_of_cases() -> None:
    # A passes 10 of the common 20 and all of 80 others; B passes 15 of the common 20: 0.5, 0.75, +0.25.
    first = {f"c{n}": n < 10 for n in range(20)} | {f"a{n}": True for n in range(80)}
    second = {f"c{n}": n < 15 for n in range(20)} | {"b": False}
    found = compared(side(first), side(second))
    assert found.first is not None
    assert found.second is not None
    assert found.difference is not None
    assert (found.first.value, found.second.value) == (0.5, 0.75)
    assert found.difference.value == pytest.approx(0.25)
    assert (found.common, found.only_first, found.only_second) == (20, 80, 1)


@pytest.mark.parametrize("cluster", [None, "task"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_all_cases_that_change_alike_are_a_change(cluster: str | None, repeats: int) -> None:
    before = {f"{task}{n}": [False] * repeats for task in "abcdefghij" for n in range(5)}
    after = {name: [True] * repeats for name in before}
    found = compared(side(before), side(after), cluster=cluster)
    assert found.difference is not None
    assert found.difference.low is not None
    assert (found.verdict, found.difference.value, found.difference.high) == ("better", 1.0, 1.0)
    # Fifty pairs leave room for 7 %, ten tasks for 31 % (1 - 0.025^(1/10)) that change the other way.
    assert found.difference.low == pytest.approx(1 - 2 * 0.308497 if cluster else 0.857305, abs=1e-3)


@pytest.mark.parametrize("value", [lambda n: n % 2, lambda n: n % 5 / 5, lambda n: [0, n % 2], 0.25, True])
def test_a_run_is_equivalent_to_itself_with_enough_cases(value: Any) -> None:
    run = side(many(1000, value))
    assert compared(run, run, margin=0.05).verdict == "equivalent"
    assert compared(run, run).verdict == "no change"
    few = side(many(20, value))
    assert compared(few, few, margin=0.05).verdict == "no change"


def test_without_a_scale_what_was_seen_is_how_far_values_go() -> None:
    run = side(many(1000, lambda n: 100 + n % 11), scale=None)
    found = compared(run, run, margin=0.05)
    assert found.difference is not None
    # 1 - 0.025^(1/1000) = 0.003682 of a range of 10.
    assert found.difference.high == pytest.approx(0.03682, abs=1e-5)
    assert found.verdict == "equivalent"
    assert any("between 100 and 110" in note for note in found.notes)
    still = side(many(1000, 7.0), scale=Scale(low=0, better="lower"))
    assert compared(still, still, margin=0.05).verdict == "equivalent"
    assert compared(still, still, margin=0.02).verdict == "no change"
    # Two runs without a single loop: a gate with a margin must not wait for ever.
    none = side(many(100, 0.0), scale=Scale(low=0, better="lower"))
    found = compared(none, none, margin=0.05)
    assert (found.verdict, found.no_worse) == ("equivalent", True)
    assert any("between 0 and 1, as nothing else was seen" in note for note in found.notes)


def test_a_seen_range_does_not_cut_an_interval() -> None:
    a = side(many(3, lambda n: float(n)), scale=None)
    b = side(many(3, lambda n: float(2 - n)), scale=None)
    found = compared(a, b)
    assert found.difference is not None
    assert (found.difference.high or 0) > 2


def tasks(prefix: str, passing: int) -> dict[str, float]:
    """Eight tasks of twelve cases that pass or fail as a whole."""
    return {f"{prefix}{task}-{n}": float(task < passing) for task in range(8) for n in range(12)}


def independent(a: dict[str, float], b: dict[str, float], cluster: str | None) -> Comparison:
    sides = []
    for values in (a, b):
        samples = [
            Sample(
                id=name,
                case=Case(id=name, scenario=name.partition("-")[0]),
                scores=(Score(name="m", value=value, scale=UP),),
            )
            for name, value in values.items()
        ]
        sides.append(side_of(Run(), samples, cluster=cluster))
    return compare_sides(*sides)[0]


def test_clusters_count_without_pairs_too() -> None:
    # Two of eight tasks against six of eight: by Fisher's test, 24/96 against 72/96 is p = 4e-12, 2/8 against 6/8 0.13.
    blind = independent(tasks("a", 2), tasks("b", 6), None)
    found = independent(tasks("a", 2), tasks("b", 6), "task")
    assert (blind.verdict, found.verdict) == ("better", "inconclusive")
    assert found.difference is not None
    assert found.difference.p == pytest.approx(0.1319, abs=0.02)
    assert any("only 8 clusters in a run" in note for note in found.notes)
    # Eight tasks that pass or fail as a whole are eight proofs: about as wide as Wilson of 2 in 8 (0.07 to 0.59), not
    # of 24 in 96 (0.17 to 0.35).
    assert found.first is not None
    assert blind.first is not None
    assert (found.first.value, found.first.n) == (0.25, 96)
    assert (found.first.low or 1) < 0.08
    assert (found.first.high or 0) > 0.58
    assert (blind.first.low or 0) > 0.17
    assert independent(tasks("a", 0), tasks("b", 8), "task").verdict == "better"


def test_tasks_that_nobody_reckons_with_are_warned_of() -> None:
    # Each task passes or fails as a whole: 96 cases vary as 8 do, 95 / 7 times as much; 2 Phi(-1.96 / sqrt(95 / 7)).
    blind = independent(tasks("a", 2), tasks("b", 6), None)
    (note,) = (note for note in blind.notes if "cases of one task are alike" in note)
    assert "up to 59% false alarms: --cluster task" in note
    told = independent(tasks("a", 2), tasks("b", 6), "task")
    assert not any("cases of one task are alike" in note for note in told.notes)
    # Cases that have nothing in common but a name are not warned of.
    mixed = compared(side(many(60, lambda n: n % 2), labels={"task": "t"}), side(many(60, lambda n: n % 3 == 0)))
    assert not any("alike" in note for note in mixed.notes)


def test_a_side_that_names_no_cluster_is_not_compared_by_them() -> None:
    first = side_of(Run(), side({f"a{n}": n % 2 for n in range(40)}), cluster="task")
    second = side_of(Run(), side({f"b{n}": 1 for n in range(40)}, labels={"other": "x"}), cluster="task")
    second.clusters.clear()
    found = compare_sides(first, second)[0]
    assert (found.verdict, found.difference) == ("inconclusive", None)
    assert "no case of the second run says which cluster it belongs to" in found.notes
    assert "says which cluster" in found.sentence


def test_what_could_have_been_seen_is_less_when_more_is_looked_at() -> None:
    def samples(count: int, shift: int) -> list[Sample]:
        return [
            Sample(
                id=str(n),
                # One case of each is turned round: the same changes under several names would be one test.
                scores=tuple(
                    Score(name=f"m{k}", value=((n * (k + 3) + shift * n) % 2 == 0) != (shift == 1 and 0 < k == n))
                    for k in range(count)
                ),
            )
            for n in range(60)
        ]

    alone, many_ = (compare_sides(side_of(Run(), samples(k, 0)), side_of(Run(), samples(k, 1)))[0] for k in (1, 20))
    assert alone.difference == many_.difference
    assert alone.detectable is not None
    assert many_.detectable is not None
    for found, alpha in ((alone, 0.05), (many_, 0.05 / 20)):
        assert found.detectable is not None
        other_way = min(found.wins or 0, found.losses or 0) / 60
        power = mcnemar_power(60, other_way, other_way + found.detectable, alpha)
        assert power == pytest.approx(0.8, abs=1e-3)
    assert many_.detectable > alone.detectable


def test_false_alarms_of_the_whole_comparison() -> None:
    """Pairs with repeats, and pairs in clusters, that differ by chance alone: few are called better or worse."""
    import numpy as np

    dice, draws = np.random.default_rng(29), 120
    for repeats, cluster in ((3, None), (1, "task")):
        alarms = 0
        for _ in range(draws):
            own = np.repeat(dice.beta(1, 1, 12), 4)
            values = [
                {f"{chr(97 + n // 4)}{n}": (dice.random(repeats) < p).astype(float).tolist() for n, p in enumerate(own)}
                for _ in range(2)
            ]
            alarms += compared(*map(side, values), cluster=cluster, power=False).verdict in ("better", "worse")
        assert alarms / draws < 0.05 + 4 * (0.05 * 0.95 / draws) ** 0.5


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
                    Score(name=name, value=(n * k) % 7 / 7 + shift * (1 if name == "a" else n * k % 5 - 2), scale=UP)
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
    found = {each.metric: each for each in compare_stored([(("a", paths[0]), ("b", paths[1]))])}
    success = found["episode_success_rate"]
    assert success.difference is not None
    assert (success.verdict, success.difference.method) == ("better", "Newcombe, Fisher exact")
    assert success.difference.n == 100
    assert found["mean_coord_error"].verdict == "inconclusive"
    assert "no interval can be given" in found["mean_coord_error"].notes[-1]
