"""Secrets: found in any text of a sample, and replaced by a word that says what was there.

A secret is found by its form (a token with its issuer's prefix, a private key), by its name (`password=`), or because
this process uses it itself. What has none of these (a password in the middle of a sentence) is not found;
docs/redact.md says so."""

from __future__ import annotations

from .redactor import Redactor, Replacement

__all__ = ["Redactor", "Replacement"]
