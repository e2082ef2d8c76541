"""The documentation says what the program does."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pantrace.cli import COMMANDS
from pantrace.formats import names
from thorough import thorough

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "design").glob("*.md")),
]


def _generator(name: str = "generate") -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_are_up_to_date() -> None:
    assert _generator().stale() == [], "run make docs"


@thorough
def test_every_pair_of_formats_was_converted_and_measured() -> None:
    _generator()
    stale = [str(path) for path, text in _generator("make_matrix").pages().items() if path.read_text() != text]
    assert stale == [], "run make docs"


@pytest.mark.parametrize("name", names())
def test_every_format_has_a_page(name: str) -> None:
    assert (ROOT / "docs/formats" / f"{name}.md").exists()


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", _prose(page)):
        if re.match(r"https?:", link):
            continue
        target = page.parent / link if link else page
        assert target.exists(), link
        assert ROOT in target.resolve().parents, f"{link} leads out of the repository"
        if anchor:
            assert anchor[1:] in _anchors(target), f"{link}{anchor}"


def _prose(page: Path) -> str:
    """The page without its code."""
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def _anchors(page: Path) -> set[str]:
    """The anchors that its headings make."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = (re.sub(r"\]\([^)]*\)", "]", heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_index() -> None:
    """By links, in however many steps: what nobody links to, nobody finds."""
    docs = ROOT / "docs"
    found, left = set(), [docs / "index.md"]
    while left:
        page = left.pop()
        if page in found:
            continue
        found.add(page)
        for link in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text()):
            if not re.match(r"https?:", link):
                left.append((page.parent / link).resolve())
    assert {*docs.rglob("*.md")} <= found, {*docs.rglob("*.md")} - found


def test_json_output_is_documented_for_every_command() -> None:
    text = (ROOT / "docs/json.md").read_text()
    for name in COMMANDS:
        assert f"| `{name}` |" in text, name


def test_the_worked_example_of_a_format_works() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    source = "\n".join(line.removeprefix("   ") for line in block[1].splitlines())
    scope: dict[str, Any] = {"__name__": "pantrace.formats.chatlog", "__package__": "pantrace.formats"}
    exec(compile(source, "chatlog.py", "exec"), scope)
    row = {"chat_id": "7", "log": [{"by": "human", "text": "hi"}, {"by": "bot", "text": "ho"}], "lang": "en"}
    sample = scope["load"](row)
    assert [step.role for step in sample.trajectory.steps] == ["user", "agent"]
    assert scope["dump"](sample, scope["FORMAT"].options()) == row
