"""Calibration: labels of every kind, honest about what they cannot show, and what a gate makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.calibrate import Minimums, calibration, observe
from pantrace.engine.calibration_files import calibrations_for, uncalibrated
from pantrace.engine.evaluate import decide_again, evaluate_into
from pantrace.engine.judge import Access, bench
from pantrace.engine.labels import Labels, read_labels
from pantrace.engine.plan import JudgeTable, MeasureTable, Plan, prepare
from pantrace.engine.read import read
from pantrace.engine.summary import gate_code, summarise
from pantrace.errors import UsageError
from pantrace.judges import Calibrations, Judged, Settings, add_calibrations, read_calibrations
from pantrace.model import Case, Maker, Sample, Scale, Score
from pantrace.policy import Profile
from scripted import Scripted, verdict

SCALE = Scale(low=1, high=5)


def sample(name: str, value: Any, *, verdicts: list[float] | None = None, scale: Scale | None = SCALE) -> Sample:
    details: dict[str, Any] = {"rubric_hash": "h1"}
    if verdicts is not None:
        details["samples"] = [{"model": "openai:m", "score": each} for each in verdicts]
    maker = Maker(name="Kindness", kind="rubric", version="1", model="openai:m")
    status = "scored" if value is not None else "unscored"
    score = Score(name="Kindness", value=value, status=status, scale=scale, details=details, maker=maker)  # type: ignore[arg-type]
    return Sample(id=name, case=Case(id=name), scores=(score,))


def labelled(path: Path, text: str) -> Labels:
    path.write_text(text)
    return read_labels(path, None)


def calibrated(samples: list[Sample], labels: Labels, **options: Any) -> Any:
    ((judged, observed),) = observe(samples, labels).items()
    return calibration(judged, observed, **options)


def test_grades_are_compared_as_they_are(tmp_path: Path) -> None:
    samples = [sample(str(number), 1 + number % 5) for number in range(60)]
    rows = "".join(f"{number},{min(5, 1 + number % 5 + (number % 3 == 0))}\n" for number in range(60))
    found = calibrated(samples, labelled(tmp_path / "l.csv", f"sample,label\n{rows}"))
    assert found.labels == "grades"
    agreeing = sum(number % 3 != 0 or number % 5 == 4 for number in range(60))
    assert found.accuracy.value == agreeing / 60
    assert found.kappa.value < found.weighted_kappa.value < 1
    assert found.spearman.low > 0.8 and found.auc.low > 0.8
    assert sum(count for row in found.confusion.values() for count in row.values()) == 60
    assert [band.label for band in found.bands] == ["1", "2", "3", "4", "5"]
    assert found.calibrated and found.why_not == ()


def test_pass_and_fail_need_a_threshold_for_grades_but_not_for_the_area(tmp_path: Path) -> None:
    samples = [sample(str(number), 1 + number % 5) for number in range(60)]
    rows = "".join(f"{number},{'pass' if number % 5 >= 2 else 'fail'}\n" for number in range(60))
    labels = labelled(tmp_path / "l.csv", f"sample,label\n{rows}")
    without = calibrated(samples, labels)
    assert (without.labels, without.accuracy, without.kappa) == ("pass", None, None)
    assert without.auc.value == 1.0 and any("--threshold Kindness=N" in note for note in without.notes)
    found = calibrated(samples, labels, threshold=4.0)
    assert found.accuracy.value == pytest.approx(48 / 60)
    assert found.confusion == {"fail": {"fail": 24, "pass": 0}, "pass": {"fail": 12, "pass": 24}}


def test_words_need_an_order_unless_it_is_known(tmp_path: Path) -> None:
    samples = [sample(str(number), 1 + number % 4) for number in range(8)]
    weather = "".join(f"{number},{['rain', 'cloud', 'sun'][number % 3]}\n" for number in range(8))
    labels = labelled(tmp_path / "l.csv", f"sample,label\n{weather}")
    with pytest.raises(UsageError, match="order"):
        calibrated(samples, labels)
    found = calibrated(samples, labels, order=("rain", "cloud", "sun"))
    assert [(pair.worse, pair.better) for pair in found.pairs] == [("rain", "cloud"), ("cloud", "sun"), ("rain", "sun")]
    with pytest.raises(UsageError, match="'sun' is not in the order"):
        calibrated(samples, labels, order=("rain", "cloud"))


def test_a_scale_on_which_low_is_good_is_turned_round(tmp_path: Path) -> None:
    scale = Scale(low=1, high=5, better="lower")
    samples = [sample(str(number), 1 + number % 5, scale=scale) for number in range(20)]
    rows = "".join(f"{number},{'no' if number % 5 >= 3 else 'yes'}\n" for number in range(20))
    found = calibrated(samples, labelled(tmp_path / "l.csv", f"sample,label\n{rows}"), threshold=3)
    assert found.auc.value == 1.0 and found.accuracy.value == 1.0


def test_few_labels_and_chance_do_not_calibrate(tmp_path: Path) -> None:
    rows = "".join(f"{number},{'pass' if number % 2 else 'fail'}\n" for number in range(80))
    labels = labelled(tmp_path / "l.csv", f"sample,label\n{rows}")
    blind = calibrated([sample(str(number), 1 + (number // 2) % 5) for number in range(80)], labels)
    assert not blind.calibrated and "better than chance" in blind.why_not[0]
    few = calibrated([sample(str(number), 1 + 4 * (number % 2)) for number in range(20)], labels)
    assert few.auc.value == 1.0 and few.why_not == ("20 labelled samples; 50 are required",)
    keen = calibrated([sample(str(number), 1 + 4 * (number % 2)) for number in range(80)], labels)
    assert keen.calibrated
    strict = calibrated(
        [sample(str(number), 1 + 4 * (number % 2)) for number in range(80)], labels, minimums=Minimums(kappa=0.6)
    )
    assert strict.why_not == ("kappa is not known; 0.6 is required",)


def test_what_the_judge_could_not_score_is_counted_apart(tmp_path: Path) -> None:
    labels = labelled(tmp_path / "l.jsonl", '{"sample": "a", "label": 1}\n{"sample": "b", "label": 5}\n')
    found = calibrated([sample("a", 1), sample("b", None), sample("c", 3)], labels)
    assert (found.n, found.unscored) == (1, 1)


def test_flips_come_from_repeated_verdicts(tmp_path: Path) -> None:
    labels = labelled(tmp_path / "l.csv", "sample,label\na,1\nb,5\n")
    found = calibrated([sample("a", 1, verdicts=[1, 1]), sample("b", 4.5, verdicts=[5, 4])], labels)
    assert found.flip_rate.value == 0.5
    assert calibrated([sample("a", 1), sample("b", 5)], labels).flip_rate is None


def test_weighed_verdicts_flip_only_where_their_grades_differ(tmp_path: Path) -> None:
    labels = labelled(tmp_path / "l.csv", "sample,label\na,1\nb,5\n")
    weighed = sample("a", 3.9)
    verdicts = [{"model": "openai:m", "score": 3.9, "grade": 4}, {"model": "openai:m", "score": 3.91, "grade": 4}]
    weighed.scores[0].details["samples"] = verdicts
    assert calibrated([weighed, sample("b", 5)], labels).flip_rate.value == 0.0


def test_a_score_that_is_no_number_is_not_compared(tmp_path: Path) -> None:
    labels = labelled(tmp_path / "l.csv", "sample,label\na,1\nb,5\n")
    found = calibrated([sample("a", float("nan")), sample("b", 5)], labels)
    assert (found.n, found.unscored) == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sample,label\na,1\na,2\n", "line 3: a second, different label"),
        ("name,label\na,1\n", "line 2: no sample"),
        ("sample\na\n", "no label"),
        ("sample,epoch,label\na,x,1\n", "epoch 'x'"),
        ('[{"sample": "a", "label": [1]}]', "entry 1: a label is"),
        ('{"sample": "a", "label": 1}\n{"sample": "b", \n', "not JSON"),
        ("sample,label\n", "has no labels"),
        ("sample,label\na,nan\n", "line 2: the label nan is not a grade"),
        ("sample,label\na,-inf\n", "line 2: the label -inf is not a grade"),
        ("sample,label\na," + "x" * 200_000 + "\n", "line 2: not CSV"),
        ('{"sample": "a", "epoch": 1.5, "label": 1}', "epoch 1.5"),
    ],
)
def test_bad_labels_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        labelled(tmp_path / "labels", text)


def test_the_interval_of_an_accuracy_over_epochs_stays_a_share(tmp_path: Path) -> None:
    from msgspec.structs import replace

    labels = labelled(tmp_path / "l.csv", "sample,epoch,label\na,1,2\na,2,1\nb,1,3\n")
    samples = [replace(sample(name, 2), epoch=epoch) for name, epoch in (("a", 1), ("a", 2), ("b", 1))]
    found = calibrated(samples, labels)
    assert found.accuracy.method == "clustered t"
    assert 0 <= found.accuracy.low < found.accuracy.high <= 1


def test_a_line_separator_inside_a_row_of_json_does_not_end_it(tmp_path: Path) -> None:
    row = json.dumps({"sample": "a", "label": 1, "note": "one\u2028two\x85three"}, ensure_ascii=False)
    (tmp_path / "l.jsonl").write_text(f"{row}\n", "utf-8")
    assert read_labels(tmp_path / "l.jsonl", None).by_key == {("a", None, None): 1}


def test_labels_between_the_grades_are_ranked_but_not_counted_as_misses(tmp_path: Path) -> None:
    labels = labelled(tmp_path / "l.csv", "sample,label\na,0.8\nb,0.2\nc,1\n")
    scale = Scale(low=0, high=1)
    found = calibrated(
        [sample(name, value, scale=scale) for name, value in (("a", 0.8), ("b", 0.2), ("c", 1.0))], labels
    )
    assert found.auc.value == 1.0
    assert found.accuracy is None and found.kappa is None
    assert any("between the grades" in note for note in found.notes)


def test_a_column_for_each_metric_and_labels_outside_the_scale(tmp_path: Path) -> None:
    labels = labelled(tmp_path / "l.csv", "sample,Kindness,Other\na,9,1\nb,,2\n")
    ((_, observed),) = observe([sample("a", 1), sample("b", 2)], labels).items()
    assert observed.labels == [9.0]
    with pytest.raises(UsageError, match="outside the metric's scale"):
        calibrated([sample("a", 1)], labels)


def test_a_file_keeps_other_judges_and_replaces_the_same(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    labels = labelled(tmp_path / "l.csv", "sample,label\na,1\nb,5\n")
    first = calibrated([sample("a", 1), sample("b", 5)], labels)
    other = Judged(metric="Kindness", rubric_hash="h2", judge="openai:m")
    path.write_bytes(add_calibrations(path, [first], "1"))
    from msgspec.structs import replace

    path.write_bytes(add_calibrations(path, [replace(first, judged=other)], "1"))
    path.write_bytes(add_calibrations(path, [replace(first, n=99)], "1"))
    known = read_calibrations([path])
    assert sorted(each.n for each in known.calibrations) == [2, 99]
    assert known.of(first.judged).n == 99  # type: ignore[union-attr]
    path.write_text("{")
    with pytest.raises(UsageError, match="not a calibration file"):
        read_calibrations([path])


# What a gate makes of it

PROFILE = Profile(
    name="strict", version="1", scale=(1, 5), thresholds={"HelpfulnessExplain": 3}, require_calibrated=True
)
CASES = ROOT / "explain/cases.explain.jsonl"


def judged_run(out: Path) -> Path:
    table = JudgeTable(models=["openai:m"], rubrics=["HelpfulnessExplain"])
    ready = prepare(Plan(measure=MeasureTable(metrics=()), judge=table), Path())
    scripted = Scripted(lambda _: verdict(5))
    judging = bench(Settings(models=("openai:m",)), Access(), cache=out.with_suffix(".sqlite"), judge=scripted)
    evaluate_into([CASES], out, ready, "", judging=judging)
    return out


def test_an_uncalibrated_judge_warns_and_cannot_decide_where_calibration_is_required(tmp_path: Path) -> None:
    out = judged_run(tmp_path / "out")
    lax = Profile(name="lax", version="1", scale=(1, 5), thresholds={"HelpfulnessExplain": 3})
    decide_again(out, lax)
    assert gate_code(summarise(out).only_by({"lax"}), 0.0) == 0
    assert {each.metric for each in uncalibrated(out, Calibrations(), "lax")} == {"HelpfulnessExplain"}
    decide_again(out, PROFILE)
    assert gate_code(summarise(out).only_by({"strict"}), 1.0) == 3
    reasons = [reason for each in summarise(out).decisions if each.profile == "strict" for reason, _ in each.reasons]
    assert "HelpfulnessExplain comes from a judge that was not calibrated" in reasons


def test_a_calibration_of_the_same_rubric_and_judge_lets_the_gate_decide(tmp_path: Path) -> None:
    out = judged_run(tmp_path / "out")
    scores = [score for each in read(out).samples for score in each.scores if score.name == "HelpfulnessExplain"]
    assert scores
    rubric_hash = scores[0].details["rubric_hash"]
    labels = labelled(tmp_path / "l.csv", "sample,label\na,1\nb,5\n")
    measured = calibrated([sample("a", 1), sample("b", 5)], labels)
    from msgspec.structs import replace

    judged = Judged(metric="HelpfulnessExplain", rubric_hash=rubric_hash, judge="openai:m")
    good = replace(measured, judged=judged, calibrated=True)
    (out / "calibration.json").write_bytes(add_calibrations(out / "calibration.json", [good], "1"))
    decide_again(out, PROFILE, calibrations_for(out))
    # A case also requires an eval that nobody knows, which only a profile that says so ignores.
    assert gate_code(summarise(out).only_by({"strict"}), 1.0) == 3
    decide_again(out, replace(PROFILE, unscored="ignore"), calibrations_for(out))
    assert gate_code(summarise(out).only_by({"strict"}), 1.0) == 0
    assert uncalibrated(out, calibrations_for(out), "strict") == []
    # Another rubric text, or another model, is another judge.
    for other in (replace(judged, rubric_hash="0" * 64), replace(judged, judge="openai:n")):
        decide_again(out, PROFILE, Calibrations(calibrations=(replace(good, judged=other),)))
        assert gate_code(summarise(out).only_by({"strict"}), 1.0) == 3


# What the stored judge of the corpus can tell

BANDS = ("excellent", "good", "mixed", "poor")


@needs_corpus
def test_the_stored_scores_do_not_tell_poor_from_excellent(tmp_path: Path) -> None:
    folder = CORPUS / "public/explain/agentsleague"
    report = folder / "reports/eval-report-20260221-095419.json"
    dataset = read_labels(folder / "curator/learning-path-curator.explain.jsonl", "quality_band")
    # The dataset deals its bands out in turn; those of the other agents' files go by the same rule.
    rows = [{"sample": each.id, "label": BANDS[int(each.id[-3:]) % 4]} for each in read(report).samples]
    assert all(dataset.by_key.get((row["sample"], None, None), row["label"]) == row["label"] for row in rows)
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = {
        judged.metric: calibration(judged, each)
        for judged, each in observe(read(report).samples, read_labels(path, None)).items()
    }
    assert len(found) == 9
    for each in found.values():
        assert each.labels == "bands" and each.samples + each.unscored == 120
        last = each.pairs[-1]
        assert (last.worse, last.better) == ("poor", "excellent")
        assert not each.calibrated, each.judged


def test_the_rate_of_all_judged_is_corrected_by_what_labels_showed(tmp_path: Path) -> None:
    # 40 good and 40 bad samples with labels, of which the judge passes 36 and 8; 120 more that nobody labelled.
    good = [sample(f"g{number}", 5 if number < 36 else 1) for number in range(40)]
    bad = [sample(f"b{number}", 5 if number < 8 else 1) for number in range(40)]
    more = [sample(f"m{number}", 5 if number < 66 else 1) for number in range(120)]
    rows = "".join(f"{each.id},{'pass' if each.id[0] == 'g' else 'fail'}\n" for each in good + bad)
    found = calibrated([*good, *bad, *more], labelled(tmp_path / "l.csv", f"sample,label\n{rows}"), threshold=3)
    assert (found.sensitivity.value, found.specificity.value) == (0.9, 0.8)
    assert (found.counted_rate.value, found.counted_rate.n) == ((36 + 8 + 66) / 200, 200)
    assert found.corrected_rate.value == pytest.approx((0.55 + 0.8 - 1) / 0.7)
