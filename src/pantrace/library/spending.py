"""What a run cost in all, including what does not count as its own."""

from __future__ import annotations

from pantrace.model import Trajectory, Usage, add_usage, all_trajectories, is_staff


def usage_spent(trajectory: Trajectory) -> Usage | None:
    """Tokens and cost of everything that was paid for, including sub-agents, abandoned branches and interrupted
    responses, but not graders and simulated users. None if nothing is reported."""
    usages: list[Usage] = []
    for each in all_trajectories(trajectory):
        # Graders and simulated users are paid for, too, but by the test: the question is what the agent costs.
        if is_staff(each.purpose):
            continue
        own = [
            step.usage
            for step in each.steps
            if step.usage is not None and step.kind not in ("copied", "user_shell") and not is_staff(step.purpose)
        ]
        usages += own or (each.usage.values() if each.usage else ())
    return add_usage(usages)
