"""Claude Code's sessions to ATIF: pantrace against Harbor's own converter, on the same files.

Both read every session and make the document of it; both count the calls in it, and must find the same.
Harbor wants Python 3.12, and many services that its converter does not need: the environment of `tests/peers/harbor`
has it without them. `.venvs/harbor/bin/python bench/harbor_convert.py [--size N] [--json]`.
"""

from __future__ import annotations

import json
import sys
import typing
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from measuring import GOLDEN, Aim, Work, contest


def sessions(folder: Path, size: int) -> Path:
    """A recorded session so many times, each in a directory such as Harbor keeps of a trial."""
    text = (GOLDEN / "claude-code/trouble.jsonl").read_text()
    name = next(json.loads(line)["sessionId"] for line in text.splitlines() if "sessionId" in line)
    for number in range(size):
        own = f"{number:08x}{name[8:]}"
        place = folder / str(number) / "sessions" / "projects" / "-home-alex-proj"
        place.mkdir(parents=True)
        (place / f"{own}.jsonl").write_text(text.replace(name, own))
    return folder


def pantrace_converts(path: Path, carry: bool = False) -> Work:
    from pantrace.engine.read import read
    from pantrace.formats import NoOptions, by_name
    from pantrace.wire.json import encode
    from pantrace.wire.pantrace_key import carrying_allowed

    dump = by_name("atif").dump
    assert dump is not None

    def work() -> int:
        found = 0
        for file in path.rglob("*.jsonl"):
            for sample in read(file).samples:
                with carrying_allowed(carry):
                    document = dump(sample, NoOptions())
                encode(document)
                found += sum(len(step.get("tool_calls") or ()) for step in document["steps"])
        return found

    return work


def _bare_harbor() -> None:
    """Leave out Harbor's outer packages, which import its services, and give Python 3.11 the words of 3.12."""
    import typing_extensions

    for word in ("override", "TypedDict"):
        setattr(typing, word, getattr(typing_extensions, word))
    found = find_spec("harbor")
    assert found is not None and found.submodule_search_locations
    for name in ("harbor", "harbor.models", "harbor.agents", "harbor.agents.installed"):
        module = ModuleType(name)
        module.__path__ = [f"{found.submodule_search_locations[0]}{name.removeprefix('harbor').replace('.', '/')}"]
        sys.modules[name] = module


def harbor_converts(path: Path) -> Work:
    _bare_harbor()
    from harbor.agents.installed.claude_code import ClaudeCode  # type: ignore[import-not-found]

    def work() -> int:
        found = 0
        for trial in path.iterdir():
            # Without the name of a model: Harbor would ask litellm for it, which is none of the conversion.
            document = ClaudeCode(logs_dir=trial).convert_trajectory(trial).to_json_dict()
            json.dumps(document)
            found += sum(len(step.get("tool_calls") or ()) for step in document["steps"])
        return found

    return work


def pantrace_keeps_all(path: Path) -> Work:
    return pantrace_converts(path, carry=True)


PEER = "harbor"
PLAIN = "pantrace: plain"
WHOLE = "pantrace: with everything that ATIF has no field for"

if __name__ == "__main__":
    work = {PEER: harbor_converts, PLAIN: pantrace_converts, WHOLE: pantrace_keeps_all}
    contest(__file__, work, [Aim(PLAIN, PEER), Aim(WHOLE, PEER)], sessions, size=100, unit="sessions")
