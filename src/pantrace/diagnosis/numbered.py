"""Numbered: a sample with numbers as step ids, so that the evidence of a metric leads to a step.

In many sources steps have no ids, and in some two steps have the same id; a number is always unique."""

from __future__ import annotations

import msgspec

from pantrace.model import Sample, Step, ToolCall, Trajectory, active_steps, all_trajectories, is_staff

from .finding import Place


class Numbered:
    """A sample with numbers as ids, without abandoned branches, graders and simulated users.

    Steps are counted from 1 in the order recorded, those of sub-agents after their parent's, as in `pantrace show`."""

    def __init__(self, sample: Sample) -> None:
        self.places: dict[str, Place] = {}
        self.order: dict[str, tuple[int, ...]] = {}
        """Position of a step in the order of events: a sub-agent's steps come after the call that started it."""
        self.steps: dict[str, Step] = {}
        self._named: dict[str, str | None] = {}
        trajectory = sample.trajectory
        # Numbers count all steps, also those that are left out below: they must be the numbers that `show` prints.
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
                # An id that occurs twice leads nowhere: pointing to the wrong step is worse than to none.
                self._named[step.id] = address if step.id not in self._named else None
            self.places[address] = Place(step=number, agent=agent)
            self.order[address] = (*before, number)
            # References to old ids would lead nowhere.
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
        """The step as a person counts it."""
        return self.places.get(address) if address is not None else None

    def address_of(self, step_id: str) -> str | None:
        """The step that has this id in the source, if the id is unique."""
        return self._named.get(step_id)
