"""A simulated user: a model that plays the user of a scenario until its goal is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pantrace.judges.ask import Judge, Reply, Request
from pantrace.model import Case, Step, Text, is_staff, step_text

END = "[END]"
BEFORE = "(Nothing has been said yet. The person speaks first.)"
_SYSTEM = """You play a person who talks to an assistant. Stay in that role: write only what the person says next, in \
plain words, without quotation marks or stage directions.

What the person wants: {goal}
{persona}
Say only what such a person would know. When the goal is reached, or clearly cannot be reached, answer with {end} and \
nothing else."""


@dataclass(frozen=True)
class SimulatedUser:
    """The model that plays the user."""

    model: str
    judge: Callable[[], Judge]
    """Creates the client, again for each question: connections belong to one event loop, and each question has its
    own."""
    most_turns: int = 10

    def next(self, case: Case, steps: list[Step]) -> Step | None:
        """What the user says next, with the tokens used; None if the user is done. Raises Unanswered."""
        request = Request(
            model=self.model,
            system=_SYSTEM.format(goal=case.goal or case.question, persona=_persona(case), end=END),
            prompt=f"The conversation so far:\n\n{_conversation(steps) or BEFORE}\n\nWhat does the person say next?",
        )
        reply = asyncio.run(self._asked(request))
        text = reply.text.strip()
        # Models often add words around the sign, so it counts anywhere in the reply.
        if not text or END in text:
            return None
        return Step(
            role="user",
            parts=(Text(text=text),),
            purpose="simulated_user",
            model=reply.model or self.model,
            usage=reply.usage,
        )

    async def _asked(self, request: Request) -> Reply:
        judge = self.judge()
        try:
            return await judge.ask(request)
        finally:
            if callable(close := getattr(judge, "close", None)):
                await close()


def _persona(case: Case) -> str:
    scenario = (case.extra.get("adk") or {}).get("scenario") or {}
    persona = scenario.get("user_persona") or case.labels.get("persona")
    return f"What the person is like: {persona}\n" if persona else ""


def _conversation(steps: list[Step]) -> str:
    lines = []
    for step in steps:
        words = step_text(step)
        if words and step.role in ("user", "agent") and step.kind == "message":
            who = "Person" if step.role == "user" or is_staff(step.purpose) else "Assistant"
            lines.append(f"{who}: {words}")
    return "\n".join(lines)
