"""Providers: openai:MODEL (any server that speaks its chat completions), anthropic:MODEL, google:MODEL.

They use pydantic-ai, from the extra `judge`, which is imported with the first question because it takes a second."""

from __future__ import annotations

import asyncio
from typing import Any

from pantrace.errors import MissingExtra, Unanswered, UsageError
from pantrace.model import Usage

from .ask import AGAIN, HOPELESS, Judge, Reply, Request
from .vertex import Vertex

PROVIDERS = ("openai", "anthropic", "google")
_OPENAI = "https://api.openai.com/v1"
_NO_SCHEMA = {400, 415, 422, 501}
"""Status codes with which servers refuse a reply schema that they do not support."""


def split_name(name: str) -> tuple[str, str]:
    """Provider and model of PROVIDER:MODEL."""
    provider, colon, model = name.partition(":")
    if not colon or provider not in PROVIDERS or not model:
        listed = ", ".join(f"{each}:MODEL" for each in PROVIDERS)
        raise UsageError(
            f"{name!r} is not a judge; a judge is one of {listed} (with --base-url, openai:MODEL is any server)"
        )
    return provider, model


class Provider:
    """Asks one model over HTTP. `key` and `base_url` are passed in; nothing is read from the environment."""

    def __init__(self, name: str, *, key: str, base_url: str | None = None, timeout: float = 120.0):
        self.name = name
        self.provider, self.model = split_name(name)
        self.key = key
        self.base_url = base_url
        self.timeout = timeout
        self._model: Any = None
        # Tried first, because a schema with a closed list of grades makes most unusable replies impossible.
        self._promises_schema = True

    async def ask(self, request: Request) -> Reply:
        if self._model is None:
            self._model = self._built()
            await self._model.__aenter__()
        with_schema = request.schema is not None and self._promises_schema
        try:
            return await self._asked(request, with_schema)
        except _Refused as refused:
            if not with_schema or refused.status not in _NO_SCHEMA:
                raise
            reply = await self._asked(request, False)
            # The same question worked without a schema, so this server does not support one: do not try again.
            self._promises_schema = False
            return reply

    async def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        if self._model is not None:
            await self._model.__aexit__(None, None, None)
            self._model = None

    async def _asked(self, request: Request, with_schema: bool) -> Reply:
        from pydantic_ai import direct, exceptions

        try:
            async with asyncio.timeout(self.timeout):
                response = await direct.model_request(
                    self._model,
                    _messages(request),
                    model_settings=_settings(request, self.timeout, self.provider),
                    model_request_parameters=_parameters(request if with_schema else None),
                )
        except TimeoutError:
            raise Unanswered(f"no reply within {self.timeout:g} s", again=True) from None
        except exceptions.ModelHTTPError as error:
            raise _refused(error) from None
        except exceptions.ModelAPIError as error:
            raise Unanswered(f"no answer from the server: {error.message}", again=True) from None
        except exceptions.UnexpectedModelBehavior as error:
            raise Unanswered(f"the reply does not follow the protocol: {error}", again=True) from None
        except exceptions.UserError as error:
            raise Unanswered(f"cannot be asked: {error}", hopeless=True) from None
        except Exception as error:  # noqa: BLE001 -- an answer of an odd shape surfaces as whatever the client stumbles over
            raise Unanswered(f"unreadable reply: {type(error).__name__}: {error}", again=True) from None
        # The price list is for the provider's own models, not for a namesake on the user's server.
        return _reply(response, cost=_cost(response) if self.base_url is None else None)

    def _built(self) -> Any:
        try:
            if self.provider == "openai":
                from pydantic_ai.models.openai import OpenAIChatModel
                from pydantic_ai.providers.openai import OpenAIProvider

                openai = OpenAIProvider(base_url=self.base_url or _OPENAI, api_key=self.key)
                return OpenAIChatModel(self.model, provider=openai)
            if self.provider == "anthropic":
                from pydantic_ai.models.anthropic import AnthropicModel
                from pydantic_ai.providers.anthropic import AnthropicProvider

                return AnthropicModel(self.model, provider=AnthropicProvider(api_key=self.key, base_url=self.base_url))
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleModel(self.model, provider=GoogleProvider(api_key=self.key, base_url=self.base_url))
        except ImportError:
            raise MissingExtra(f"the judge {self.name}", "judge") from None


class Routed:
    """Sends each question to the judge of its model, otherwise to that of its provider."""

    def __init__(self, judges: dict[str, Judge]):
        self.judges = judges

    async def ask(self, request: Request) -> Reply:
        judge = self.judges.get(request.model) or self.judges[request.model.partition(":")[0]]
        return await judge.ask(request)

    async def close(self) -> None:
        for judge in self.judges.values():
            if isinstance(judge, (Provider, Vertex)):
                await judge.close()


class _Refused(Unanswered):
    """The server answered with an error."""

    status: int = 0


def _refused(error: Any) -> _Refused:
    status = int(error.status_code)
    found = _Refused(
        f"HTTP {status}: {_body(error.body)}",
        again=status in AGAIN,
        wait=_seconds(error),
        hopeless=status in HOPELESS,
    )
    found.status = status
    return found


def _body(body: Any) -> str:
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            return str(inner["message"])
        return str(inner)
    return str(body or "no details")


def _seconds(error: Any) -> float | None:
    wait = getattr(error, "retry_after", None)
    return float(wait) if isinstance(wait, (int, float)) and wait >= 0 else None


def _messages(request: Request) -> list[Any]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    found: list[Any] = [
        ModelRequest(parts=[SystemPromptPart(content=request.system), UserPromptPart(content=request.prompt)])
    ]
    for reply, complaint in request.exchanges:
        found.append(ModelResponse(parts=[TextPart(content=reply)]))
        found.append(ModelRequest(parts=[UserPromptPart(content=complaint)]))
    return found


def _settings(request: Request, timeout: float, provider: str) -> dict[str, Any]:
    # `Patient` retries, with its own limits; a client that retries, too, would multiply the attempts.
    found: dict[str, Any] = {"timeout": timeout, "max_retries": 0}
    for name in ("temperature", "max_tokens", "seed"):
        if (value := getattr(request, name)) is not None:
            found[name] = value
    if request.logprobs and provider == "openai":
        found |= {"openai_logprobs": True, "openai_top_logprobs": 10}
    return found


def _parameters(request: Request | None) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if request is None or request.schema is None:
        return ModelRequestParameters()
    promised = OutputObjectDefinition(json_schema=request.schema, name="verdict", strict=True)
    return ModelRequestParameters(output_mode="native", output_object=promised, allow_text_output=True)


def _reply(response: Any, cost: float | None) -> Reply:
    from pydantic_ai.messages import TextPart

    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    stop = str(response.finish_reason) if response.finish_reason else None
    # A reply cut off during reasoning is empty, too; the caller reports that as cut off.
    if not text.strip() and stop != "length":
        why = "the provider's filter blocked the reply" if stop == "content_filter" else "empty reply"
        raise Unanswered(why, again=stop != "content_filter")
    details = response.provider_details or {}
    return Reply(
        text=text, usage=_usage(response, cost), model=response.model_name, stop=stop, logprobs=details.get("logprobs")
    )


def _usage(response: Any, cost: float | None) -> Usage | None:
    used = response.usage
    # The client reports 0 for "not reported". No real reply has 0 tokens in and 0 tokens out.
    if not used.input_tokens and not used.output_tokens:
        return None
    return Usage(
        input=used.input_tokens,
        output=used.output_tokens,
        total=used.input_tokens + used.output_tokens,
        cost_usd=cost,
    )


def _cost(response: Any) -> float | None:
    """The cost by the provider's price list; None for a model without a known price."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError, AttributeError):
        return None
