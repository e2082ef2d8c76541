"""Recordings of every system, and what their pages must show, in whichever browser."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
EXAMPLES = ROOT / "examples"


class Known(NamedTuple):
    """A recording, a sample of it, and the sentences, calls and scores that its page must show."""

    path: Path
    sample: str
    shows: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where its page is."""
        return "#/run/0/sample/" + quote(self.sample, safe="")


KNOWN = [
    Known(
        EXAMPLES / "opencode" / "multi_turn_reasoning_edit_compaction.json",
        "ses_e1f901162ffesXODlT1I2RwJdD",
        ("I'll look at the project first.", "glob", "/home/alex/projects/sample/ws/README.md"),
    ),
    Known(
        EXAMPLES / "adk" / "garden_shop.evalset_result.json",
        "refund_multi_turn",
        ("Hello I want a refund for ORD-98765", "lookup_order", "The lookup timed out, I will retry it once."),
    ),
    Known(EXAMPLES / "inspect" / "basic.eval", "1", ("Capital of France?", "includes", "mockllm/model")),
    Known(
        EXAMPLES / "openadapt" / "login",
        "episode_0000_login",
        ("Log in with username", "Focus the username field.", "click"),
    ),
    Known(EXAMPLES / "explain" / "cases.explain.jsonl", "tour-planner-001", ("Plan a two hour walk", "tour-planner")),
    Known(
        GOLDEN / "tau-bench" / "library.json",
        "0 (epoch 2)",
        ("I need a drill.", "Unknown action lend_tool", "transfer_to_human_agents", "reward", "failed"),
    ),
    Known(
        GOLDEN / "native" / "every_part.trace.jsonl", "a", ("Running.", "1 failed", "exit code 1", "APIError", "503")
    ),
    Known(
        GOLDEN / "claude-code" / "rewind.jsonl",
        "0632330f-60e8-40af-829a-0c8e05c2bc63",
        ("Try another idea: half loaves", "7 steps of a branch that was given up", "Then it is 12 loaves.", "2 notes"),
    ),
    Known(
        GOLDEN / "gemini-cli" / "agents",
        "c9b645d4-476f-4aa3-af33-36618642068b",
        ("Sub-agent", "generalist", "3 steps, 1 error", "Inserted by the program", "invoke_agent"),
    ),
    Known(
        GOLDEN / "qwen-code" / "fc82f104-05ba-432b-b4e1-2475262504d2.jsonl",
        "fc82f104-05ba-432b-b4e1-2475262504d2",
        ("What does note.txt say", "run_shell_command", "exit code 1", "The note says 41 + 1 = 42."),
    ),
    Known(
        GOLDEN / "atif" / "harbor_claude_code_subagent.trajectory.json",
        "4052f46f-831c-4891-a756-98f632ef49d2",
        ("DELEGATE: ask a helper what note.txt says.", "subagent_type", "tool reported failure"),
    ),
]
"""The five seed systems, tau-bench, our own format with every part, and four coding agents."""
