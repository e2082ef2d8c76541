"""`pantrace profiles`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .answer import sentence
from .arguments import as_json
from .complete import complete_profiles
from .output import print_json, say, table

if TYPE_CHECKING:
    from pantrace.policy import Profile


@click.command("profiles")
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...", shell_complete=complete_profiles)
@as_json
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the profiles that decide whether a sample passes, or show some of them in full.

    \b
    pantrace profiles
    pantrace profiles prep_default
    pantrace profiles our-profile.toml --json
    """
    import msgspec

    from pantrace.policy import load_profile, profile_names

    found = [load_profile(name) for name in names or profile_names()]
    if as_json:
        print_json([msgspec.to_builtins(each) for each in found])
        return
    if names:
        for number, each in enumerate(found):
            if number:
                click.echo()
            _show(each)
        return
    table(
        ["profile", "metrics", "what it is"], [[each.name, str(len(each.metrics)), each.description] for each in found]
    )
    say("All of one: pantrace profiles NAME. To use one: pantrace gate DIR --profile NAME (or a TOML file like it).")


def _show(profile: Profile) -> None:
    about = f": {profile.description}" if profile.description else ""
    sentence(f"{profile.name} (version {profile.version}){about}")
    hard = profile.hard_fail
    facts = [
        ("scale of scores", "" if profile.scale is None else f"{profile.scale[0]:g} to {profile.scale[1]:g}"),
        ("weighted mean of at least", "" if profile.composite_min is None else f"{profile.composite_min:g}"),
        ("fails at once below", "" if hard.below is None else f"{hard.below:g} in {', '.join(hard.metrics)}"),
        ("fails at once when", "the output contract is broken" if hard.contract else ""),
        ("not scored", {"undecided": "cannot be decided", "fail": "fails", "ignore": "is ignored"}[profile.unscored]),
        ("optional", ", ".join(profile.optional)),
        ("judges must be calibrated", "yes" if profile.require_calibrated else ""),
        ("every case must have been run", "yes" if profile.complete else ""),
    ]
    for name, told in facts:
        if told:
            sentence(f"  {name}: {told}")
    rows = [
        [
            name,
            *(
                f"{each[name]:g}" if name in each else ""
                for each in (profile.thresholds, profile.limits, profile.weights)
            ),
        ]
        for name in profile.metrics
    ]
    columns = ["metric", "at least", "at most", "weight"]
    used = [0, *(place for place in (1, 2, 3) if any(row[place] for row in rows))]
    click.echo()
    table(
        [columns[place] for place in used], [[row[place] for place in used] for row in rows], right=tuple(columns[1:])
    )
