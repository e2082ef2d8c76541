"""Every command of the tutorials and the README is run, and prints what the page shows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def _outputs() -> Any:
    spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs" / "outputs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


outputs = _outputs()


@pytest.mark.parametrize("page", outputs.PAGES, ids=[page.stem for page in outputs.PAGES])
def test_page_shows_what_its_commands_print(page: Path) -> None:
    assert outputs.executed(page) == page.read_text(), "run make docs"


def test_each_kind_of_user_has_a_tutorial() -> None:
    users = {"opencode", "adk", "inspect", "gui", "evaluation-lead", "python"}
    assert {page.stem for page in outputs.PAGES} >= users


def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\necho one; exit 3\n```\n\n```text\ntwo\n```\n\n```python\nx = 1\n```\n\n```python\nx + 1\n```\n\n"
        "```text\n```\n"
    )
    found = outputs.executed(page)
    assert "```text\none\n[exit 3]\n```" in found
    assert found.endswith("```text\n2\n```\n")
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(AssertionError):
        outputs.executed(page)
