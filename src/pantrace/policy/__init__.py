"""Policy: profiles and gates. Scores in, decision out; what could not be evaluated does not pass."""

from __future__ import annotations

from .decide import decide
from .profile import Profile, load_profile, profile_names

__all__ = ["Profile", "decide", "load_profile", "profile_names"]
