"""Parity with the original script: our rows of an OpenCode database against those it wrote of the same one.

Every difference has a name, listed in docs/formats/vertex-seed.md. Each is undone by one function, which takes the
script's session and the facts of the recording, and changes exactly what the difference is about; what is then left
must be equal to ours, key by key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.convert import write
from pantrace.engine.read import read
from pantrace.model import CallPair, Step, Text, Trajectory, all_trajectories, call_pairs, is_agents, step_text
from pantrace.wire.vertex.parts import arguments_to, error_text

DATABASE = CORPUS / "own" / "opencode" / "sqlite-1.18.33" / "opencode.db"
REFERENCE = CORPUS / "own" / "opencode" / "reference-gsd-lite" / "eval_run_reference_1.18.33.json"
TOOL_MAP = CORPUS / "public" / "opencode" / "gsd-lite" / "eval_config.yaml"
DOCS = Path(__file__).parents[2] / "docs" / "formats" / "vertex-seed.md"

pytestmark = needs_corpus


@dataclass
class Content:
    """One turn of the script's full conversation."""

    role: str
    text: str


@dataclass
class Use:
    """One tool call of the script, with the turn it belongs to: `content`, or a silent one before `before`."""

    item: dict[str, Any]
    response: dict[str, Any]
    content: Content | None
    before: Content | None


@dataclass
class Session:
    """A row of the script, taken apart so that turns can be added and taken away."""

    row: dict[str, Any]
    contents: list[Content]
    uses: list[Use]
    metadata: dict[str, Any]


def apart(row: dict[str, Any]) -> Session:
    contents = [Content(each["role"], each["parts"][0]["text"]) for each in row["request"]["contents"]]
    answers = row["response_concat"].removeprefix("\n\n".join(each.text for each in contents if each.role == "model"))
    final = row["response"]["candidates"][0]["content"]["parts"][0]["text"]
    missing = row["metadata"]["total_turns"] - len(contents)
    if missing == 2:
        contents.append(Content("model", answers.removesuffix(final).strip("\n")))
    if missing:
        contents.append(Content("model", final))
    uses = []
    for event, item in zip(row["intermediate_events"], row["generated_trajectory"], strict=True):
        assert event["function_call"] == {"name": item["tool"], "args": item["args"]}
        assert event["turn"] == item["turn"]
        at = contents[item["turn"]] if item["turn"] < len(contents) else None
        mine = at if at is not None and at.role == "model" else None
        item = {key: value for key, value in item.items() if key != "turn"}
        uses.append(Use(item, dict(event["function_response"]["response"]), mine, None if mine else at))
    return Session(row, contents, uses, {})


def together(session: Session) -> dict[str, Any]:
    """A session in the script's shape again."""
    told = [{"role": each.role, "parts": [{"text": each.text}]} for each in session.contents]
    users = [place for place, each in enumerate(session.contents) if each.role == "user"]
    models = [each for each in session.contents if each.role == "model"]
    last = users[-1] if users else -1
    events, items = [], []
    for use in session.uses:
        owner = use.content if use.content is not None else use.before
        turn = next((place for place, each in enumerate(session.contents) if each is owner), len(session.contents))
        name = use.item["tool"]
        events.append(
            {
                "function_call": {"name": name, "args": use.item["args"]},
                "function_response": {"name": name, "response": use.response},
                "turn": turn,
            }
        )
        items.append({**use.item, "turn": turn})
    final = models[-1].text if models else ""
    return {
        "session_id": session.row["session_id"],
        "created": session.row["created"],
        "title": session.row["title"],
        "request": {"contents": told[: last + 1]},
        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": final}]}}]},
        "prompt": session.contents[last].text if users else "",
        "conversation_history": told[: max(last, 0)],
        "intermediate_events": events,
        "generated_trajectory": items,
        "prompt_concat": "\n\n".join(each.text for each in session.contents if each.role == "user"),
        "response_concat": "\n\n".join(each.text for each in models if each.text),
        "metadata": {
            "total_turns": len(told),
            "total_tools": len(events),
            "user_turns": len(users),
            "model_turns": len(models),
            **session.metadata,
        },
    }


def everything_said(step: Step) -> str:
    return "\n\n".join(part.text for part in step.parts if isinstance(part, Text) and part.text)


# The differences. Each function says whether it found its own and has undone it.


def created_has_zone(session: Session, trajectory: Trajectory) -> bool:
    """The script writes local time without a zone (recorded in UTC) and cuts fractions off."""
    assert trajectory.created is not None
    moment = datetime.fromtimestamp(trajectory.created, UTC)
    assert session.row["created"] == moment.replace(microsecond=0, tzinfo=None).isoformat()
    session.row = {**session.row, "created": moment.isoformat()}
    return True


def user_shell_not_agent(session: Session, trajectory: Trajectory) -> bool:
    """Commands that the user ran count as the agent's calls, their notice as a prompt."""
    shell = [step for step in trajectory.steps if step.kind == "user_shell"]
    calls = [pair.call for pair in call_pairs(trajectory, agent_only=False) if pair.step.kind == "user_shell"]
    notices = [everything_said(step) for step in shell if step.role == "user"]
    uses = [use for use in session.uses if not any(use.item["args"] == call.arguments for call in calls)]
    kept = [each for each in session.contents if not (each.role == "user" and each.text in notices)]
    assert len(session.uses) - len(uses) == len(calls)
    assert len(session.contents) - len(kept) == len(notices)
    session.uses, session.contents = uses, kept
    return bool(calls)


def synthetic_not_prompt(session: Session, trajectory: Trajectory) -> bool:
    """Text that the program inserted is part of the prompt."""
    found = False
    for step in trajectory.steps:
        inserted = any(isinstance(part, Text) and part.synthetic for part in step.parts)
        if step.role == "user" and step.kind == "message" and inserted:
            content = next(each for each in session.contents if each.text == everything_said(step))
            content.text = step_text(step) or ""
            found = True
    return found


def subtask_is_prompt(session: Session, trajectory: Trajectory) -> bool:
    """What the user asked of a sub-agent (a subtask part) is not in the contents at all."""
    steps = [step for step in trajectory.steps if step.role == "user" and step.kind == "message" and step_text(step)]
    found = False
    for before, step in zip([None, *steps], steps, strict=False):
        if not any(part.extra.get("opencode", {}).get("type") == "subtask" for part in step.parts if _has_extra(part)):
            continue
        assert before is not None
        asked = next(each for each in session.contents if each.text == step_text(before))
        # Nothing was answered in between (the first was aborted): both are one user turn.
        asked.text += f"\n\n{step_text(step)}"
        found = True
    return found


def _has_extra(part: Any) -> bool:
    return hasattr(part, "extra")


def compaction_not_response(session: Session, trajectory: Trajectory) -> bool:
    """The summary that replaced the context is taken as an answer, here as the final one."""
    summaries = [everything_said(step) for step in trajectory.steps if step.kind == "compaction"]
    kept = [each for each in session.contents if not (each.role == "model" and each.text in summaries)]
    found = len(kept) < len(session.contents)
    session.contents = kept
    return found


def tools_only_turn_kept(session: Session, trajectory: Trajectory) -> bool:
    """A model turn without text is no content, so that users follow users and `turn` points at a user or at nothing."""
    silent: dict[int, Content] = {}
    for use in session.uses:
        if use.content is None:
            place = len(session.contents) if use.before is None else session.contents.index(use.before)
            if id(use.before) not in silent:
                silent[id(use.before)] = Content("model", "")
                session.contents.insert(place, silent[id(use.before)])
            use.content = silent[id(use.before)]
    return bool(silent)


def v2_session(session: Session, trajectory: Trajectory) -> bool:
    """A session that lives in the V2 tables only comes out empty."""
    if session.contents or not trajectory.steps:
        return False
    session.contents = [Content("user", step_text(step) or "") for step in trajectory.steps]
    assert [step.role for step in trajectory.steps] == ["user"]
    return True


def _pairs(session: Session, trajectory: Trajectory) -> list[tuple[Use, CallPair]]:
    pairs = [pair for pair in call_pairs(trajectory) if is_agents(pair.step)]
    return list(zip(session.uses, pairs, strict=True))


def invalid_tool_named(session: Session, trajectory: Trajectory) -> bool:
    """A call that OpenCode could not make is recorded as tool `invalid`; its name and arguments lie in the input."""
    found = False
    for use, pair in _pairs(session, trajectory):
        if use.item["tool_raw"] == "invalid":
            assert use.item["args"]["tool"] == pair.call.name
            use.item |= {
                "tool": f"raw.{pair.call.name}",
                "tool_raw": pair.call.name,
                "args": arguments_to(pair.call.arguments),
            }
            found = True
    return found


def failed_tool_error(session: Session, trajectory: Trajectory) -> bool:
    """Failed tools have the output "" and nothing says that they failed."""
    found = False
    for use, pair in _pairs(session, trajectory):
        if pair.result is not None and pair.result.failure is not None:
            assert "error" not in use.response
            use.response["error"] = error_text(pair.result)
            found = True
    return found


def overflow_output_followed(session: Session, trajectory: Trajectory) -> bool:
    """A long output lies in a file of its own; the script keeps the shortened text that points to it."""
    found = False
    for use, pair in _pairs(session, trajectory):
        if "Full output saved to: " in use.response["output"]:
            name = use.response["output"].partition("Full output saved to: ")[2].split()[0].rpartition("/")[2]
            whole = (DATABASE.parent / "tool-output" / name).read_text()
            assert pair.result is not None
            assert pair.result.output == whole
            use.response["output"] = use.item["output"] = whole[:2000]
            found = True
    return found


def response_absent_said(session: Session, trajectory: Trajectory) -> bool:
    """A session without an answer has the response "", as one whose answer was empty would have."""
    last = session.contents[-1] if session.contents else Content("user", "")
    if last.role == "model" and last.text:
        return False
    session.metadata = {"response_absent": True}
    return True


DIFFERENCES: dict[str, Callable[[Session, Trajectory], bool]] = {
    "created-has-zone": created_has_zone,
    "user-shell-not-agent": user_shell_not_agent,
    "synthetic-not-prompt": synthetic_not_prompt,
    "subtask-is-prompt": subtask_is_prompt,
    "compaction-not-response": compaction_not_response,
    "tools-only-turn-kept": tools_only_turn_kept,
    "v2-session": v2_session,
    "invalid-tool-named": invalid_tool_named,
    "failed-tool-error": failed_tool_error,
    "overflow-output-followed": overflow_output_followed,
    "response-absent-said": response_absent_said,
}

EXPECTED = {
    "ses_e1f920883ffeviUZWQ9cixI36e": {"failed-tool-error"},
    "ses_e1f901162ffesXODlT1I2RwJdD": {"failed-tool-error", "compaction-not-response"},
    "ses_e1f8d0de7ffejko4CpLfIMjJE5": {"failed-tool-error", "invalid-tool-named"},
    "ses_e1f8cd331ffePFoov4lUpGikM2": {"response-absent-said"},
    "ses_e1f8ca303ffe9orHI1RSMkzcZ6": {"overflow-output-followed", "tools-only-turn-kept", "response-absent-said"},
    "ses_e1f8c5323ffePCpIpaqeHBRaPv": {"tools-only-turn-kept"},
    "ses_e1f8b90e9ffeBLz8aMMHgvirHU": {"synthetic-not-prompt"},
    "ses_e1f8a828cffeDDuBQMdelStG6b": {"failed-tool-error", "invalid-tool-named"},
    "ses_e1f86eca0ffeJPrwQbltccXfxl": {"user-shell-not-agent", "subtask-is-prompt"},
    "ses_e1f85a600ffeo6fMgpcS3Oq7Y2": {"v2-session", "response-absent-said"},
}
"""Which session shows which difference; `created-has-zone` all of them do."""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    target = tmp_path_factory.mktemp("parity") / "rows.json"
    options = {"turn_base": "0", "include_final": "false", "output_limit": "2000", "tool_map": str(TOOL_MAP)}
    write(read(DATABASE), target, to="vertex-seed", options=options)
    return {row["session_id"]: row for row in json.loads(target.read_bytes())}


@pytest.fixture(scope="module")
def recorded() -> dict[str | None, Trajectory]:
    samples = [sample.trajectory for sample in read(DATABASE).samples]
    return {each.id: each for top in samples if top is not None for each in all_trajectories(top)}


def reference() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(REFERENCE.read_bytes()) if REFERENCE.exists() else []
    return rows


def test_taking_apart_and_putting_together_changes_nothing() -> None:
    for row in reference():
        assert together(apart(row)) == row


def test_both_have_the_same_sessions(ours: dict[str, Any]) -> None:
    assert set(ours) == {row["session_id"] for row in reference()}
    assert len(ours) == 16


@pytest.mark.parametrize("row", reference(), ids=lambda row: row["session_id"])
def test_only_named_differences(
    row: dict[str, Any], ours: dict[str, dict[str, Any]], recorded: dict[str | None, Trajectory]
) -> None:
    session = apart(row)
    trajectory = recorded[row["session_id"]]
    seen = {name for name, undo in DIFFERENCES.items() if undo(session, trajectory)}
    assert together(session) == ours[row["session_id"]]
    assert seen == EXPECTED.get(row["session_id"], set()) | {"created-has-zone"}


def test_every_difference_is_seen_and_documented() -> None:
    assert set().union(*EXPECTED.values()) | {"created-has-zone"} == set(DIFFERENCES)
    page = DOCS.read_text()
    assert not [name for name in DIFFERENCES if f"`{name}`" not in page]
