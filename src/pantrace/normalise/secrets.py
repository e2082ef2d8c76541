"""Secrets: found by their shape in any text of a sample, and replaced by a word that says what stood there.

A shape is chosen so that ordinary text does not have it. What has no shape (a password in the middle of a sentence) is
not found; docs/redact.md says so."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pantrace.model import Record, Sample
from pantrace.wire.json import decode, encode

_SHAPES: dict[str, str] = {
    "private-key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)",
    "anthropic-key": r"\bsk-ant-[A-Za-z0-9_-]{16,}",
    "openai-key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    "google-key": r"\bAIza[A-Za-z0-9_-]{35}",
    "google-oauth": r"\bya29\.[A-Za-z0-9_-]{20,}",
    "aws-key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "github-token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "gitlab-token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "slack-token": r"\bxox[abposr]-[A-Za-z0-9-]{10,}",
    "huggingface-token": r"\bhf_[A-Za-z0-9]{30,}",
    "stripe-key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "npm-token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "jwt": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    # The name before a secret stays readable; only what the group holds is replaced.
    "connection-password": r"(?<=://)[^\s:/@'\"]*:(?P<secret>[^\s@'\"/]+)(?=@)",
    "bearer-token": r"(?i:\b(?:bearer|basic)\s+)(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
    "password": (
        r"(?i:\b[\w.-]*(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret)"
        r"[\"']?\s*[:=]\s*[\"']?)(?P<secret>[^\s\"',;&]{6,})"
    ),
}

EMAIL = {"e-mail": r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"}

_NAMES_OF_SECRETS = re.compile(
    r"(?i)(?:^|[_-])(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|private[_-]?key"
    r"|authorization)$|apiKey$|accessToken$|authToken$|clientSecret$"
)
_UNTOUCHED = {"data", "signature", "thought_signature"}
"""Keys of opaque text: base64 and proofs, in which a shape means nothing."""


class Replacement(Record, frozen=True, kw_only=True):
    """Secrets of one kind that were replaced at one place."""

    sample: str
    path: str
    kind: str
    count: int


class Redactor:
    """Finds and replaces secrets; made once, used for every sample."""

    def __init__(self, *, emails: bool = False, more: dict[str, str] | None = None):
        shapes = {**_SHAPES, **(EMAIL if emails else {}), **(more or {})}
        self._shapes = [(kind, re.compile(shape, re.DOTALL)) for kind, shape in shapes.items()]

    def text(self, text: str) -> tuple[str, dict[str, int]]:
        """A text without its secrets, and how many of each kind there were."""
        counts: dict[str, int] = {}
        for kind, shape in self._shapes:

            def replaced(match: re.Match[str], kind: str = kind) -> str:
                secret = match.groupdict().get("secret")
                if secret is not None and secret.startswith("[redacted:"):
                    return match[0]
                counts[kind] = counts.get(kind, 0) + 1
                if secret is None:
                    return f"[redacted:{kind}]"
                start, end = match.span("secret")
                return match[0][: start - match.start()] + f"[redacted:{kind}]" + match[0][end - match.start() :]

            text = shape.sub(replaced, text)
        return text, counts

    def sample(self, sample: Sample) -> tuple[Sample, list[Replacement]]:
        """A sample without its secrets, and every place where one stood."""
        found: list[Replacement] = []
        plain = decode(encode(sample))
        changed = self._value(plain, "", sample.id, found)
        return (msgspec.convert(changed, Sample), found) if found else (sample, found)

    def value(self, value: Any) -> Any:
        """Plain data without its secrets."""
        return self._value(value, "", "", [])

    def _value(self, value: Any, path: str, sample: str, found: list[Replacement]) -> Any:
        if isinstance(value, str):
            text, counts = self.text(value)
            found += [Replacement(sample=sample, path=path, kind=kind, count=n) for kind, n in counts.items()]
            return text
        if isinstance(value, list):
            return [self._value(item, f"{path}[{index}]", sample, found) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self._member(key, item, path, sample, found) for key, item in value.items()}
        return value

    def _member(self, key: str, item: Any, path: str, sample: str, found: list[Replacement]) -> Any:
        place = f"{path}.{key}" if path else key
        if isinstance(item, str):
            if key in _UNTOUCHED:
                return item
            if item and not item.startswith("[redacted:") and _NAMES_OF_SECRETS.search(key):
                found.append(Replacement(sample=sample, path=place, kind="password", count=1))
                return "[redacted:password]"
        return self._value(item, place, sample, found)
