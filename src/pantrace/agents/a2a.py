"""`a2a:URL`: an agent that speaks the Agent2Agent protocol, JSON-RPC over HTTP.

Spec: https://a2a-protocol.org, method `message/send`; a task that is not finished is polled with `tasks/get`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pantrace.model import Media, Part, Step, Text, Unknown

from .agent import AgentFailed, Answer, Trial
from .transport import post

# "input-required" is done, too: the agent asks back, and that is its answer to this turn.
DONE = {"completed", "input-required", "failed", "canceled", "rejected", "auth-required"}
PAUSE = 0.5
NAME = "a2a"


@dataclass(frozen=True)
class A2a:
    """An agent that speaks the Agent2Agent protocol."""

    url: str

    def ask(self, question: str, trial: Trial) -> Answer:
        message: dict[str, Any] = {
            "kind": "message",
            "role": "user",
            "messageId": uuid4().hex,
            "parts": [{"kind": "text", "text": question}],
        }
        # The context id continues the conversation; without it, the server would begin a new one with each turn.
        if "context" in trial.memory:
            message["contextId"] = trial.memory["context"]
        until = time.monotonic() + trial.seconds
        found = self._call("message/send", {"message": message, "configuration": {"blocking": True}}, trial)
        # `blocking` is only a wish: a server may answer at once with a task that is still working.
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
    # The history also contains our own question, which the trial has already.
    steps = [_step(each) for each in _objects(found.get("history")) if each.get("role") == "agent"]
    status = found.get("status") if isinstance(found.get("status"), dict) else {}
    assert isinstance(status, dict)
    if isinstance(status.get("message"), dict):
        steps.append(_step(status["message"]))
    steps += [
        Step(role="agent", parts=_parts(each), extra={NAME: {"artifact": each.get("artifactId")}})
        for each in _objects(found.get("artifacts"))
    ]
    answer = Answer(steps=tuple(steps))
    state = _state(found)
    if state in ("failed", "canceled", "rejected", "auth-required"):
        status_ = "cancelled" if state == "canceled" else "error"
        raise AgentFailed(status_, f"the task ended as {state!r}", answer)
    if not steps:
        raise AgentFailed("error", "the task ended without a message or an artifact", answer)
    return answer


def _objects(items: Any) -> list[dict[str, Any]]:
    """The objects of a list; a server may send anything in its place, and the trial must end as a failed one."""
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []


def _step(message: dict[str, Any]) -> Step:
    name = message.get("messageId")
    return Step(role="agent", id=name if isinstance(name, str) else None, parts=_parts(message))


def _parts(owner: dict[str, Any]) -> tuple[Part, ...]:
    parts = owner.get("parts")
    return tuple(map(_part, parts)) if isinstance(parts, list) else ()


def _part(part: Any) -> Part:
    match part:
        case {"kind": "text", "text": str(text)}:
            return Text(text=text)
        case {"kind": "file", "file": dict(file)}:
            return Media(mime=file.get("mimeType"), name=file.get("name"), uri=file.get("uri"), data=file.get("bytes"))
    return Unknown(kind=f"{NAME}:{part.get('kind', 'part') if isinstance(part, dict) else 'part'}", raw=part)
