"""`http://…` or `https://…`: any server that takes a question as JSON and answers as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pantrace.errors import ReadError, UsageError
from pantrace.model import Record, Step, Text
from pantrace.wire.json import decode_document, to_plain
from pantrace.wire.openai_chat import messages_to

from .agent import AgentFailed, Answer, Trial
from .transport import post


class WebOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent, and where the answer is in the reply."""

    body: str = '{"question": "{question}", "session": "{session}"}'
    """JSON that is sent. Texts in it may contain {question}, {case_id}, {session}; the text "{case}" becomes the case
    as an object, "{history}" the conversation so far as OpenAI messages."""
    reply: str = "answer"
    """Path of the answer in what comes back: answer, choices.0.message.content."""
    session: str | None = None
    """Path of an id that the server wants back with the next question."""


@dataclass(frozen=True)
class Web:
    """An agent behind a URL."""

    url: str
    options: WebOptions
    key: str | None = None

    # A wrong template must fail before the first case is asked.
    def __post_init__(self) -> None:
        self._template()

    def _template(self) -> Any:
        try:
            return decode_document(self.options.body.encode())
        except ReadError as error:
            raise UsageError(f"--option body is not JSON: {error}") from None

    def ask(self, question: str, trial: Trial) -> Answer:
        filled = {
            "{question}": question,
            "{case_id}": trial.case.id or "",
            "{session}": trial.memory.get("session", ""),
            "{case}": to_plain(trial.case),
            "{history}": messages_to(trial.history, "history"),
        }
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        found = post(self.url, _filled(self._template(), filled), trial, headers)
        if self.options.session is not None and (session := _at(found, self.options.session)) is not None:
            trial.memory["session"] = str(session)
        answer = _at(found, self.options.reply)
        if not isinstance(answer, str):
            keys = ", ".join(found) if isinstance(found, dict) else type(found).__name__
            raise AgentFailed("error", f"no text at {self.options.reply!r} of the answer, which has {keys}")
        return Answer(steps=(Step(role="agent", parts=(Text(text=answer),)),))


def _filled(template: Any, filled: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, filled) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, filled) for value in template]
    if not isinstance(template, str):
        return template
    # The whole text is one word: the value keeps its type, so that a case arrives as an object and not as text.
    if template in filled:
        return filled[template]
    for word, value in filled.items():
        # The question comes last, as in `command`: braces in it must not be filled in.
        if word != "{question}" and isinstance(value, str):
            template = template.replace(word, value)
    return template.replace("{question}", filled["{question}"])


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
