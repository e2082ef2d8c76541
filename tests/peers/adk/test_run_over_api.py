"""`pantrace run` asks a real ADK API server on loopback: session, state, two turns, calls and tokens."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import pantrace
from pantrace.engine.read import Notes
from pantrace.engine.run import read_recording, run_cases
from pantrace.engine.run_cases import dataset, questions
from pantrace.engine.run_trial import Conditions
from pantrace.model import call_pairs, final_response, turns, usage_total

AGENT = '''
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1]
        answered = any(part.function_response for part in last.parts)
        if answered:
            part = types.Part(text="12 bags are left.")
        else:
            part = types.Part(function_call=types.FunctionCall(name="check_stock", args={"product": "soil"}))
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=100, candidates_token_count=7, total_token_count=107
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def check_stock(product: str) -> dict:
    """How much is left."""
    return {"left": 12}


root_agent = LlmAgent(name="shop", model=Scripted(model="scripted"), tools=[check_stock])
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").write_text("from . import agent\n")
    (folder / "shop" / "agent.py").write_text(AGENT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "google.adk.cli", "api_server", "--host", "127.0.0.1", "--port", str(port), "."]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{url}/list-apps", timeout=5) as answer:
                    assert json.load(answer) == ["shop"]
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(20)


EVALSET = {
    "eval_set_id": "s",
    "eval_cases": [
        {
            "eval_id": "stock",
            "conversation": [
                {"invocation_id": "1", "user_content": {"role": "user", "parts": [{"text": "How much soil is left?"}]}},
                {"invocation_id": "2", "user_content": {"role": "user", "parts": [{"text": "Are you sure?"}]}},
            ],
            "session_input": {"app_name": "shop", "user_id": "u7", "state": {"tier": "gold"}},
        }
    ],
}


def test_an_eval_set_is_run(server: str, tmp_path: Path) -> None:
    path = tmp_path / "s.evalset.json"
    path.write_text(json.dumps(EVALSET))
    asked = list(questions(dataset([path], {}, Notes()), follow_up=False))
    given = Conditions(folder=tmp_path / "w", read=read_recording, environment={})
    (ran,) = run_cases(asked, {"": f"adk:{server}"}, tmp_path / "out", given)
    assert (ran.ran, ran.failed) == (1, [])
    (sample,) = pantrace.read(ran.recordings).samples
    told = sample.trajectory
    assert told is not None
    assert len(turns(told)) == 2
    assert [pair.call.name for pair in call_pairs(told)] == ["check_stock", "check_stock"]
    assert final_response(told) == "12 bags are left."
    assert told.state is not None and told.state["tier"] == "gold"
    total = usage_total(told)
    # Two turns of two calls each; the scripted model says what each of them took.
    assert total is not None and (total.input, total.output) == (400, 28)


def test_an_app_that_is_not_there(server: str, tmp_path: Path) -> None:
    path = tmp_path / "s.evalset.json"
    path.write_text(json.dumps(EVALSET))
    asked = list(questions(dataset([path], {}, Notes()), follow_up=False))
    given = Conditions(folder=tmp_path / "w", read=read_recording, environment={}, retries=0)
    (ran,) = run_cases(asked, {"": f"adk:{server}/nosuch"}, tmp_path / "out", given)
    ((_, why),) = ran.failed
    assert "answered 404" in why or "answered 500" in why
