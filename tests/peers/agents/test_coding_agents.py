"""`pantrace run` drives real coding agents against a scripted model: calls and tokens equal the model's own log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pantrace
from pantrace.agents import PRESETS
from pantrace.model import Sample, Trajectory, call_pairs, final_response, is_prompt, step_text, usage_total
from peers.agents.scripted_model import ScriptedModel, scripted_model

PROGRAMS = os.pathsep.join([str(Path(sys.prefix) / "node_modules" / ".bin"), str(Path(sys.prefix) / "bin")])


def surroundings(home: Path, **more: str) -> dict[str, str]:
    """An environment in which a tool finds no settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR")}
    return {**kept, "HOME": str(home), "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", **more}


def claude(home: Path, model: ScriptedModel) -> tuple[str, dict[str, str]]:
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    given = surroundings(home, ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-scripted", **quiet)
    return "claude:--model scripted-1 --allowedTools Bash", given


def codex(home: Path, model: ScriptedModel) -> tuple[str, dict[str, str]]:
    (home / ".codex").mkdir()
    provider = f'name = "scripted"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
    settings = f'model = "scripted-1"\nmodel_provider = "scripted"\n[model_providers.scripted]\n{provider}'
    (home / ".codex" / "config.toml").write_text(settings)
    return "codex:--sandbox danger-full-access", surroundings(home)


def opencode(home: Path, model: ScriptedModel) -> tuple[str, dict[str, str]]:
    known = {"scripted-1": {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 4000}}}
    options = {"baseURL": f"{model.url}/v1", "apiKey": "scripted"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": known}
    settings: dict[str, Any] = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted-1",
        "small_model": "scripted/scripted-1",
        "autoupdate": False,
        "share": "disabled",
    }
    (home / "opencode.json").write_text(json.dumps(settings))
    given = surroundings(home, OPENCODE_CONFIG=str(home / "opencode.json"), OPENCODE_DISABLE_MODELS_FETCH="1")
    return "opencode", given


def gemini(home: Path, model: ScriptedModel) -> tuple[str, dict[str, str]]:
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    given = surroundings(home, GEMINI_API_KEY="scripted", GOOGLE_GEMINI_BASE_URL=model.url)
    return "gemini:--model gemini-2.5-flash --approval-mode yolo --skip-trust", given


def mini(home: Path, model: ScriptedModel) -> tuple[str, dict[str, str]]:
    quiet = {"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1", "MSWEA_COST_TRACKING": "ignore_errors"}
    given = surroundings(home, OPENAI_API_KEY="scripted", LITELLM_LOCAL_MODEL_COST_MAP="True", **quiet)
    server = f"-c mini.yaml -c model.model_kwargs.api_base={model.url}/v1"
    return f"mini:--model openai/scripted-1 {server}", given


AGENTS = {"claude": claude, "codex": codex, "gemini": gemini, "mini": mini, "opencode": opencode}


@pytest.mark.parametrize("name", AGENTS)
def test_a_question_is_asked_recorded_and_counted(name: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,question,reference\nnote,What does the note say?,42\n")
    told, model = run(name, "q.csv", tmp_path)
    calls = counted(model)
    assert len(calls) == 2
    pair, *more = call_pairs(told)
    assert len(more) == sum(each["tool"] is not None for each in calls[1:])
    assert "cat note.txt" in str(pair.call.arguments)
    assert pair.result is not None and "42" in str(pair.result.output)
    assert str(final_response(told)).startswith("The note says 42")
    same_tokens(told, calls)


@pytest.mark.parametrize("name", [name for name in AGENTS if PRESETS[name].again is not None])
def test_a_conversation_goes_on_in_the_same_session(name: str, tmp_path: Path) -> None:
    turns = ["-- What does the note say?", "Are you sure?"]
    said_ = [{"user_content": {"role": "user", "parts": [{"text": turn}]}, "invocation_id": turn} for turn in turns]
    case = {"eval_id": "note", "conversation": said_, "session_input": {"app_name": "a", "user_id": "u"}}
    (tmp_path / "q.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": [case]}))
    told, model = run(name, "q.evalset.json", tmp_path)
    # The model is told of the first turn when it is asked the second.
    assert all(turn in json.dumps(model.asked[-1]) for turn in turns)
    assert [step_text(step) for step in told.steps if is_prompt(step)] == turns
    assert len(call_pairs(told)) == 1
    same_tokens(told, [*counted(model)[:-1], *model.calls[-2:]])


def run(name: str, dataset: str, folder: Path) -> tuple[Trajectory, ScriptedModel]:
    home, fixtures = folder / "home", folder / "fixtures"
    home.mkdir()
    fixtures.mkdir()
    (fixtures / "note.txt").write_text("42\n")
    with scripted_model() as model:
        spec, environment = AGENTS[name](home, model)
        command = [sys.executable, "-m", "pantrace", "run", dataset, "--agent", spec, "--fixtures", "fixtures"]
        done = subprocess.run(
            [*command, "--out", "out", "--no-eval", "--json", "--timeout", "300"],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=True,
        )
    (ran,) = json.loads(done.stdout)["agents"]
    assert ran["failed"] == [], done.stderr
    told = only(folder / "out" / "recordings" / "run.trace.jsonl").trajectory
    assert told is not None
    return told, model


def counted(model: ScriptedModel) -> list[dict[str, Any]]:
    """The calls that a question led to. A session gets its title from the model, too; that was not asked."""
    return [each for each in model.calls if each["tool"] is not None or each is model.calls[-1]]


def same_tokens(told: Trajectory, calls: list[dict[str, Any]]) -> None:
    total = usage_total(told)
    assert total is not None
    assert (total.input, total.output) == (sum(c["input"] for c in calls), sum(c["output"] for c in calls))


def only(path: Path) -> Sample:
    (sample,) = pantrace.read(path).samples
    return sample
