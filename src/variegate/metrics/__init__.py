"""Measures of selected sets: diversity, stability, accuracy, and the significance of differences."""

from .accuracy import auc, deviance_explained, log_loss, mse, r2
from .concordance import concordance
from .diversity import Redundancy, communities_hit, log_det, mean_pairwise_distance, redundancy
from .significance import holm, rank_sum, signed_rank
from .stability import mean_jaccard, stability, stability_interval

__all__ = [
    "Redundancy",
    "auc",
    "communities_hit",
    "concordance",
    "deviance_explained",
    "holm",
    "log_det",
    "log_loss",
    "mean_jaccard",
    "mean_pairwise_distance",
    "mse",
    "r2",
    "rank_sum",
    "redundancy",
    "signed_rank",
    "stability",
    "stability_interval",
]
