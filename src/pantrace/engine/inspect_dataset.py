"""Datasets of Inspect: samples with input, target, choices, metadata, files, sandbox and setup, as JSON or CSV.

The fields and how a CSV cell is read are those of inspect_ai.dataset (0.3.285). A sample may name files, which are
copied into the workspace. Its setup script is never run: a dataset cannot bring a command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pantrace.errors import ReadError
from pantrace.formats.inspect.cases import case_of
from pantrace.model import Case
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.json import decode_document

NAME = "inspect"
FIELDS = ("target", "choices", "metadata", "files", "sandbox", "setup")


def is_inspect(row: dict[str, Any]) -> bool:
    """Whether a row with an input is one of Inspect's samples."""
    return any(row.get(key) not in (None, "") for key in FIELDS)


def case_of_row(name: str, row: dict[str, Any], taken: Iterable[str]) -> Case:
    """The case of a row; ReadError if a cell does not have what Inspect expects there."""
    from msgspec.structs import replace

    cells = {key: value for key, value in row.items() if value not in (None, "")}
    # A CSV cell can only be text: Inspect expects JSON for these two, and commas or spaces between choices.
    for key in ("metadata", "files"):
        if isinstance(cells.get(key), str):
            cells[key] = _document(cells[key], key)
        if key in cells and not isinstance(cells[key], dict):
            raise ReadError(f"{key} must be an object")
    if isinstance(cells.get("choices"), str):
        listed = cells["choices"]
        cells["choices"] = [each.strip() for each in (listed.split(",") if "," in listed else listed.split())]
    if isinstance(cells.get("target"), int | float):
        cells["target"] = str(cells["target"])
    case = case_of({**{key: cells[key] for key in ("input", "description", *FIELDS) if key in cells}, "id": name})
    others = {key: value for key, value in cells.items() if key not in (*taken, "input", "id", "description", *FIELDS)}
    labels = {key: value for key, value in others.items() if isinstance(value, str)}
    rest = {key: value for key, value in others.items() if key not in labels}
    return replace(case, labels=labels | case.labels, extra={**case.extra, **({"table": rest} if rest else {})})


def _document(text: str, key: str) -> Any:
    try:
        return decode_document(text.encode("utf-8", "replace"))
    except ReadError as error:
        raise ReadError(f"{key} is not JSON: {error.message}") from None


def said_in(case: Case) -> tuple[str, ...]:
    """The user's messages, in order, if the input is a list of messages."""
    given = rest_in(case.extra, NAME).get("input")
    if not isinstance(given, list):
        return ()
    spoken = [each.get("content") for each in given if isinstance(each, dict) and each.get("role") == "user"]
    return tuple(text for each in spoken if (text := _words(each)))


def _words(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def with_choices(turns: tuple[str, ...], choices: tuple[str, ...] | None) -> tuple[str, ...]:
    """The last turn, with the choices listed by letter: the target of such a case is a letter."""
    if not choices or not turns:
        return turns
    letters = [chr(ord("A") + number) if number < 26 else str(number + 1) for number in range(len(choices))]
    listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(letters, choices, strict=True))
    return (*turns[:-1], f"{turns[-1]}\n\n{listed}\n\nAnswer with the letter of the right choice, and nothing else.")


def not_done(case: Case) -> tuple[str, ...]:
    """Warnings about what a sample asks for and we do not do."""
    stated = rest_in(case.extra, NAME)
    given, found = stated.get("input"), []
    if isinstance(given, list) and any(isinstance(each, dict) and each.get("role") != "user" for each in given):
        found.append("its input has messages that are not the user's; only the user's are used")
    if stated.get("setup"):
        found.append("its setup script is not run: commands of a dataset are never run")
    if sandbox := stated.get("sandbox"):
        kind = sandbox[0] if isinstance(sandbox, list) and sandbox else sandbox
        kind = kind.get("type") if isinstance(kind, dict) else kind
        found.append(f"it asks for the sandbox {kind}; the agent runs on this machine")
    if isinstance(stated.get("files"), list):
        found.append("the log names its files but does not contain them; add them with --fixtures")
    return tuple(found)
