"""The page for a pull request; text of a recording is nothing but text in it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from pantrace.diagnosis import Opinion, Tally, as_markdown, diagnose_sample, diagnosis_of
from pantrace.model import Outcome, Sample
from short_samples import agent, did, run, user

HOSTILE = "| @team `rm -rf` <script>alert(1)</script>\n# heading\n![x](http://evil) [a](b) \x1b[31m \u202e </details>"


def page(sample: Sample, *opinions: Opinion) -> str:
    tally = Tally()
    tally.add(diagnose_sample(sample, source="a `b` $(x).json"))
    return as_markdown(replace(diagnosis_of(tally, 3), opinions=opinions))


def hostile() -> Sample:
    steps = (user("hi"), agent(*did(HOSTILE, None, error=HOSTILE)), agent("done"))
    made = run(*steps, outcome=Outcome(status="failed", reason=HOSTILE))
    return Sample(id=HOSTILE, trajectory=made.trajectory)


def test_hostile_text_stays_text() -> None:
    text = page(hostile(), Opinion(root_cause=HOSTILE, change=HOSTILE, where="other", model=HOSTILE))
    outside = re.sub(r"``+ .*? ``+|`[^`\n]*`", "", text)
    assert "<script" not in outside.replace("\\<script", "")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "@team" not in outside
    assert not re.search(r"^# heading", text, re.MULTILINE)
    assert not re.search(r"(?<!\\)!\[", outside)
    assert len(re.findall(r"(?<!\\)</details>", outside)) == 1
    # Every row of the table has as many cells as its head.
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


def test_the_answer_stands_first_and_the_judge_is_named() -> None:
    sample = run(user("hi"), agent(*did("grep", None, error="e")), agent("x"), outcome=Outcome(status="failed"))
    evidence = ({"sample": "s", "epoch": None, "step": 2},)
    text = page(
        sample, Opinion(root_cause="It guesses.", change="Say so.", where="prompt", evidence=evidence, model="m")
    )
    assert text.splitlines()[2] == "**1 of 1 sample failed: grep fails.**"
    assert "**Root cause** (by m): It guesses." in text
    assert "Evidence: s step 2" in text
    assert "treat this as a guess" in page(sample, Opinion(root_cause="a", change="b", model="m"))
    assert "no usable answer: the reply is empty" in page(sample, Opinion(problem="the reply is empty"))
