"""Vertex AI as a judge, through Google's client (extra `vertex`). Only this file knows the client, and imports it late.

The client's `evaluate` would retry, sleep and turn errors into text by itself. So its parts are used separately: its
converter makes the case, its handler the instance, its `evaluate_instances` asks about one sample. Retries, budget and
cache are left to the judges around this one. The client blocks, so it runs in threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import msgspec

from pantrace.errors import MissingExtra, Unanswered, UsageError
from pantrace.wire.json import decode, encode

from .ask import AGAIN, HOPELESS, Reply, Request
from .managed import PREFIX, trouble_in

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_AGAIN_RPC = {4, 8, 10, 13, 14}
"""Codes inside a result: deadline, exhausted, aborted, internal, unavailable."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The project, the location and the address of the service."""

    project: str
    location: str
    base_url: str | None = None
    """Another address of the service, such as a private endpoint."""


class Vertex:
    """Asks the service about one sample at a time."""

    def __init__(self, project: Project, *, timeout: float = 120.0, at_once: int = 8, credentials: Any = None):
        self.project = project
        self.timeout = timeout
        self._credentials = credentials
        self._client: Any = None
        self._opening = Lock()
        self._at_once = at_once
        self._threads: ThreadPoolExecutor | None = None

    def open(self) -> None:
        """Load the client and find credentials; UsageError if either is missing."""
        with self._opening:
            if self._client is None:
                self._client = _client(self.project, self._credentials or _found_credentials(), self.timeout)

    async def ask(self, request: Request) -> Reply:
        # Threads of our own: asyncio's default pool is shared, and blocked requests would stop everything else.
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="vertex")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._asked, request)

    async def close(self) -> None:
        """Drop the threads without waiting for their requests; the next question starts new ones."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _asked(self, request: Request) -> Reply:
        self.open()
        metric = request.model.removeprefix(PREFIX)
        question = _question(self._client, metric, request.system or None, decode(request.prompt.encode()))
        try:
            answer = self._client.evals.evaluate_instances(metric_config=question)
            results = [each.model_dump(mode="json", exclude_none=True) for each in answer.metric_results or ()]
        except Exception as error:  # noqa: BLE001 -- the client lets through whatever its HTTP library and parsers raise
            raise _unanswered(error, self.timeout) from None
        result = results[0] if results else {}
        if (trouble := trouble_in(result)) is not None:
            code = (result.get("error") or {}).get("code")
            raise Unanswered(trouble, again=code is None or code in _AGAIN_RPC, code=code)
        return Reply(text=encode(result).decode())


def _client(project: Project, credentials: Any, timeout: float) -> Any:
    _imported()
    from agentplatform import Client

    # The client counts in milliseconds.
    options: dict[str, Any] = {"timeout": int(timeout * 1000)}
    if project.base_url is not None:
        options["base_url"] = project.base_url
    return Client(project=project.project, location=project.location, credentials=credentials, http_options=options)


def _imported() -> None:
    """Check that the client is installed, with everything it needs for evaluations."""
    try:
        import agentplatform._genai.evals  # noqa: F401
    except ImportError:
        raise MissingExtra("a metric of Vertex AI", "vertex") from None


def _found_credentials() -> Any:
    """The application default credentials of this machine."""
    _imported()
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    try:
        return google.auth.default(scopes=_SCOPES)[0]
    except GoogleAuthError as error:
        raise UsageError(
            "no credentials for Google Cloud: run `gcloud auth application-default login`, or let"
            f" GOOGLE_APPLICATION_CREDENTIALS name a key file ({' '.join(str(error).split())[:200]})"
        ) from None


def _question(client: Any, metric: str, guidelines: str | None, case: dict[str, Any]) -> dict[str, Any]:
    """The request, built by the client's own converter and handler."""
    from agentplatform._genai import _evals_data_converters as converters
    from agentplatform._genai import _evals_metric_handlers as handlers
    from agentplatform._genai import types

    # Not types.RubricMetric: if it does not know a name and version, it searches cloud storage for them.
    pinned = types.Metric(name=metric, metric_spec_parameters={"guidelines": guidelines} if guidelines else None)
    try:
        converter = converters.get_dataset_converter(converters.EvalDatasetSchema.FLATTEN)
        (row,) = converter.convert([case]).eval_cases
        handler = handlers.PredefinedMetricHandler(module=client.evals, metric=pinned)
        instance = handler._build_request_payload(row, 0)["instance"]
    except ValueError as error:
        raise Unanswered(f"Google's client refuses the sample: {error}") from None
    # The converter only logs what it drops, and the service would judge what is left.
    if ("agent_data" in case and row.agent_data is None) or ("rubric_groups" in case and not row.rubric_groups):
        raise Unanswered("Google's client refuses the sample: it cannot read its agent data or its rubrics")
    return {"metrics": [pinned], "instance": instance}


def _unanswered(error: Exception, timeout: float) -> Unanswered:
    """Why there is no answer, whether asking again may help, and whether all other requests will fail, too."""
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.genai.errors import APIError

    words = str(error) or type(error).__name__
    if isinstance(error, APIError):
        code = error.code
        return Unanswered(
            f"HTTP {code}: {error.message or error.status or 'no details'}",
            again=code in AGAIN,
            hopeless=code in HOPELESS,
            wait=_seconds(error.response),
            code=code,
        )
    if isinstance(error, TransportError):
        return Unanswered(f"no answer from the server for credentials: {words}", again=True)
    if isinstance(error, GoogleAuthError):
        return Unanswered(f"access denied: {words}", hopeless=True)
    if "Timeout" in type(error).__name__:
        return Unanswered(f"no reply within {timeout:g} s", again=True)
    if isinstance(error, (ValueError, TypeError, AttributeError, LookupError)):
        return Unanswered(f"unreadable reply: {type(error).__name__}: {words}", again=True)
    return Unanswered(f"no answer from the server: {type(error).__name__}: {words}", again=True)


def _seconds(response: Any) -> float | None:
    """How long the server asks to wait."""
    text = str((getattr(response, "headers", None) or {}).get("retry-after", ""))
    return float(text) if text.isdigit() else None
