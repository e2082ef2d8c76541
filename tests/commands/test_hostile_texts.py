"""What a recording says stays text in Markdown and in JUnit: no markup, no link, no picture, no row of its own."""

from __future__ import annotations

import json
import random
import re
import string
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from pantrace.cli import cli

TEXTS = (
    "</details><img src=x onerror=alert(1)>",
    "[here](javascript:alert(1)) ![p](http://example.org/p.png)",
    "a | b |\n|---|---|\n| c | d |",
    "\n\n# heading\n\n- [ ] task\n> quoted",
    "`code` ``` <script>alert(1)</script>",
    "https://example.org/<b>bold</b> &lt;i&gt; &#60;u&#62;",
    "*strong* __under__ ~~gone~~ \\[escaped](http://example.org)",
    '"/><failure message="none"/>]]><!-- &amp; \x00\x1b[31m\x85\u202e\ud800\ufffe',
)
PROFILE = 'name = "p"\nversion = "1"\n[thresholds]\nquality = 3\n'
PLAN = '[measure]\nmetrics = ["tool_success_rate", "repeated_calls"]\n[decide]\nprofiles = ["p.toml"]\n'
TAGS = {"h1", "h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li", "strong", "em", "code", "pre"}
TAGS |= {"details", "summary", "blockquote", "ol", "br", "hr"}


def sample(number: int, text: str) -> dict[str, object]:
    call = {"type": "call", "id": "c", "name": text, "arguments": {text: text}}
    result = {"type": "result", "call_id": "c", "name": text, "error": text, "output": text}
    steps = [
        {"role": "user", "parts": [{"type": "text", "text": text}]},
        *({"role": "agent", "agent": text, "model": text, "parts": [call, result]} for _ in range(4)),
        {"role": "agent", "parts": [{"type": "text", "text": text}], "error": {"message": text}},
    ]
    outcome = {"status": "failed", "reason": text}
    return {
        "id": f"{number} {text}",
        "case": {"question": text, "scenario": text, "profile": "p", "labels": {"topic": text}},
        "trajectory": {"title": text, "steps": steps, "outcome": outcome},
        "scores": [{"name": "quality", "value": number % 4, "explanation": text}],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    lines = [{"pantrace": "2", "run": {"name": TEXTS[0], "task": TEXTS[1], "model": TEXTS[2]}}]
    lines += [sample(number, text) for number, text in enumerate(TEXTS)]  # type: ignore[misc]
    (folder / "a.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "p.toml").write_text(PROFILE)
    (folder / "plan.toml").write_text(PLAN)
    return folder


def run(folder: Path, *words: str) -> None:
    done = CliRunner().invoke(cli, [word.replace("DIR", str(folder)) for word in words], catch_exceptions=False)
    assert done.exit_code in (0, 1, 3), done.output


EVAL = ("eval", "DIR/a.trace.jsonl", "--plan", "DIR/plan.toml", "--out", "DIR/run")
WRITTEN = {
    "eval.md": (
        "eval",
        "DIR/a.trace.jsonl",
        "--plan",
        "DIR/plan.toml",
        "--out",
        "DIR/run",
        "--markdown",
        "DIR/eval.md",
    ),
    "report.md": ("report", "DIR/run", "-o", "DIR/report.md"),
    "recording.md": ("report", "DIR/a.trace.jsonl", "-o", "DIR/recording.md"),
    "diagnosis.md": ("diagnose", "DIR/a.trace.jsonl", "-o", "DIR/diagnosis.md"),
    "compare.md": ("compare", "DIR/run", "DIR/a.trace.jsonl", "--markdown", "DIR/compare.md"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_markdown_has_only_the_markup_that_we_write(name: str, folder: Path) -> None:
    run(folder, *WRITTEN["eval.md"])
    if name != "eval.md":
        run(folder, *WRITTEN[name])
    text = (folder / name).read_text()
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    found = set(re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", page))
    assert found <= TAGS, (found - TAGS, page)
    assert "heading" not in "".join(re.findall(r"<h\d>(.*?)</h\d>", page, re.DOTALL)).replace(TEXTS[3].strip(), "")
    cells = {len(re.findall(r"<t[dh]", row)) for table in page.split("<table>")[1:] for row in table.split("<tr>")[1:]}
    assert cells, "there is no table"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_junit_is_xml_with_one_case_for_each_sample(folder: Path) -> None:
    run(folder, *WRITTEN["eval.md"], "--junit", "DIR/eval.xml")
    root = ElementTree.fromstring((folder / "eval.xml").read_bytes())
    assert len(root.findall(".//testcase")) == len(TEXTS)
    assert len(root.findall(".//failure")) == 6
    assert {each.tag for each in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "skipped", "properties", "property",
    }  # fmt: skip
    names = [each.get("name", "") for each in root.findall(".//testcase")]
    assert any("</details><img" in name for name in names) and any("failure message=" in name for name in names)


def test_no_page_that_is_sent_to_others_holds_a_secret(tmp_path: Path) -> None:
    token = "ghp_" + "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=36))
    (tmp_path / "a.trace.jsonl").write_text('{"pantrace": "2"}\n' + json.dumps(sample(1, f"use {token}")) + "\n")
    (tmp_path / "p.toml").write_text(PROFILE)
    (tmp_path / "plan.toml").write_text(PLAN)
    run(tmp_path, *EVAL, "--markdown", "DIR/eval.md", "--junit", "DIR/eval.xml")
    for name, words in WRITTEN.items():
        run(tmp_path, *words) if name not in ("eval.md", "compare.md") else None
    for name in (*(each for each in WRITTEN if each != "compare.md"), "eval.xml"):
        text = (tmp_path / name).read_text().replace("\\", "")
        assert token not in text, name
        assert "[redacted:" in text.replace("&#91;", "["), name
