"""The pack stateless-handoff on the recorded sessions, against the stored report of the original Layer 1."""

from __future__ import annotations

import json
from pathlib import Path

from corpus import CORPUS, needs_corpus
from pantrace.engine.check import CheckReport, as_json, run_rules
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.rules import load_rules

DATABASE = CORPUS / "own/opencode/sqlite-1.18.33/opencode.db"

# docs/rules.md: the original could not fail C3-H1, because its list of searched places began with ".".
CAN_FAIL_NOW = {("ses_e1f8d0de7ffejko4CpLfIMjJE5", "C3-H1"), ("ses_e1f8c5323ffePCpIpaqeHBRaPv", "C3-H1")}


def verdicts(path: Path) -> dict[tuple[str, str], bool | None]:
    report = CheckReport(inputs=[str(path)], not_applicable_passes=True)
    samples = split_children(read_pile([path], notes=Notes()).samples)
    found = as_json(run_rules(samples, [load_rules("stateless-handoff")], [], report))
    return {
        (each["session_id"], rule["check_id"]): rule["passed"] for each in found["sessions"] for rule in each["checks"]
    }


@needs_corpus
def test_every_difference_from_the_original_report_is_the_documented_one() -> None:
    stored = json.loads((CORPUS / "own/opencode/reference-gsd-lite/l1_report.json").read_bytes())
    original = {
        (each["session_id"], rule["check_id"]): rule["passed"] for each in stored["sessions"] for rule in each["checks"]
    }
    ours = verdicts(DATABASE)
    assert ours.keys() == original.keys()
    assert {key for key in ours if ours[key] != original[key]} == CAN_FAIL_NOW


@needs_corpus
def test_a_converted_file_is_judged_like_its_source(tmp_path: Path) -> None:
    target = tmp_path / "sessions.json"
    convert(DATABASE, target, to="vertex-seed")
    assert verdicts(target) == verdicts(DATABASE)
