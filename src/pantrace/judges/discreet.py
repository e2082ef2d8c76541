"""Discretion: secrets are removed from what a provider says before it is stored, printed or counted.

A server may echo the key of a request: in an error, in the reason for a grade, as the name of its model."""

from __future__ import annotations

import msgspec

from pantrace.wire.json import encode

from .ask import Judge, Reply, Request, Unanswered
from .prompt import Clean

_READ = 20_000
_SHOWN = 240
"""Characters of a reason that are read, and that are shown. Cleaned before it is cut: half a key has no form."""


class Discreet:
    """Removes secrets from the replies and errors of another judge."""

    def __init__(self, judge: Judge, clean: Clean):
        self.judge = judge
        self.clean = clean

    async def ask(self, request: Request) -> Reply:
        try:
            reply = await self.judge.ask(request)
        except Unanswered as error:
            raise Unanswered(
                _short(self.clean(error.reason[:_READ])),
                again=error.again,
                wait=error.wait,
                hopeless=error.hopeless,
                unasked=error.unasked,
                code=error.code,
            ) from None
        return msgspec.structs.replace(
            reply,
            text=self.clean(reply.text),
            model=reply.model and self.clean(reply.model),
            stop=reply.stop and self.clean(reply.stop),
            # The tokens spell the text once more, one by one, where no pattern would find the secret.
            logprobs=None if self._spells_a_secret(reply) else reply.logprobs,
        )

    def _spells_a_secret(self, reply: Reply) -> bool:
        """Whether the tokens of a reply reveal a secret that was removed from its text."""
        if not reply.logprobs:
            return False
        spelt = "".join(str(each.get("token", "")) for each in reply.logprobs)
        return any(self.clean(text) != text for text in (reply.text, spelt, encode(reply.logprobs).decode()))


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + "..."
