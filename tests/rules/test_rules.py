"""The rule language: each word with a trajectory it does not apply to, one it fails, one it passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pantrace.errors import UsageError
from pantrace.model import Sample, Step, Text, Thinking, ToolCall, ToolResult, Trajectory
from pantrace.rules import RuleFile, load_rules, packs, rule_score, rule_scores
from pantrace.rules.paths import covers, paths_in


def user(text: str) -> Step:
    return Step(role="user", parts=(Text(text=text),))


def agent(*parts: Any, id: str = "s") -> Step:  # noqa: A002
    return Step(role="agent", id=id, parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def sample(*steps: Step) -> Sample:
    return Sample(id="x", trajectory=Trajectory(steps=steps))


READ, GREP, BASH = call("read", filePath="/w/src/a.py"), call("grep", path="/w/src"), call("bash", command="pytest -q")
STATED = Sample(
    id="x",
    trajectory=Trajectory(steps=(user("a"), agent("first"), user("b"), agent("done")), response="ok"),
)
NOTHING = sample(user("do it"))


def ran(**fields: Any) -> Sample:
    """A shell command and how it went."""
    return sample(user("a"), agent(BASH, ToolResult(name="bash", **fields)))


ROWS: list[tuple[str, dict[str, Any], Sample, Any]] = [
    # Not applicable first.
    ("no text to forbid anything in", {"lacks": "sorry"}, NOTHING, None),
    ("nothing to be preceded", {"each": "read", "preceded_by": "grep"}, sample(user("a"), agent(GREP)), None),
    ("all excepted", {"each": "read", "preceded_by": "grep", "except": ["a.py"]}, sample(user("a"), agent(READ)), None),
    ("nothing to come before", {"called": "grep", "before": "read"}, sample(user("a"), agent(GREP)), None),
    ("not of the unknown is unknown", {"not": {"lacks": "x"}}, NOTHING, None),
    # Text.
    ("demanded text, no answer", {"contains": "done"}, NOTHING, False),
    ("contains", {"contains": ["done", "ok"]}, sample(user("a"), agent("ok, done")), True),
    ("the stated response counts", {"contains": "ok"}, STATED, True),
    ("and not the last words", {"contains": "done"}, STATED, False),
    ("of the last turn", {"contains": "ok", "turn": "last"}, STATED, True),
    ("and of no other", {"contains": "ok", "turn": "first"}, STATED, False),
    ("contains not all", {"contains": ["done", "ok"]}, sample(user("a"), agent("done")), False),
    ("contains any", {"contains_any": ["done", "ok"]}, sample(user("a"), agent("done")), True),
    ("contains none", {"contains_any": ["done", "ok"]}, sample(user("a"), agent("no")), False),
    ("case counts", {"contains": "DONE"}, sample(user("a"), agent("done")), False),
    ("case ignored", {"contains": "DONE", "ignore_case": True}, sample(user("a"), agent("done")), True),
    ("lacks", {"lacks": "sorry"}, sample(user("a"), agent("done")), True),
    ("has what it must lack", {"lacks": "sorry"}, sample(user("a"), agent("sorry")), False),
    ("matches", {"matches": r"LOG-\d{3}"}, sample(user("a"), agent("see LOG-001")), True),
    ("does not match", {"matches": r"LOG-\d{3}"}, sample(user("a"), agent("see LOG-1")), False),
    ("after", {"after": "##", "contains": "b"}, sample(user("a"), agent("a ## b")), True),
    ("not after", {"after": "##", "contains": "a"}, sample(user("a"), agent("a ## b")), False),
    ("without the mark", {"after": "##", "contains": "a"}, sample(user("a"), agent("a b")), False),
    ("only the final response", {"contains": "early"}, sample(user("a"), agent("early"), agent("late")), False),
    (
        "any response",
        {"in": "any_response", "contains": "early"},
        sample(user("a"), agent("early"), agent("late")),
        True,
    ),
    (
        "forbidden in any",
        {"in": "any_response", "lacks": "early"},
        sample(user("a"), agent("early"), agent("late")),
        False,
    ),
    ("last prompt", {"in": "last_prompt", "contains": "b"}, sample(user("a"), agent("x"), user("b")), True),
    ("not an earlier prompt", {"in": "last_prompt", "contains": "a"}, sample(user("a"), agent("x"), user("b")), False),
    ("any prompt", {"in": "any_prompt", "contains": "a"}, sample(user("a"), agent("x"), user("b")), True),
    (
        "tool output",
        {"in": "tool_output", "contains": "5"},
        sample(user("a"), agent(BASH, ToolResult(name="bash", output={"n": 5}))),
        True,
    ),
    ("thinking", {"in": "thinking", "contains": "hm"}, sample(user("a"), agent(Thinking(text="hm"))), True),
    (
        "first turn",
        {"in": "any_response", "turn": "first", "contains": "b"},
        sample(user("a"), agent("b"), user("c"), agent("d")),
        True,
    ),
    (
        "not the first turn",
        {"in": "any_response", "turn": "first", "contains": "d"},
        sample(user("a"), agent("b"), user("c"), agent("d")),
        False,
    ),
    ("last turn", {"turn": "last", "contains": "d"}, sample(user("a"), agent("b"), user("c"), agent("d")), True),
    ("second turn", {"turn": 2, "contains": "d"}, sample(user("a"), agent("b"), user("c"), agent("d")), True),
    (
        "demanded in one, forbidden in none",
        {"in": "any_response", "contains": "early", "lacks": "sorry"},
        sample(user("a"), agent("early"), agent("late")),
        True,
    ),
    (
        "demanded in none, forbidden in none",
        {"in": "any_response", "contains": "never", "lacks": "sorry"},
        sample(user("a"), agent("early"), agent("late")),
        False,
    ),
    (
        "demanded in one, forbidden in another",
        {"in": "any_response", "contains": "early", "lacks": "late"},
        sample(user("a"), agent("early"), agent("late")),
        False,
    ),
    # Calls.
    ("called one, not the other", {"called": "read", "not_called": "bash"}, sample(user("a"), agent(READ)), True),
    ("called neither", {"called": "read", "not_called": "bash"}, sample(user("a"), agent(GREP)), False),
    (
        "in order, but not called enough",
        {"each": "read", "preceded_by": "grep", "called": "read", "at_least": 2},
        sample(user("a"), agent(GREP, READ)),
        False,
    ),
    ("a path that is equal", {"called": "read", "path": "/w/src/a.py"}, sample(user("a"), agent(READ)), True),
    ("a path that is not", {"called": "read", "path": "a.py"}, sample(user("a"), agent(READ)), False),
    (
        "true is not 1",
        {"called": "bash", "arguments": {"times": 1}},
        sample(user("a"), agent(call("bash", times=True))),
        False,
    ),
    ("called", {"called": "read"}, sample(user("a"), agent(READ)), True),
    ("never called", {"called": "read"}, NOTHING, False),
    ("alias", {"called": "look"}, sample(user("a"), agent(GREP)), True),
    ("not called", {"not_called": "bash"}, sample(user("a"), agent(READ)), True),
    ("called though it must not", {"not_called": "bash"}, sample(user("a"), agent(BASH)), False),
    ("at most", {"called": "read", "at_most": 1}, sample(user("a"), agent(READ, READ)), False),
    ("at most includes none", {"called": "read", "at_most": 1}, NOTHING, True),
    ("at least", {"called": "read", "at_least": 2}, sample(user("a"), agent(READ, READ)), True),
    (
        "arguments",
        {"called": "bash", "arguments": {"command": {"matches": "^pytest"}}},
        sample(user("a"), agent(BASH)),
        True,
    ),
    ("other arguments", {"called": "bash", "arguments": {"command": "pytest"}}, sample(user("a"), agent(BASH)), False),
    ("missing argument", {"called": "bash", "arguments": {"cwd": "x"}}, sample(user("a"), agent(BASH)), False),
    ("path", {"called": "read", "path": {"contains": "a.py"}}, sample(user("a"), agent(READ)), True),
    ("before", {"called": "grep", "before": "read"}, sample(user("a"), agent(GREP, READ)), True),
    ("not before", {"called": "grep", "before": "read"}, sample(user("a"), agent(READ, GREP)), False),
    ("never before", {"called": "grep", "before": "read"}, sample(user("a"), agent(READ)), False),
    (
        "what the user ran is not the agent's",
        {"called": "bash"},
        sample(user("a"), Step(role="agent", kind="user_shell", parts=(BASH,))),
        False,
    ),
    ("failed by its exit code", {"called": "bash", "failed": True}, ran(output="", exit_code=3), True),
    ("failed by its payload", {"called": "bash", "failed": True}, ran(output={"status": "error"}), True),
    ("failed by its error", {"called": "bash", "failed": True}, ran(error="no such file"), True),
    ("did not fail", {"called": "bash", "failed": True}, ran(output="ok", exit_code=0), False),
    ("success is demanded", {"called": "bash", "failed": False}, ran(output="ok", exit_code=0), True),
    ("no answer is no success", {"called": "bash", "failed": False}, sample(user("a"), agent(BASH)), False),
    ("no answer is no failure", {"called": "bash", "failed": True}, sample(user("a"), agent(BASH)), False),
    ("no failure allowed", {"called": "bash", "failed": True, "at_most": 0}, ran(output="", exit_code=1), False),
    ("an error is what a tool gave back", {"in": "tool_output", "contains": "ENOENT"}, ran(error="ENOENT: a"), True),
    ("forbidden in an error", {"in": "tool_output", "lacks": "ENOENT"}, ran(output="", error="ENOENT: a"), False),
    # Turns.
    ("a turn that never came, forbidden call", {"turn": 2, "not_called": "bash"}, sample(user("a"), agent("b")), None),
    ("a turn that never came, demanded call", {"turn": 2, "called": "bash"}, sample(user("a"), agent("b")), None),
    ("a stream without prompts is one turn", {"turn": "first", "called": "bash"}, sample(agent(BASH)), True),
    ("and no second one", {"turn": 2, "called": "bash"}, sample(agent(BASH)), None),
    # Order on a path.
    (
        "preceded",
        {"each": "read", "preceded_by": "grep", "same_path": True},
        sample(user("a"), agent(GREP, READ)),
        True,
    ),
    (
        "preceded elsewhere",
        {"each": "read", "preceded_by": "grep", "same_path": True},
        sample(user("a"), agent(call("grep", path="/w/doc"), READ)),
        False,
    ),
    (
        "preceded anywhere is enough",
        {"each": "read", "preceded_by": "grep"},
        sample(user("a"), agent(call("grep", path="/w/doc"), READ)),
        True,
    ),
    (
        "a search of everything",
        {"each": "read", "preceded_by": "grep", "same_path": True},
        sample(user("a"), agent(call("grep", pattern="x"), READ)),
        True,
    ),
    (
        "searched only afterwards",
        {"each": "read", "preceded_by": "grep", "same_path": True},
        sample(user("a"), agent(READ, GREP)),
        False,
    ),
    # Combinations.
    ("all", {"all": [{"called": "read"}, {"called": "grep"}]}, sample(user("a"), agent(READ)), False),
    ("any", {"any": [{"called": "read"}, {"called": "grep"}]}, sample(user("a"), agent(READ)), True),
    ("not", {"not": {"called": "read"}}, sample(user("a"), agent(READ)), False),
    ("broken outweighs unknown", {"all": [{"lacks": "x"}, {"called": "read"}]}, NOTHING, False),
    ("met outweighs unknown", {"any": [{"lacks": "x"}, {"not_called": "read"}]}, NOTHING, True),
]


def rules(expect: dict[str, Any], **more: Any) -> RuleFile:
    rule = {"id": "R", "name": "r", "expect": expect, **more}
    return msgspec.convert({"name": "t", "version": "1", "tools": {"look": ["grep", "glob"]}, "rule": [rule]}, RuleFile)


@pytest.mark.parametrize(("expect", "given", "holds"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_words_of_the_language(expect: dict[str, Any], given: Sample, holds: bool | None) -> None:
    file = rules(expect)
    score = rule_score(given, file.rule[0], file)
    assert (score.value, score.status) == (holds, "not_applicable" if holds is None else "scored")
    assert score.explanation


def test_when_it_does_not_apply_it_is_not_a_pass() -> None:
    file = rules({"contains": "x"}, when={"called": "edit"})
    score = rule_score(sample(user("a"), agent("x")), file.rule[0], file)
    assert (score.status, score.passed, score.explanation) == ("not_applicable", None, "edit was not called")


def test_a_broken_rule_points_at_its_step() -> None:
    file = rules({"each": "read", "preceded_by": "grep", "same_path": True})
    score = rule_score(
        sample(user("a"), agent(GREP, id="one"), agent(call("read", filePath="/x/y.py"), id="two")), file.rule[0], file
    )
    assert score.evidence == ("two",)
    assert score.explanation == "read of /x/y.py without grep before it"


def test_a_call_with_other_arguments_is_not_told_as_no_call() -> None:
    file = rules({"called": "bash", "arguments": {"command": "make"}})
    score = rule_score(sample(user("a"), agent(BASH)), file.rule[0], file)
    assert score.explanation == "bash with a matching command was not called"


HANDOFF = "📦 STATELESS HANDOFF\n**Layer 1 — Local Context:** a\n**Layer 2 — Global Context:** b"
ONBOARDING = [call("read", filePath=f"/w/{name}.md") for name in ("PROJECT", "ARCHITECTURE", "WORK")]
EDIT = call("edit", filePath="/w/WORK.md", newString="- x")

PACK = [
    ("S1-H1", sample(user("a"), agent(HANDOFF)), True),
    ("S1-H1", sample(user("a"), agent("bye")), False),
    ("S1-H1", Sample(id="x"), None),
    ("S1-H2", sample(user("a"), agent(HANDOFF)), True),
    ("S1-H2", sample(user("a"), agent("STATELESS HANDOFF: Layer 1 only")), False),
    ("S1-H2", Sample(id="x"), None),
    ("C3-H1", sample(user("a"), agent(GREP, READ)), True),
    ("C3-H1", sample(user("a"), agent(READ)), False),
    ("C3-H1", sample(user("a"), agent(*ONBOARDING)), None),
    ("C3-H2", sample(user("a"), agent(*ONBOARDING)), True),
    ("C3-H2", sample(user("a"), agent("hm"), user("b"), agent(*ONBOARDING)), False),
    ("C3-H2", Sample(id="x"), None),
    ("J4-H2", sample(user("a"), agent(EDIT, "Logged as LOG-007.")), True),
    ("J4-H2", sample(user("a"), agent(EDIT, "Done.")), False),
    ("J4-H2", sample(user("a"), agent("Done.")), None),
]


@pytest.mark.parametrize(("name", "given", "holds"), PACK)
def test_each_rule_of_the_pack_can_pass_fail_and_not_apply(name: str, given: Sample, holds: bool | None) -> None:
    scores = {score.name: score for score in rule_scores(given, load_rules("stateless-handoff"))}
    assert scores[name].value is holds


def test_every_rule_of_every_pack_is_tried_in_all_three_ways() -> None:
    tried = {(name, holds) for name, _, holds in PACK}
    for pack in packs():
        for rule in load_rules(pack).rule:
            assert {(rule.id, True), (rule.id, False), (rule.id, None)} <= tried


HEAD = 'name = "t"\nversion = "1"\n\n[[rule]]\nid = "R1"\nname = "r"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = \nversion = 1", "not valid TOML.*line 1"),
        ('name = "t"', 'version is missing at the top of the file: for example version = "1"'),
        (HEAD + 'expect = { contain = "x" }\n', r"line 7: unknown key 'contain'.*did you mean contains\?"),
        (HEAD + "[rule.expect]\ncontains = 3\n", r"line 8: expected.*rule\[0\].expect.contains"),
        (
            HEAD + 'expect = { in = "answer", contains = "x" }\n',
            r"line 7: 'answer' is not one of final_response, any_response",
        ),
        (HEAD + 'expect = { matches = "(" }\n', r"line 4: rule R1: '\(' is not a regular expression"),
        (HEAD + 'expect = { in = "any_prompt" }\n', "line 4: rule R1: `expect` requires nothing"),
        (HEAD + 'when = {}\nexpect = { contains = "a" }\n', "line 4: rule R1: `when` requires nothing"),
        (HEAD + "expect = { all = [{}] }\n", "line 4: rule R1: `expect` requires nothing"),
        (HEAD + "expect = { all = [] }\n", "line 4: rule R1: `expect` requires nothing: all is empty"),
        (HEAD + 'expect = { contains = ["a", ""] }\n', "line 4: rule R1: `expect` requires nothing: contains is empty"),
        (HEAD + "expect = { at_most = 3 }\n", "line 4: rule R1: `expect` has at_most without called"),
        (HEAD + 'expect = { not_called = "a", path = "b" }\n', "line 4: rule R1: `expect` has path without called"),
        (HEAD + 'expect = { each = "a" }\n', "line 4: rule R1: `expect` has each without preceded_by"),
        (
            HEAD + 'expect = { turn = 1, not = { called = "a" } }\n',
            "line 4: rule R1: `expect` has turn without contains",
        ),
        (HEAD + 'expect = { turn = 0, called = "a" }\n', "line 4: rule R1: `expect` has turn = 0; turns count from 1"),
        (HEAD + 'expect = { contains = "a", failed = true }\n', "has failed without called"),
        (
            HEAD + 'expect = { called = "a", at_least = 0 }\n',
            "line 4: rule R1: `expect` requires nothing: at_least = 0",
        ),
        (HEAD + 'expect = { called = "a", at_least = -1 }\n', "has a negative number of calls"),
        (
            HEAD + 'expect = { called = "a", at_least = 3, at_most = 1 }\n',
            "can never be true: at_least = 3 is more than",
        ),
        (HEAD + 'expect = { called = "a", arguments = {} }\n', "requires nothing: arguments is empty"),
        (HEAD + 'expect = { called = "a", arguments = { c = {} } }\n', "requires nothing: arguments.c is empty"),
        (HEAD + 'expect = { called = "a", path = "" }\n', "requires nothing: path is empty"),
        (HEAD + 'expect = { called = "a" }\n[tools]\na = []\n', "line 9: 'a' has no tools"),
        ('name = "t"\nversion = "1"\nid = "R"\n', "line 3: unknown key 'id'; it does not belong here"),
        ('name = "t"\nversion = "1"\n[[rules]]\nid = "R"\n', r"line 3: unknown key 'rules'; did you mean rule\?"),
        (
            HEAD + 'expect = { called = "a", before = "b", at_most = 1 }\n',
            "has before together with at_least or at_most",
        ),
        (
            HEAD + 'expect = { called = "a" }\n' + HEAD.partition("\n\n")[2] + "expect = { called = 'b' }\n",
            "line 8: rule R1: there is another rule R1",
        ),
    ],
)
def test_a_wrong_rule_file_is_told_by_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_rules(str(path))


def test_an_unknown_pack_lists_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"packs: .*stateless-handoff"):
        load_rules("stateful")


@pytest.mark.parametrize(
    ("folder", "path", "expected"),
    [
        ("/w/src", "/w/src/a.py", True),
        ("/w/src", "/w/srcs/a.py", False),
        ("/w/src/", "/w/src", True),
        ("src", "/w/src/a.py", True),
        ("src", "/w/lib/a.py", False),
        (".", "/w/a.py", True),
        ("./src", "src/a.py", True),
        ("/w/src", "src/a.py", False),
    ],
)
def test_what_a_folder_covers(folder: str, path: str, expected: bool) -> None:
    assert covers(folder, path) is expected


def test_paths_are_found_by_selectors() -> None:
    arguments = {"files": [{"path": "a"}, {"other": 1}, {"path": "b"}], "paths": ["c"], "path": 3}
    assert paths_in(arguments, ["files[].path", "paths[]", "path"]) == ["a", "b", "c"]
    assert paths_in("not an object", ["path"]) == []


@pytest.mark.parametrize(
    ("called", "calls", "reason"),
    [
        ("*", 0, "no call failed"),
        ("*", 1, "a call failed"),
        ("*", 2, "2 calls failed"),
        ("bash", 1, "a call of bash failed"),
    ],
)
def test_a_reason_says_that_calls_failed(tmp_path: Path, called: str, calls: int, reason: str) -> None:
    (tmp_path / "r.toml").write_text(HEAD + f'expect = {{ called = "{called}", failed = true, at_most = 0 }}\n')
    rules = load_rules(tmp_path / "r.toml")
    steps = [agent(BASH, ToolResult(name="bash", error="no")) for _ in range(calls)]
    [score] = rule_scores(sample(user("a"), *steps, agent("done")), rules)
    assert score.explanation == reason
