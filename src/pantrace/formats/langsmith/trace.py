"""The runs of one trace as a trajectory: calls of models are steps, runs of tools complete the results, and an agent
that runs inside a tool is a trajectory of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from pantrace.model import (
    Agent,
    Outcome,
    Part,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    final_response,
)
from pantrace.wire.extra_keys import as_extra, rest_in, rest_of
from pantrace.wire.json import encode
from pantrace.wire.openai_tools import tools_from
from pantrace.wire.optional import object_of, text_of
from pantrace.wire.times import from_iso

from .said import NAME, answer, asked, note, plain, usage
from .tool_run import RunRow, error_of, likeness, others_of, unasked, with_run


def trajectory_of(root: RunRow, runs: list[RunRow]) -> Trajectory:
    """The trajectory of a run and of all runs below it."""
    below: dict[str, list[RunRow]] = {}
    for run in runs:
        # The first run has no parent here: in a broken file the parents may form a ring.
        if run is not root:
            below.setdefault(str(run.get("parent_run_id")), []).append(run)
    return _Conversation(root, below).told()


class _Conversation:
    """What one agent and its tools said, in the order in which their runs began."""

    def __init__(self, root: RunRow, below: dict[str, list[RunRow]]):
        self.root = root
        self.below = below
        self.steps: list[Step] = []
        self.others: list[RunRow] = []
        self.heard: dict[bytes, Counter[bytes]] = {}
        self.calls: dict[str, ToolCall] = {}
        self.waiting: list[tuple[int, RunRow]] = []
        self.agents: list[_Conversation] = []
        self.callers: dict[str, str] = {}
        self.tools: Any = None
        inside = [root] if root.get("run_type") != "tool" else below.get(str(root["id"]), [])
        for run in sorted(self._reached(inside), key=lambda run: str(run.get("dotted_order") or run.get("start_time"))):
            if run.get("run_type") == "llm":
                self._hear(run)
            elif run.get("run_type") == "tool":
                self.waiting.append((len(self.steps), run))
                if self._calls_models(run):
                    self.agents.append(_Conversation(run, below))
                else:
                    self.others += self._all_below(run)[1:]
            else:
                self.others.append(run)

    def _reached(self, runs: list[RunRow]) -> list[RunRow]:
        """These runs and those below them, but not those below tools."""
        found, open_ = [], list(runs)
        while open_:
            found.append(run := open_.pop())
            open_ += self.below.get(str(run["id"]), []) if run.get("run_type") != "tool" else []
        return found

    def _all_below(self, run: RunRow) -> list[RunRow]:
        found, open_ = [], [run]
        while open_:
            found.append(each := open_.pop())
            open_ += self.below.get(str(each["id"]), [])
        return found

    def _calls_models(self, run: RunRow) -> bool:
        return any(each.get("run_type") == "llm" for each in self._all_below(run))

    def _hear(self, run: RunRow) -> None:
        """Add what a call of a model has beyond the calls before: each request repeats the conversation."""
        inputs, outputs = object_of(run.get("inputs")), object_of(run.get("outputs"))
        messages, rest = asked(inputs)
        thread = next((encode(step.parts) for step, _ in messages if step.role == "user"), b"")
        known = thread in self.heard
        heard = self.heard.setdefault(thread, Counter())
        last = max((place for place, (step, _) in enumerate(messages) if step.role == "agent"), default=-1)
        seen: Counter[bytes] = Counter()
        changed: dict[str, Any] = {}
        for place, (step, raw) in enumerate(messages):
            seen[key := encode(step)] += 1
            if seen[key] <= heard[key]:
                continue
            if known and place <= last:
                # The answer as the program repeats it, with fewer or other words than the model's response.
                changed[str(place)] = raw
            else:
                self.steps.append(self._completed(step))
        heard |= seen
        step, beside = answer(outputs)
        heard[encode(step)] += 1
        used = usage(run, step, beside)
        self.tools = rest.pop("tools", None) if self.tools is None or rest.get("tools") == self.tools else self.tools
        model, named = _model(run, inputs, beside)
        settings = {key: value for key, value in rest.items() if not isinstance(value, (dict, list)) and key != named}
        kept = {
            **others_of(run),
            "inputs": rest_of(rest, (*settings, *((named,) if named else ()))),
            "outputs": beside,
            "history": changed,
        }
        step = replace(
            step,
            id=text_of(run.get("id")),
            role="agent",
            at=from_iso(run.get("start_time")),
            ended=from_iso(run.get("end_time")),
            model=step.model or model,
            usage=used,
            settings=settings or None,
            error=error_of(run),
            extra={**step.extra, **as_extra(NAME, {"message": mine} if (mine := rest_in(step.extra, NAME)) else {})},
        )
        self.calls |= {part.id: part for part in step.parts if isinstance(part, ToolCall) and part.id is not None}
        self.steps.append(note(step, {key: value for key, value in kept.items() if value}))

    def _completed(self, step: Step) -> Step:
        """The step with what the runs of tools say about its results: names, times and errors."""
        parts: list[Part] = []
        for part in step.parts:
            if isinstance(part, ToolResult) and (call := self.calls.get(str(part.call_id))) is not None:
                part = replace(part, name=part.name or call.name)
                if (place := self._run_of(call)) is not None:
                    _, run = self.waiting.pop(place)
                    self.callers[str(run["id"])] = str(part.call_id)
                    part = with_run(part, run)
            parts.append(part)
        return replace(step, parts=tuple(parts))

    def _run_of(self, call: ToolCall) -> int | None:
        """The run of a tool that answered a call: by the call's id, else by arguments and name, else by arguments."""
        best = [(likeness(run, call), -place) for place, (_, run) in enumerate(self.waiting)]
        found = max(best, default=(0, 0))
        return -found[1] if found[0] else None

    def told(self, caller: str | None = None) -> Trajectory:
        # From the end, so that the places of the others stay right.
        for place, run in reversed(self.waiting):
            self.steps.insert(place, unasked(run))
        root = self.root
        inputs, outputs = object_of(root.get("inputs")), object_of(root.get("outputs"))
        if not self.steps and (inputs or outputs):
            self.steps = [Step(role="user", parts=(plain(inputs, "inputs"),))] if inputs else []
            self.steps += [Step(role="agent", parts=(plain(outputs, "outputs"),))] if outputs else []
        name = text_of((root if root.get("run_type") != "tool" else (self.others or [root])[0]).get("name")) or "agent"
        model = next((step.model for step in self.steps if step.model is not None), None)
        tools = tools_from(self.tools, NAME)
        failed = error_of(root) if root.get("run_type") != "tool" else None
        rest = {"runs": self.others} if self.others else {}
        rest |= {"tools": self.tools} if self.tools is not None and tools is None else {}
        done = Trajectory(
            id=text_of(root.get("id")),
            created=from_iso(root.get("start_time")),
            ended=from_iso(root.get("end_time")),
            caller=caller,
            agents=(Agent(name=name, model=model, tools=tools),),
            steps=tuple(replace(step, agent=name) if step.role == "agent" else step for step in self.steps),
            outcome=Outcome(status="error", reason=failed.message) if failed is not None else None,
            children=tuple(each.told(self.callers.get(str(each.root["id"]))) for each in self.agents),
            extra=as_extra(NAME, rest),
        )
        stated = plain(outputs, "outputs") if outputs else None
        is_new = isinstance(stated, Text) and stated.text != final_response(done)
        return replace(done, response=stated.text) if isinstance(stated, Text) and is_new and stated.text else done


def _model(run: RunRow, inputs: RunRow, outputs: RunRow) -> tuple[str | None, str | None]:
    """The model's name, and the key of the request that repeats it."""
    metadata = object_of(object_of(run.get("extra")).get("metadata"))
    found = text_of(outputs.get("model")) or text_of(metadata.get("ls_model_name")) or text_of(inputs.get("model"))
    return found, "model" if found is not None and inputs.get("model") == found else None
