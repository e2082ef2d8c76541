"""Metric-definition files: every field of them, the row that they look into, and what is wrong with a wrong one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples
from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.evaluate import evaluate_into
from pantrace.engine.judge import Access, bench, judge_all, plan_questions
from pantrace.engine.plan import JudgeTable, MeasureTable, Plan, prepare
from pantrace.engine.read import read
from pantrace.engine.rubric_selection import adk_row, row_once, select_rubrics
from pantrace.errors import UsageError
from pantrace.formats import by_name
from pantrace.judges import Absent, Defined, LayerOneMetric, Managed, Settings, gather, load_definitions, prompt_for
from pantrace.judges.columns import value_at
from pantrace.judges.placeholders import as_jinja, fill_in, names_in
from pantrace.metrics import names as check_names
from pantrace.model import Sample
from pantrace.store import query
from scripted import Scripted, sample_of, verdict
from thorough import quick

EXAMPLES = ROOT.parent.parent / "examples"
WORKSHOP = CORPUS / "public/adk/workshop"
FIVE = {"min": 0, "max": 5}
PROMPT = {"prompt": {"source_column": "user_inputs"}}


def written(folder: Path, entry: Any = None, *, name: str = "m", **document: Any) -> Path:
    """A definition file with one metric, or as given."""
    path = folder / "defs.json"
    path.write_text(json.dumps({"metrics": {name: entry}, **document}))
    return path


def custom(**fields: Any) -> dict[str, Any]:
    return {"metric_type": "llm", "score_range": FIVE, "template": "Is this right? {prompt}", **fields}


def defined(folder: Path, entry: dict[str, Any], **document: Any) -> Defined:
    (found,) = load_definitions(written(folder, entry, **document), check_names())
    assert isinstance(found, Defined)
    return found


def prompted(sample: Sample, rubric: Defined) -> str:
    material = gather(sample, rubric, row_once([rubric]))
    assert not isinstance(material, Absent), material.reason
    return prompt_for(rubric, material).text


def shown(folder: Path, mapping: dict[str, Any], row: dict[str, Any], template: str = "See {x}") -> str:
    """What stands behind the bars of a prompt for a row."""
    rubric = defined(folder, custom(template=template, dataset_mapping=mapping))
    loaded = by_name("adk-jsonl").load
    assert loaded is not None
    lines = prompted(loaded({**ROW, **row}), rubric).splitlines()
    return "\n".join(line.removeprefix("| ") for line in lines if line.startswith("|"))


ROW = {
    "question_id": "q1",
    "app_name": "shop",
    "user_inputs": ["Hello", "Refund me"],
    "extracted_data": {},
    "request": {"contents": [{"role": "user", "parts": [{"text": "Refund me"}]}]},
    "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}}]},
    "final_response": "Done.",
}


BOTH = "Refund me; Done."
VALUES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"source_column": "final_response"}, {}, "Done."),
    ({"source_column": "user_inputs", "transform": "last_item"}, {}, "Refund me"),
    ({"source_column": "house_rules"}, {"house_rules": ["be kind", {"b": 2}, 3]}, 'be kind\n{"b":2}\n3'),
    ({"source_column": "house_rules"}, {"house_rules": {"a": [1]}}, '{"a":[1]}'),
    ({"source_column": "house_rules"}, {"house_rules": []}, "(none)"),
    ({"source_column": "house_rules"}, {"house_rules": False}, "false"),
    ({"source_column": "house_rules:a.b"}, {"house_rules": '{"a": {"b": "in a text"}}'}, "in a text"),
    ({"source_column": "house_rules.a.b"}, {"house_rules": {"a": {"b": 7}}}, "7"),
    ({"source_column": "house:a.b"}, {"house": {"a.b": "a key with a dot"}}, "a key with a dot"),
    ({"source_column": "final_response:pick.name"}, {"final_response": {"pick": {"name": "Elm"}}}, "Elm"),
    ({"source_column": "extracted_data:weather"}, {"extracted_data": {"weather": "dry"}}, "dry"),
    ({"source_column": "weather"}, {"extracted_data": {"weather": "dry"}}, "dry"),
    ({"source_column": "weather:now"}, {"extracted_data": {"weather": {"now": "dry"}}}, "dry"),
    ({"source_column": "fact"}, {"extracted_data": {"fact": "mine"}, "reference_data": {"fact": "theirs"}}, "mine"),
    ({"source_column": "fact"}, {"reference_data": {"fact": "theirs"}}, "theirs"),
    ({"source_column": "reference_data:fact"}, {"reference_data": {"fact": "theirs"}}, "theirs"),
    ({"source_column": "final_response"}, {"extracted_data": {"final_response": "a variable"}}, "Done."),
    ({"source_column": "adk_score.safety_v1"}, {"adk_score.safety_v1": 0.5}, "0.5"),
    ({"source_column": "nowhere", "default": "nothing known"}, {}, "nothing known"),
    ({"source_column": "nowhere", "default": ["a", "b"]}, {}, "a\nb"),
    ({"template": "{user_inputs}; {final_response}", "source_columns": ["user_inputs", "final_response"]}, {}, BOTH),
    (
        {
            "template": 'at {house_a.b} {house:a.c} {house_a_d} {{"x": 1}}',
            "source_columns": ["house:a.b", "house:a.c", "house:a.d"],
        },
        {"house": {"a": {"b": "B", "c": ["C", "D"]}}},
        'at B C\nD (not given) {"x": 1}',
    ),
    ({"template": "{nowhere}", "source_columns": ["nowhere"], "default": "none at all"}, {}, "none at all"),
]


@pytest.mark.parametrize(("mapping", "row", "expected"), VALUES, ids=range(len(VALUES)))
def test_a_mapping_finds_its_value(mapping: dict[str, Any], row: dict[str, Any], expected: str, tmp_path: Path) -> None:
    assert shown(tmp_path, {"x": mapping}, row) == expected


def test_a_context_that_is_a_list_stays_one(tmp_path: Path) -> None:
    mapping = {"context": {"source_column": "notes"}}
    assert shown(tmp_path, mapping, {"notes": ["a", "b"]}, "See {context}") == '["a","b"]'


def test_the_conversation_is_whole_whoever_wrote_the_row(tmp_path: Path) -> None:
    row = {
        "request": {"contents": [{"role": role, "parts": [{"text": role}]} for role in ("user", "model", "user")]},
        "extracted_data": {"conversation_history": []},
    }
    mapping = {"x": {"source_column": "extracted_data:conversation_history"}}
    lines = shown(tmp_path, mapping, row).splitlines()
    assert [json.loads(line)["role"] for line in lines] == ["user", "model", "user"]
    assert shown(tmp_path, {}, row, "{history}").splitlines() == lines


def test_what_a_row_declares_is_kept_and_a_placeholder_is_not(tmp_path: Path) -> None:
    said = [{"function_declarations": [{"name": "water", "description": "Waters a plant."}]}]
    mapping = {"x": {"source_column": "extracted_data:tool_declarations"}}
    assert "Waters a plant." in shown(tmp_path, mapping, {"extracted_data": {"tool_declarations": said}})
    said = [{"function_declarations": [{"name": "water", "description": "Tool: water"}]}]
    assert shown(tmp_path, mapping, {"extracted_data": {"tool_declarations": said}}) == "(none)"
    mapping = {"x": {"source_column": "extracted_data:system_instruction"}}
    assert shown(tmp_path, mapping, {"extracted_data": {"system_instruction": "Be brief."}}) == "Be brief."


def test_absent_inputs_are_told_and_none_at_all_does_not_apply(tmp_path: Path) -> None:
    mapping = {"a": {"source_column": "nowhere"}, "b": {"source_column": "final_response"}}
    rubric = defined(tmp_path, custom(template="A: {a}\nB: {b}", dataset_mapping=mapping))
    text = prompted(sample_of(), rubric)
    assert "A:\n(not given)\nB:\n<<<" in text
    assert gather(sample_of(answer=None), rubric, row_once([rubric])) == Absent(
        "its row has none of the inputs (nowhere, final_response)"
    )
    assert gather(Sample(id="s"), rubric, row_once([rubric])) == Absent("it has not been run: there is no trajectory")


def test_prompt_and_response_need_no_mapping(tmp_path: Path) -> None:
    text = prompted(sample_of(), defined(tmp_path, custom(template="{prompt} then {response}")))
    assert "| How many are left?" in text
    assert "| Three are left." in text


@pytest.mark.parametrize(
    ("agents", "applies"),
    [(None, True), (["data_explorer_agent"], True), (["counter"], True), (["other", "counter"], True), (["x"], False)],
)
def test_agents_choose_the_samples(agents: list[str] | None, applies: bool, tmp_path: Path) -> None:
    rubric = defined(tmp_path, custom(agents=agents))
    found = gather(sample_of(), rubric, row_once([rubric]))
    if applies:
        assert not isinstance(found, Absent)
    else:
        assert found == Absent("it is a run of counter, and the metric is for x")


RANGES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"min": 0, "max": 1}, {"0": "", "1": ""}),
    ({"min": 1.0, "max": 3}, {"1": "", "2": "", "3": ""}),
    ({"min": 0, "max": 2, "description": "0=bad, or worse; 2: good"}, {"0": "bad, or worse", "1": "", "2": "good"}),
    ({"min": -1, "max": 1, "description": "-1=harm, 1=help"}, {"-1": "harm", "0": "", "1": "help"}),
]


@pytest.mark.parametrize(("score_range", "grades"), RANGES, ids=range(len(RANGES)))
def test_a_range_becomes_grades(score_range: dict[str, Any], grades: dict[str, str], tmp_path: Path) -> None:
    rubric = defined(tmp_path, custom(score_range=score_range))
    assert rubric.grades == grades
    assert (rubric.scale.low, rubric.scale.high) == (score_range["min"], score_range["max"])


def test_words_about_the_range_and_guidelines_reach_the_judge(tmp_path: Path) -> None:
    described = {**FIVE, "description": "share {of} rubrics"}
    entry = custom(score_range=described, natural_language_guidelines="Forgive {typos}.")
    text = prompted(sample_of(), defined(tmp_path, entry))
    assert "The grades: share {of} rubrics" in text
    assert "Forgive {typos}." in text


TEMPLATES = [
    ("plain {a}", "plain 1"),
    ('{{"score": {a}}}', '{"score": 1}'),
    ('{"score": 5, "of": {"x": {}}} {a}', '{"score": 5, "of": {"x": {}}} 1'),
    ("{a} } {", "1 } {"),
    ('{"y": 1} and {{a}} but {a}', '{"y": 1} and {{a}} but 1'),
    ("{% if x %} {# no #} ${a}", "{% if x %} {# no #} $1"),
]


@pytest.mark.parametrize(("template", "expected"), TEMPLATES, ids=range(len(TEMPLATES)))
def test_braces_that_are_only_braces_stay(template: str, expected: str, tmp_path: Path) -> None:
    assert names_in(template) == ["a"]
    assert fill_in(template, lambda _: "1") == expected
    rubric = defined(tmp_path, custom(template=template, dataset_mapping={"a": {"source_column": "user_inputs"}}))
    rendered = prompted(sample_of(question="1"), rubric).split("\n\n", 1)[1]
    fence = rendered[rendered.index("<<<") : rendered.index(">>>\n| 1") + 7]
    word = fence[3:15]
    flat = rendered.replace(f"{fence}\n<<<end {word}>>>", "1")
    assert "".join(flat.split()).startswith("".join(expected.split()))


def test_each_input_has_lines_of_its_own() -> None:
    assert as_jinja("a {x} b {y}.") == "a\n{{ x }}\nb\n{{ y }}\n."


def test_the_hash_covers_the_mapping_and_the_agents(tmp_path: Path) -> None:
    entries = [
        custom(dataset_mapping=PROMPT),
        custom(dataset_mapping={"prompt": {"source_column": "final_response"}}),
        custom(dataset_mapping={"prompt": {"source_column": "user_inputs", "transform": "last_item"}}),
        custom(dataset_mapping={"prompt": {"source_column": "user_inputs", "default": "x"}}),
        custom(dataset_mapping=PROMPT, agents=["a"]),
    ]
    assert len({defined(tmp_path, entry).hash for entry in entries}) == len(entries)
    assert defined(tmp_path, entries[0]).hash == defined(tmp_path, dict(reversed(entries[0].items()))).hash


def test_prefix_notes_and_kinds(tmp_path: Path) -> None:
    document = {
        "_version": 3,
        "metric_prefix": "cs",
        "metrics": {
            "_comment_1": {"template": "not a metric"},
            "_documentation": {"overview": "x"},
            "said": "not an object",
            "tone": {**custom(), "_implementation_note": "x"},
            "quality": {"is_managed": True, "managed_metric_name": "GENERAL_QUALITY", "agents": ["a"]},
            "token_usage": {"metric_type": "deterministic"},
            "trajectory_accuracy": custom(),
        },
    }
    path = tmp_path / "defs.json"
    path.write_text(json.dumps(document))
    found = load_definitions(path, check_names())
    assert [(type(each), each.name) for each in found] == [
        (Defined, "cs_tone"),
        (Managed, "cs_quality"),
        (LayerOneMetric, "token_usage"),
        (Defined, "cs_trajectory_accuracy"),
    ]
    assert found[1] == Managed(name="cs_quality", metric="general_quality_v1", agents=("a",))
    for name in ("tone", "cs_tone"):
        assert load_definitions(path, check_names(), name) == found[:1]
    path.write_text(json.dumps({**document, "metric_prefix": None}))
    # A judge's score never has the name of a check's.
    assert load_definitions(path, check_names(), "trajectory_accuracy")[0].name == "trajectory_accuracy_judge"


WRONG: list[tuple[Any, str]] = [
    (custom(tempalte="x"), "metric m: unknown key 'tempalte'; did you mean template? (a key that begins with _ is"),
    (custom(metric_type="lm"), "metric m: unknown metric_type 'lm'; did you mean llm?"),
    ({"metric_type": "deterministic"}, "metric m: there is no deterministic metric of this name; known: "),
    ({"score_range": FIVE}, "metric m: it has no template; give it one, or set is_managed to true"),
    ({"managed_metric_name": "X"}, "metric m: it has no template; set is_managed to true"),
    (custom(template="no placeholder"), "metric m: its template has no {placeholder}, so there is nothing to judge"),
    (custom(template="{promt}", dataset_mapping=PROMPT), "nothing is mapped to {promt}; did you mean {prompt}?"),
    (custom(template="{score}"), "metric m: template: nothing is mapped to {score}; map it in dataset_mapping (braces"),
    (custom(template="{not}", dataset_mapping={"not": {"source_column": "x"}}), "metric m: "),
    (custom(dataset_mapping={"a b": {"source_column": "x"}}), "dataset_mapping: 'a b' cannot be a placeholder"),
    (custom(dataset_mapping={"prompt": "user_inputs"}), "dataset_mapping.prompt: expected `object`, got `str`"),
    (custom(dataset_mapping={"prompt": {}}), "dataset_mapping.prompt: it names no source_column, and no template"),
    (
        custom(dataset_mapping={"prompt": {"source_colum": "x"}}),
        "dataset_mapping.prompt: unknown key 'source_colum'; did you mean source_column?",
    ),
    (
        custom(dataset_mapping={"prompt": {"source_column": "x", "transform": "last"}}),
        "dataset_mapping.prompt: unknown transform 'last'; did you mean last_item?",
    ),
    (custom(dataset_mapping={"prompt": {"template": "{a}"}}), "belong together; source_columns is missing"),
    (
        custom(dataset_mapping={"prompt": {"template": "{a_c}", "source_columns": ["a:b"]}}),
        "dataset_mapping.prompt: {a_c} is none of its source_columns; did you mean a_b?",
    ),
    (
        custom(dataset_mapping={"prompt": {"template": "{a}", "source_columns": ["a"], "transform": "last_item"}}),
        "leave transform out",
    ),
    (custom(score_range=None), 'score_range: it is missing; say which grades there are, such as {"min": 0, "max": 5}'),
    (custom(score_range={"min": 0, "max": 0.5}), "score_range: max: 0.5; judges give whole numbers: a range such as"),
    (custom(score_range={"max": 5}), "score_range: min: missing; judges give whole numbers"),
    (custom(score_range={"min": 5, "max": 0}), "score_range: from 5 to 0 are not grades"),
    (
        custom(score_range={"min": 0, "max": 1000}),
        "from 0 to 1000 are not grades; max must be above min, by at most 100",
    ),
    (custom(score_range={**FIVE, "step": 1}), "score_range: unknown key 'step'; known: min, max, description"),
    (custom(agents="shop"), "metric m: agents: expected `array | null`, got `str`"),
]


@pytest.mark.parametrize(("entry", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_with_its_place(entry: Any, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, entry)
    with pytest.raises(UsageError) as caught:
        load_definitions(path, check_names())
    assert str(caught.value).startswith(f"{path}: metric m: ")
    assert message in str(caught.value)


DOCUMENTS = [
    ("{", "cut off after 1 byte"),
    ("[]", "expected `object`, got `array`"),
    ('{"metric": {}}', "unknown key 'metric'; did you mean metrics?"),
    ('{"metrics": {"_comment": {}}}', "defines no metric"),
    ('{"metrics": {"safety": {"is_managed": true}, "safety": {"is_managed": true}}}', "safety is defined twice"),
    (
        '{"metrics": {"a": {"is_managed": true, "managed_metric_name": "GENERAL"}}}',
        "did you mean vertex:general_quality_v1",
    ),
]


@pytest.mark.parametrize(("text", "message"), DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_a_wrong_document_is_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "defs.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message.replace("[", r"\[")) as caught:
        load_definitions(path, check_names())
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"metrics": {" ": {"template": "{prompt}"}}}', "a metric has an empty name"),
        (
            '{"metrics": {"x": {"template": "{prompt}", "score_range": {"min": 0, "max": 1%s}}}}' % ("0" * 400),
            "score_range: max: 1000",
        ),
    ],
)
def test_odd_names_and_numbers_are_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        load_definitions(tmp_path / "m.json", ())


def test_a_missing_file_or_metric_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json: no such file"):
        select_rubrics([str(tmp_path / "nowhere.json")])
    path = written(tmp_path, custom(), name="tone")
    with pytest.raises(UsageError, match=r"defines no metric 'tune'; did you mean tone\?"):
        select_rubrics([f"{path}:tune"])


def test_two_of_one_name_are_refused_but_a_rubric_stands_in_for_a_managed_metric(tmp_path: Path) -> None:
    path = str(written(tmp_path, {"is_managed": True}, name="general_quality"))
    (alone,) = select_rubrics([path]).rubrics
    assert isinstance(alone, Managed)
    for names in ([path, "general_quality"], ["general_quality", path]):
        (found,) = select_rubrics(names).rubrics
        assert found.name == "general_quality"
        assert not isinstance(found, Managed)
    path = str(written(tmp_path, custom(), name="general_quality"))
    assert len(select_rubrics([path, f"{path}:general_quality"]).rubrics) == 1
    with pytest.raises(UsageError, match="two metrics are called 'general_quality'"):
        select_rubrics([path, "general_quality"])


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(samples())
def test_any_sample_has_a_row_that_definitions_can_read(sample: Sample) -> None:
    row = adk_row(sample)
    assert row["question_id"] == sample.id
    assert "pantrace" not in row
    for column in row:
        value_at(row, column)


def test_secrets_of_any_column_stay_here(tmp_path: Path) -> None:
    loaded = by_name("adk-jsonl").load
    assert loaded is not None
    sample = loaded({**ROW, "vault": {"api_key": "ab", "note": "password: hunter22"}, "secret": "cd"})
    mapping = {"x": {"source_column": "vault"}, "y": {"source_column": "secret"}}
    rubric = defined(tmp_path, custom(template="{x}{y}", dataset_mapping=mapping))
    scripted = Scripted(lambda _: verdict(3))
    run = bench(Settings(models=("openai:m",)), Access(), judge=scripted)
    ((_, (score,)),) = judge_all([sample], [rubric], run)
    assert score.value == 3
    (request,) = scripted.requests
    assert '| {"api_key":"[redacted:password]","note":"password: [redacted:password]"}' in request.prompt
    assert "secret>>>" not in request.prompt
    assert "y>>>\n| [redacted:password]\n" in request.prompt
    (shown_first,) = plan_questions([sample], [rubric], run, None)
    assert shown_first.prompt is not None
    assert shown_first.prompt.text == request.prompt


def test_long_lists_lose_their_middle(tmp_path: Path) -> None:
    loaded = by_name("adk-jsonl").load
    assert loaded is not None
    sample = loaded({**ROW, "lines": [f"line {number} " + "x" * 90 for number in range(100)]})
    rubric = defined(tmp_path, custom(template="{x}", dataset_mapping={"x": {"source_column": "lines"}}))
    material = gather(sample, rubric, row_once([rubric]))
    assert not isinstance(material, Absent)
    prompt = prompt_for(rubric, material, budget=2_000)
    assert "| line 0 x" in prompt.text
    assert "| line 99 x" in prompt.text
    assert "| line 50 x" not in prompt.text
    assert prompt.cut


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent.parent / "src")}
    command = [sys.executable, "-m", "pantrace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_the_example_works_through_the_command_line(tmp_path: Path) -> None:
    file = str(EXAMPLES / "metric_definitions.json")
    listed = json.loads(run_cli("rubrics", file, "--json").stdout)
    assert [(each["name"], each["kind"]) for each in listed] == [
        ("shop_general_quality", "managed"),
        ("tool_success_rate", "deterministic"),
        ("shop_refund_care", "llm"),
    ]
    assert listed[2]["columns"]["calls"] == {"sources": ["extracted_data:tool_interactions"]}
    found = run_cli("judge", str(EXAMPLES / "adk"), "--rubric", file, "--dry-run", "--json")
    assert "not judged but measured" in found.stderr
    told = json.loads(found.stdout)
    by_name = {(each["sample"], each["rubric"]): each for each in told["prompts"]}
    assert (told["calls"], told["not_applicable"]) == (3, 1)
    text = by_name["refund_multi_turn", "shop_refund_care"]["prompt"]["text"]
    assert "| ORD-98765: 3598 cents" in text
    assert "| I want a refund for ORD-98765" in text
    assert 'A refund call looks like {"order_id": "...", "amount_cents": 100}.' in text
    assert "| no order was looked up" in by_name["blocked", "shop_refund_care"]["prompt"]["text"]
    managed = by_name["refund_multi_turn", "shop_general_quality"]["prompt"]
    assert managed["system"] == "The customer should never have to say the order number twice."
    assert "I want a refund for ORD-98765" in managed["text"]
    scores = json.loads(run_cli("judge", str(EXAMPLES / "adk"), "--rubric", file, "--json").stdout)["scores"]
    unasked = {each["explanation"] for each in scores if each["metric"] == "shop_general_quality" and not each["value"]}
    assert (
        "no judge configured: no project for Vertex AI (the rubric multi_turn_general_quality can replace it)"
        in unasked
    )
    other = json.loads(run_cli("judge", str(EXAMPLES / "opencode"), "--rubric", file, "--json").stdout)
    assert {(each["status"], each["explanation"]) for each in other["scores"]} == {
        ("not_applicable", "it is a run of build, and the metric is for garden_shop"),
        ("not_applicable", "it is not a run of garden_shop"),
    }


def test_only_deterministic_metrics_are_nothing_to_judge(tmp_path: Path) -> None:
    path = written(tmp_path, {"metric_type": "deterministic"}, name="token_usage")
    found = run_cli("judge", str(EXAMPLES / "adk"), "--rubric", str(path))
    assert found.returncode == 2
    assert "nothing to judge: `pantrace measure` and `pantrace eval` measure token_usage" in found.stderr


def test_a_plan_names_definitions_beside_it(tmp_path: Path) -> None:
    (tmp_path / "defs.json").write_text((EXAMPLES / "metric_definitions.json").read_text())
    table = JudgeTable(rubrics=["defs.json"])
    ready = prepare(Plan(measure=MeasureTable(metrics=()), judge=table), tmp_path)
    one = prepare(Plan(judge=JudgeTable(rubrics=["defs.json:refund_care"])), tmp_path)
    assert [each.name for each in one.rubrics] == ["shop_refund_care"]
    assert ready.hash != one.hash
    scripted = Scripted(lambda _: verdict(2))
    judging = bench(Settings(models=("openai:m",)), Access(), cache=tmp_path / "c.sqlite", judge=scripted)
    evaluate_into([EXAMPLES / "adk"], tmp_path / "out", ready, "", judging=judging)
    rows = query(
        tmp_path / "out",
        "select name, status, value from scores where maker_kind is distinct from 'stored' order by all",
    ).rows
    assert rows == [
        ("shop_general_quality", "not_applicable", None),
        ("shop_general_quality", "unscored", None),
        ("shop_refund_care", "scored", 2.0),
        ("shop_refund_care", "scored", 2.0),
        ("tool_success_rate", "not_applicable", None),
        ("tool_success_rate", "scored", 0.75),
    ]


def test_a_definition_that_a_case_requires_is_asked_once(tmp_path: Path) -> None:
    path = written(tmp_path, custom(), name="HelpfulnessHere")
    sample = sample_of()
    assert sample.case is not None
    sample = msgspec.structs.replace(
        sample, case=msgspec.structs.replace(sample.case, required_evals=("HelpfulnessHere",))
    )
    from pantrace.engine.plan_judges import Judges

    ready = prepare(Plan(measure=MeasureTable(metrics=()), judge=JudgeTable(rubrics=[str(path)])), tmp_path)
    scripted = Scripted(lambda _: verdict(4))
    with Judges(ready, bench(Settings(models=("openai:m",)), Access(), judge=scripted)) as judges:
        (result,) = judges.results([sample])
    assert [(each.name, each.value) for each in result.scores] == [("HelpfulnessHere", 4)]


REAL = ["cs_metric_definitions", "retail_metric_definitions", "retail_metric_definitions_with_recommendation"]


@needs_corpus
@pytest.mark.parametrize("name", REAL)
def test_the_real_files_render_against_every_row(name: str) -> None:
    asked = select_rubrics([str(WORKSHOP / f"{name}.json")]).rubrics
    assert [each.metric for each in asked if isinstance(each, Managed)]
    rubrics = [each for each in asked if isinstance(each, Defined)]
    own = [sample for path in sorted(WORKSHOP.glob(f"{name.split('_')[0]}_*.jsonl")) for sample in read(path).samples]
    others = [sample for path in sorted(WORKSHOP.glob("*.jsonl")) for sample in read(path).samples]
    assert len(own) >= 6
    for sample in own:
        row_of = row_once(rubrics)
        row = row_of(sample)
        for rubric in rubrics:
            material = gather(sample, rubric, row_of)
            assert not isinstance(material, Absent)
            text = prompt_for(rubric, material).text
            for said in row["user_inputs"]:
                assert "| " + said.splitlines()[0] in text
            if "response" in material and rubric.columns["response"].sources == ("trace_summary",):
                assert "\n".join(f"| {each}" for each in row["trace_summary"]) in text
            if "tool_interactions" in material:
                assert text.count('| {"tool_name":') == len(row["extracted_data"]["tool_interactions"])
    app = own[0].case.agent if own[0].case else None
    for sample in (each for each in others if each.case and each.case.agent != app):
        reason = gather(sample, rubrics[0], row_once(rubrics))
        assert isinstance(reason, Absent)
        assert reason.reason.startswith(f"it is a run of {sample.case.agent if sample.case else ''}, and the metric is")


@needs_corpus
def test_the_field_of_a_structured_answer_stands_in_the_prompt() -> None:
    file = WORKSHOP / "retail_metric_definitions_with_recommendation.json"
    (rubric,) = select_rubrics([f"{file}:recommendation_quality"]).rubrics
    assert isinstance(rubric, Defined)
    source = WORKSHOP / "retail_baseline.processed_interaction_app.jsonl"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    texts = [prompted(sample, rubric) for sample in read(source).samples]
    for row, text in zip(rows[:2], texts[:2], strict=True):
        answer = row["final_response"]
        recommended = next(line for line in text.splitlines() if line.startswith('| {"location_name"'))
        assert json.loads(recommended.removeprefix("| ")) == answer["top_recommendation"]
        assert f"total_competitors>>>\n| {answer['total_competitors_found']}\n" in text
    # A question back instead of an answer with fields: told as absent.
    assert "**Top Recommendation:**\n(not given)\n" in texts[2]


@needs_corpus
@pytest.mark.parametrize("name", quick({"cs_metric_definitions"}, REAL))
def test_a_scripted_judge_scores_the_real_files(name: str, tmp_path: Path) -> None:
    sources = sorted(WORKSHOP.glob(f"{name.split('_')[0]}_*.jsonl"))
    told = json.loads(
        run_cli("judge", *map(str, sources), "--rubric", str(WORKSHOP / f"{name}.json"), "--dry-run", "--json").stdout
    )
    asked = select_rubrics([str(WORKSHOP / f"{name}.json")]).rubrics
    scripted = Scripted(lambda _: verdict(4))
    run = bench(Settings(models=("openai:m",)), Access(), cache=tmp_path / "c.sqlite", judge=scripted)
    everything = [sample for path in sources for sample in read(path).samples]
    scores = [score for _, each in judge_all(everything, asked, run) for score in each]
    assert {score.name for score in scores if score.status == "unscored"} == {
        each.name for each in asked if isinstance(each, Managed)
    }
    assert all(score.value == 4 and score.scale and score.scale.low == 0 for score in scores if score.value is not None)
    # What a dry run shows is what is sent.
    managed = {each.name for each in asked if isinstance(each, Managed)}
    prompts = [each["prompt"]["text"] for each in told["prompts"] if "prompt" in each and each["rubric"] not in managed]
    assert set(prompts) == {request.prompt for request in scripted.requests}
