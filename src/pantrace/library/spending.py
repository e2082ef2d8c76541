"""What a run took in all, beside what counts as its own."""

from __future__ import annotations

from pantrace.model import Trajectory, Usage, add_usage, all_trajectories, is_staff


def usage_spent(trajectory: Trajectory) -> Usage | None:
    """Tokens and cost of all that was paid for: sub-agents, branches that were given up and interrupted responses
    included. What graders and simulated users asked is not in it. None where nothing is reported."""
    usages: list[Usage] = []
    for each in all_trajectories(trajectory):
        if is_staff(each.purpose):
            continue
        own = [
            step.usage
            for step in each.steps
            if step.usage is not None and step.kind not in ("copied", "user_shell") and not is_staff(step.purpose)
        ]
        usages += own or (each.usage.values() if each.usage else ())
    return add_usage(usages)
