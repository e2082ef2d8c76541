"""The diagnosis as Markdown, for a pull request: the answer first."""

from __future__ import annotations

import re

from .groups import Example, Group
from .report import Diagnosis, Opinion
from .words import place_words, seen_words, show_words, waste_words

LISTED = 10
"""At most this many errors of a group are listed."""
_MEANING = re.compile(r"([\\`*_{}\[\]<>|#~])")


def as_markdown(found: Diagnosis) -> str:
    """The whole page."""
    lines = ["# Why did it fail?", "", f"**{plain(found.sentence)}**", ""]
    if found.samples:
        lines += [plain(found.counts) + ".", ""]
    if found.groups:
        lines += ["| | cause | failed | share | in passed | spent after |", "|--:|---|--:|--:|--:|--:|"]
        lines += [
            f"| {number} | {plain(each.title)} | {each.samples:,} | {each.share:.0%} | {each.passed:,} "
            f"| {waste_words(each.waste)} |"
            for number, each in enumerate(found.groups, 1)
        ]
        lines += [
            "",
            "*in passed*: samples that passed but show the same. *spent after*: after the step that went wrong.",
            "",
        ]
    for number, each in enumerate(found.groups, 1):
        opinion = found.opinions[number - 1] if number <= len(found.opinions) else None
        lines += _group(number, each, opinion)
    if found.seen_in_unjudged:
        lines += ["## Not judged", "", "Seen in samples without a verdict:", ""]
        for each in found.seen_in_unjudged:
            places = ", ".join(place_words(one) for one in each.examples)
            lines.append(f"- {each.samples:,} × {plain(each.title)}" + (f" ({plain(places)})" if places else ""))
    return "\n".join(lines).rstrip() + "\n"


def _group(number: int, group: Group, opinion: Opinion | None) -> list[str]:
    lines = [f"## {number}. {plain(group.title)}", ""]
    facts = [f"{group.samples:,} sample{'s' if group.samples > 1 else ''}, {group.share:.0%} of what failed"]
    if seen := seen_words(group):
        facts.append(seen)
    if group.waste.tokens is not None and group.waste_unknown:
        facts.append(f"tokens are not recorded for {group.waste_unknown:,}")
    lines += [f"{plain('; '.join(facts))}.", ""]
    if opinion is not None:
        lines += _opinion(opinion)
    if group.variants:
        lines += [f"- {each.samples:,} × {plain(each.text)}" for each in group.variants[:LISTED]]
        if len(group.variants) > LISTED:
            lines.append(f"- and {len(group.variants) - LISTED:,} more")
        lines.append("")
    if group.examples:
        lines += ["<details><summary>Examples</summary>", ""]
        for each in group.examples:
            lines += _example(each)
        lines += ["</details>", ""]
    return lines


def _example(example: Example) -> list[str]:
    return [f"- **{plain(place_words(example))}**: {plain(example.detail)}  ", f"  {_code(show_words(example))}", ""]


def _opinion(opinion: Opinion) -> list[str]:
    if opinion.problem is not None:
        return [f"> The judge gave no usable answer: {plain(opinion.problem)}", ""]
    lines = [f"> **Root cause** (by {plain(opinion.model or 'a judge')}): {plain(opinion.root_cause or '')}", ">"]
    lines.append(f"> **Change** ({plain(opinion.where or 'other')}): {plain(opinion.change or '')}")
    if opinion.evidence:
        steps = ", ".join(f"{each['sample']} step {each['step']}" for each in opinion.evidence)
        lines += [">", f"> Evidence: {plain(steps)}"]
    else:
        # A judge can name a cause without having seen it.
        lines += [">", "> The judge cited no step that it was shown: treat this as a guess."]
    return [*lines, ""]


def plain(text: str) -> str:
    """Text from a recording as plain text: no markup, no mention, one line."""
    # On GitHub, "@name" would notify a person, and recordings are full of mail addresses and handles.
    return _MEANING.sub(r"\\\1", _one_line(text)).replace("@", "@\N{ZERO WIDTH NON-JOINER}")


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))


def _code(text: str) -> str:
    """A command as code, even if it contains backticks."""
    visible = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split())
    )
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", visible)), default=0) + 1)
    space = " " if "`" in visible else ""
    return f"{ticks}{space}{visible}{space}{ticks}"
