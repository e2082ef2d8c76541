"""Data collected while a sample's steps are written as messages: names, notes, attachments."""

from __future__ import annotations

from typing import Any

from pantrace.model import Step

_UNIQUE = 16
"""An id of at least this length is assumed to be unique."""


def message_name(step: Step, place: int, prefix: str) -> str:
    """The id of a step's message. Inspect drops a message if another sample has its id, so short ids get a prefix."""
    if step.id is not None and (len(step.id) >= _UNIQUE or step.id.startswith(f"{prefix[:12]}.")):
        return step.id
    return f"{prefix[:12]}.{step.id or f'step{place + 1}'}"


class MessageDrafts:
    """Names, notes and attachments of the messages being written."""

    def __init__(self, attachments: dict[str, str], *, pooled: bool):
        self.attachments = attachments
        self.pooled = pooled
        """Whether inline pictures go to the attachments."""
        self.notes: dict[str, Any] = {}
        """Notes on messages, by their ids."""
        self.sizes: list[int] = []
        """How many messages each step of the main conversation became."""
        self._names: set[str] = set()

    def unique(self, name: str) -> str:
        """The name, or one like it that no other message has."""
        number, found = 2, name
        while found in self._names:
            number, found = number + 1, f"{name}#{number}"
        self._names.add(found)
        return found
