"""What is peculiar to OpenCode: four generations on disk, failures that call themselves completed, sub-agents."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT, without_source
from pantrace.engine.convert import convert, write_run
from pantrace.engine.read import Notes, read, read_pile
from pantrace.engine.validate import validate
from pantrace.errors import ReadError, SampleRefused
from pantrace.formats.format import NoOptions
from pantrace.formats.opencode import FORMAT
from pantrace.formats.opencode.export import CORNERS, dump_document, load
from pantrace.formats.opencode.export import dump as dump_with
from pantrace.formats.opencode.sessions import load_document
from pantrace.formats.opencode.stream import moment_of
from pantrace.model import (
    Action,
    Agent,
    Case,
    Media,
    Run,
    Sample,
    Score,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    Usage,
    all_trajectories,
    call_pairs,
    final_response,
    turns,
    usage_total,
)
from pantrace.wire.head import Head
from pantrace.wire.json import decode, encode, to_plain
from pantrace.wire.loss import sample_losses
from pantrace.wire.pantrace_key import without_carried

GOLDEN = ROOT / "opencode"
OWN = CORPUS / "own" / "opencode"

S1 = "ses_e1f901162ffesXODlT1I2RwJdD"


def one(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def by_id(path: Path) -> dict[str, Trajectory]:
    """All sessions of a source, sub-agents too."""
    return {
        str(each.id): each
        for sample in read(path).samples
        if sample.trajectory
        for each in all_trajectories(sample.trajectory)
    }


def alone(trajectory: Trajectory) -> Sample:
    return Sample(id=str(trajectory.id), trajectory=msgspec.structs.replace(trajectory, children=()))


def dump(sample: Sample) -> Any:
    return dump_with(sample, NoOptions())


def plain(sample: Sample) -> Any:
    """As `--no-carry` writes it."""
    return without_carried(dump(sample), CORNERS)


def said(trajectory: Trajectory) -> Any:
    """A trajectory as plain values, without where it was read and what stands beside its messages."""
    plain = without_source(to_plain(msgspec.structs.replace(trajectory, children=(), caller=None)))
    plain["extra"]["opencode"] = {"info": plain["extra"]["opencode"]["info"]}
    return plain


def export(messages: list[Any], **info: Any) -> dict[str, Any]:
    return {"info": {"id": "ses_1", "slug": "s", "time": {"created": 1000}, **info}, "messages": messages}


def user(*parts: dict[str, Any], name: str = "msg_1", **info: Any) -> dict[str, Any]:
    return {"info": {"id": name, "role": "user", "time": {"created": 1000}, **info}, "parts": list(parts)}


def assistant(*parts: dict[str, Any], name: str = "msg_2", **info: Any) -> dict[str, Any]:
    return {"info": {"id": name, "role": "assistant", "time": {"created": 2000}, **info}, "parts": list(parts)}


def tool(state: dict[str, Any], name: str = "bash") -> dict[str, Any]:
    return {"id": "prt_1", "type": "tool", "tool": name, "callID": "c1", "state": state}


def loaded(*messages: dict[str, Any], **info: Any) -> Trajectory:
    trajectory = load(export(list(messages), **info)).trajectory
    assert trajectory is not None
    return trajectory


def result_of(state: dict[str, Any], name: str = "bash") -> ToolResult:
    step = loaded(user(), assistant(tool(state, name))).steps[1]
    (found,) = [part for part in step.parts if isinstance(part, ToolResult)]
    return found


# --- tool states -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_call_that_has_not_ended_has_no_result(status: str) -> None:
    state = {"status": status, "input": {"command": "ls"}, "raw": "x", "time": {"start": 5}}
    document = export([user(), assistant(tool(state))])
    step = loaded(user(), assistant(tool(state))).steps[1]
    assert [type(part) for part in step.parts] == [ToolCall]
    assert decode(encode(plain(load(document))))["messages"][1]["parts"][0]["state"] == state


def test_a_completed_tool_without_an_exit_code_has_not_failed() -> None:
    found = result_of(
        {"status": "completed", "input": {}, "output": "ok", "metadata": {}, "time": {"start": 1, "end": 2}}
    )
    assert (found.failure, found.exit_code, found.output) == (None, None, "ok")
    assert (found.started, found.ended) == (0.001, 0.002)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        ("File not found: x", "error"),
        ("The user rejected permission to use this specific tool call.", "denied"),
        ("Error: The user has specified a rule which prevents you from using this specific tool call.", "denied"),
        ("Tool execution aborted", "cancelled"),
    ],
)
def test_an_error_state_says_what_kind(error: str, failure: str) -> None:
    found = result_of({"status": "error", "input": {}, "error": error, "metadata": {"output": "so far"}})
    assert (found.failure, found.error, found.output) == (failure, error, "so far")


def test_failures_hidden_in_completed_states() -> None:
    """An unknown tool, arguments that are no JSON, a missing argument: three failures, three names."""
    pairs = call_pairs(one(GOLDEN / "bad_tool_calls.json"))
    found = [(pair.call.name, pair.call.arguments, pair.result and pair.result.failure) for pair in pairs]
    assert found == [
        ("no_such_tool", None, "invalid_tool"),
        ("read", '{"filePath": 12', "invalid_arguments"),
        ("read", {}, "error"),
    ]
    assert pairs[0].call.extra["opencode"]["tool"] == "invalid"
    (exit_three,) = [
        pair.result
        for pair in call_pairs(one(GOLDEN / "multi_turn_reasoning_edit_compaction.json"))
        if pair.result and pair.result.failure == "exit_code"
    ]
    assert exit_three.exit_code == 3


@needs_corpus
def test_refused_arguments_are_read_from_the_error_that_quotes_them() -> None:
    tree = by_id(OWN / "project-storage-0.5.29")["ses_e1f86e5c6ffeWiX37gxqdurCkB"]
    (pair,) = call_pairs(tree)
    assert pair.call.name == "todowrite"
    assert pair.call.arguments["todos"][0]["content"] == "write notes"
    assert pair.result is not None
    assert pair.result.failure == "invalid_arguments"


def test_a_long_output_is_followed_into_its_file_and_marked_cut_without_it(tmp_path: Path) -> None:
    name = "ses_e1f8ca303ffe9orHI1RSMkzcZ6"
    followed = call_pairs(by_id(GOLDEN / "database-1.18.33")[name])[0].result
    assert followed is not None
    assert (followed.output, followed.truncated) == ("x" * 60_000, False)
    assert len(followed.extra["opencode"]["output"]) == 51_345
    shutil.copy(GOLDEN / "database-1.18.33" / "opencode.db", tmp_path)
    cut = call_pairs(by_id(tmp_path)[name])[0].result
    assert cut is not None
    assert (len(cut.output), cut.truncated) == (51_345, True)


def test_a_recorded_path_is_not_followed_out_of_its_folder(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "database-1.18.33", tmp_path / "data")
    (tmp_path / "secret").write_text("not for you")
    file = next((tmp_path / "data" / "tool-output").iterdir())
    file.unlink()
    file.symlink_to(tmp_path / "secret")
    assert b"not for you" not in encode(list(read(tmp_path / "data").samples))


# --- messages --------------------------------------------------------------------------------------------------------


def test_zeros_before_an_answer_are_not_usage() -> None:
    tokens = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    step = loaded(
        assistant(cost=0, tokens=tokens, error={"name": "MessageAbortedError", "data": {"message": "x"}})
    ).steps[0]
    assert step.usage is None
    assert step.error is not None
    assert (step.error.kind, step.error.message) == ("MessageAbortedError", "x")
    assert final_response(loaded(user({"type": "text", "text": "hi"}), assistant(cost=0, tokens=tokens))) is None


def test_usage_counts_cached_and_reasoning_tokens_in() -> None:
    tokens = {"total": 115, "input": 10, "output": 20, "reasoning": 5, "cache": {"read": 70, "write": 10}}
    usage = loaded(assistant(cost=0.5, tokens=tokens)).steps[0].usage
    assert usage == Usage(input=90, output=25, cache_read=70, cache_write=10, reasoning=5, total=115, cost_usd=0.5)


def test_turns_follow_the_prompt_that_is_answered_not_the_order() -> None:
    prompt = {"type": "text", "text": "x"}
    steps = loaded(
        user(prompt, name="a"),
        user(prompt, name="b"),
        assistant(name="c", parentID="a"),
        assistant(name="d", parentID="b"),
        assistant(name="e"),
    ).steps
    assert [step.turn for step in steps] == [1, 2, 1, 2, 2]


def test_inserted_messages_are_no_prompts() -> None:
    steps = loaded(
        user({"type": "text", "text": "ask"}, name="a"),
        assistant(name="b", parentID="a"),
        user({"type": "compaction", "auto": True}, name="c"),
        assistant({"type": "text", "text": "summary"}, name="d", parentID="c", summary=True),
        user({"type": "text", "text": "go on", "synthetic": True}, name="e"),
        user({"type": "text", "text": "shown only", "ignored": True}, name="f"),
        user({"type": "file", "mime": "text/plain", "url": "file:///x"}, name="g"),
    ).steps
    assert [step.kind for step in steps] == [
        "message", "message", "compaction", "compaction", "synthetic", "synthetic", "message",
    ]  # fmt: skip
    assert [step.turn for step in steps] == [1, 1, 1, 1, 1, 1, 2]


def test_a_users_shell_command_is_no_action_of_the_agent() -> None:
    session = by_id(GOLDEN / "database-1.18.33")["ses_e1f86eca0ffeJPrwQbltccXfxl"]
    assert [step.kind for step in session.steps[:3]] == ["user_shell", "user_shell", "message"]
    assert [pair.call.name for pair in call_pairs(session)] == ["task"]
    assert [pair.call.name for pair in call_pairs(session, agent_only=False)] == ["bash", "task"]
    assert len(turns(session)[1:]) == 2


def test_a_shell_command_is_known_without_its_words() -> None:
    """`--sanitize` replaces the text by which it could be told."""
    shell = {"status": "completed", "input": {}, "output": "[redacted]", "metadata": {}}
    steps = loaded(
        user({"type": "text", "text": "[redacted:text:prt_1]", "synthetic": True}),
        assistant(tool(shell), parentID="msg_1", cost=0),
    ).steps
    assert [step.kind for step in steps] == ["user_shell", "user_shell"]


def test_what_opencode_inserts_for_a_file_is_synthetic() -> None:
    step = one(GOLDEN / "file_attachment_synthetic.json").steps[0]
    assert [getattr(part, "synthetic", None) for part in step.parts] == [True, True, None, False]
    assert isinstance(step.parts[2], Media)


def test_hidden_reasoning_is_not_empty_reasoning() -> None:
    hidden = {"type": "reasoning", "text": "", "metadata": {"openai": {"reasoningEncryptedContent": "abc"}}}
    (part,) = loaded(assistant(hidden)).steps[0].parts
    assert isinstance(part, Thinking)
    assert (part.text, part.redacted) == (None, True)


def test_parts_the_model_has_no_word_for_keep_their_place() -> None:
    kinds = ["step-start", "retry", "agent", "snapshot", "from-the-future"]
    parts = loaded(assistant(*[{"type": kind, "id": f"p{kind}"} for kind in kinds])).steps[0].parts
    assert [part.kind for part in parts if isinstance(part, Unknown)] == [f"opencode:{kind}" for kind in kinds]


def test_the_system_prompt_of_old_messages_is_the_agents() -> None:
    session = by_id(GOLDEN / "project-storage-0.5.29")["ses_e1f86dca7ffeV4LLdPJMASbOSE"]
    (agent,) = session.agents
    assert agent.name == "build"
    assert agent.instructions is not None
    assert agent.instructions.startswith("You are opencode")


# --- sub-agents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["database-1.18.33", "storage-1.1.65", "project-storage-0.5.29"])
def test_sub_agents_are_children_of_the_call_that_started_them(source: str) -> None:
    samples = list(read(GOLDEN / source).samples)
    children = 0
    for sample in samples:
        assert sample.trajectory is not None
        calls = {pair.call.id for pair in call_pairs(sample.trajectory)}
        for child in sample.trajectory.children:
            children += 1
            assert child.parent == sample.id
            assert child.caller in calls
            assert child.id not in {each.id for each in samples}
    assert children == {"database-1.18.33": 2}.get(source, 1)


def database(path: Path, sessions: dict[str, str | None]) -> Path:
    """A database with the columns of 1.2.1 and these sessions with their parents."""
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """create table session (id text primary key, project_id text, parent_id text, slug text, directory text,
                 title text, version text, share_url text, summary_additions integer, summary_deletions integer,
                 summary_files integer, summary_diffs text, revert text, permission text, time_created integer,
                 time_updated integer, time_compacting integer, time_archived integer);
               create table message (id text primary key, session_id text, time_created integer, time_updated integer,
                 data text);
               create table part (id text primary key, message_id text, session_id text, time_created integer,
                 time_updated integer, data text);
               create table control_account (email text, access_token text);"""
        )
        for number, (name, parent) in enumerate(sessions.items()):
            connection.execute(
                "insert into session (id, project_id, parent_id, slug, directory, title, version, share_url, revert,"
                " time_created, time_updated) values (?, 'global', ?, 's', '/w', 't', '1.2.1', 'https://share/x',"
                """ '{"messageID":"msg_9"}', ?, 9)""",
                (name, parent, number),
            )
    connection.close()
    return path


def test_children_nest_to_any_depth_and_orphans_stand_alone(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", {"ses_a": None, "ses_b": "ses_a", "ses_c": "ses_b", "ses_d": "ses_gone"})
    first, orphan = read(path).samples
    assert first.trajectory is not None
    assert [each.id for each in all_trajectories(first.trajectory)] == ["ses_a", "ses_b", "ses_c"]
    assert orphan.trajectory is not None
    assert (orphan.id, orphan.trajectory.parent) == ("ses_d", "ses_gone")
    assert [(each.level, each.place) for each in validate(path)] == [("warning", "session ses_d")]


def test_a_ring_of_parents_is_told_once(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", {"ses_a": "ses_b", "ses_b": "ses_a", "ses_c": "ses_c"})
    assert [list(by_id(path)), [sample.id for sample in read(path).samples]] == [
        ["ses_a", "ses_b", "ses_c"],
        ["ses_a", "ses_c"],
    ]


# --- databases -------------------------------------------------------------------------------------------------------


def test_columns_of_1_2_1_have_no_totals(tmp_path: Path) -> None:
    trajectory = one(database(tmp_path / "x.db", {"ses_a": None}))
    assert trajectory.usage is None
    info = trajectory.extra["opencode"]["info"]
    assert (info["share"], info["revert"]) == ({"url": "https://share/x"}, {"messageID": "msg_9"})
    assert trajectory.source is not None
    assert trajectory.source.producer == "opencode 1.2.1"


def test_one_broken_row_does_not_sink_the_session(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", {"ses_a": None})
    with sqlite3.connect(path) as connection:
        connection.execute("""insert into message values ('msg_1', 'ses_a', 1, 1, '{"role":"user"}')""")
        connection.execute("insert into message values ('msg_2', 'ses_a', 2, 2, '{torn')")
        connection.execute("insert into part values ('prt_1', 'msg_1', 'ses_a', 1, 1, '[]')")
        connection.execute(
            """insert into part values ('prt_2', 'msg_1', 'ses_a', 1, 1, '{"type":"text","text":"x"}')"""
        )
        connection.execute("insert into part values ('prt_3', 'msg_gone', 'ses_a', 1, 1, '{}')")
    connection.close()
    broken: list[ReadError] = []
    (sample,) = read(path, on_broken=broken.append).samples
    assert sample.trajectory is not None
    assert [step.id for step in sample.trajectory.steps] == ["msg_1"]
    assert [type(part) for part in sample.trajectory.steps[0].parts] == [Text]
    assert [error.place for error in broken] == [
        "session ses_a, part prt_1",
        "session ses_a, message msg_2, line 1, column 2",
        "session ses_a, message msg_gone",
    ]
    with pytest.raises(ReadError):
        list(read(path).samples)


def test_a_damaged_schema_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    data = (GOLDEN / "todo.db").read_bytes()
    assert b"tablemessage" in data
    path.write_bytes(
        data.replace(b"tablemessage", b"table\xffessage").replace(b"CREATE TABLE `mess", b"CREATE TABL? `mess")
    )
    with pytest.raises(ReadError, match="SQLite"):
        list(read(path, format="opencode").samples)


def live(folder: Path) -> Iterator[Path]:
    """The golden database with one more prompt that is only in the write-ahead log."""
    path = folder / "opencode.db"
    shutil.copy(GOLDEN / "todo.db", path)
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma wal_autocheckpoint = 0")
    session = connection.execute("select id from session").fetchone()[0]
    late = 2_000_000_000_000
    connection.execute("insert into message values ('msg_z', ?, ?, ?, ?)", (session, late, late, '{"role":"user"}'))
    connection.execute(
        "insert into part values ('prt_z', 'msg_z', ?, ?, ?, ?)", (session, late, late, '{"type":"text","text":"late"}')
    )
    connection.commit()
    yield path
    connection.close()


def test_a_live_database_is_read_in_full_and_left_alone(tmp_path: Path) -> None:
    for path in live(tmp_path):
        before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
        assert len(before["opencode.db-wal"]) > 0
        for source in (path, tmp_path):
            assert [part.text for part in one(source).steps[-1].parts if isinstance(part, Text)] == ["late"]
        after = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
        # Writer and reader are one process here and share the log's index, where SQLite notes who reads what.
        assert after | {"opencode.db-shm": b""} == before | {"opencode.db-shm": b""}


def test_a_database_that_cannot_be_read_does_not_make_its_directory_unknown(tmp_path: Path) -> None:
    """The sessions that an older version left beside it are read; what became of the newer ones is said."""
    shutil.copytree(GOLDEN / "storage-1.1.65", tmp_path, dirs_exist_ok=True)
    sessions = len(list(read(tmp_path).samples))
    (tmp_path / "opencode.db").write_bytes((GOLDEN / "todo.db").read_bytes()[:20_000])
    broken: list[ReadError] = []
    assert len(list(read(tmp_path, on_broken=broken.append).samples)) == sessions
    assert [error.path for error in broken] == [str(tmp_path / "opencode.db")]


def test_parts_of_a_migrated_database_are_in_the_order_of_their_ids(tmp_path: Path) -> None:
    """The migration gave all parts of a message one time; rows may lie in any order."""
    path = tmp_path / "opencode.db"
    shutil.copy(GOLDEN / "todo.db", path)
    with sqlite3.connect(path) as connection:
        rows = connection.execute("select * from part order by id desc").fetchall()
        connection.execute("delete from part")
        connection.executemany("insert into part values (?, ?, ?, 7, 7, ?)", [(*row[:3], row[5]) for row in rows])
    connection.close()
    assert said(one(path)) == said(one(GOLDEN / "todo.db"))


def test_messages_are_in_the_order_of_time_where_ids_have_wrapped(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", {"ses_a": None})
    with sqlite3.connect(path) as connection:
        for name, at in (("msg_0001", 3), ("msg_ffff", 2), ("msg_0002", 3)):
            connection.execute("""insert into message values (?, 'ses_a', ?, ?, '{"role":"user"}')""", (name, at, at))
    connection.close()
    assert [step.id for step in one(path).steps] == ["msg_ffff", "msg_0001", "msg_0002"]


def test_secrets_are_never_read(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", {"ses_a": None})
    with sqlite3.connect(path) as connection:
        connection.execute("insert into control_account values ('a@b', 'TOKEN-42')")
        connection.execute("create table session_share (session_id text, id text, secret text, url text)")
        connection.execute("insert into session_share values ('ses_a', 'x', 'TOKEN-43', 'https://share/x')")
    connection.close()
    assert b"TOKEN" not in encode(list(read(path).samples))


def test_a_session_of_the_v2_interface_is_not_silently_empty() -> None:
    session = by_id(GOLDEN / "database-1.18.33")["ses_e1f85a600ffeo6fMgpcS3Oq7Y2"]
    (step,) = session.steps
    assert (step.role, step.kind) == ("user", "message")
    assert [part.text for part in step.parts if isinstance(part, Text)] == ["S1: What does this project do?"]
    assert "session_message" in session.extra["opencode"]["note"]


def test_v2_rows_that_are_no_prompts_are_notes() -> None:
    rows = [{"id": "x", "type": kind, "data": {}} for kind in ("agent-switched", "assistant", "shell")]
    steps = load({**export([]), "session_message": rows}).trajectory.steps  # type: ignore[union-attr]
    assert [(step.role, step.kind) for step in steps] == [("system", "note"), ("agent", "note"), ("user", "note")]


# --- directories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "variant"),
    [
        ("database-1.18.33", "sqlite"),
        ("database-1.18.33/opencode.db", "sqlite"),
        ("storage-1.1.65", "storage"),
        ("storage-1.1.65/storage", "storage"),
        ("project-storage-0.5.29", "project-storage"),
        ("project-storage-0.5.29/project", "project-storage"),
        ("project-storage-0.5.29/project/home-alex-projects-sample-ws", "project-storage"),
        ("project-storage-0.5.29/project/home-alex-projects-sample-ws/storage", "project-storage"),
        ("run_s1.ndjson", "stream"),
        ("run_s5_api_error.ndjson", "stream"),
        ("subagent_child.json", "export"),
    ],
)
def test_every_carrier_is_recognised(path: str, variant: str) -> None:
    assert FORMAT.detect(Head(GOLDEN / path)) == variant
    assert list(read(GOLDEN / path).samples)


def test_a_migrated_session_is_taken_from_the_newest_generation(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "storage-1.1.65", tmp_path, dirs_exist_ok=True)
    shutil.copytree(GOLDEN / "project-storage-0.5.29", tmp_path, dirs_exist_ok=True)
    database(tmp_path / "opencode.db", {"ses_e1f874964ffeQeUviotVDJ0UDy": None, "ses_new": None})
    found = [(sample.id[-4:], sample.trajectory and sample.trajectory.source) for sample in read(tmp_path).samples]
    assert [(name, source and source.version) for name, source in found] == [
        ("0UDy", "sqlite"), ("_new", "sqlite"), ("t7On", "storage"), ("9NZn", "storage"), ("bOSE", "project-storage"),
    ]  # fmt: skip


def as_tree(folder: Path, document: Any, generation: int) -> Path:
    """An export's session as the files of a storage tree."""
    info = document["info"]
    session = info["id"]
    storage = folder / ("storage" if generation == 2 else "project/slug/storage")
    files = {f"session/{info['projectID']}/{session}" if generation == 2 else f"session/info/{session}": info}
    for message in document["messages"]:
        name = message["info"]["id"]
        lead = "" if generation == 2 else "session/"
        # The content may be stale: what counts is the path.
        files[f"{lead}message/{session}/{name}"] = {**message["info"], "id": "stale", "sessionID": session}
        for part in message["parts"]:
            inner = "" if generation == 2 else f"{session}/"
            files[f"{lead}part/{inner}{name}/{part['id']}"] = part
    for name, value in files.items():
        file = storage / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(encode(value))
    return folder


@pytest.mark.parametrize("generation", [1, 2])
@pytest.mark.parametrize(
    "name", ["bad_tool_calls", "multi_turn_reasoning_edit_compaction", "file_attachment_synthetic"]
)
def test_a_tree_says_what_the_export_says(name: str, generation: int, tmp_path: Path) -> None:
    path = GOLDEN / f"{name}.json"
    tree = as_tree(tmp_path, json.loads(path.read_bytes()), generation)
    assert said(one(tree)) == said(one(path))


def test_messages_whose_session_file_is_gone_are_shown(tmp_path: Path) -> None:
    tree = as_tree(tmp_path, json.loads((GOLDEN / "subagent_child.json").read_bytes()), 2)
    (tree / "storage" / "migration").write_text("2")
    shutil.rmtree(tree / "storage" / "session")
    (tree / "storage" / "session").mkdir()
    trajectory = one(tree)
    assert (trajectory.id, trajectory.title, len(trajectory.steps)) == ("ses_e1f8d337bffeHg7vchB5EnNJNN", None, 3)


def test_todo_and_diffs_of_a_tree_stand_beside_the_session(tmp_path: Path) -> None:
    tree = as_tree(tmp_path, json.loads((GOLDEN / "subagent_child.json").read_bytes()), 2)
    for name in ("todo", "session_diff"):
        (tree / "storage" / name).mkdir()
        (tree / "storage" / name / "ses_e1f8d337bffeHg7vchB5EnNJNN.json").write_bytes(b'[{"x":1}]')
    beside = one(tree).extra["opencode"]
    assert beside["todo"] == beside["session_diff"] == [{"x": 1}]


def test_the_oldest_generation_as_its_source_describes_it(tmp_path: Path) -> None:
    """Synthetic: no recording of 0.1 or 0.2 was at hand."""
    storage = tmp_path / "project" / "slug" / "storage" / "session"
    call = {"toolCallId": "c1", "toolName": "bash", "args": {"command": "ls"}}
    refused = {"toolCallId": "c3", "state": "result", "result": "no"}
    about = {"title": "ls", "time": {"start": 3000, "end": 4000}}
    tokens = {"input": 7, "output": 2, "reasoning": 0, "cache": {"read": 1, "write": 0}}
    messages: list[Any] = [
        {
            "id": "msg_1",
            "role": "user",
            "parts": [{"type": "text", "text": "hi"}, {"type": "file", "mediaType": "a/b", "url": "file:///x"}],
            "metadata": {"time": {"created": 1000}, "sessionID": "ses_1", "tool": {}},
        },
        {
            "id": "msg_2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm"},
                {"type": "tool-invocation", "toolInvocation": {**call, "state": "result", "result": "a"}},
                {"type": "tool-invocation", "toolInvocation": {**call, "toolCallId": "c2", "state": "call"}},
                {"type": "tool-invocation", "toolInvocation": {**call, **refused}},
                {"type": "source-url", "url": "https://x"},
            ],
            "metadata": {
                "time": {"created": 2000, "completed": 5000},
                "sessionID": "ses_1",
                "tool": {"c1": about, "c3": {"error": True, "title": "no"}},
                "assistant": {"modelID": "m", "providerID": "p", "cost": 0.5, "tokens": tokens, "system": ["be good"]},
            },
        },
    ]  # fmt: skip
    (storage / "info").mkdir(parents=True)
    (storage / "info" / "ses_1.json").write_bytes(encode({"id": "ses_1", "title": "t", "time": {"created": 900}}))
    (storage / "message" / "ses_1").mkdir(parents=True)
    for message in messages:
        (storage / "message" / "ses_1" / f"{message['id']}.json").write_bytes(encode(message))
    trajectory = one(tmp_path)
    asked, answered = trajectory.steps
    assert [type(part) for part in asked.parts] == [Text, Media]
    assert [type(part) for part in answered.parts] == [
        Unknown, Thinking, ToolCall, ToolResult, ToolCall, ToolCall, ToolResult, Unknown,
    ]  # fmt: skip
    first, second, third = call_pairs(trajectory)
    assert first.result is not None
    assert (first.result.output, first.result.started, first.result.failure) == ("a", 3.0, None)
    assert second.result is None
    assert third.result is not None
    assert (third.result.error, third.result.failure) == ("no", "error")
    assert answered.usage is not None
    assert (answered.usage.input, answered.usage.cost_usd, answered.model, answered.ended) == (8, 0.5, "m", 5.0)
    back = load(decode(encode(dump(alone(trajectory)))))
    assert said(back.trajectory) == said(trajectory)  # type: ignore[arg-type]
    assert "not verified" in FORMAT.note


# --- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_agrees_with_the_export_where_both_speak() -> None:
    whole = {step.id: step for step in one(GOLDEN / "multi_turn_reasoning_edit_compaction.json").steps}
    stream = one(GOLDEN / "run_s1.ndjson")
    assert stream.id == S1
    for step in stream.steps:
        known = whole[step.id]
        assert (step.at, step.stop, step.usage) == (known.at, known.stop, known.usage)
        spoken = [
            pair.result and pair.result.output for pair in call_pairs(msgspec.structs.replace(stream, steps=(step,)))
        ]
        there = [
            pair.result and pair.result.output for pair in call_pairs(msgspec.structs.replace(stream, steps=(known,)))
        ]
        assert spoken == there


def test_interleaved_streams_are_taken_apart(tmp_path: Path) -> None:
    lines = (GOLDEN / "run_s1.ndjson").read_bytes().splitlines()
    other = [line.replace(b"ses_e1f901162ffesXODlT1I2RwJdD", b"ses_other") for line in lines]
    path = tmp_path / "both.ndjson"
    path.write_bytes(b"\n".join(line for pair in zip(lines, other, strict=True) for line in pair) + b"\n{torn")
    broken: list[ReadError] = []
    found = {sample.id: sample for sample in read(path, on_broken=broken.append).samples}
    assert set(found) == {S1, "ses_other"}
    alone_ = one(GOLDEN / "run_s1.ndjson")
    assert found[S1].trajectory is not None
    assert found[S1].trajectory.steps == alone_.steps
    assert [error.place for error in broken] == [f"line {2 * len(lines) + 1}, line 1, column 2"]


def test_an_id_tells_its_moment_only_near_a_known_time() -> None:
    at = 1794766812162
    assert moment_of("msg_1e0703402001Tew8YsYu5dF6l0", at + 10_000) == at
    assert moment_of("ses_e1f901162ffesXODlT1I2RwJdD", at) == 1794766794397
    assert moment_of("msg_1e0703402001Tew8YsYu5dF6l0", at + 90 * 86_400_000) is None
    assert moment_of("call_1", at) is None


# --- writing ---------------------------------------------------------------------------------------------------------


EXPORTS = [path for path in sorted(GOLDEN.glob("*.json")) if not path.name.endswith(".native.json")]


@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.name)
def test_a_real_export_is_written_as_it_was(path: Path) -> None:
    real = json.loads(path.read_bytes())
    assert decode(encode(dump(load(real)))) == decode(encode(plain(load(real)))) == real


def foreign() -> Trajectory:
    """A run that never saw OpenCode: no ids, no times, results in steps of their own."""
    return Trajectory(
        id="run-1",
        agents=(Agent(name="helper", instructions="be kind"),),
        steps=(
            Step(role="system", parts=(Text(text="rules"),)),
            Step(role="user", parts=(Text(text="hi"),)),
            Step(
                role="agent",
                agent="helper",
                parts=(
                    ToolCall(id="c1", name="bash", arguments={"command": "ls"}),
                    ToolCall(id="c2", name="read", arguments={"path": "x"}),
                    Action(kind="click"),
                ),
                usage=Usage(input=10, cache_read=4),
            ),
            Step(
                role="tool",
                parts=(
                    ToolResult(call_id="c2", output="two", failure="exit_code", exit_code=1),
                    ToolResult(call_id="c1", output="one", error="boom", failure="error"),
                ),
            ),
            Step(role="agent", agent="helper", parts=(Text(text="done"),)),
        ),
    )


def test_results_in_later_steps_are_folded_into_their_calls() -> None:
    sample = alone(foreign())
    row = decode(encode(dump_document(sample, NoOptions())))
    back = load_document(row).trajectory
    assert back is not None
    assert [step.role for step in back.steps] == ["user", "user", "agent", "agent"]
    pairs = [(pair.call.name, pair.result) for pair in call_pairs(back)]
    assert [(name, result and (result.output, result.error, result.exit_code)) for name, result in pairs] == [
        ("bash", ("one", "boom", None)),
        ("read", ("two", None, 1)),
    ]
    lost = {loss.path: loss.why for loss in sample_losses(sample, load_document(row), FORMAT.lost, "opencode")}
    assert "trajectory.steps[2].parts[2]" in lost
    assert [agent.instructions for agent in back.agents] == ["be kind"]


def test_what_was_filled_to_please_opencode_is_not_read_as_measured() -> None:
    row = decode(encode(dump(alone(foreign()))))
    assert not [each for each in FORMAT.check(row) if each.level == "error"]  # type: ignore[misc]
    info = row["messages"][2]["info"]
    assert (info["cost"], info["tokens"]["output"], info["parentID"]) == (0, 0, row["messages"][1]["info"]["id"])
    back = load(row).trajectory
    assert back is not None
    assert (back.created, back.title, back.steps[1].id, back.steps[2].parent) == (None, None, None, None)
    assert back.steps[2].usage == Usage(input=10, cache_read=4)
    assert b"unreported" not in encode(plain(alone(foreign())))


def test_writing_leaves_the_sample_as_it_is() -> None:
    for path in (GOLDEN / "todo.db", GOLDEN / "run_s1.ndjson", GOLDEN / "project-storage-0.5.29"):
        for sample in read(path).samples:
            before = encode(sample)
            dump(sample)
            assert encode(sample) == before
    half = load(export([assistant(path={"cwd": "/w"})]))
    assert dump(half)["messages"][0]["info"]["path"] == {"cwd": "/w", "root": ""}
    assert half.trajectory is not None
    assert half.trajectory.steps[0].extra["opencode"]["path"] == {"cwd": "/w"}


def test_a_case_that_was_not_run_is_refused() -> None:
    with pytest.raises(SampleRefused):
        dump(Sample(id="x"))


def test_children_become_exports_of_their_own(tmp_path: Path) -> None:
    report = convert(GOLDEN / "database-1.18.33", tmp_path / "out", to="opencode", strict=True)
    assert (report.samples, len(report.outputs)) == (6, 6)
    child = one(tmp_path / "out" / "ses_e1f8d337bffeHg7vchB5EnNJNN.json")
    assert (child.parent, child.caller) == ("ses_e1f8d52c5ffeHaFZoAUQf05gBQ", "call_21_0")


def test_what_opencode_has_no_word_for_is_carried_and_comes_back() -> None:
    sample = msgspec.structs.replace(
        alone(foreign()), id="case 7", epoch=2, case=Case(question="hi"), scores=(Score(name="accuracy", value=1.0),)
    )
    assert load(decode(encode(dump(sample)))) == sample
    assert "pantrace" not in plain(sample)


def test_callers_and_ids_as_earlier_versions_wrote_them_are_read() -> None:
    back = load({**export([user({"type": "text", "text": "hi"})]), "caller": "call_1", "sample": "case 7"})
    assert back.trajectory is not None
    assert (back.id, back.trajectory.caller) == ("case 7", "call_1")


def test_a_repeated_id_is_kept_beside_the_session(tmp_path: Path) -> None:
    sample = next(iter(read(GOLDEN / "todo.db").samples))
    write_run(Run(samples=[sample, sample]), tmp_path, to="opencode")
    names = sorted(each.id for each in read_pile([tmp_path], notes=Notes()).samples)
    assert names == sorted([sample.id, f"todo/{sample.id}"])


# --- checking --------------------------------------------------------------------------------------------------------


def wrong(document: Any) -> list[tuple[str, str | None]]:
    assert FORMAT.check is not None
    return [(each.level, each.place) for each in FORMAT.check(document)]


def test_checks_name_every_place() -> None:
    document = json.loads((GOLDEN / "subagent_child.json").read_bytes())
    assert wrong(document) == []
    document["messages"][1]["info"]["tokens"]["input"] = "many"
    document["messages"][1]["parts"][1]["state"]["status"] = "sleeping"
    document["messages"][2]["info"]["role"] = "robot"
    document["messages"][2]["parts"][0]["type"] = "dream"
    document["messages"][2]["info"]["parentID"] = "msg_gone"
    del document["info"]["slug"]
    assert wrong(document) == [
        ("warning", "info.slug"),
        ("error", "messages[1].info.tokens.input"),
        ("error", "messages[1].parts[1].state.status"),
        ("error", "messages[2].info.role"),
        ("warning", "messages[2].info.parentID"),
        ("warning", "messages[2].parts[0].type"),
    ]
    assert wrong({"info": {}, "messages": 3})[0] == ("error", "messages")
    assert wrong([]) == [("error", None)]


def test_databases_and_streams_are_checked_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    shutil.copy(GOLDEN / "todo.db", path)
    assert validate(path) == []
    with sqlite3.connect(path) as connection:
        name = connection.execute("select id from message order by time_created limit 1").fetchone()[0]
        session = connection.execute("select id from session").fetchone()[0]
        connection.execute("""update message set data = '{"role":"user","time":{}}' where id = ?""", (name,))
    connection.close()
    places = [each.place for each in validate(path) if each.level == "error"]
    assert places == [f"session {session}, message {name}.time.created"]
    stream = tmp_path / "x.ndjson"
    stream.write_bytes(b'{"type":"text","timestamp":1,"sessionID":"s","part":{"type":"text"}}\n{"sessionID":"s"}\n')
    assert [each.place for each in validate(stream, "opencode")] == [
        "line 1, part.text", "line 2, type", "line 2, timestamp", "line 2, type",
    ]  # fmt: skip


# --- the corpus ------------------------------------------------------------------------------------------------------


@needs_corpus
def test_every_recording_of_the_corpus_is_read_and_returns() -> None:
    sources = [
        OWN / "sqlite-1.18.33",
        OWN / "storage-1.1.65",
        OWN / "project-storage-0.5.29",
        *sorted((OWN / "export-1.18.33").iterdir()),
        *sorted((OWN / "run-format-json-1.18.33").iterdir()),
    ]
    count = 0
    for source in sources:
        for trajectory in by_id(source).values():
            count += 1
            sample = alone(trajectory)
            back = load(decode(encode(dump(sample))))
            assert sample_losses(sample, back, FORMAT.lost, "opencode") == []
            assert without_source(to_plain(back)) == without_source(to_plain(sample))
        assert not [each for each in validate(source) if each.level == "error"]
    assert count == 16 + 6 + 4 + 9 + 3


@needs_corpus
def test_the_database_holds_14_sessions_and_2_sub_agents() -> None:
    samples = list(read(OWN / "sqlite-1.18.33").samples)
    assert len(samples) == 14
    assert sum(len(sample.trajectory.children) for sample in samples if sample.trajectory) == 2


@needs_corpus
def test_cost_and_tokens_equal_the_sessions_columns() -> None:
    sessions = by_id(OWN / "sqlite-1.18.33")
    connection = sqlite3.connect(f"file:{OWN}/sqlite-1.18.33/opencode.db?mode=ro&immutable=1", uri=True)
    rows = connection.execute(
        "select id, cost, tokens_input, tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write"
        " from session"
    ).fetchall()
    connection.close()
    assert len(rows) == 16
    for name, cost, given, output, reasoning, read_, written in rows:
        total = usage_total(sessions[name], children=False)
        if total is None:
            assert (cost, given, output) == (0, 0, 0)
            assert sessions[name].usage is None
            continue
        assert total.cost_usd == pytest.approx(cost)
        assert total.input == given + read_ + written
        assert total.output == output + reasoning
        assert (total.reasoning, total.cache_read, total.cache_write) == (reasoning, read_, written)


@needs_corpus
def test_what_we_write_of_the_database_is_what_opencode_exports() -> None:
    """Named differences: what an export does not hold stands beside it (project, todo, who called, a long output)."""
    sessions = by_id(OWN / "sqlite-1.18.33")
    compared = 0
    for path in sorted((OWN / "export-1.18.33").iterdir()):
        if "sanitized" in path.name:
            continue
        real = json.loads(path.read_bytes())
        sample = alone(sessions[real["info"]["id"]])
        assert decode(encode(plain(sample))) == real
        ours = decode(encode(dump(sample)))
        beside = {key for key in ours if key not in ("info", "messages")}
        assert beside <= {"project", "todo", "pantrace"}
        for message in ours["messages"]:
            for part in message["parts"]:
                part.get("state", {}).pop("full_output", None)
        assert {"info": ours["info"], "messages": ours["messages"]} == real
        compared += 1
    assert compared == 8


@needs_corpus
def test_reading_an_export_is_reading_the_database() -> None:
    sessions = by_id(OWN / "sqlite-1.18.33" / "opencode.db")
    for path in sorted((OWN / "export-1.18.33").iterdir()):
        if "sanitized" not in path.name and "long_output" not in path.name:
            exported = one(path)
            assert said(exported) == said(sessions[str(exported.id)])


@needs_corpus
def test_steps_are_those_the_original_ingest_counted() -> None:
    """Its report of the same database: every tool call of every session, sub-agents as sessions of their own."""
    reference = json.loads((OWN / "reference-gsd-lite" / "eval_run_reference_1.18.33.json").read_bytes())
    sessions = by_id(OWN / "sqlite-1.18.33")
    assert {each["session_id"] for each in reference} == set(sessions)
    for each in reference:
        pairs = call_pairs(sessions[each["session_id"]], agent_only=False)
        assert len(pairs) == len(each["intermediate_events"])


def test_files_that_were_renamed_are_found_by_the_ids_inside(tmp_path: Path) -> None:
    document = json.loads((GOLDEN / "bad_tool_calls.json").read_bytes())
    tree = as_tree(tmp_path / "tree", document, 2)
    expected = one(tree)
    names = [message["info"]["id"] for message in document["messages"]]
    folder = tree / "storage" / "message" / document["info"]["id"]
    for number, name in enumerate(names):
        row = json.loads((folder / f"{name}.json").read_bytes())
        (folder / f"{name}.json").unlink()
        (folder / f"msg_{number:04}.json").write_bytes(encode({**row, "id": name}))
    (info,) = (tree / "storage" / "session").rglob("*.json")
    info.rename(info.with_name("ses_renamed.json"))
    assert one(tree).steps == expected.steps and one(tree).id == expected.id
