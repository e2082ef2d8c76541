"""Recorder: an agent records itself from inside, in a few lines, and loses nothing in a crash."""

from .agent import AgentRecorder, current
from .recorder import Recorder
from .tool import ToolRun

__all__ = ["AgentRecorder", "Recorder", "ToolRun", "current"]
