"""What a sample is called in front of people."""

from __future__ import annotations


def sample_name(sample: str, epoch: int | None) -> str:
    """The id, with its epoch from the second run of a case on: "7 (epoch 2)". Many tools count an epoch also where
    every case ran once."""
    return sample if epoch in (None, 1) else f"{sample} (epoch {epoch})"
