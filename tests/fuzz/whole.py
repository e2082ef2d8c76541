"""What is whole while something else is damaged: recordings, run directories, labels and replies, made once."""

from __future__ import annotations

import json
import random
from pathlib import Path

from fuzz.attempt import quiet, scripted_judge
from fuzz.damaged_settings import ROOT, Setting

GOLDEN = ROOT / "tests/golden"
GRADES = {"1": 4, "2": 2, "3": 5, "4": 1}


class Whole:
    """Things that commands need beside what is damaged, by the names that `command_lines` has for them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.names = {
            "recording": f"{folder}/recording.trace.jsonl",
            "other": f"{folder}/other.trace.jsonl",
            "inputs": f"{folder}/recording.trace.jsonl",
            "gui": str(ROOT / "examples/openadapt/login"),
            "cases": f"{folder}/cases.csv",
            "labels": f"{folder}/labels.csv",
            "plan": f"{folder}/plan.toml",
            "profile": f"{folder}/profile.toml",
            "run": f"{folder}/evaluated",
            "judged": f"{folder}/judged",
        }
        if not (folder / "ready").exists():
            self._make()
            (folder / "ready").touch()
        self.runs = [folder / name for name in ("evaluated", "judged", "ran", "inspected")]
        self.settings = (
            Setting("calibration", "calibration.json", (folder / "calibration.json").read_bytes()),
            Setting("replies", "replies.sqlite", (folder / "replies.sqlite").read_bytes()),
        )

    def _make(self) -> None:
        folder, name = self.folder, self.names
        folder.mkdir(parents=True, exist_ok=True)
        _recording(Path(name["recording"]), 0)
        _recording(Path(name["other"]), 1)
        Path(name["cases"]).write_text("id,question\n1,What is open?\n2,What is shut?\n")
        labels = "".join(f"{sample},general_quality,{grade}\n" for sample, grade in GRADES.items())
        Path(name["labels"]).write_text(f"sample,metric,label\n{labels}")
        for each in ("profile", "rules"):
            (folder / f"{each}.toml").write_text((ROOT / f"examples/{each}.toml").read_text())
        (folder / "plan.toml").write_text(
            (ROOT / "examples/eval.toml").read_text() + '\n[judge]\nrubrics = ["general_quality"]\n'
        )
        judge = ["--judge", "openai:scripted", "--cache", f"{folder}/replies.sqlite"]
        plan = ["--plan", name["plan"]]
        with scripted_judge(random.Random(1), damaged=0):
            quiet(["eval", name["recording"], *plan, "--out", name["run"]])
            quiet(["eval", name["recording"], *plan, "--out", name["judged"], *judge])
            quiet(["eval", str(GOLDEN / "inspect/crafted_minimal.eval"), "--out", f"{folder}/inspected"])
            quiet(["run", name["cases"], "--agent", "cmd:cat", "--out", f"{folder}/ran"])
            quiet(["compare", name["recording"], name["other"], "--rubric", "pairwise_quality", *judge])
        found = ["--labels", name["labels"], "--min-labels", "1", "-o", f"{folder}/calibration.json"]
        quiet(["calibrate", name["judged"], *found])


def _recording(path: Path, version: int) -> None:
    """Four short samples with a call that failed, usage, stored scores and what was expected."""
    lines: list[object] = [{"pantrace": "2", "run": {"name": f"run {version}", "task": "doors", "model": "m-1"}}]
    for number in range(1, 5):
        call = {"type": "call", "id": "c", "name": "read", "arguments": {"path": f"/{number}"}}
        result = {
            "type": "result",
            "call_id": "c",
            "name": "read",
            "output": "text",
            "error": "no" if number == 2 else None,
        }
        usage = {"input": 100 * number, "output": 7, "cache_read": 20}
        steps = [
            {"role": "user", "parts": [{"type": "text", "text": f"Question {number}?"}]},
            {"role": "agent", "model": "gemini-2.5-flash", "parts": [call, result], "usage": usage},
            {"role": "agent", "parts": [{"type": "text", "text": f"Answer {number + version}."}]},
        ]
        lines.append(
            {
                "id": str(number),
                "case": {"id": str(number), "question": f"Question {number}?", "labels": {"topic": "doors"}},
                "trajectory": {"steps": steps, "created": 1_790_000_000.0 + number},
                "scores": [{"name": "accuracy", "value": (number + version) % 2}],
            }
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
