"""`adk:URL/APP`: an agent behind ADK's API server (`adk api_server`, `adk web`).

Each trial gets its own session, with the user and the state that the case names. The server runs it, and the session
as the server stores it is the recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pantrace.errors import ReadError, UsageError
from pantrace.wire.json import encode

from .agent import AgentFailed, Answer, Trial, wanted_session
from .transport import post


@dataclass(frozen=True)
class Adk:
    """An agent behind ADK's API server."""

    server: str
    app: str | None

    @classmethod
    def at(cls, address: str) -> Adk:
        """From URL or URL/APP; without an app, the case must name it."""
        scheme, _, rest = address.partition("://")
        if scheme not in ("http", "https") or not rest:
            raise UsageError(f"adk:{address} is no address; write adk:http://127.0.0.1:8000/APP")
        host, _, app = rest.rstrip("/").partition("/")
        return cls(f"{scheme}://{host}", app or None)

    def ask(self, question: str, trial: Trial) -> Answer:
        wanted = wanted_session(trial.case)
        app = self.app or wanted.get("app_name") or trial.case.agent
        if not app:
            raise UsageError("the case names no ADK app; write adk:URL/APP")
        user = str(wanted.get("user_id") or "pantrace")
        sessions = f"{self.server}/apps/{quote(app)}/users/{quote(user)}/sessions"
        if "session" not in trial.memory:
            made = post(sessions, {"state": wanted.get("state") or {}}, trial)
            trial.memory["session"] = made.get("id") if isinstance(made, dict) else None
        session = trial.memory["session"]
        if not isinstance(session, str):
            raise AgentFailed("error", f"{self.server} made no session for {app}")
        message = {"role": "user", "parts": [{"text": question}]}
        asked = {"appName": app, "userId": user, "sessionId": session, "newMessage": message}
        # A run that fails midway has still stored events: they are read below, and become part of the sample.
        failed: AgentFailed | None = None
        try:
            post(f"{self.server}/run", asked, trial)
        except AgentFailed as error:
            failed = error
        answer = _kept(post(f"{sessions}/{quote(session)}", None, trial, method="GET"), trial)
        if failed is not None:
            raise AgentFailed(failed.status, failed.reason, answer)
        return answer


def _kept(session: Any, trial: Trial) -> Answer:
    path = trial.notes / f"session-{len(trial.history)}.json"
    path.write_bytes(encode(session))
    try:
        samples = trial.read(path, "adk-session")
    except ReadError as error:
        raise AgentFailed("error", f"the server's session cannot be read: {error}") from None
    found = next((sample.trajectory for sample in samples if sample.trajectory is not None), None)
    if found is None:
        raise AgentFailed("error", "the server's session is empty")
    # The server returns the whole session each time, so a later turn replaces the recording of an earlier one.
    trial.memory["whole"] = True
    return Answer(recording=found)
