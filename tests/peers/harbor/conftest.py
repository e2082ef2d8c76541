"""Harbor wants Python 3.12 and many services; its models of trajectories want neither. Its outer packages are left out,
so that only these models are imported."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType


def pytest_configure() -> None:
    found = find_spec("harbor")
    assert found is not None and found.submodule_search_locations
    for name in ("harbor", "harbor.models"):
        module = ModuleType(name)
        module.__path__ = [f"{found.submodule_search_locations[0]}{name.removeprefix('harbor').replace('.', '/')}"]
        sys.modules[name] = module
