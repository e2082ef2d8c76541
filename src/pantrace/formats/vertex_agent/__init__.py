"""Rows with `agent_data` for Vertex AI's Gen AI evaluation client: whole runs with agents, turns and events.

Spec: `AgentData` of google-cloud-aiplatform 2.6.0 (vertexai/_genai/types/evals.py), the client's FLATTEN schema.
Detect: `agent_data` with `turns`.
Lost: models, tokens, costs, ids of steps, errors of model calls; text that the program inserted; compaction summaries.
"""

from __future__ import annotations

from pantrace.formats.format import Format
from pantrace.wire.head import Head

from .read import load
from .rows import NAME, decode
from .validation import check
from .write import dump


def detect(head: Head) -> str | None:
    data = head.record.get("agent_data")
    # The client also accepts JSON text. It is not decoded here: only the beginning of the row may be there.
    if isinstance(data, str):
        return "" if '"turns"' in data else None
    return "" if isinstance(data, dict) and "turns" in data else None


FORMAT = Format(
    name=NAME,
    title="agent_data rows for Vertex AI's Gen AI evaluation client",
    spec="AgentData in google-cloud-aiplatform 2.6.0, vertexai/_genai/types/evals.py",
    detect=detect,
    decode=decode,
    load=load,
    dump=dump,
    check=check,
    checks_itself=True,
    lost={
        "trajectory.children": "sub-agents with their own trajectory are separate rows",
        "trajectory.steps[].id": "events have no ids",
        "trajectory.steps[].parts[].synthetic": "text that the program inserted is not written",
        "trajectory.steps[]": "events have author, content, time and state (summaries and inserted steps are left out)",
        "trajectory.agents[].model": "AgentConfig has no model",
        "case": "only reference and context are columns",
        "scores": "the client computes its own",
    },
    note="checked with client 2.6.0; the server itself was not used",
    reencoded={
        "*function_response.response.error": "`exit code 1` is a number in the model",
        "agent_data.turns[].turn_id": "turns are numbered",
    },
)
