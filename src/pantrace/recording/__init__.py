"""Recorder: an agent records itself with a few lines of code, and a crash loses nothing."""

from .agent import AgentRecorder, current
from .recorder import Recorder
from .tool import ToolRun

__all__ = ["AgentRecorder", "Recorder", "ToolRun", "current"]
