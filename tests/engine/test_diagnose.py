"""Diagnosis of files, piles and run directories, with and without a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pantrace
from corpus import CORPUS, needs_corpus
from pantrace.diagnosis import Diagnosis
from pantrace.engine.convert import write_run
from pantrace.engine.diagnose import diagnose_pile
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.judge import Access, Bench, bench
from pantrace.engine.plan import CheckTable, Plan, prepare
from pantrace.engine.read import Notes
from pantrace.engine.select import Selection
from pantrace.engine.where import parse_where
from pantrace.errors import ReadError, UnknownFormat
from pantrace.judges import Settings
from pantrace.library.diagnose import diagnose_with
from pantrace.model import Case, ExpectedCall, Outcome, Run, Sample
from pantrace.store import RunDirectory
from scripted import Scripted
from short_samples import agent, call, did, result, run, user

FAILED = Outcome(status="failed")


def pile(path: Path, *samples: Sample) -> Path:
    write_run(Run(samples=samples), path, to="native", measure=False)
    return path


def failing(name: str, secret: str = "") -> Sample:
    made = run(user("hi " + secret), agent(*did("grep", None, error=f"no match {name}")), agent("x"), outcome=FAILED)
    return msgspec.structs.replace(made, id=name)


def causes(found: Diagnosis) -> dict[str, int]:
    return {f"{each.cause} {each.subject}".strip(): each.samples for each in found.groups}


def test_a_file_of_python(tmp_path: Path) -> None:
    path = pile(tmp_path / "a.trace.jsonl", failing("a"), failing("b"))
    found = pantrace.diagnose(path)
    assert causes(found) == {"tool_error grep": 2}
    assert found.groups[0].examples[0].source == str(path)


def test_a_torn_file_keeps_what_is_whole(tmp_path: Path) -> None:
    path = pile(tmp_path / "a.trace.jsonl", failing("a"), failing("b"))
    path.write_bytes(path.read_bytes()[:-40])
    notes = Notes.keeping()
    assert diagnose_pile([path], notes).failed == 1
    assert len(notes.broken) == 1
    assert len(pantrace.diagnose(path).broken) == 1


def test_nothing_to_read_is_an_error_and_not_an_empty_diagnosis(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnknownFormat):
        pantrace.diagnose(tmp_path / "empty")
    (tmp_path / "torn.trace.jsonl").write_text('{"pantrace": "1", "run": {}}\n{"id": "a", "traj')
    with pytest.raises(ReadError):
        diagnose_pile([tmp_path / "torn.trace.jsonl"], Notes.keeping())


RULES = """
name = "house"
version = "1"
[[rule]]
id = "ANSWERS"
name = "says bye"
expect = { in = "final_response", matches = "bye" }
"""


def evaluated(folder: Path, *samples: Sample) -> Path:
    pytest.importorskip("pyarrow")
    pile(folder / "in.trace.jsonl", *samples)
    (folder / "rules.toml").write_text(RULES)
    plan = Plan(check=CheckTable(rules=["rules.toml"]))
    evaluate_into([folder / "in.trace.jsonl"], folder / "out", prepare(plan, folder), "")
    return folder / "out"


def test_a_run_directory_tells_which_rules_were_broken(tmp_path: Path) -> None:
    polite = msgspec.structs.replace(run(user("hi"), agent("bye")), id="polite")
    rude = msgspec.structs.replace(run(user("hi"), agent("what?")), id="rude")
    found = pantrace.diagnose(evaluated(tmp_path, polite, rude))
    assert causes(found) == {"rule ANSWERS": 1}
    assert found.groups[0].examples[0].sample == "rude"


def test_a_run_that_did_not_end_is_told(tmp_path: Path) -> None:
    folder = evaluated(tmp_path, failing("a"))
    notes = Notes()
    diagnose_pile([folder], notes)
    assert notes.unfinished == []
    with RunDirectory.open(folder, writing=True) as directory:
        directory.finish(msgspec.structs.replace(directory.header, status=None))
    assert diagnose_pile([folder], notes).failed == 1
    [told] = notes.unfinished
    assert told.startswith(f"{folder}: this evaluation was interrupted (1 sample so far)")


def test_a_damaged_run_directory_is_refused(tmp_path: Path) -> None:
    folder = evaluated(tmp_path, failing("a"))
    for part in (folder / "parts").glob("*samples*"):
        part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(ReadError, match="damaged"):
        diagnose_pile([folder], Notes.keeping())


def test_only_the_wanted_samples(tmp_path: Path) -> None:
    path = pile(tmp_path / "a.trace.jsonl", *[failing(name) for name in "abcd"])
    assert pantrace.diagnose(path, selection=Selection(limit=3)).samples == 3
    assert pantrace.diagnose(path, selection=Selection(where=(parse_where("id=c"),))).samples == 1


def test_a_reference_from_another_file(tmp_path: Path) -> None:
    made = run(user("hi"), agent(call("book", n=2), result("book")), agent("ok"))
    runs = pile(tmp_path / "runs.trace.jsonl", msgspec.structs.replace(made, id="one"))
    expected = (ExpectedCall(name="book", arguments={"n": 1}),)
    golden = [Sample(id=name, case=Case(id=name, expected_calls=expected)) for name in ("one", "two")]
    found = pantrace.diagnose(runs, reference=pile(tmp_path / "golden.trace.jsonl", *golden))
    assert causes(found) == {"wrong_call book": 1}
    assert (found.failed_by, found.not_run) == ({"reference": 1}, 1)


def judging(judge: Scripted, **access: Any) -> Bench:
    return bench(Settings(models=("openai:m",)), Access(first_wait=0.0, attempts=2, **access), judge=judge)


EVIDENCE = [{"example": 1, "step": 2}]
ANSWER = json.dumps({"root_cause": "It is blind.", "evidence": EVIDENCE, "where": "prompt", "change": "Look."})


def test_one_question_for_each_group(tmp_path: Path) -> None:
    blind = msgspec.structs.replace(run(user("q"), agent("no"), outcome=FAILED), id="blind")
    path = pile(tmp_path / "a.trace.jsonl", failing("a", "password: hunter22"), failing("b"), blind)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/agent.py").write_text("key = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH'\ngrep = 1\n")
    judge = Scripted(lambda _: ANSWER)
    found = diagnose_with([path], judging(judge), source=tmp_path / "src")
    assert len(judge.requests) == 2
    assert [each.root_cause for each in found.opinions] == ["It is blind."] * 2
    assert found.opinions[0].evidence == ({"sample": "a", "epoch": None, "step": 2},)
    sent = judge.requests[0].prompt
    assert "hunter22" not in sent
    assert "sk-proj-abcdef" not in sent
    assert "grep = 1" in sent
    assert "no match a" in sent


def test_a_judge_that_answers_nonsense_leaves_the_diagnosis_as_it_is(tmp_path: Path) -> None:
    path = pile(tmp_path / "a.trace.jsonl", failing("a"))
    found = diagnose_with([path], judging(Scripted(lambda _: "¯\\_(ツ)_/¯")))
    assert causes(found) == {"tool_error grep": 1}
    assert found.opinions[0].problem == "the reply has no JSON object with a root_cause"


@needs_corpus
def test_tau_bench() -> None:
    """Read by hand: each of these is what the conversation shows."""
    found = pantrace.diagnose(CORPUS / "public/tau_bench")
    assert (found.samples, found.failed, found.passed) == (200, 116, 84)
    assert sum(each.samples for each in found.groups) == 116
    chosen = {(each.diagnosed.sample, each.diagnosed.epoch): each.main for each in found.failures}
    for sample, epoch, cause, tool, step in (
        ("0", 1, "wrong_call", "book_reservation", 29),
        ("1", 1, "missing_call", "cancel_reservation", 11),
        ("2", 1, "missing_call", "update_reservation_flights", 23),
        ("3", 1, "wrong_call", "update_reservation_flights", 59),
        ("4", 1, "wrong_call", "update_reservation_flights", 17),
        ("13", 1, "extra_call", "update_reservation_flights", 55),
        ("15", 1, "extra_call", "cancel_reservation", 27),
        ("16", 1, "missing_call", "send_certificate", 13),
        ("33", 1, "limit", "", 62),
        ("37", 1, "extra_call", "send_certificate", 17),
        ("8", 2, "tool_error", "book_reservation", 31),
        ("31", 2, "wrong_call", "cancel_reservation", 23),
        ("9", 3, "tool_error", "book_reservation", 45),
    ):
        main = chosen[sample, epoch]
        assert (main.cause, main.subject, main.place and main.place.step) == (cause, tool, step), (sample, epoch)


@needs_corpus
def test_opencode_store() -> None:
    found = pantrace.diagnose(CORPUS / "own/opencode/sqlite-1.18.33")
    mains = {
        each.diagnosed.sample: (each.main.cause, each.main.place and each.main.place.step) for each in found.failures
    }
    assert mains == {
        "ses_e1f8cd331ffePFoov4lUpGikM2": ("run_error", 2),
        "ses_e1f8ca303ffe9orHI1RSMkzcZ6": ("no_answer", 3),
        "ses_e1f8abc8fffedC17WXYtpuTs75": ("limit", 2),
    }
    seen = {(each.cause, each.subject): each.samples for each in found.seen_in_unjudged}
    assert seen["cancelled", ""] == seen["unknown_tool", "webfetch"] == seen["tool_error", "bash"] == 1


@needs_corpus
def test_gui_directories() -> None:
    found = pantrace.diagnose(CORPUS / "own/openadapt/waa_results", CORPUS / "own/openadapt/evals_run")
    mains = {}
    for each in found.failures:
        mains.setdefault(each.diagnosed.sample, each.main.cause)
    # What openadapt-evals calls server_error, loop_detected and unknown_failure; `c` is its timeout, by 15 steps that
    # the row only counts.
    assert mains == {
        "fail-1": "gave_up",
        "err-1": "limit",
        "partial-1": "claimed_done",
        "a": "unknown",
        "b": "partly_done",
        "c": "unknown",
        "d": "run_error",
        "ep_loop": "loop",
        "notepad-3": "run_error",
        "notepad/2": "partly_done",
    }


@needs_corpus
def test_adk_set() -> None:
    found = pantrace.diagnose(CORPUS / "own/adk/garden_shop_shop_set_1794767056.7237554.evalset_result.json")
    mains = {each.diagnosed.sample: (each.main.cause, each.main.subject) for each in found.failures}
    assert mains == {
        "blocked": ("blocked", ""),
        "essay_truncated": ("limit", ""),
        "wrong_tools": ("extra_call", "check_stock"),
    }
    assert found.passed == 4
