"""Seed document 1, OpenCode sessions for Vertex AI: its schema, its rules, and its authors' files and habits."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from any_sample import samples
from corpus import CORPUS, needs_corpus
from pantrace import convert, read, validate, write
from pantrace.engine.rubric_selection import select_rubrics
from pantrace.engine.select import parse_gap
from pantrace.engine.sessions import batches
from pantrace.errors import SampleRefused
from pantrace.formats import by_name
from pantrace.judges import Managed, Rubric, guidelines_from, managed_request, with_guidelines
from pantrace.model import Run, Sample, Step, Text, ToolCall, ToolResult, Trajectory, call_pairs, with_samples
from pantrace.wire.json import decode, encode
from pantrace.wire.tool_map import tool_names
from seeds.recordings import pantrace

SEED = by_name("vertex-seed")
GOLDEN = Path(__file__).parents[1] / "golden"
SHAPES = list(product((0, 1), (True, False)))


def _row(sample: Sample, base: int, final: bool) -> Any:
    assert SEED.dump is not None
    return SEED.dump(sample, SEED.options(turn_base=base, include_final=final))


def _errors(row: Any) -> list[str]:
    return [f"{each.place}: {each.message}" for each in validate(row, "vertex-seed") if each.level == "error"]


@pytest.mark.parametrize(("base", "final"), SHAPES)
def test_every_shape_that_we_write_passes_our_own_validation(base: int, final: bool) -> None:
    silent = Sample(
        id="s",
        trajectory=Trajectory(
            id="s",
            steps=(
                Step(role="user", parts=(Text(text="List it."),)),
                Step(role="agent", parts=(ToolCall(id="1", name="ls"), ToolResult(call_id="1", output="a"))),
            ),
        ),
    )
    row = _row(silent, base, final)
    assert _errors(row) == []
    assert SEED.load is not None
    read = SEED.load(row)
    assert read.trajectory is not None
    assert [step.role for step in read.trajectory.steps] == ["user", "agent"]
    assert [pair.call.name for pair in call_pairs(read.trajectory)] == ["ls"]


@given(samples())
def test_any_sample_in_any_shape_passes(sample: Sample) -> None:
    for base, final in SHAPES:
        try:
            row = _row(sample, base, final)
        except SampleRefused:
            return
        assert _errors(row) == []


@needs_corpus
@pytest.mark.parametrize(("base", "final"), SHAPES)
def test_the_real_store_in_every_shape_passes(base: int, final: bool, tmp_path: Path) -> None:
    options = {"turn_base": str(base), "include_final": str(final).lower()}
    out = tmp_path / "rows.json"
    convert(CORPUS / "own/opencode/sqlite-1.18.33/opencode.db", out, to="vertex-seed", options=options)
    assert [each for each in validate(out) if each.level == "error"] == []


def _run(path: Path) -> Run:
    run = read(path)
    return with_samples(run, list(run.samples))


def test_a_stored_result_of_the_service_is_scores_and_null_is_false() -> None:
    (sample,) = _run(GOLDEN / "vertex-result/jsonpickle.json").samples
    (score,) = sample.scores
    assert (score.name, score.value, score.status) == ("general_quality_v1", 0.6666667, "scored")
    assert [each["verdict"] for each in score.details["verdicts"]] == [True, False, True]
    assert [each["importance"] for each in score.details["verdicts"]] == ["HIGH", "MEDIUM", "HIGH"]
    small, large = _run(GOLDEN / "vertex-result/two_candidates.json").samples
    assert [small.id, large.id] == ["rake-price/small", "rake-price/large"]
    assert [score.status for score in large.scores] == ["scored", "unscored"]
    assert large.scores[1].explanation == "RESOURCE_EXHAUSTED"


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    harm = {"py/reduce": [{"py/function": "os.system"}, {"py/tuple": [f"touch {mark}"]}]}
    whole = {
        "py/object": "vertexai._genai.types.common.EvaluationResult",
        "py/state": {"__dict__": {"eval_case_results": [], "win_rates": harm}},
    }
    path = tmp_path / "result.json"
    path.write_bytes(encode(whole))
    assert list(_run(path).samples) == []
    assert not mark.exists()


@needs_corpus
def test_the_real_result_of_the_service() -> None:
    (path,) = (CORPUS / "public/vertex").glob("*.json")
    (sample,) = _run(path).samples
    (score,) = sample.scores
    assert score.value == pytest.approx(5 / 9, abs=1e-6)
    assert [each["verdict"] for each in score.details["verdicts"]].count(True) == 5
    assert len(score.details["verdicts"]) == 9
    assert {each["importance"] for each in score.details["verdicts"]} == {"HIGH", "MEDIUM"}
    assert sample.case is not None
    assert (sample.case.question or "").startswith("The API is timing out")


def _session(name: str, directory: str | None, created: float | None, lasted: float = 60) -> Sample:
    steps = (Step(role="user", parts=(Text(text="Hi."),), at=created),)
    if created is not None:
        call = (ToolCall(id="1", name="read"), ToolResult(call_id="1", error="no such file", failure="error"))
        steps += (Step(role="agent", parts=call, at=created, ended=created + lasted),)
    extra = {"opencode": {"info": {"directory": directory}}} if directory else {}
    return Sample(id=name, trajectory=Trajectory(id=name, created=created, steps=steps, extra=extra))


def _piled(tmp_path: Path, *sessions: Sample) -> Path:
    path = tmp_path / "sessions.trace.jsonl"
    write(Run(samples=sessions), path, to="native")
    return path


HOUR = 3600.0
NOON = 1_794_744_000.0  # 2026-11-15T12:00:00Z


def test_sessions_are_listed_by_directory_and_in_batches_between_pauses(tmp_path: Path) -> None:
    pile = _piled(
        tmp_path,
        _session("late", "/home/alex/shop", NOON + 5 * HOUR),
        _session("first", "/home/alex/shop", NOON + 0.5),
        _session("other", "/home/alex/blog", NOON),
        _session("long", "/home/alex/shop", NOON + 1 * HOUR, lasted=2.5 * HOUR),
        _session("timeless", "/home/alex/shop", None),
    )
    listed = pantrace("show", pile)
    assert listed.stdout.index("/home/alex/shop (4 samples)") < listed.stdout.index("/home/alex/blog (1 sample)")
    found = [
        (batch.directory, [sample.id for sample in batch.samples])
        for batch in batches(_run(pile).samples, parse_gap("2h"))
    ]
    # Three hours lie between two starts, but the session before had not ended: that is no pause.
    assert found == [
        ("/home/alex/shop", ["first", "long", "late"]),
        ("/home/alex/shop", ["timeless"]),
        ("/home/alex/blog", ["other"]),
    ]
    told = pantrace("show", pile, "--gap", "30m").stdout
    assert "batch 1: /home/alex/shop (1 sample)\n--since 2026-11-15T12:00:00Z --until 2026-11-15T12:00:01Z\n" in told
    chosen = [
        "--where",
        "directory=/home/alex/shop",
        "--since",
        "2026-11-15T12:00:00Z",
        "--until",
        "2026-11-15T12:00:01Z",
    ]
    out = tmp_path / "batch.json"
    done = pantrace("convert", pile, "--to", "vertex-seed", "-o", out, *chosen)
    assert done.returncode == 0, done.stderr
    assert [row["session_id"] for row in decode(out.read_bytes())] == ["first"]
    assert "2 samples have no time" not in done.stderr
    assert "1 samples have no time and are left out by --since and --until" in done.stderr


@pytest.mark.parametrize("gap", ["soon", "0h", "2", "-1h", "1y", "9999999h"])
def test_a_pause_that_is_none_is_refused(gap: str, tmp_path: Path) -> None:
    found = pantrace("show", _piled(tmp_path, _session("a", None, NOON)), "--gap", gap)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert f"--gap {gap!r} is not a length of time; try 30m, 2h or 1d" in found.stderr


def test_a_directory_that_no_session_has_is_told(tmp_path: Path) -> None:
    found = pantrace(
        "show", _piled(tmp_path, _session("a", "/home/alex/shop", NOON)), "--where", "directory=/home/alex"
    )
    assert "(directory is /home/alex/shop)" in found.stderr


def test_tools_that_the_map_does_not_know_are_listed(tmp_path: Path) -> None:
    config = tmp_path / "eval_config.yaml"
    config.write_text(CONFIG)
    pile = _piled(tmp_path, _session("a", None, NOON), _session("b", None, NOON))
    found = pantrace("show", pile, "--tools", "--tool-map", config, "--json")
    assert decode(found.stdout.encode()) == [
        {"tool": "read", "calls": 2, "failed": 2, "samples": 2, "logical": None},
    ]
    assert "1 of 1 tools are not in the map: read" in pantrace("show", pile, "--tools", "--tool-map", config).stderr
    config.write_text(CONFIG.replace("fs_read_files", "read"))
    assert "0 of 1 tools are not in the map" in pantrace("show", pile, "--tools", "--tool-map", config).stderr
    assert pantrace("show", pile, "--tools", "--tool-map", tmp_path / "no.yaml").returncode == 2


CONFIG = """\
# What each tool is called, whoever serves it
tool_mappings:
  # files
  fs.read:
    - "fs_read_files"
    - 'home_read_files'   # the same elsewhere
  default.bash: [bash]

rubric: rubrics/pair-programming.yaml
models:
  judge: gemini-2.5-flash
paths:
  database: ~/.local/share/opencode/opencode.db
"""


def test_the_configuration_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "eval_config.yaml"
    path.write_text(CONFIG)
    assert tool_names(str(path)) == {"fs_read_files": "fs.read", "home_read_files": "fs.read", "bash": "default.bash"}


@needs_corpus
def test_sub_agents_are_in_or_out(tmp_path: Path) -> None:
    store = CORPUS / "own/opencode/sqlite-1.18.33/opencode.db"
    counts = []
    for more in ([], ["--no-sub-agents"]):
        out = tmp_path / "rows.json"
        assert pantrace("convert", store, "--to", "vertex-seed", "-o", out, *more).returncode == 0
        counts.append(len(decode(out.read_bytes())))
    assert counts == [16, 14]
    assert "\n16 samples; " in pantrace("show", store, "--sub-agents").stdout
    assert "/home/alex/projects/sample/ws (14 samples)" in pantrace("show", store).stdout


RUBRIC = """\
metadata:
  pillar: "Pair work"
  pillar_id: "P2"
  description: |
    The agent thinks with the person,
    and does not run ahead.
criteria:
  - id: P2-H1
    name: "Why before how"
    weight: 1.0
    description: |
      The agent asks why before it acts, {even if} it knows how.
    evaluation_steps:
      - "Find the first action."
      - "Was a question asked before it?"
    scoring:
      - score: 0
        label: "Violation"
        criteria: |
          It acted
          first.
      - score: 1
        label: "Pass"
        criteria: It asked first, or did not act.
    violation_examples:
      - input: "Add a logout button"
        response: "Done."
        reason: "Nobody asked why"
    compliance_examples:
      - response: "Before I add it: what is it for?"
  - id: 2
    scoring:
      - {score: 1, label: bad}
      - {score: 2, label: good}
"""


def test_a_rubric_file_is_a_rubric_for_each_criterion(tmp_path: Path) -> None:
    path = tmp_path / "pair-programming.yaml"
    path.write_text(RUBRIC)
    first, second = select_rubrics([str(path)]).rubrics
    assert isinstance(first, Rubric)
    assert (first.name, first.title) == ("P2-H1", "Why before how")
    assert first.grades == {"0": "Violation: It acted first.", "1": "Pass: It asked first, or did not act."}
    assert second.name == "2"
    assert select_rubrics([f"{path}:P2-H1"]).rubrics == (first,)
    pile = _piled(tmp_path, _session("a", None, NOON))
    shown = pantrace("judge", pile, "--rubric", f"{path}:P2-H1", "--dry-run").stdout
    for words in (
        "asks why before it acts, {even if} it knows how.",
        "1. Find the first action.",
        "- asked: Add a logout button | answered: Done. (Nobody asked why)",
        "- answered: Before I add it: what is it for?",
        "- 0: Violation: It acted first.",
        "calls read",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("score: 0\n", "score: 0.5\n"), "P2-H1: the score 0.5 is not a whole number"),
        (("criteria:\n  - id: P2-H1", "checks:\n  - id: P2-H1"), "it has no list `criteria`"),
        (("id: 2", "id: P2-H1"), "two criteria have the id 'P2-H1'"),
        (('name: "Why before how"', "name: [x]"), "criteria[0].name"),
        (("    scoring:\n      - {score: 1", "    grades:\n      - {score: 1"), "scoring"),
        (("metadata:", "metadata: [\n"), "not valid YAML"),
    ],
)
def test_a_broken_rubric_file_is_one_sentence(change: tuple[str, str], why: str, tmp_path: Path) -> None:
    assert change[0] in RUBRIC
    path = tmp_path / "broken.yaml"
    path.write_text(RUBRIC.replace(*change, 1))
    found = pantrace("rubrics", path)
    assert (found.returncode, found.stderr.count("\n"), found.stdout) == (2, 1, "")
    assert str(path) in found.stderr
    assert why in found.stderr


@needs_corpus
def test_the_authors_rubric_file_is_read() -> None:
    path = CORPUS / "public/opencode/gsd-lite/pair-programming.rubric.yaml"
    rubrics = select_rubrics([str(path)]).rubrics
    assert [rubric.name for rubric in rubrics] == ["P2-H1", "P2-H2", "P2-H3", "P2-H4", "P2-H5"]
    assert all(isinstance(rubric, Rubric) and list(rubric.grades) == ["0", "1"] for rubric in rubrics)


@pytest.mark.parametrize("kind", ["words", "text file", "criteria"])
def test_guidelines_reach_the_metric_of_the_service(kind: str, tmp_path: Path) -> None:
    path = tmp_path / ("g.md" if kind == "text file" else "g.yaml")
    path.write_text("Ask why before how.\n" if kind == "text file" else RUBRIC)
    given = "Ask why before how." if kind == "words" else str(path)
    asked = select_rubrics(["vertex:general_quality_v1", "HelpfulnessExplain"]).rubrics
    managed, ours = with_guidelines(asked, guidelines_from(given))
    assert isinstance(managed, Managed)
    assert ours == asked[1]
    request = managed_request(managed, {"prompt": "Hi."})
    if kind == "criteria":
        assert request.system.startswith("# Pair work (P2)\n\nThe agent thinks with the person,")
        assert "## P2-H1 Why before how" in request.system
        assert "[0] Violation: It acted first." in request.system
    else:
        assert request.system == "Ask why before how."


@pytest.mark.parametrize(
    ("rubric", "guidelines", "why"),
    [
        ("vertex:safety_v1", "Be kind.", "no rubric here takes guidelines"),
        ("HelpfulnessExplain", "Be kind.", "no rubric here takes guidelines"),
        ("vertex:general_quality_v1", "no-such.md", "no-such.md: cannot be read"),
        ("vertex:general_quality_v1", " ", "the text is empty"),
    ],
)
def test_guidelines_that_nobody_would_read_are_refused(rubric: str, guidelines: str, why: str, tmp_path: Path) -> None:
    pile = _piled(tmp_path, _session("a", None, NOON))
    found = pantrace("judge", pile, "--rubric", rubric, "--guidelines", guidelines, "--dry-run")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert why in found.stderr
