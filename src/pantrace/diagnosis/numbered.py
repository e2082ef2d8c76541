"""Numbered: a sample whose steps have their numbers for ids, so that what a metric gives as evidence leads to a step.

Many sources give their steps no ids, and some give one id twice; a number always says which step is meant."""

from __future__ import annotations

import msgspec

from pantrace.model import Sample, Step, ToolCall, Trajectory, active_steps, all_trajectories, is_staff

from .finding import Place


class Numbered:
    """A sample with numbers for ids, the branches that were given up and the test's own staff left out.

    Steps are counted from 1 in the order recorded, those of sub-agents behind their parent's, as in `pantrace show`."""

    def __init__(self, sample: Sample) -> None:
        self.places: dict[str, Place] = {}
        self.order: dict[str, tuple[int, ...]] = {}
        """Where a step stands in the order of events: a sub-agent's steps behind the call that started it."""
        self.steps: dict[str, Step] = {}
        self._named: dict[str, str | None] = {}
        trajectory = sample.trajectory
        whole = all_trajectories(trajectory) if trajectory is not None else ()
        self._numbers = {id(step): number for number, step in enumerate((s for each in whole for s in each.steps), 1)}
        self.trajectory = None if trajectory is None else self._number(trajectory, None, ())
        self.sample = msgspec.structs.replace(sample, trajectory=self.trajectory)

    def _number(self, trajectory: Trajectory, agent: str | None, before: tuple[int, ...]) -> Trajectory:
        active = {id(step) for step in active_steps(trajectory)} if trajectory.leaf is not None else None
        steps: list[Step] = []
        callers: dict[str, int] = {}
        number = 0
        for step in trajectory.steps:
            if active is not None and id(step) not in active:
                continue
            number = self._numbers[id(step)]
            address = str(number)
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
            name = child.id or (child.agents[0].name if child.agents else None) or "sub-agent"
            children.append(self._number(child, name, (*before, callers.get(child.caller or "", number))))
        return msgspec.structs.replace(trajectory, steps=tuple(steps), children=tuple(children), leaf=None)

    def place(self, address: str | None) -> Place | None:
        """The step for people."""
        return self.places.get(address) if address is not None else None

    def address_of(self, step_id: str) -> str | None:
        """The step that has this id in the source, if it is only one."""
        return self._named.get(step_id)
