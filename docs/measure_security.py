"""Measures what docs/redaction.md and docs/security.md state, and writes it there. `--check` only compares."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from judges.injection_set import JUDGES, NAMES, PLACES, disguises, figures  # noqa: E402
from redaction.recall import DRAWS, Planting, plantings  # noqa: E402


def recall_table(found: list[Planting]) -> str:
    """Recall by place, what was missed, and every kind."""
    planted, seen = _sums(found)
    kinds = list(dict.fromkeys(each.kind for each in found))
    missed = {each.kind for each in found if each.found < each.planted}
    lines = [
        f"{sum(seen.values()):,} of {sum(planted.values()):,} planted secrets of {len(kinds)} kinds are found: "
        f"{_percent(sum(seen.values()), sum(planted.values()))}. {len(kinds) - len(missed)} kinds are found whatever "
        f"was drawn ({DRAWS} draws at each place).",
        "",
        "| place | planted | found | recall |",
        "|---|---:|---:|---:|",
        *(
            f"| {place} | {planted[place]} | {seen[place]} | {_percent(seen[place], planted[place])} |"
            for place in planted
        ),
        "",
        "Missed at least once: " + (", ".join(f"`{each}`" for each in kinds if each in missed) or "none") + ".",
        "",
        "The kinds: " + ", ".join(f"`{each}`" for each in kinds) + ".",
    ]
    return "\n".join(lines)


def _sums(found: list[Planting]) -> tuple[Counter[str], Counter[str]]:
    planted: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for each in found:
        planted[each.place] += each.planted
        seen[each.place] += each.found
    return planted, seen


def _percent(part: int, whole: int) -> str:
    # 100 % is said where it is all.
    share = 100 * part / whole
    return f"{min(share, 99.9) if part < whole else share:.1f} %"


def injection_table() -> str:
    """Moved verdicts by judge and family."""
    found = figures()
    families = list(dict.fromkeys(each.family for each in found))
    by = {(each.judge, each.family): each for each in found}
    names = [each.__name__ for each in JUDGES]
    lines = [
        f"{sum(1 for _ in disguises())} disguises at {len(PLACES)} places of a recording, and one of each family at "
        f"{len(NAMES)} more that hold names, under four rubrics:",
        "",
        "| family | judged | " + " | ".join(f"`{name}`" for name in names) + " |",
        "|---|---:|" + "---:|" * len(names),
    ]
    for family in families:
        moved = [by[name, family].moved for name in names]
        lines.append(f"| {family} | {by[names[0], family].judged} | " + " | ".join(map(str, moved)) + " |")
    whole = sum(each.judged for each in found if each.judge == names[0])
    shares = [_percent(sum(each.moved for each in found if each.judge == name), whole) for name in names]
    lines.append(f"| all | {whole} | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def filled(page: Path, name: str, text: str) -> str:
    """The page with one generated part."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    return re.sub(rf"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", page.read_text("utf-8"), flags=re.DOTALL)


def main(check: bool) -> int:
    stale = []
    for page, name, text in (
        (ROOT / "docs/redaction.md", "recall", recall_table(list(plantings()))),
        (ROOT / "docs/security.md", "injections", injection_table()),
    ):
        new = filled(page, name, text)
        if new != page.read_text("utf-8"):
            stale.append(page.name)
            if not check:
                page.write_text(new, "utf-8")
    if stale and check:
        sys.stderr.write(f"stale: {', '.join(stale)}; run python docs/measure_security.py\n")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
