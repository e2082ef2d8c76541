"""Episodes of OpenAdapt: what a GUI agent saw and did, and the logs and result folders around them.

Spec: openadapt-ml `schema/episode.py`, SCHEMA_VERSION 1.0.0 (its JSON Schema is episode.schema.json).
Read: episode JSON (new and legacy; one, a list, {"episodes": []}, lines, a folder), demo.json, step logs of
`--log-samples`, planner trajectories.jsonl, full-evaluation JSONL, benchmark run folders, result folders of Windows
Agent Arena. Written: episode JSON of the new schema, one file per sample.
Detect: the keys that each shape has together; see `recognise`.
Lost: everything that is not a GUI action: tool calls, results, usage, models of single steps, further user turns.
"""

from __future__ import annotations

from typing import Any

from pantrace.formats.format import Format

from .field_names import NAME
from .opening import beside, dump, load, newest, open_run
from .recognise import claim, detect
from .validation import check, validate


def migrate(document: Any) -> Any:
    """Episodes of any generation as episodes of the new schema; the input is not changed."""
    if isinstance(document, list):
        return [newest(row) for row in document]
    if isinstance(document, dict) and isinstance(document.get("episodes"), list):
        return {**document, "episodes": [newest(row) for row in document["episodes"]]}
    return newest(document)


FORMAT = Format(
    name=NAME,
    title="OpenAdapt episodes: what a GUI agent saw and did",
    spec="openadapt-ml, schema/episode.py 1.0.0",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    beside=beside,
    claim=claim,
    check=check,
    validate=validate,
    migrate=migrate,
    layout="document",
    suffix=".json",
    lost={
        "trajectory.steps[]": "only steps with a GUI action, and the first instruction, have a place",
        "trajectory.steps[].parts[]": "a step has a screenshot, reasoning and GUI actions",
        "trajectory.agents[]": "an episode names one model",
        "trajectory.children": "an episode has one agent's steps",
        "case": "an episode has a task id, an instruction and a goal",
        "scores": "an episode has success and final_reward only",
    },
    note="OSWorld results and step logs were not verified with real files",
    # Not lost: the value is there in another form.
    reencoded={
        "action_timestamp": "a time as the arena writes it, 20260102@030405",
        "*schema_version": "the source's version",
    },
    corners=("pantrace", "steps[].pantrace"),
)
