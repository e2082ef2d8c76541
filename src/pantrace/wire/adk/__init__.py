"""ADK vocabulary that the four ADK formats share: events, sessions, invocations, metric results."""

from __future__ import annotations

import msgspec

MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, msgspec.ValidationError)
"""What reading a record raises that has not the outline of its format."""
