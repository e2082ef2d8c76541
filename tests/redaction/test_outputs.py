"""A secret at every place of a recording reaches nothing that is made to be sent, nor the words that builds log."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from pantrace.cli import cli
from pantrace.cli.output import DISCREET

PLACES = ("id", "case", "question", "reference", "scenario", "label", "title", "reason", "explanation", "score", "tool")
PLACES += ("argument", "key", "output", "tool error", "agent", "model", "answer", "error", "run", "task", "run model")
PLACES += ("file", "folder")


def _drawn() -> dict[str, str]:
    dice = random.Random(2101)
    return {place: "ghp_" + "".join(dice.choices(string.ascii_letters + string.digits, k=36)) for place in PLACES}


SECRETS = _drawn()


def _sample(run: int, number: int) -> dict[str, object]:
    at = SECRETS
    call = {"type": "call", "id": "c", "name": f"tool-{at['tool']}", "arguments": {"a": at["argument"], at["key"]: 1}}
    result = {
        "type": "result",
        "call_id": "c",
        "name": f"tool-{at['tool']}",
        "error": f"bad {at['tool error']}",
        "output": f"x {at['output']}",
    }
    steps = [
        {"role": "user", "parts": [{"type": "text", "text": f"do {at['question']}"}]},
        *({"role": "agent", "agent": at["agent"], "model": at["model"], "parts": [call, result]} for _ in range(4)),
        {
            "role": "agent",
            "parts": [{"type": "text", "text": f"done {at['answer']}"}],
            "error": {"message": f"boom {at['error']}"},
        },
    ]
    outcome = {"status": "failed" if (number + run) % 2 else "passed", "reason": at["reason"]}
    return {
        "id": f"sample{number}-{at['id']}",
        "case": {
            "id": f"case{number}_{at['case']}",
            "question": f"do {at['question']}",
            "reference": at["reference"],
            "scenario": at["scenario"],
            "profile": "p",
            "labels": {"topic": at["label"]},
        },
        "trajectory": {"title": at["title"], "steps": steps, "outcome": outcome},
        "scores": [
            {"name": "quality", "value": number * run % 4, "explanation": at["explanation"]},
            {"name": f"score-{at['score']}", "value": number / 3 * run},
        ],
    }


def _recording(folder: Path, run: int) -> str:
    header = {"name": SECRETS["run"], "task": SECRETS["task"], "model": SECRETS["run model"]}
    lines = [{"pantrace": "2", "run": header}, *(_sample(run, number) for number in range(8))]
    path = folder / f"in{run}-{SECRETS['file']}.trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two recordings and their run directories."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "p.toml").write_text('name = "p"\nversion = "1"\n[thresholds]\nquality = 3\n')
    (folder / "plan.toml").write_text(
        '[measure]\nmetrics = ["tool_success_rate", "repeated_calls"]\n[decide]\nprofiles = ["p.toml"]\n'
    )
    found = {"PLAN": str(folder / "plan.toml"), "PROFILE": str(folder / "p.toml")}
    for run in (1, 2):
        found[f"FILE{run}"] = _recording(folder, run)
        found[f"DIR{run}"] = str(folder / f"run{run}-{SECRETS['folder']}")
        _run(["eval", f"FILE{run}", "--plan", "PLAN", "--out", f"DIR{run}"], found)
    return found


def _run(words: list[str], places: dict[str, str]) -> str:
    done = CliRunner().invoke(cli, [places.get(word, word) for word in words], catch_exceptions=False)
    assert done.exit_code in (0, 1, 3), done.output
    return done.output


def _leaked(data: bytes) -> list[str]:
    """Places whose secret stands in an output, in what is packed inside it too, Markdown's escapes or not."""
    texts = [data.decode("utf-8", "replace")]
    for match in re.finditer(r"[A-Za-z0-9+/=]{200,}", texts[0]):
        packed = base64.b64decode(match[0] + "=" * (-len(match[0]) % 4))
        for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
            try:
                texts.append(zlib.decompress(packed, bits).decode("utf-8", "replace"))
            except zlib.error:
                continue
    # Tables fold long words, Markdown escapes them.
    whole = re.sub(r"[\s\\]", "", "\n".join(texts))
    return [place for place, secret in SECRETS.items() if secret in whole]


SENT = {
    "eval": [
        *("eval", "FILE1", "--plan", "PLAN", "--out", "DIR1", "--markdown", "OUT/a.md", "--junit", "OUT/a.xml"),
        *("--workshop", "OUT/workshop", "--report", "OUT/a.json"),
    ],
    "gate": ["gate", "DIR1", "--profile", "PROFILE", "--markdown", "OUT/a.md", "--junit", "OUT/a.xml"],
    "compare": ["compare", "DIR1", "DIR2", "-v", "--markdown", "OUT/a.md"],
    "compare files": ["compare", "FILE1", "FILE2", "--cluster", "topic", "--markdown", "OUT/a.md"],
    "report": ["report", "DIR1", "DIR2", "-o", "OUT/a.html"],
    "report of files": ["report", "FILE1", "FILE2", "-o", "OUT/a.html"],
    "report as Markdown": ["report", "DIR1", "DIR2", "-o", "OUT/a.md"],
    "diagnose": ["diagnose", "FILE1", "-o", "OUT/a.md"],
    "check": ["check", "FILE1", "--rules", "stateless-handoff", "--junit", "OUT/a.xml"],
    "judge": ["judge", "FILE1", "--rubric", "general_quality", "--dry-run"],
    "aggregate": ["aggregate", "DIR1", "DIR2"],
    "redact": ["redact", "FILE1", "-o", "OUT/a.trace.jsonl"],
    **{
        f"plot {kind} {ending}": [
            *("plot", "DIR1", "DIR2", "--kind", kind, "--metric", "quality", "-o", f"OUT/a.{ending}"),
        ]
        for kind in ("comparison", "distribution", "paired")
        for ending in ("svg", "vl.json")
    },
}


@pytest.mark.parametrize("name", SENT)
def test_no_secret_is_sent(name: str, places: dict[str, str], tmp_path: Path) -> None:
    words = [word.replace("OUT", str(tmp_path)) for word in SENT[name]]
    printed = _run(words, places)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == sum("OUT" in word for word in SENT[name]) + ("OUT/workshop" in SENT[name])
    assert {path.name: found for path in written if (found := _leaked(path.read_bytes()))} == {}
    if words[0] in DISCREET:
        assert _leaked(printed.encode()) == []


def test_what_was_planted_would_be_seen(places: dict[str, str], tmp_path: Path) -> None:
    _run(["convert", "FILE1", "--to", "native", "-o", f"{tmp_path}/a.trace.jsonl"], places)
    assert set(PLACES) - set(_leaked((tmp_path / "a.trace.jsonl").read_bytes())) == {"file", "folder"}
    _run(["report", "DIR1", "--no-redact", "-o", f"{tmp_path}/a.html"], places)
    assert {"answer", "output", "case", "score"} <= set(_leaked((tmp_path / "a.html").read_bytes()))
    _run(
        ["plot", "DIR1", "DIR2", "--kind", "paired", "--metric", "quality", "--no-redact", "-o", f"{tmp_path}/a.svg"],
        places,
    )
    assert _leaked((tmp_path / "a.svg").read_bytes()) == ["case"]
    assert "answer" in _leaked(_run(["show", "FILE1", "--sample", "sample0", "--no-pager"], places).encode())
