"""Codex and Claude Code go on with sessions that pantrace wrote, and ccusage counts them as pantrace does."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.model import Trajectory, add_usage, final_response, is_prompt, step_text, usage_total
from peers.agents.scripted_model import scripted_model
from peers.agents.test_coding_agents import claude, codex, only, surroundings

SOURCES = (
    "claude-code/trouble.jsonl",
    "gemini-cli/session-2026-11-16T05-13-07382c29.jsonl",
    "codex/trouble.jsonl",
)


def written(source: str, home: Path) -> Path:
    """A session of a golden file as a rollout where Codex looks for it."""
    folder = home / ".codex/sessions/2026/11/16"
    folder.mkdir(parents=True)
    name = trajectory(ROOT / source).id
    path = folder / f"rollout-2026-11-16T05-44-12-{name}.jsonl"
    convert(ROOT / source, path, to="codex")
    return path


def trajectory(path: Path) -> Trajectory:
    found = only(path).trajectory
    assert found is not None
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_codex_resumes_it(source: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with scripted_model() as model:
        _, environment = codex(home, model)
        settings = home / ".codex" / "config.toml"
        # The recorded session names the provider that it was made with.
        settings.write_text(settings.read_text().replace("scripted]", "loop]").replace('= "scripted"', '= "loop"'))
        path = written(source, home)
        before = trajectory(path)
        subprocess.run(
            ["codex", "exec", "--json", "--skip-git-repo-check", "resume", str(before.id), "And now?"],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=300,
        )
    sent = json.dumps(model.asked[-1]["input"], ensure_ascii=False)
    # What was asked last before, and answered, is what the model is told; a compaction may have taken earlier words.
    prompts = [str(step_text(step)) for step in before.steps if is_prompt(step)]
    assert prompts[-1] in sent and str(final_response(before)) in sent
    after = trajectory(path)
    assert after.steps[: len(before.steps)] == before.steps
    assert [step_text(step) for step in after.steps if is_prompt(step)][-1] == "And now?"
    assert str(final_response(after)).startswith("The note says 42")
    one, other = usage_total(before), usage_total(after)
    assert one is not None and other is not None
    assert (other.input or 0) - (one.input or 0) == sum(call["input"] for call in model.calls)


@pytest.mark.parametrize("source", SOURCES)
def test_claude_code_resumes_it(source: str, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    name = trajectory(ROOT / source).id
    path = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project)) / f"{name}.jsonl"
    path.parent.mkdir(parents=True)
    project.mkdir()
    convert(ROOT / source, path, to="claude-code")
    before = trajectory(path)
    with scripted_model() as model:
        _, environment = claude(home, model)
        subprocess.run(
            ["claude", "-p", "--model", "scripted-1", "--resume", str(name), "And now?"],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=300,
        )
    (sent,) = [json.dumps(each["messages"], ensure_ascii=False) for each in model.asked if "messages" in each]
    assert str(final_response(before)) in sent and "And now?" in sent
    after = trajectory(path)
    assert [step_text(step) for step in after.steps if is_prompt(step)][-1] == "And now?"
    assert str(final_response(after)).startswith("The note says 42")
    one, other = usage_total(before), usage_total(after)
    assert one is not None and other is not None
    assert (other.input or 0) - (one.input or 0) == sum(call["input"] for call in model.calls)


def test_ccusage_counts_the_same_tokens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = written("claude-code/trouble.jsonl", home)
    done = subprocess.run(
        ["ccusage-codex", "session", "--json", "--offline"],
        env=surroundings(home, CODEX_HOME=str(home / ".codex")),
        capture_output=True,
        check=True,
        timeout=120,
    )
    totals: dict[str, Any] = json.loads(done.stdout)["totals"]
    # What was spent, and that is what it asks: the response that was interrupted, too, which our total leaves out.
    total = add_usage([step.usage for step in trajectory(path).steps if step.usage is not None])
    assert total is not None and total != usage_total(trajectory(path))
    assert (totals["inputTokens"], totals["outputTokens"], totals["cachedInputTokens"]) == (
        total.input,
        total.output,
        total.cache_read,
    )
