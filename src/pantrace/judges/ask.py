"""The seam between judging and whoever answers: one method."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Protocol

from pantrace.errors import Unanswered
from pantrace.model import Record, Usage
from pantrace.wire.json import encode

__all__ = ["Judge", "Reply", "Request", "Unanswered"]

# Too slow, too many, too busy, or a proxy that gave up (499): the same question may be answered later.
AGAIN = {408, 409, 425, 429, 499, *range(500, 600)}
# A wrong key, no permission, no such model: every further question would get the same answer.
HOPELESS = {401, 403, 404}


class Request(Record, frozen=True, kw_only=True):
    """A question to a judge, with all that its answer depends on."""

    model: str
    """PROVIDER:MODEL."""
    system: str
    prompt: str
    schema: dict[str, Any] | None = None
    """JSON Schema that the reply should have, for those who can promise it."""
    exchanges: tuple[tuple[str, str], ...] = ()
    """What followed the prompt: an unusable reply, and what was said about it."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    logprobs: bool = False
    index: int = 0
    """Which of several samples of the same question this is."""

    @property
    def key(self) -> str:
        """Address of the reply in a cache."""
        return sha256(
            encode(["pantrace-judge-1", [getattr(self, name) for name in self.__struct_fields__]])
        ).hexdigest()

    @property
    def estimated_tokens(self) -> int:
        """About what asking will cost: four characters to a token, and a short reply."""
        said = sum(len(reply) + len(complaint) for reply, complaint in self.exchanges)
        return (len(self.system) + len(self.prompt) + said) // 4 + 250


class Reply(Record, frozen=True, kw_only=True):
    """What a judge answered."""

    text: str
    usage: Usage | None = None
    model: str | None = None
    """The model that answered, in the provider's words."""
    stop: str | None = None
    """length: the reply was cut off; any other word is as good as none."""
    logprobs: list[dict[str, Any]] | None = None
    """One for each token: token, logprob, top_logprobs[{token, logprob}]."""
    cached: bool = False


class Judge(Protocol):
    """Whoever answers: a provider, a cache in front of one, a script in a test."""

    async def ask(self, request: Request) -> Reply:
        """The reply; Unanswered when there is none."""
        ...
