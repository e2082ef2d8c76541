"""Plans, profiles, rule files, rubrics, price tables and maps that would hang their reader or fill its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.test_hostile_inputs import FIRST, SAMPLE, run
from thorough import quick

ALIASES = "".join(f"b{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
SETTINGS = {
    "deep.toml": ("a = " + "[" * 50_000 + "]" * 50_000, "nested deeper than 100 levels"),
    "rather_deep.toml": ("a = " + "[" * 150 + "]" * 150, "nested deeper than 100 levels"),
    "digits.toml": ("a = " + "9" * 100_000, "a number of more than 4,300 digits"),
    "parts.toml": ("a" + ".a" * 30_000 + " = 1", "a key of more than 100 parts"),
    "header.toml": ("[a" + ".a" * 30_000 + "]", "a key of more than 100 parts"),
    "aliases.yaml": (f"a: &a0 [x,x,x,x,x,x,x,x,x,x]\n{ALIASES}", "its aliases expand to more than 100,000 values"),
    "deep.yaml": ("a: " + "[" * 20_000 + "]" * 20_000, "nested deeper than 100 levels"),
    "digits.yaml": ("a: " + "9" * 100_000, "a number of more than 4,300 digits"),
}
COMMANDS = {
    "plan": ("eval", "in.trace.jsonl", "--out", "out", "--plan", "FILE"),
    "rules": ("check", "in.trace.jsonl", "--rules", "FILE"),
    "rubric": ("judge", "in.trace.jsonl", "--dry-run", "--rubric", "FILE"),
    "prices": ("measure", "in.trace.jsonl", "--prices", "FILE"),
    "tool map": ("show", "in.trace.jsonl", "--tools", "--tool-map", "FILE"),
}


@pytest.mark.parametrize("command", quick({"rules"}, COMMANDS))
@pytest.mark.parametrize("name", SETTINGS)
def test_it_is_refused_within_limits(name: str, command: str, tmp_path: Path) -> None:
    content, why = SETTINGS[name]
    (tmp_path / name).write_text(content)
    (tmp_path / "in.trace.jsonl").write_bytes(FIRST + SAMPLE)
    done = run([word.replace("FILE", name) for word in COMMANDS[command]], tmp_path)
    assert done.returncode == 2, done.stdout
    only_toml = name.endswith(".yaml") and command in ("rules", "prices")
    assert ("Expected '='" if only_toml else why) in done.stdout
    assert not (tmp_path / "out").exists()
