"""Read any agent's log. Measure it, judge it, gate it, compare it, show it. Write it as any other format, and know
exactly what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine.compare_runs import compare
    from .engine.convert import convert, write
    from .engine.diagnose import diagnose
    from .engine.power import power
    from .engine.read import read
    from .engine.record import recorder
    from .engine.validate import validate

__version__ = "0.1.0"

__all__ = ["__version__", "compare", "convert", "diagnose", "power", "read", "recorder", "validate", "write"]

_HOMES = {
    "compare": "compare_runs",
    "convert": "convert",
    "diagnose": "diagnose",
    "power": "power",
    "read": "read",
    "recorder": "record",
    "validate": "validate",
    "write": "convert",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used, so that importing pantrace costs next to nothing.
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.engine.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
