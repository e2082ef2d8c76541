"""`a2a:URL`: an agent that speaks the Agent2Agent protocol, JSON-RPC over HTTP.

Spec: https://a2a-protocol.org, method `message/send`; a task that goes on is asked for with `tasks/get`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pantrace.model import Media, Part, Step, Text, Unknown

from .agent import AgentFailed, Answer, Trial
from .transport import post

DONE = {"completed", "input-required", "failed", "canceled", "rejected", "auth-required"}
PAUSE = 0.5
NAME = "a2a"


@dataclass(frozen=True)
class A2a:
    """An agent of the Agent2Agent protocol."""

    url: str

    def ask(self, question: str, trial: Trial) -> Answer:
        message: dict[str, Any] = {
            "kind": "message",
            "role": "user",
            "messageId": uuid4().hex,
            "parts": [{"kind": "text", "text": question}],
        }
        if "context" in trial.memory:
            message["contextId"] = trial.memory["context"]
        until = time.monotonic() + trial.seconds
        found = self._call("message/send", {"message": message, "configuration": {"blocking": True}}, trial)
        while found.get("kind") == "task" and _state(found) not in DONE:
            trial.seconds = until - time.monotonic()
            if trial.seconds <= 0:
                raise AgentFailed("limit", f"the task was still {_state(found)!r} at the time limit")
            time.sleep(PAUSE)
            found = self._call("tasks/get", {"id": found.get("id")}, trial)
        trial.memory["context"] = found.get("contextId")
        return _answer(found)

    def _call(self, method: str, parameters: dict[str, Any], trial: Trial) -> dict[str, Any]:
        reply = post(self.url, {"jsonrpc": "2.0", "id": uuid4().hex, "method": method, "params": parameters}, trial)
        match reply:
            case {"result": dict(result)}:
                return result
            case {"error": dict(error)}:
                raise AgentFailed("error", f"{self.url}: {error.get('message', error)} (code {error.get('code')})")
        raise AgentFailed("error", f"{self.url} answered neither a result nor an error")


def _state(task: dict[str, Any]) -> str:
    status = task.get("status")
    return str(status.get("state")) if isinstance(status, dict) else "unknown"


def _answer(found: dict[str, Any]) -> Answer:
    if found.get("kind") == "message":
        return Answer(steps=(_step(found),))
    steps = [_step(each) for each in found.get("history") or () if each.get("role") == "agent"]
    status = found.get("status") if isinstance(found.get("status"), dict) else {}
    assert isinstance(status, dict)
    if isinstance(status.get("message"), dict):
        steps.append(_step(status["message"]))
    steps += [
        Step(role="agent", parts=_parts(each), extra={NAME: {"artifact": each.get("artifactId")}})
        for each in found.get("artifacts") or ()
    ]
    answer = Answer(steps=tuple(steps))
    state = _state(found)
    if state in ("failed", "canceled", "rejected", "auth-required"):
        status_ = "cancelled" if state == "canceled" else "error"
        raise AgentFailed(status_, f"the task ended as {state!r}", answer)
    if not steps:
        raise AgentFailed("error", "the task ended without a message or an artifact", answer)
    return answer


def _step(message: dict[str, Any]) -> Step:
    return Step(role="agent", id=message.get("messageId"), parts=_parts(message))


def _parts(owner: dict[str, Any]) -> tuple[Part, ...]:
    return tuple(_part(each) for each in owner.get("parts") or ())


def _part(part: Any) -> Part:
    match part:
        case {"kind": "text", "text": str(text)}:
            return Text(text=text)
        case {"kind": "file", "file": dict(file)}:
            return Media(mime=file.get("mimeType"), name=file.get("name"), uri=file.get("uri"), data=file.get("bytes"))
    return Unknown(kind=f"{NAME}:{part.get('kind', 'part') if isinstance(part, dict) else 'part'}", raw=part)
