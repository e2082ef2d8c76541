"""Criteria files: rubrics in YAML with one criterion per check, as teams write them for different judges.

`metadata` says what they are about; each of `criteria` has an id, a description, steps to go through, what each score
means, and examples of both sides. Each criterion becomes a rubric of its own; all of them together are guidelines.
"""

from __future__ import annotations

from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import UsageError
from pantrace.wire.json import encode
from pantrace.wire.text_file import is_file, read_text
from pantrace.wire.yaml import load_yaml

from .placeholders import as_jinja
from .prompts_yaml import is_prompt, prompt_rubric
from .rubric import Rubric, check_rubric

_NAMED = (".md", ".txt", ".yaml", ".yml")
"""Endings that make a text a file name, even if the file does not exist."""


class _Grade(msgspec.Struct, frozen=True, kw_only=True):
    score: int | float
    label: str = ""
    criteria: str = ""


class _Example(msgspec.Struct, frozen=True, kw_only=True):
    input: str | None = None
    response: str
    reason: str = ""


class _Criterion(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str = ""
    description: str = ""
    evaluation_steps: list[str] = []
    scoring: list[_Grade]
    violation_examples: list[_Example] = []
    compliance_examples: list[_Example] = []


class _Metadata(msgspec.Struct, frozen=True, kw_only=True):
    pillar: str = ""
    pillar_id: str = ""
    description: str = ""


class _File(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Metadata = _Metadata()
    criteria: list[_Criterion]


def load_criteria(path: Path, only: str = "") -> list[Rubric]:
    """A rubric for each criterion of a file, or for the one with that id; a Semantic Kernel prompt is one rubric."""
    data = load_yaml(read_text(path, windows=True), str(path))
    if is_prompt(data):
        rubrics = [prompt_rubric(data, str(path))]
    else:
        rubrics = [_rubric(each, str(path)) for each in _read(path).criteria]
    names = [rubric.name for rubric in rubrics]
    # Scores are stored by name.
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{path}: two criteria have the id {twice[0]!r}, and their scores could not be told apart")
    if not only:
        return rubrics
    if only not in names:
        close = get_close_matches(only, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(names)}"
        raise UsageError(f"{path}: no criterion has the id {only!r}; {hint}")
    return [rubric for rubric in rubrics if rubric.name == only]


def guidelines_from(text_or_path: str) -> str:
    """Guidelines from which a service makes rubrics: the text itself, a file's text, or all criteria of a YAML file."""
    path = Path(text_or_path)
    if "\n" in text_or_path or len(text_or_path) > 255 or not (path.suffix in _NAMED or is_file(path)):
        text = text_or_path
    elif path.suffix in (".yaml", ".yml"):
        text = _guidelines(_read(path))
    else:
        text = read_text(path)
    if not text.strip():
        raise UsageError("--guidelines: the text is empty")
    return text.strip()


def _guidelines(found: _File) -> str:
    title = " ".join(part for part in (found.metadata.pillar, _bracketed(found.metadata.pillar_id)) if part)
    blocks = [f"# {title}" if title else "", found.metadata.description.strip()]
    for each in found.criteria:
        grades = [f"[{grade.score:g}] {_meaning(grade)}" for grade in each.scoring]
        blocks += [f"## {each.id} {each.name}".strip(), _told(each), "\n".join(["Scores:", *grades])]
    return "\n\n".join(block for block in blocks if block)


def _read(path: Path) -> _File:
    data = load_yaml(read_text(path), str(path))
    if not isinstance(data, dict) or not isinstance(data.get("criteria"), list) or not data["criteria"]:
        raise UsageError(f"{path}: not a rubric: it has no list `criteria` and no `template`")
    try:
        return msgspec.convert(_as_text(data), _File)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        raise UsageError(f"{path}: {where.strip('`').removeprefix('$.') or 'file'}: {_small(what)}") from None


def _as_text(data: dict[str, Any]) -> dict[str, Any]:
    """The data with all ids as text: YAML reads an id such as 1.10 as a number."""
    listed = [
        {**each, "id": str(each["id"])} if isinstance(each, dict) and isinstance(each.get("id"), int | float) else each
        for each in data["criteria"]
    ]
    return {**data, "metadata": data.get("metadata") or {}, "criteria": listed}


def _rubric(criterion: _Criterion, path: str) -> Rubric:
    place = f"{path}: {criterion.id}"
    # The schema offers whole grades only, so that a judge chooses from a closed list.
    if strange := [grade.score for grade in criterion.scoring if grade.score != int(grade.score)]:
        raise UsageError(
            f"{place}: the score {strange[0]:g} is not a whole number; judges give whole grades (0, 1, 2 for 0, 0.5, 1)"
        )
    rubric = Rubric(
        name=criterion.id,
        # The file has no version: the hash changes with the wording, so that scores of two wordings are not mixed.
        version=sha256(encode(criterion)).hexdigest()[:12],
        title=criterion.name or criterion.id,
        description=" ".join(criterion.description.split()),
        # The whole session: criteria ask what was said or done first, which an answer alone does not show.
        inputs={"trajectory": "required"},
        grades={str(int(grade.score)): _meaning(grade) for grade in criterion.scoring},
        template=f"{_escaped(_told(criterion))}\n\nWhat happened:\n{{{{ trajectory }}}}",
    )
    check_rubric(rubric, place)
    return rubric


def _told(criterion: _Criterion) -> str:
    blocks = [criterion.description.strip()]
    if criterion.evaluation_steps:
        steps = [f"{number}. {step.strip()}" for number, step in enumerate(criterion.evaluation_steps, 1)]
        blocks.append("\n".join(["Go through these steps:", *steps]))
    for title, examples in (
        ("Examples that break it:", criterion.violation_examples),
        ("Examples that keep it:", criterion.compliance_examples),
    ):
        if examples:
            blocks.append("\n".join([title, *map(_example, examples)]))
    return "\n\n".join(block for block in blocks if block)


def _example(example: _Example) -> str:
    asked = f"asked: {_line(example.input)} | " if example.input else ""
    reason = f" ({_line(example.reason)})" if example.reason else ""
    return f"- {asked}answered: {_line(example.response)}{reason}"


def _meaning(grade: _Grade) -> str:
    return ": ".join(part for part in (grade.label.strip(), _line(grade.criteria)) if part)


def _line(text: str) -> str:
    return " ".join(text.split())


def _bracketed(text: str) -> str:
    return f"({text})" if text else ""


def _escaped(text: str) -> str:
    return as_jinja(text.replace("{", "{{").replace("}", "}}"))


def _small(text: str) -> str:
    return text[0].lower() + text[1:]
