"""Hooks of `make site`: pages and files outside docs/ that the docs link to come along, under project/."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "README.md", "LICENSE", "examples/README.md")
LINK = re.compile(r"(\]\()([^)#\s]+)")


def _outside() -> list[Path]:
    pages = [ROOT / name for name in BESIDE] + sorted((ROOT / "design").glob("*.md"))
    linked = {
        (page.parent / link).resolve()
        for page in [*pages, *(ROOT / "docs").rglob("*.md")]
        for _, link in LINK.findall(page.read_text())
        if not re.match(r"\w+:", link)
    }
    docs = ROOT / "docs"
    return sorted({*pages, *(each for each in linked if each.is_file() and docs not in each.parents)})


def on_files(files: Any, config: Any) -> Any:
    for path in _outside():
        place = f"project/{path.relative_to(ROOT).as_posix()}"
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_config(config: Any) -> Any:
    """Pages that no list names (a format more, a design note more) have their places by folder."""
    named = set(re.findall(r"[\w/-]+\.md", repr(config.nav)))
    others = [page.relative_to(ROOT / "docs").as_posix() for page in sorted((ROOT / "docs").rglob("*.md"))]
    folders: dict[str, list[str]] = {}
    for page in others:
        if page not in named:
            folders.setdefault(PurePosixPath(page).parent.name or "more", []).append(page)
    for folder, pages in folders.items():
        config.nav.append({folder.capitalize(): pages})
    project = ["project/CONTRIBUTING.md", "project/CHANGELOG.md", "project/README.md", "project/examples/README.md"]
    design = [f"project/design/{page.name}" for page in sorted((ROOT / "design").glob("*.md"))]
    config.nav.append({"Project": [*project, {"Design notes": design}]})
    return config


def on_post_page(output: str, page: Any, config: Any) -> str:
    """What lets the search work from file:// is a file of ours, not one from a network."""
    depth = page.file.dest_uri.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", "../" * depth + "site/iframe-worker.js")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links between docs/ and the rest of the repository, as the site has them."""
    here = PurePosixPath(page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        if re.match(r"\w+:", match[2]):
            return match[0]
        source = ROOT / (here.relative_to("project") if here.parts[0] == "project" else PurePosixPath("docs") / here)
        target = (source.parent / match[2]).resolve()
        if target.is_dir():
            target = next((each for each in (target / "index.md", target / "README.md") if each.exists()), target)
        if not target.is_file():
            return match[0]
        place = target.relative_to(ROOT).as_posix()
        place = place.removeprefix("docs/") if place.startswith("docs/") else f"project/{place}"
        return match[1] + os.path.relpath(place, here.parent)

    return LINK.sub(moved, markdown)
