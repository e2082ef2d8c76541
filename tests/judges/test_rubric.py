"""Rubrics: those that ship, and users' own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.engine.rubric_selection import select_rubrics
from pantrace.errors import UsageError
from pantrace.formats.explain.bundle import EVALS
from pantrace.formats.explain.scored_case import scale_of
from pantrace.judges import INPUTS, check_rubric, load_rubric, prompt_for, rubric_names
from pantrace.judges.cut import Block

OWN = """
name = "politeness"
version = "3"
title = "Politeness"
template = "Is it polite? {{ answer }}{% if question %} Asked: {{ question }}{% endif %}"
[inputs]
answer = "required"
question = "optional"
[grades]
0 = "rude"
1 = "polite"
"""


@pytest.mark.parametrize("name", rubric_names())
def test_every_rubric_that_ships_is_sound(name: str) -> None:
    rubric = load_rubric(name)
    check_rubric(rubric, name, INPUTS)
    assert rubric.description
    assert all(rubric.grades.values())
    assert rubric.better == "higher"


@pytest.mark.parametrize("name", EVALS)
def test_the_nine_evals_have_the_scales_of_their_reports(name: str) -> None:
    assert load_rubric(name).scale == scale_of(name)


def test_the_list_of_the_documents_is_complete() -> None:
    also = {"tool_use_quality", "multi_turn_general_quality", "trajectory_accuracy_judge", "hallucination", "safety"}
    also |= {"state_variable_fidelity_judge", "general_quality", "instruction_following", "final_response_quality"}
    assert set(rubric_names()) == also | set(EVALS) | {"pairwise_quality"}


def test_a_variant_has_its_own_inputs_and_hash() -> None:
    plain, rag = load_rubric("PerceivedIntelligenceExplain"), load_rubric("PerceivedIntelligenceExplain:rag")
    assert "context" not in plain.inputs
    assert rag.inputs["context"] == "required"
    assert rag.name == "PerceivedIntelligenceExplain:rag"
    assert plain.hash != rag.hash
    assert load_rubric("PerceivedIntelligenceExplain:non-rag").template == plain.template
    with pytest.raises(UsageError, match="no variant 'rug'; its variants: non-rag, rag"):
        load_rubric("PerceivedIntelligenceExplain:rug")


def test_own_rubrics_in_toml_and_markdown(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    front, _, rest = OWN.partition("template = ")
    body, _, tables = rest.partition("\n")
    plain = body.removeprefix('"').removesuffix('"')
    (tmp_path / "own.md").write_text(f"+++{front}{tables}\n+++\n\n{plain}\n")
    toml, markdown = load_rubric(str(tmp_path / "own.toml")), load_rubric(str(tmp_path / "own.md"))
    assert toml == markdown
    assert (toml.scale.low, toml.scale.high, toml.version) == (0, 1, "3")
    assert toml.hash != load_rubric("safety").hash
    text = prompt_for(toml, {"answer": [Block("Kindly leave.")]}).text
    assert "| Kindly leave." in text
    assert "Asked:" not in text


BROKEN = {
    ('0 = "rude"\n1 = "polite"', '0 = "rude"\n2 = "polite"'): "without a gap",
    ('0 = "rude"\n1 = "polite"', 'good = "x"'): "whole numbers such as 1, 2, 3, or pass and fail; not 'good'",
    ('question = "optional"', 'question = "maybe"'): "line 8: .*maybe",
    ('question = "optional"', 'questoin = "optional"'): "unknown input 'questoin'; did you mean question?",
    ("{{ answer }}", "{{ answer }} {{ goal }}"): "uses 'goal', which is not among the inputs",
    ("{{ answer }}", ""): "does not use the input 'answer'",
    ("{{ answer }}", "{{ answer "): "the template is not right",
    ('version = "3"', 'verison = "3"'): "line 3: unknown key 'verison'",
}


@pytest.mark.parametrize("change", BROKEN, ids=range(len(BROKEN)))
def test_what_is_wrong_with_a_rubric_is_said(tmp_path: Path, change: tuple[str, str]) -> None:
    (tmp_path / "own.toml").write_text(OWN.replace(*change))
    with pytest.raises(UsageError, match=BROKEN[change]):
        load_rubric(str(tmp_path / "own.toml"))


def test_a_misspelt_name_is_suggested() -> None:
    with pytest.raises(UsageError, match="did you mean HelpfulnessExplain"):
        load_rubric("HelpfulnesExplain")


def test_a_template_cannot_reach_into_the_program(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN.replace("{{ answer }}", "{{ answer.__class__.__mro__ }}"))
    with pytest.raises(UsageError, match="unsafe"):
        load_rubric(str(tmp_path / "own.toml"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0 =", "--5 ="), "'--5'"),
        (("0 =", '"\N{SUPERSCRIPT TWO}" ='), "whole numbers"),
        (("0 =", '"\N{ARABIC-INDIC DIGIT ZERO}" ='), "whole numbers"),
        (("0 =", "00 ="), "'00'"),
        (("{{ answer }}", "{{ answer.text.more }}"), "cannot be filled in"),
        (("{{ answer }}", "{{ answer }}{{ 1 / 0 }}"), "division by zero"),
        (("{{ answer }}", "{{ answer }}{% include 'x' %}"), "not allowed in a rubric"),
        (("Asked: {{ question }}", "{{ question }}{% else %}{{ question.upper() }}"), "cannot be filled in"),
        (('name = "politeness"', 'name = " "'), "the name is empty"),
    ],
)
def test_a_rubric_that_would_fail_while_judging_is_refused_before(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(*change), "utf-8")
    with pytest.raises(UsageError, match=said) as caught:
        load_rubric(str(path))
    assert str(path) in str(caught.value)


def test_a_fail_that_is_better_than_a_pass_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    text = OWN.replace("0 =", "fail =").replace("1 =", "pass =")
    path.write_text(f'better = "lower"\n{text}', "utf-8")
    with pytest.raises(UsageError, match="pass is always better"):
        load_rubric(str(path))


def test_a_rubric_cannot_have_the_name_of_a_check(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace("politeness", "trajectory_accuracy"), "utf-8")
    with pytest.raises(UsageError, match="trajectory_accuracy_judge"):
        select_rubrics([str(path)])
