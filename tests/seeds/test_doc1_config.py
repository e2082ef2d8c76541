"""Seed document 1: its authors' configuration file as a plan, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.foreign_plan import PACK, plan_of_config
from pantrace.engine.plan import load_plan, prepare
from pantrace.errors import UsageError
from pantrace.wire.json import decode
from seeds.recordings import EXAMPLES, pantrace

CONFIG = """\
tool_mappings:
  fs.read:
    - "remote-fs-mcp_read_files"
  fs.grep: [remote-fs-mcp_grep_content]
rubric: general_quality
models:
  judge: gemini-2.5-flash
paths:
  database: ~/.local/share/opencode/opencode.db
"""


def test_a_configuration_is_a_plan_with_its_tools_rubric_and_models(tmp_path: Path) -> None:
    path = tmp_path / "eval_config.yaml"
    path.write_text(CONFIG)
    plan, text, folder = load_plan(path)
    assert (plan.judge.rubrics, plan.judge.models) == (["general_quality"], ["google:gemini-2.5-flash"])
    ready = prepare(plan, folder, text, str(path))
    (rules,) = ready.rules
    assert rules.name == PACK
    assert "remote-fs-mcp_read_files" in rules.tools["read"]
    assert "remote-fs-mcp_grep_content" in rules.tools["search"]
    assert plan_of_config(path)[1] == {"database": "~/.local/share/opencode/opencode.db"}


def test_eval_takes_it_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "eval_config.yaml"
    path.write_text(CONFIG.replace("models:\n  judge: gemini-2.5-flash\n", ""))
    done = pantrace("eval", EXAMPLES / "opencode", "--plan", path, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    measured = {each["metric"] for each in decode(done.stdout.encode())["summary"]["metrics"]}
    assert {"S1-H1", "S1-H2", "C3-H1", "C3-H2", "general_quality"} <= measured
    assert "paths (database) are ignored" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1", "not a plan: it has neither tool_mappings nor a rubric or models"),
        ("rubric: x\nrubrik: y", "unknown key 'rubrik'"),
        ("models: [llama]", "the model 'llama' needs its provider in front"),
        ("rubric: 5", "rubric: must be text, not 5"),
        ("tool_mappings: [1]", "must be a table of logical names"),
        ("rubric: [", "not valid YAML"),
    ],
)
def test_a_configuration_that_is_none_is_one_sentence(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "eval_config.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_plan(path)
    assert why in str(caught.value)


@needs_corpus
def test_the_authors_configuration_is_a_plan() -> None:
    path = CORPUS / "public/opencode/gsd-lite/eval_config.yaml"
    plan, text, folder = load_plan(path)
    (rules,) = prepare(plan, folder, text, str(path)).rules
    assert {"tools_home-fs_read_files", "remote-fs-mcp_read_files"} <= set(rules.tools["read"])
