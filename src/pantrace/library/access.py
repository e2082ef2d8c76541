"""Access to judges: names, addresses, keys, the cache. Only this file of the library reads the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pantrace.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from pantrace.judges import Project

_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
_KEYS_BY_HOST = {
    "azure.com": ("AZURE_OPENAI_API_KEY", "OPENAI_API_KEY"),
    "openrouter.ai": ("OPENROUTER_API_KEY", "OPENAI_API_KEY"),
}
"""Servers that speak OpenAI's protocol, but whose keys have other names."""


class Reached(NamedTuple):
    """Judges by their full names, and how to reach them."""

    models: tuple[str, ...]
    base_url: str | None
    keys: dict[str, str]
    secrets: tuple[str, ...]
    """Every key in the environment for any of them, so that none is ever printed or stored."""


def reach(
    names: Iterable[str], base_url: str | None, *, asking: bool, known: Mapping[str, str] | None = None
) -> Reached:
    """The judges that were named. With `base_url`, a model without a provider is one of that server. Keys that are
    `known` by provider are not looked up."""
    from pantrace.judges import split_name

    models = tuple(dict.fromkeys(_full_name(name, base_url) for name in names))
    providers = {split_name(model)[0] for model in models}
    # One address for two providers would send the key of one to the server of the other.
    if base_url and len(providers) > 1:
        raise UsageError("--base-url is for judges of one provider; these are of several")
    # Only for OpenAI alone: the variable must not redirect Anthropic's or Google's requests.
    address = base_url or (os.environ.get("OPENAI_BASE_URL") if providers == {"openai"} else None)
    if providers and address is not None and not address.startswith(("http://", "https://")):
        raise UsageError(f"{address!r} is not the address of a server; it must begin with http:// or https://")
    given = known or {}
    keys = {name: given.get(name) or judge_key(name, address) for name in providers} if asking else {}
    return Reached(models, address, keys, _held())


def _full_name(name: str, base_url: str | None) -> str:
    from pantrace.judges import PROVIDERS

    return name if name.partition(":")[0] in PROVIDERS or base_url is None else f"openai:{name}"


def judge_key(provider: str, base_url: str | None) -> str:
    """The key of a provider from the usual environment variables."""
    from urllib.parse import urlsplit

    # By the host's ending, not by a substring: azure.com.evil.org must not get Azure's key.
    host = urlsplit(base_url or "").hostname or ""
    own = next((names for end, names in _KEYS_BY_HOST.items() if host == end or host.endswith(f".{end}")), None)
    names = own or _KEYS[provider]
    found = next((key for name in names if (key := os.environ.get(name))), None)
    if found is None and (base_url is None or own):
        raise UsageError(f"the judge needs a key: set {' or '.join(names)}")
    # Local servers need no key, but the client refuses to start without one.
    return found or "none"


def _held() -> tuple[str, ...]:
    names = dict.fromkeys(name for group in (*_KEYS.values(), *_KEYS_BY_HOST.values()) for name in group)
    return tuple(key for name in names if (key := os.environ.get(name)))


def cache_file(named: str | os.PathLike[str] | None) -> Path:
    """Where replies are stored: the named file, otherwise one in the user's cache folder."""
    from pathlib import Path

    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pantrace" / "judge.sqlite"


def named_project(project: str | None, location: str | None, base_url: str | None) -> Project | None:
    """The project from the options or the environment; None if there is none. Half of it is an error."""
    from pantrace.judges import Project

    found = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    place = location or os.environ.get("GOOGLE_CLOUD_LOCATION")
    if found and place:
        return Project(project=found, location=place, base_url=base_url)
    if project or location:
        lacking = "--location (or GOOGLE_CLOUD_LOCATION)" if project else "--project (or GOOGLE_CLOUD_PROJECT)"
        raise UsageError(f"Vertex AI's metrics need {lacking}, too")
    return None


def required_project(project: str | None, location: str | None, base_url: str | None) -> Project:
    """The same; UsageError if there is none."""
    found = named_project(project, location, base_url)
    if found is None:
        raise UsageError(
            "Vertex AI's metrics need a Google Cloud project and a location: --project and --location,"
            " or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
        )
    return found


def agent_keys() -> dict[str, str]:
    """Keys of agents' servers, from the usual variables."""
    found = {"openai": os.environ.get("OPENAI_API_KEY"), "http": os.environ.get("PANTRACE_AGENT_KEY")}
    return {name: key for name, key in found.items() if key}


def environment() -> dict[str, str]:
    """The environment that agents inherit if they are programs."""
    return dict(os.environ)
