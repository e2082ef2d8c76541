"""A profile that could never fail a sample is refused: a gate by it would always pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.errors import UsageError
from pantrace.policy import load_profile

WEIGHTS = "[weights]\ntool_success_rate = 1\n"


def test_weights_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lax.toml"
    path.write_text(f'name = "lax"\nversion = "1"\n{WEIGHTS}')
    with pytest.raises(UsageError, match="weights alone can never fail; add composite_min"):
        load_profile(str(path))


@pytest.mark.parametrize(
    "more", ["composite_min = 0.5\n", "[thresholds]\ncontains = 1\n", "[limits]\nretry_storms = 0\n"], ids=repr
)
def test_with_something_that_can_fail_they_are_taken(more: str, tmp_path: Path) -> None:
    path = tmp_path / "real.toml"
    head, tables = (more, "") if more.startswith("composite") else ("", more)
    path.write_text(f'name = "real"\nversion = "1"\n{head}{WEIGHTS}{tables}')
    assert load_profile(str(path)).weights


@pytest.mark.parametrize(
    "text",
    [
        "[limits]\nretry_storms = inf\n",
        "[thresholds]\ncontains = -inf\n",
        "[limits]\nretry_storms = 1e400\n",
        f"composite_min = -inf\n{WEIGHTS}",
        "[hard_fail]\nbelow = -inf\nmetrics = ['contains']\n",
    ],
    ids=repr,
)
def test_a_bound_without_end_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "endless.toml"
    path.write_text(f'name = "endless"\nversion = "1"\n{text}')
    with pytest.raises(UsageError, match="write a number that a score can reach"):
        load_profile(str(path))
