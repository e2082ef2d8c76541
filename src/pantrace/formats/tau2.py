"""Results of tau2-bench: simulated conversations with their rewards, several trials of each task.

Spec: github.com/sierra-research/tau2-bench, `Results` of src/tau2/data_model/simulation.py; one JSON document, or
    results.json and a file for each simulation in `simulations/`.
Detect: an object `info` and arrays `tasks` and `simulations` in one document; a simulation in the folder beside it.
Lost: nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.model import (
    Agent,
    Case,
    Failure,
    Maker,
    Outcome,
    Part,
    Run,
    Sample,
    Scale,
    Score,
    Source,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from pantrace.wire.extra_keys import as_extra, rest_of, said_again, texts_in
from pantrace.wire.field_map import is_number
from pantrace.wire.head import Head
from pantrace.wire.openai_chat import arguments_of
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.rows import OnBroken, raise_broken, rows_in
from pantrace.wire.source import with_source
from pantrace.wire.tau_task import case_from
from pantrace.wire.times import from_iso

from .format import Format

NAME = "tau2"
SUCCESS = 1 - 1e-6
"""Rewards from here on count as a success, as in the benchmark's own table."""
STOPS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""The simulated user ends the conversation with one of these. The agent never sees the message, so it is a note."""
_RESULTS, _FOLDER = "results.json", "simulations"
_ENDED = ("user_stop", "agent_stop")
_LIMITS = ("max_steps", "timeout", "too_many_errors", "context_window_exceeded")


def detect(head: Head) -> str | None:
    row = head.record
    if row.keys() >= {"id", "task_id", "start_time"} and owner(head.path) is not None:
        return "simulation"
    listed = isinstance(row.get("tasks"), list) and isinstance(row.get("info"), dict)
    # In a long document the tasks fill the beginning, which is all that is seen here; `info` comes before them.
    seen = "simulations" in row or {"agent_info", "user_info"} <= (row["info"].keys() if listed else set())
    return "" if listed and head.may_be_document and seen else None


def owner(path: Path) -> Path | None:
    """The results whose simulations are files of their own, as `tau2` stores runs with voice."""
    results = path.parent.parent / _RESULTS
    return results if path.parent.name == _FOLDER and path.suffix == ".json" and results.is_file() else None


def open_run(path: Path, on_broken: OnBroken) -> Run:
    """All simulations of a document, in order; those of its folder, sorted by name; or the one that was named."""
    main = owner(path)
    found = _document(main or path)
    document = found if isinstance(found, dict) else {}
    source = Source(format=NAME, path=str(path))
    paths = [path] if main is not None else sorted((path.parent / _FOLDER).glob("*.json"))
    listed = document.get("simulations")
    stored = listed if isinstance(listed, list) and (listed or not paths) else None
    if stored is None and not paths:
        raise ReadError("results need a list of simulations, or a folder `simulations` beside them", path=str(path))
    info = object_of(document.get("info"))

    tasks = {str(task["id"]): task for task in document.get("tasks") or () if isinstance(task, dict) and "id" in task}
    rows = [Head(each).record for each in paths] if stored is None else stored
    used = {str(row.get("task_id")) for row in rows if isinstance(row, dict)}
    # A task that ran is kept as the case of its samples; one that did not must not get lost.
    idle = [task for name, task in tasks.items() if name not in used] if main is None else []

    def simulations() -> Iterator[tuple[Path, str | None, Any]]:
        if stored is not None:
            yield from ((path, f"simulations[{number}]", row) for number, row in enumerate(stored))
            return
        for each in paths:
            try:
                yield each, None, _document(each)
            except ReadError as error:
                on_broken(error)

    def samples() -> Iterator[Sample]:
        for file, place, row in simulations():
            try:
                yield with_source(load({"info": info, "task": _task(tasks, row), "simulation": row}), source)
            except ReadError as error:
                on_broken(error.at(path=str(file), place=place))

    agent = object_of(info.get("agent_info"))
    return Run(
        name=path.name,
        created=from_iso(document.get("timestamp")),
        task=text_of(object_of(info.get("environment_info")).get("domain_name")),
        agent=text_of(agent.get("implementation")),
        model=text_of(agent.get("llm")),
        source=source,
        samples=samples(),
        extra=as_extra(
            NAME, rest_of(document, ("timestamp", "tasks", "simulations")) | ({"tasks": idle} if idle else {})
        ),
    )


def _document(path: Path) -> Any:
    return next((row for _, row in rows_in(path, "document", raise_broken)), {})


def _task(tasks: dict[str, Any], row: Any) -> Any:
    return tasks.get(str(row.get("task_id"))) if isinstance(row, dict) else None


def load(row: Any) -> Sample:
    """A simulation with its task and what the run says about agent and user."""
    simulation = object_of(row).get("simulation")
    if not isinstance(simulation, dict) or "task_id" not in simulation:
        raise ReadError("a simulation needs a task_id")
    if not isinstance(messages := simulation.get("messages"), list):
        raise ReadError("a simulation without messages, in ticks of audio: these are not read")
    info, trial, task = object_of(row.get("info")), simulation.get("trial"), row.get("task")
    agent = object_of(info.get("agent_info"))
    name, outcome = str(simulation["task_id"]), _outcome(simulation)
    known = ("id", "task_id", "start_time", "end_time", "messages", "reward_info", "termination_reason")
    trajectory = Trajectory(
        id=text_of(simulation.get("id")),
        created=from_iso(simulation.get("start_time")),
        ended=from_iso(simulation.get("end_time")),
        agents=(Agent(name=text_of(agent.get("implementation")) or "agent", model=text_of(agent.get("llm"))),),
        steps=tuple(_steps(messages, text_of(agent.get("llm")))),
        outcome=outcome,
        extra=as_extra(NAME, rest_of(simulation, known)),
    )
    return Sample(
        id=name,
        # Trials are counted from 0, epochs from 1.
        epoch=trial + 1 if type(trial) is int else None,
        case=case_from(task, NAME) if isinstance(task, dict) and "user_scenario" in task else Case(id=name),
        trajectory=trajectory,
        scores=(_score(simulation, outcome),),
    )


def _steps(messages: list[Any], model: str | None) -> Iterator[Step]:
    names: dict[str, str] = {}
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "tool":
            several = message.get("tool_messages")
            answers = [each for each in several if isinstance(each, dict)] if isinstance(several, list) else [message]
            parts = tuple(_result(each, names) for each in answers)
            # Results of the user's own tools are not the agent's business.
            staff = all(each.get("requestor") == "user" for each in answers)
            at = from_iso(answers[0].get("timestamp")) if answers else None
            timed = {"timestamp": answers[0].get("timestamp")} if at is not None else {}
            rests = [
                rest_of(each, ("content", *texts_in(each, "id"), *said_again(each, role="tool", **timed)))
                for each in answers
            ]
            around = rest_of(message, ("role", "tool_messages")) if isinstance(several, list) else {}
            rest = {"results": rests, **({"around": around} if around else {})}
            yield Step(
                role="tool", parts=parts, at=at, purpose="simulated_user" if staff else None, extra=as_extra(NAME, rest)
            )
        elif role in ("assistant", "user", "system"):
            # Without the user's model, which would be listed next to the agent's everywhere; the run's `info` names it.
            yield _message_step(message, names, model if role == "assistant" else None)
        else:
            raise ReadError("a message needs a role", place=f"messages[{place}]")


def _repeats_calls(inner: dict[str, Any], calls: Any) -> bool:
    """Whether the calls in a provider's answer have nothing beyond the message's own calls."""
    said = [
        {"id": each.get("id"), "name": function.get("name"), "arguments": arguments_of(function.get("arguments"))}
        for each in list_of(inner.get("tool_calls"))
        if isinstance(each, dict)
        and each.keys() <= {"id", "type", "index", "function"}
        and each.get("type", "function") == "function"
        and (function := object_of(each.get("function"))).keys() <= {"name", "arguments"}
    ]
    told = [{key: each.get(key) for key in ("id", "name", "arguments")} for each in map(object_of, list_of(calls))]
    return said == told and len(said) == len(list_of(inner.get("tool_calls")))


def _is_call(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("name"), str)


def _message_step(message: dict[str, Any], names: dict[str, str], model: str | None) -> Step:
    raw = object_of(message.get("raw_data"))
    inner = object_of(raw.get("message"))
    parts: list[Part] = []
    if isinstance(thought := inner.get("reasoning_content"), str) and thought:
        parts.append(Thinking(text=thought))
    if isinstance(text := message.get("content"), str) and text:
        parts.append(Text(text=text))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if _is_call(call):
            names[str(call.get("id"))] = call["name"]
            rest = rest_of(call, ("name", "arguments", *texts_in(call, "id")))
            parts.append(
                ToolCall(
                    id=text_of(call.get("id")),
                    name=call["name"],
                    arguments=call.get("arguments"),
                    extra=as_extra(NAME, rest),
                )
            )
    usage, at = _usage(message), from_iso(message.get("timestamp"))
    known = ["role", *texts_in(message, "content"), *(("timestamp",) if at is not None else ())]
    known += ["tool_calls"] if isinstance(calls, list) and all(map(_is_call, calls)) else []
    known += ["usage"] if usage is not None else []
    known += ["cost"] if usage is not None and usage.cost_usd is not None else []
    known += ["raw_data"] if isinstance(message.get("raw_data"), dict) else []
    rest = rest_of(message, known)
    again = said_again(inner, role="assistant", content=message.get("content"))
    again += ["tool_calls"] if _repeats_calls(inner, calls) else []
    # `raw_data` is the provider's answer, which repeats the message; only what it has beyond that is kept.
    beyond = {
        **rest_of(raw, (*(("message",) if inner else ()), *texts_in(raw, "finish_reason"))),
        **rest_of(inner, (*again, *texts_in(inner, "reasoning_content"))),
    }
    rest |= {"raw_data": beyond} if beyond else {}
    is_agent, is_user = message["role"] == "assistant", message["role"] == "user"
    ends = is_user and isinstance(text, str) and any(each in text for each in STOPS)
    # In some domains the user has tools, too: pressing a button is not a prompt.
    acts = is_user and not text and bool(parts)
    return Step(
        role="agent" if is_agent else "user" if is_user else "system",
        kind="note" if ends else "user_shell" if acts else "message",
        purpose="simulated_user" if is_user else None,
        parts=tuple(parts),
        at=at,
        # The fixed greeting was not made by a model: it has neither tokens nor a provider's answer.
        model=model if usage is not None or raw else None,
        usage=usage,
        stop=text_of(raw.get("finish_reason")),
        extra=as_extra(NAME, rest),
    )


def _usage(message: dict[str, Any]) -> Usage | None:
    counts, cost = message.get("usage"), message.get("cost")
    if not isinstance(counts, dict):
        return None
    known = {"prompt_tokens": "input", "completion_tokens": "output"}
    found: dict[str, Any] = {name: counts[key] for key, name in known.items() if type(counts.get(key)) is int}
    rest = rest_of(counts, [key for key, name in known.items() if name in found])
    return Usage(**found, cost_usd=cost if is_number(cost) else None, extra=as_extra(NAME, rest))


def _result(message: dict[str, Any], names: dict[str, str]) -> ToolResult:
    call, content = message.get("id"), message.get("content")
    failure: Failure | None = "error" if message.get("error") is True else None
    return ToolResult(
        call_id=text_of(call),
        name=names.get(str(call)),
        output=content,
        error=content if failure and isinstance(content, str) else None,
        failure=failure,
    )


def _reward(simulation: dict[str, Any]) -> float | None:
    reward = object_of(simulation.get("reward_info")).get("reward")
    return float(reward) if is_number(reward) and isfinite(reward) else None


def _outcome(simulation: dict[str, Any]) -> Outcome:
    """How a trial ended. The benchmark gives 0 to trials that were stopped or broke down; here they are distinguished
    from wrong ones."""
    reward, reason = _reward(simulation), text_of(simulation.get("termination_reason"))
    if reason in _LIMITS:
        return Outcome(status="limit", reason=reason, reward=reward)
    if reason is not None and reason not in _ENDED:
        return Outcome(status="error", reason=reason, reward=reward)
    if reward is None:
        return Outcome(status="unscored", reason=reason)
    return Outcome(status="passed" if reward >= SUCCESS else "failed", reason=reason, reward=reward)


def _score(simulation: dict[str, Any], outcome: Outcome) -> Score:
    score, details = _reward(simulation), object_of(simulation.get("reward_info"))
    maker, scale = Maker(name=NAME), Scale(low=0.0, high=1.0)
    if outcome.status == "error":
        # The stored 0 is not a reward: nobody judged a run that broke down.
        why = f"the run broke down: {outcome.reason}"
        return Score(name="reward", maker=maker, scale=scale, status="failed", explanation=why, details=details)
    if score is None:
        why = "no reward stored"
        return Score(name="reward", maker=maker, scale=scale, status="unscored", explanation=why, details=details)
    rest = rest_of(details, ("reward",))
    return Score(name="reward", maker=maker, scale=scale, value=score, passed=score >= SUCCESS, details=rest)


FORMAT = Format(
    name=NAME,
    title="tau2-bench results: simulated conversations with their rewards, several trials of each task",
    spec="github.com/sierra-research/tau2-bench, src/tau2/data_model/simulation.py",
    detect=detect,
    load=load,
    open=open_run,
    owner=owner,
    beside=lambda path: [each] if (each := path.parent / _FOLDER).is_dir() else [],
    layout="document",
    suffix=".json",
    note="verified with two real result files of one task and four trials each; conversations in audio are not read",
)
