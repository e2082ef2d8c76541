"""Honest statistics: numbers in, numbers out, each with the name of its method. scipy does the distributions."""

from __future__ import annotations

from .agreement import concordance, flip_rate, kappa, rank_correlation
from .clusters import ClusterMean, cluster_mean, sums_of
from .correction import corrected_rate
from .detectable import (
    Sums,
    arms_by_fisher,
    fisher_power,
    least_by_fisher,
    least_by_mcnemar,
    least_shift,
    mcnemar_power,
    pairs_by_mcnemar,
)
from .estimate import CONFIDENCE, Bounds, Estimate, TooFew, normal_quantile
from .means import cases_for_t, clustered_mean, mean
from .multiple_comparisons import benjamini_hochberg, holm
from .paired import (
    PairedDifference,
    differences_of,
    mcnemar,
    paired_difference,
    paired_proportions,
    paired_skewed,
    sign_flip,
)
from .passk import pass_at_k, pass_hat_k, pass_k
from .planning import Option, Spread, planned_cases, planned_difference, planned_power, ways
from .power import (
    ALPHA,
    POWER,
    detectable_difference,
    pairs_needed,
    per_arm_needed,
    samples_needed,
)
from .proportions import difference_of_intervals, newcombe, pooled_share, share_over_cases, tango, wilson
from .skewed import (
    bootstrap_t,
    least_skewed,
    lognormal_pairs,
    lognormal_sides,
    ratio_of_pairs,
    ratio_of_sides,
    skewness,
)
from .unpaired import (
    difference_of_clusters,
    difference_of_means,
    difference_of_proportions,
    difference_of_skewed,
)

__all__ = [
    "ALPHA",
    "CONFIDENCE",
    "POWER",
    "Bounds",
    "ClusterMean",
    "Estimate",
    "Option",
    "PairedDifference",
    "Spread",
    "Sums",
    "TooFew",
    "arms_by_fisher",
    "benjamini_hochberg",
    "bootstrap_t",
    "cases_for_t",
    "cluster_mean",
    "clustered_mean",
    "concordance",
    "corrected_rate",
    "detectable_difference",
    "difference_of_clusters",
    "difference_of_intervals",
    "difference_of_means",
    "difference_of_proportions",
    "difference_of_skewed",
    "differences_of",
    "fisher_power",
    "flip_rate",
    "holm",
    "kappa",
    "least_by_fisher",
    "least_by_mcnemar",
    "least_shift",
    "least_skewed",
    "lognormal_pairs",
    "lognormal_sides",
    "mcnemar",
    "mcnemar_power",
    "mean",
    "newcombe",
    "normal_quantile",
    "paired_difference",
    "paired_proportions",
    "paired_skewed",
    "pairs_by_mcnemar",
    "pairs_needed",
    "pass_at_k",
    "pass_hat_k",
    "pass_k",
    "per_arm_needed",
    "planned_cases",
    "planned_difference",
    "planned_power",
    "pooled_share",
    "rank_correlation",
    "ratio_of_pairs",
    "ratio_of_sides",
    "samples_needed",
    "share_over_cases",
    "sign_flip",
    "skewness",
    "sums_of",
    "tango",
    "ways",
    "wilson",
]
