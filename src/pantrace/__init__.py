"""Read any agent's log. Measure it, judge it, gate it, compare it, show it. Write it as any other format, and know
exactly what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine.convert import convert, write
    from .engine.power import power
    from .engine.read import read
    from .engine.record import recorder
    from .engine.validate import validate
    from .library.aggregate import aggregate
    from .library.check import check
    from .library.compare import compare, trend
    from .library.diagnose import diagnose
    from .library.evaluate import evaluate
    from .library.judge import judge
    from .library.measure import measure
    from .library.plot import plot
    from .library.report import report
    from .library.results import open_results
    from .library.run import run
    from .library.sources import select

__version__ = "0.1.0"

_HOMES = {
    "aggregate": "library.aggregate",
    "check": "library.check",
    "compare": "library.compare",
    "convert": "engine.convert",
    "diagnose": "library.diagnose",
    "evaluate": "library.evaluate",
    "judge": "library.judge",
    "measure": "library.measure",
    "open_results": "library.results",
    "plot": "library.plot",
    "power": "engine.power",
    "read": "engine.read",
    "recorder": "engine.record",
    "report": "library.report",
    "run": "library.run",
    "select": "library.sources",
    "trend": "library.compare",
    "validate": "engine.validate",
    "write": "engine.convert",
}

__all__ = [
    "__version__",
    "aggregate",
    "check",
    "compare",
    "convert",
    "diagnose",
    "evaluate",
    "judge",
    "measure",
    "open_results",
    "plot",
    "power",
    "read",
    "recorder",
    "report",
    "run",
    "select",
    "trend",
    "validate",
    "write",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used: the engine pulls in every layer, and `import pantrace` may cost at most 3 bare Pythons.
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        # The next access finds the name in the module, and does not come here.
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
