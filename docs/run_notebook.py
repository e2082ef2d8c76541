"""Executes docs/notebook.ipynb from the root of the clone and keeps its outputs: make notebook."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "docs/notebook.ipynb"


def executed() -> Any:
    """The notebook with the outputs that it has now."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell in notebook.cells:
        # When a cell was run, and by which Python, is nobody's business and differs each time.
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data:
                data["image/svg+xml"] = _steady(data["image/svg+xml"])
            if "text/html" in data:
                data.pop("text/plain", None)  # nobody sees it, and of a sample it is long
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs of which what was printed is one piece, in however many it came."""
    found: list[Any] = []
    for output in outputs:
        last = found[-1] if found else None
        if last is not None and last.output_type == output.output_type == "stream" and last.name == output.name:
            last.text += output.text
        else:
            found.append(output)
    return found


def _steady(svg: str) -> str:
    """A picture without the numbers that the drawing program counts on from one picture to the next."""
    return re.sub(r"clip\d+", "clip", svg)


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
    sys.stdout.write(f"wrote {NOTEBOOK.relative_to(ROOT)}\n")
