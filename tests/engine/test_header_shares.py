"""What a run says of itself counts like everything else: what lies under a `pantrace` key is seen by pantrace alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pantrace.engine.convert import write_run
from pantrace.engine.loss_report import Report
from pantrace.formats import all_formats
from pantrace.model import Aggregate, Loss, Run, Sample, Step, Text, Trajectory

WHOLE_RUNS = [each.name for each in all_formats() if each.save is not None and each.dump is not None]


def run(*, told: bool) -> Run:
    steps = (Step(role="user", parts=(Text(text="hi"),)), Step(role="agent", parts=(Text(text="ho"),)))
    sample = Sample(id="a", trajectory=Trajectory(id="a", steps=steps))
    if not told:
        return Run(samples=[sample])
    return Run(
        id="r",
        task="t",
        config={"temperature": 0.5},
        environment={"gpu": "none", "packages": {"a": "1"}},
        checkpoint="c",
        results=(Aggregate(name="accuracy", value=0.25, n=4),),
        extra={"elsewhere": {"note": 1}},
        samples=[sample],
    )


def written(to: str, path: Path, *, carry: bool, told: bool = True) -> tuple[Report, list[Loss]]:
    losses: list[Loss] = []
    return write_run(run(told=told), path, to=to, carry=carry, on_loss=losses.append), losses


@pytest.mark.parametrize("to", WHOLE_RUNS)
def test_carrying_hides_what_is_lost_without_it(to: str, tmp_path: Path) -> None:
    carried, kept = written(to, tmp_path / "carried", carry=True)
    plain, lost = written(to, tmp_path / "plain", carry=False)
    assert carried.values == plain.values
    paths = [{loss.path for loss in losses if loss.path.startswith("run.")} for losses in (kept, lost)]
    assert paths[0] == paths[1]
    shares = [report.shares for report in (carried, plain)]
    assert shares[0] is not None and shares[1] is not None
    assert shares[0]["kept"] == pytest.approx(shares[1]["kept"])


def test_no_header_has_no_values(tmp_path: Path) -> None:
    with_header, _ = written("inspect", tmp_path / "a.eval", carry=True)
    without, _ = written("inspect", tmp_path / "b.eval", carry=True, told=False)
    assert with_header.values - without.values == 9  # what `run` says of itself, without its extra
    assert without.values == 8
