"""Output contracts: what cannot be checked first, then what meets and what violates them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.errors import UsageError
from pantrace.metrics import by_name, parse_settings
from pantrace.model import Case, Sample, Score
from short_samples import agent, run, user

MODULE = {"title": "t", "url": "u", "skillFocus": "f"}
PATHS: dict[str, Any] = {
    "rationale": "r",
    "learningPaths": [{"title": "t", "url": "u", "estimatedHours": 3, "relevance": "high"}],
    "modules": [{**MODULE, "id": "m", "moduleUnitIds": ["a", "b"]}],
    "targets": [{"title": "t", "type": "exam", "url": "u"}],
}
PLAN: dict[str, Any] = {
    "rationale": "r",
    "planTitle": "p",
    "durationWeeks": 1,
    "weeklyHours": 5,
    "weeklyMilestones": [
        {
            "weekNumber": 1,
            "objective": "o",
            "sessions": [{"day": "Monday", "durationMinutes": 30, "tasks": ["t"], "urls": []}],
            "checkpoint": "c",
        }
    ],
    "briefMessageToUser": "b",
}
ENGAGEMENT: dict[str, Any] = {
    "rationale": "r",
    "recipientEmail": "a@example.org",
    "reminders": [{"scheduleTime": "2026-03-01T09:00:00+01:00", "subject": "s", "body": "b"}],
    "motivationMessages": [{"scheduleTime": "2026-03-01T09:00:00.5Z", "body": "b"}],
}
QUESTION: dict[str, Any] = {
    "questionId": "1",
    "prompt": "p",
    "options": [{"optionId": letter, "text": "t"} for letter in "ABCD"],
    "correctOptionId": "A",
    "explanation": "e",
}
QUESTIONS: dict[str, Any] = {"introMessage": "i", "questions": [QUESTION] * 10}


def answered(answer: Any, contract: str | None) -> Sample:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return run(user("q"), agent(text), case=Case(contract=contract))


def score(sample: Sample, **settings: Any) -> Score:
    check = by_name("output_contract")
    return check.score(sample, parse_settings(check, settings))


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (answered(PLAN, None), "the case names no output contract"),
        (answered(PLAN, "NobodysOutput"), "not checked: unknown contract NobodysOutput"),
        (answered(PLAN, "StudyPlanOutput@1999-01-01"), "not checked: unknown contract StudyPlanOutput@1999-01-01"),
        (run(user("q"), case=Case(contract="StudyPlanOutput")), "nothing of the agent was recorded"),
    ],
)
def test_what_cannot_be_checked_does_not_pass(sample: Sample, reason: str) -> None:
    found = score(sample)
    assert (found.status, found.value, found.explanation) == ("not_applicable", None, reason)


@pytest.mark.parametrize(
    ("contract", "answer"),
    [
        ("LearningPathCurationOutput", PATHS),
        ("StudyPlanOutput", PLAN),
        ("EngagementPlanOutput", ENGAGEMENT),
        ("EngagementPlanOutput", {**ENGAGEMENT, "briefMessageToUser": "b"}),
        ("AssessmentQuestionSetOutput", QUESTIONS),
    ],
)
def test_answers_that_meet_their_contract(contract: str, answer: dict[str, Any]) -> None:
    found = score(answered(answer, contract))
    assert (found.value, found.details["violations"]) == (True, [])
    assert found.details["version"] == "2026-02-25"


@pytest.mark.parametrize(
    ("contract", "answer", "path"),
    [
        ("LearningPathCurationOutput@2026-02-25", {**PATHS, "modules": [MODULE]}, "modules/0"),
        ("LearningPathCurationOutput", {**PATHS, "rationale": None}, "rationale"),
        ("StudyPlanOutput", {**PLAN, "durationWeeks": "1"}, "durationWeeks"),
        ("StudyPlanOutput", {key: value for key, value in PLAN.items() if key != "planTitle"}, ""),
        ("EngagementPlanOutput", {**ENGAGEMENT, "reminders": [{"scheduleTime": "2026-03-01"}]}, "reminders/0"),
        (
            "EngagementPlanOutput",
            {**ENGAGEMENT, "motivationMessages": [{"scheduleTime": "2026-03-01T09:00:00", "body": "b"}]},
            "motivationMessages/0/scheduleTime",
        ),
        ("AssessmentQuestionSetOutput", {**QUESTIONS, "questions": [QUESTION] * 9}, "questions"),
        (
            "AssessmentQuestionSetOutput",
            {**QUESTIONS, "questions": [QUESTION] * 9 + [{**QUESTION, "correctOptionId": "E"}]},
            "questions/9/correctOptionId",
        ),
        ("StudyPlanOutput", [PLAN], ""),
    ],
)
def test_violations_are_told_with_their_path(contract: str, answer: Any, path: str) -> None:
    found = score(answered(answer, contract))
    assert found.value is False
    assert path in [violation["path"] for violation in found.details["violations"]]


@pytest.mark.parametrize("answer", ["Here is your plan.", '{"a": 1', '{"a": NaN}', '{"a": "\\ud800"}', "  "])
def test_what_is_not_json_violates_every_contract(answer: str) -> None:
    found = score(answered(answer, "StudyPlanOutput"))
    assert (found.value, found.values["violation_count"], found.details["versions_met"]) == (False, 1, [])


def test_an_agent_that_said_nothing_violates_its_contract() -> None:
    found = score(run(user("q"), agent(), case=Case(contract="StudyPlanOutput")))
    assert found.value is False
    assert "the agent gave no answer" in (found.explanation or "")


def test_json_in_a_fence_passes_with_a_warning() -> None:
    fenced = score(answered(f"```json\n{json.dumps(PLAN)}\n```\n", "StudyPlanOutput"))
    assert (fenced.value, fenced.details["fenced"]) == (True, True)
    assert score(answered(PLAN, "StudyPlanOutput")).details["fenced"] is False
    talking = score(answered(f"Sure:\n```json\n{json.dumps(PLAN)}\n```", "StudyPlanOutput"))
    assert talking.value is False


def test_versions_can_be_named_and_the_others_are_told() -> None:
    older = {**PATHS, "modules": [MODULE]}
    found = score(answered(older, "LearningPathCurationOutput"))
    assert (found.value, found.details["version"]) == (True, "2026-02-21")
    assert found.details["versions_met"] == ["2026-02-21"]
    assert found.explanation == "meets LearningPathCurationOutput@2026-02-21"
    assert score(answered(PATHS, "LearningPathCurationOutput")).details["version"] == "2026-02-25"
    assert score(answered(older, "LearningPathCurationOutput@2026-02-25")).value is False
    neither = score(answered({**older, "rationale": 1}, "LearningPathCurationOutput"))
    assert (neither.value, neither.details["version"]) == (False, "2026-02-25")
    assert score(answered(older, "LearningPathCurationOutput@2026-02-21")).value is True
    assert score(answered(older, None), contract="LearningPathCurationOutput@2026-02-21").value is True


def test_only_the_first_violations_are_told_in_full() -> None:
    found = score(answered({**PATHS, "modules": [{}] * 30}, "LearningPathCurationOutput"))
    assert found.values["violation_count"] == 150
    assert len(found.details["violations"]) == 20


def test_own_contracts_from_a_folder_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "Verdict.json").write_text('{"type": "object", "required": ["verdict"]}')
    (tmp_path / "StudyPlanOutput@2027-01-01.json").write_text('{"const": 1}')
    for path in (tmp_path, tmp_path / "Verdict.json"):
        assert score(answered({"verdict": 1}, "Verdict"), contracts=str(path)).value is True
        assert score(answered({}, "Verdict"), contracts=str(path)).value is False
    newest = score(answered(1, "StudyPlanOutput"), contracts=str(tmp_path))
    assert (newest.value, newest.details["version"]) == (True, "2027-01-01")
    # One's own contract of a name takes the place of the shipped ones, which stay addressable by their dates.
    assert score(answered(PLAN, "StudyPlanOutput"), contracts=str(tmp_path)).value is False
    assert score(answered(PLAN, "StudyPlanOutput@2026-02-25"), contracts=str(tmp_path)).value is True


@pytest.mark.parametrize(
    "schema", ['{"type": "objekt"}', "{", '{"$ref": "https://example.org/other.json"}', '{"$ref": "file:///etc/hosts"}']
)
def test_a_broken_or_leaking_schema_is_refused(tmp_path: Path, schema: str) -> None:
    (tmp_path / "Bad.json").write_text(schema)
    with pytest.raises(UsageError, match=r"Bad\.json is not a JSON Schema"):
        score(answered({}, "Bad"), contracts=str(tmp_path))


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no contracts at"):
        score(answered({}, "Bad"), contracts=str(tmp_path / "none"))


@needs_corpus
@pytest.mark.corpus
def test_the_published_dataset_meets_its_contract_in_the_older_version() -> None:
    text = (CORPUS / "public/explain/agentsleague/curator/learning-path-curator.explain.jsonl").read_text("utf-8-sig")
    rows = [json.loads(line) for line in text.splitlines()]
    found = [score(answered(row["model_answer"], row["expected_contract"])) for row in rows]
    assert len(found) == 30
    assert all(each.value is True and each.details["version"] == "2026-02-21" for each in found)
    assert all(each.details["versions_met"] == ["2026-02-21"] for each in found)


@pytest.mark.parametrize(
    ("files", "name", "version"),
    [
        ({"V@9": ["nine"], "V@10": ["a"]}, "V", "10"),
        ({"V@1.9": ["nine"], "V@1.10": ["a"], "V": ["none"]}, "V", "1.10"),
        ({"StudyPlanOutput": ["a"]}, "StudyPlanOutput", None),
        ({"StudyPlanOutput@2025-01-01": ["a"]}, "StudyPlanOutput", "2025-01-01"),
        ({"StudyPlanOutput@2026-02-25": ["a"]}, "StudyPlanOutput", "2026-02-25"),
    ],
)
def test_a_bare_name_means_the_newest_and_ones_own_before_the_shipped(
    files: dict[str, list[str]], name: str, version: str | None, tmp_path: Path
) -> None:
    for file, required in files.items():
        (tmp_path / f"{file}.json").write_text(json.dumps({"required": required}))
    check = by_name("output_contract")
    settings = parse_settings(check, {"contract": name, "contracts": str(tmp_path)})
    score = check.score(run(user("q"), agent('{"a": 1}')), settings)
    assert (score.value, score.details["version"]) == (True, version)
