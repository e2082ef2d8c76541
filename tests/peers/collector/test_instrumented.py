"""Agents of two real libraries, instrumented and otherwise untouched, are recorded by the collector and scored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pantrace
from pantrace.model import call_pairs, final_response, usage_total
from peers.agents.scripted_model import scripted_model

EXPORTING = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""

OPENINFERENCE = (
    EXPORTING
    + """
import json, sys
from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor

OpenAIInstrumentor().instrument(tracer_provider=provider)
client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="x")
known = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "bash", "parameters": known}}]
said = [{"role": "user", "content": sys.argv[2]}]
with trace.get_tracer("shop").start_as_current_span("agent", attributes={"openinference.span.kind": "AGENT"}):
    while True:
        reply = client.chat.completions.create(model="gpt-4.1-mini", messages=said, tools=tools).choices[0].message
        said.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            break
        said.append({"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "42"})
print(reply.content)
"""
)

PYDANTIC_AI = (
    EXPORTING
    + """
import sys
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

Agent.instrument_all()
model = OpenAIChatModel("gpt-4.1-mini", provider=OpenAIProvider(base_url=sys.argv[1] + "/v1", api_key="x"))
agent = Agent(model, name="shop")

@agent.tool_plain
def bash(command: str) -> str:
    return "42"

print(agent.run_sync(sys.argv[2]).output)
"""
)


@pytest.mark.parametrize("script", [OPENINFERENCE, PYDANTIC_AI], ids=["openinference", "pydantic-ai"])
def test_an_instrumented_agent_is_recorded_and_scored(script: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(script)
    (tmp_path / "q.csv").write_text("id,question\nnote,What does the note say?\n")
    with scripted_model() as model:
        agent = f"cmd:{sys.executable} {tmp_path / 'agent.py'} {model.url} {{question}}"
        command = [
            sys.executable,
            "-m",
            "pantrace",
            "run",
            "q.csv",
            "--agent",
            agent,
            "--collect",
            "--out",
            "out",
            "--json",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (sample,) = pantrace.read(tmp_path / "out" / "recordings" / "run.trace.jsonl").samples
    told = sample.trajectory
    assert told is not None
    assert [pair.call.name for pair in call_pairs(told)] == ["bash"]
    assert final_response(told) == "The note says 42 (2)."
    total = usage_total(told)
    assert total is not None
    counted = (sum(each["input"] for each in model.calls), sum(each["output"] for each in model.calls))
    assert (total.input, total.output) == counted
    metrics = {each["metric"]: each for each in json.loads(done.stdout)["summary"]["metrics"]}
    assert metrics["token_usage.total_tokens"]["estimate"]["value"] == sum(counted)
    assert metrics["token_usage.estimated_cost_usd"]["scored"] == 1
