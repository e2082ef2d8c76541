"""How little must be edited to make the answer the reference."""

from __future__ import annotations

from pantrace.matching.answers import answer, reference
from pantrace.model import Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(low=0, high=1, better="higher", per_turn=False)
def edit_similarity(sample: Sample, settings: NoSettings) -> Found:
    """Similarity of the final response and the reference answer, character by character.

    Formula: 1 - Levenshtein distance / length of the longer text; white space at the ends is left out. An agent that
    ran and answered nothing has 0.

    Not applicable when: there is no reference or it is empty, or nothing of the agent was recorded.

    Source: Levenshtein 1966; computed by rapidfuzz.
    """
    wanted = reference(sample)
    if not wanted or not wanted.strip():
        return NotApplicable("the case has no reference answer")
    given = answer(sample)
    if given is None:
        return NotApplicable("the case was not run")
    from rapidfuzz.distance import Levenshtein

    given, wanted = given.strip(), wanted.strip()
    distance = Levenshtein.distance(given, wanted)
    longest = max(len(given), len(wanted))
    return Measurement(value=1 - distance / longest, details={"distance": distance, "longer_length": longest})
