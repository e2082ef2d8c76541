"""Honest statistics: numbers in, numbers out, each with the name of its method. scipy does the distributions."""

from __future__ import annotations

from .agreement import concordance, flip_rate, kappa, rank_correlation
from .correction import corrected_rate
from .estimate import Estimate, TooFew
from .means import clustered_mean, mean, ratio
from .paired import PairedDifference, mcnemar, paired_difference, paired_proportions, sign_flip
from .passk import pass_at_k, pass_hat_k, pass_k
from .power import detectable_difference, pairs_needed, per_arm_needed, samples_needed
from .proportions import newcombe, wilson
from .several import benjamini_hochberg, holm
from .unpaired import difference_of_means, difference_of_proportions

__all__ = [
    "Estimate",
    "PairedDifference",
    "TooFew",
    "benjamini_hochberg",
    "clustered_mean",
    "concordance",
    "corrected_rate",
    "detectable_difference",
    "difference_of_means",
    "difference_of_proportions",
    "flip_rate",
    "holm",
    "kappa",
    "mcnemar",
    "mean",
    "newcombe",
    "paired_difference",
    "paired_proportions",
    "pairs_needed",
    "pass_at_k",
    "pass_hat_k",
    "pass_k",
    "per_arm_needed",
    "rank_correlation",
    "ratio",
    "samples_needed",
    "sign_flip",
    "wilson",
]
