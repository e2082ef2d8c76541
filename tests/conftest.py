"""Property tests are not timed: a busy machine is no defect."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")
