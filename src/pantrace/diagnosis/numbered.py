"""Numbered: a sample whose steps have their numbers for ids, so that what a metric gives as evidence leads to a step.

Many sources give their steps no ids, and some give one id twice; a number always says which step is meant."""

from __future__ import annotations

import msgspec

from pantrace.model import Sample, Step, ToolCall, Trajectory, active_steps, is_staff

from .finding import Place


class Numbered:
    """A sample with addresses for ids, the branches that were given up left out."""

    def __init__(self, sample: Sample) -> None:
        self.places: dict[str, Place] = {}
        self.order: dict[str, tuple[int, ...]] = {}
        """Address -> where the step stands in the order of events: a sub-agent's steps behind the call that started
        it."""
        self.steps: dict[str, Step] = {}
        self._named: dict[str, str | None] = {}
        self._trajectories = 0
        trajectory = sample.trajectory
        self.trajectory = None if trajectory is None else self._number(trajectory, None, ())
        self.sample = msgspec.structs.replace(sample, trajectory=self.trajectory)

    def _number(self, trajectory: Trajectory, agent: str | None, before: tuple[int, ...]) -> Trajectory:
        own = self._trajectories
        self._trajectories += 1
        active = {id(step) for step in active_steps(trajectory)} if trajectory.leaf is not None else None
        steps: list[Step] = []
        callers: dict[str, int] = {}
        for number, step in enumerate(trajectory.steps, 1):
            if active is not None and id(step) not in active:
                continue
            address = f"{own}:{number}"
            if step.id is not None:
                self._named[step.id] = address if step.id not in self._named else None
            self.places[address] = Place(step=number, agent=agent)
            self.order[address] = (*before, number)
            numbered = msgspec.structs.replace(step, id=address, parent=None, replaces=())
            self.steps[address] = numbered
            steps.append(numbered)
            callers |= {part.id: number for part in step.parts if type(part) is ToolCall and part.id is not None}
        children = []
        for child in trajectory.children:
            if is_staff(child.purpose):
                continue
            name = child.id or (child.agents[0].name if child.agents else None) or f"sub-agent {self._trajectories}"
            caller = callers.get(child.caller or "", len(trajectory.steps))
            children.append(self._number(child, name, (*before, caller)))
        return msgspec.structs.replace(trajectory, steps=tuple(steps), children=tuple(children), leaf=None)

    def place(self, address: str | None) -> Place | None:
        """The step for people."""
        return self.places.get(address) if address is not None else None

    def address_of(self, step_id: str) -> str | None:
        """The step that has this id in the source, if it is only one."""
        return self._named.get(step_id)
