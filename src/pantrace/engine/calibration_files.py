"""Calibration files: what is known about the judges that the decisions of a run depend on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pantrace.judges import CALIBRATION_FILE, Calibrations, Judged, is_judged, judged_by, read_calibrations
from pantrace.model import Score
from pantrace.store import column_value, query


def calibrations_for(out: Path, named: Sequence[Path] = ()) -> Calibrations:
    """The calibrations of a run directory and of files; those of the files take precedence."""
    own = out / CALIBRATION_FILE
    return read_calibrations([*([own] if own.exists() else []), *named])


def uncalibrated(out: Path, calibrations: Calibrations, profile: str | None = None) -> list[Judged]:
    """The judges that decisions of a run depend on although they are not calibrated."""
    rows = query(out, "select distinct profile, deciding from decisions").rows
    deciding = {name for by, names in rows if profile in (None, by) for name in column_value(names, list[str])}
    found: dict[Judged, None] = {}
    # One score of each judge and question is enough; SQL picks it, because a run may have millions.
    seen = query(
        out,
        """select first(json) from scores where status = 'scored' group by
        name, maker, maker_kind, maker_model, json_extract_string(details, '$.rubric_hash')""",
    ).rows
    for (text,) in seen:
        score = column_value(text, Score)
        if score.name in deciding and is_judged(score):
            judged = judged_by(score)
            known = calibrations.of(judged)
            if known is None or not known.calibrated:
                found[judged] = None
    return list(found)
