"""Honest statistics: numbers in, numbers out, each with the name of its method. scipy does the distributions."""

from __future__ import annotations

from .agreement import concordance, flip_rate, kappa, rank_correlation
from .correction import corrected_rate
from .estimate import CONFIDENCE, Bounds, Estimate, TooFew, normal_quantile
from .means import cases_for_t, clustered_mean, mean
from .paired import PairedDifference, mcnemar, paired_difference, paired_proportions, sign_flip
from .passk import pass_at_k, pass_hat_k, pass_k
from .power import (
    ALPHA,
    detectable_difference,
    discordant_needed,
    pairs_needed,
    per_arm_needed,
    samples_needed,
)
from .proportions import newcombe, pooled_share, share_over_cases, tango, wilson
from .several import benjamini_hochberg, holm
from .unpaired import difference_of_clusters, difference_of_means, difference_of_proportions

__all__ = [
    "ALPHA",
    "CONFIDENCE",
    "Bounds",
    "Estimate",
    "PairedDifference",
    "TooFew",
    "benjamini_hochberg",
    "cases_for_t",
    "clustered_mean",
    "concordance",
    "corrected_rate",
    "detectable_difference",
    "difference_of_clusters",
    "difference_of_means",
    "difference_of_proportions",
    "discordant_needed",
    "flip_rate",
    "holm",
    "kappa",
    "mcnemar",
    "mean",
    "newcombe",
    "normal_quantile",
    "paired_difference",
    "paired_proportions",
    "pairs_needed",
    "pass_at_k",
    "pass_hat_k",
    "pass_k",
    "per_arm_needed",
    "pooled_share",
    "rank_correlation",
    "samples_needed",
    "share_over_cases",
    "sign_flip",
    "tango",
    "wilson",
]
