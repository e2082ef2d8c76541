"""Rows: what the scripts of this folder find, each in JSON of its own, as rows of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """One figure, of one run of a script."""

    what: str
    against: str
    unit: str
    """What the figure counts: "x the time", "x the speed", "x the memory"."""
    value: float
    wanted: float | None = None
    better: Literal["less", "more"] = "less"
    cpu: float | None = None
    """Seconds that it took; None where the script does not tell."""
    wall: float | None = None
    peak_mb: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The same in every run."""
        return self.what, self.against, self.unit

    @property
    def distance(self) -> float | None:
        """How far it is from what is wanted: at most 1 is reached, 2 is twice too much or half of what was wanted."""
        if self.wanted is None:
            return None
        return self.value / self.wanted if self.better == "less" else self.wanted / self.value


def contest(found: Any, of: str = "") -> Iterator[Row]:
    """A contest of `measuring`: contestants and their aims."""
    for each in found["ratios"]:
        mine = found["measured"][each["what"]]
        name, told = of + each["what"], {"cpu": mine["seconds"], "wall": mine["wall"], "peak_mb": mine["peak_mb"]}
        if each["faster"] is not None:
            yield Row(name, each["against"], "x the speed", each["times_faster"], each["faster"], "more", **told)
        else:
            yield Row(name, each["against"], "x the time", 1 / each["times_faster"], each["slower"], **told)
        yield Row(name, each["against"], "x the memory", each["memory_share"], each["memory"], **told)


def start(found: Any) -> Iterator[Row]:
    times, aims = found["times"], found["targets"]
    commands = [name for name in aims if name.startswith("pantrace ") and name != "pantrace --help"]
    slowest = max(commands, key=lambda name: float(times[name] / aims[name]))
    for name in (*(each for each in aims if each not in commands), slowest):
        what = "--help of the slowest command" if name == slowest else name
        yield Row(what, "python -c pass", "x the time", times[name], aims[name], cpu=found["seconds"][name])


def layer1(found: Any) -> Iterator[Row]:
    for name, each in found.items():
        # Memory says nothing here: one side holds all samples before it begins.
        yield from (row for row in contest(each, f"{name}: ") if row.unit != "x the memory")


def layer1_recorded(found: Any) -> Iterator[Row]:
    together = found["together"]
    rows = contest({"measured": together["measured"], "ratios": [together["ratio"]]}, "all recordings: ")
    yield from (row for row in rows if row.unit != "x the memory")


def memory(found: Any) -> Iterator[Row]:
    """Many samples against few: the time of each, and the peak."""
    for name, sizes in found.items():
        counts = sorted(sizes, key=int)
        few, many = sizes[counts[0]], sizes[counts[-1]]
        what, against = f"{name}: {int(counts[-1]):,} samples", f"{int(counts[0]):,}"
        told = {"cpu": many["seconds"], "wall": many["wall"], "peak_mb": many["peak_mb"]}
        each = many["seconds"] / int(counts[-1]) / (few["seconds"] / int(counts[0]))
        yield Row(what, against, "x the time of each", each, 1.15, **told)
        yield Row(what, against, "x the memory", many["peak_mb"] / few["peak_mb"], **told)


_STORE = {
    "eval_per_measure": ("eval", "measure", "x the time"),
    "summary_share": ("the summary", "eval", "x the time"),
    "compare_per_bare": ("compare", "bare DuckDB", "x the time"),
}


def store(found: Any) -> Iterator[Row]:
    from store import FILES_OF_100_000

    for size in found["sizes"]:
        for name, ratio in size["ratios"].items():
            what, against, unit = _STORE[name]
            used = size["processes"].get(what.removeprefix("the "), {})
            told = {"cpu": used.get("seconds"), "peak_mb": used.get("megabytes")}
            yield Row(f"{what}, {size['samples']:,} samples", against, unit, ratio["value"], ratio["at_most"], **told)
        most = FILES_OF_100_000 if size["samples"] == 100_000 else None
        yield Row(f"part files of {size['samples']:,} samples", "", "files", size["files"], most)


def loss(found: Any) -> Iterator[Row]:
    from loss import SCANS

    for pair in found["pairs"]:
        name = f"{pair['from']} to {pair['to']}"
        told = {"cpu": pair["seconds_measured"]}
        yield Row(f"measuring the loss, {name}", "converting", "x the time", pair["ratio"], found["at_most"], **told)
        if "bare_scans" in pair:
            most = SCANS if pair["to"] == "vertex-seed" else None
            yield Row(f"{name}, loss measured", "bare scan", "x the time", pair["bare_scans"], most, **told)


def pool(found: Any) -> Iterator[Row]:
    for name, each in found.items():
        if isinstance(each, dict):
            what, many = f"{name}, {found['jobs']} workers", each["many"]
            told = {"cpu": many["cpu"], "wall": many["wall"]}
            yield Row(what, "1 worker", "x the speed", each["faster"], 1.8, "more", **told)
            yield Row(what, "1 worker", "x the CPU time", 1 + each["more_cpu"], 1.1, **told)


def ray_parts(found: Any) -> Iterator[Row]:
    for name, what in (("ray", "a part on Ray, its own work aside"), ("local", "the same in the pool")):
        yield Row(what, "", "ms", found[name]["per_part_ms"], wall=found[name]["start"])


def viewer(found: Any) -> Iterator[Row]:
    yield Row("first words of a report", "a bare page", "x the time", found["ratio"], 3.0)
    yield Row("elements while scrolling", "", "elements", found["nodes"], 2_000)
    yield Row("a frame while scrolling, 95th percentile", "", "ms", found["frame_p95_ms"], 50)
    yield Row("a word of the last step found", "", "ms", found["search_ms"], 2_000)
    for name, what in (("opened", "opened again"), ("text", "filtered by text"), ("status", "filtered by outcome")):
        yield Row(f"a run of 100,000 samples {what}", "", "ms", found[f"{name}_ms"], 1_000)
    yield Row("a run of 100,000 samples sorted", "", "ms", found["sort_ms"], 1_000)


def codex_tokens(found: Any) -> Iterator[Row]:
    used = found["measured"]["pantrace show"]["seconds"]
    yield Row("pantrace show, Codex", "ccusage-codex", "x the time", found["times_the_time"], cpu=used)


ADAPTERS: dict[str, Callable[[Any], Iterator[Row]]] = {
    "start": start,
    "layer1": layer1,
    "layer1_recorded": layer1_recorded,
    "memory": memory,
    "store": store,
    "loss": loss,
    "pool": pool,
    "ray_parts": ray_parts,
    "viewer": viewer,
    "codex_tokens": codex_tokens,
}
"""Scripts that are no contest of `measuring`."""


def rows_of(script: str, found: Any) -> list[Row]:
    """All figures of one run of a script."""
    return [*ADAPTERS.get(script, contest)(found)]
