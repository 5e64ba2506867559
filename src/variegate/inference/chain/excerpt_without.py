"""More forms, each for the posterior without one or two of the features that nearly every set has.

For outcomes other than numbers, the main form is fitted to the posterior. Without such a feature, sets lose many nats,
the rows have other weights, and the main form is wrong. So a short chain draws sets without the feature, and a form is
fitted to those.

Two classes, N = 500, M = 2000, six features with probabilities above .998: without one of them the main form was off
by .5 and .8 from `Posterior.condition`, its own form by .03 at most. Without two, forms for one were off by .29
to .46, forms for two by .02 to .05. Without three, the page says "Rough".
"""

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...types import IntArray
from .excerpt import Excerpt
from .excerpt_fit import Draws, form_of
from .sample import CHAINS, Sample, sample

# Features above this inclusion probability get a form; below it, the main form was off by at most .04.
CERTAIN = 0.9
LAPS = 4  # of the short chain; 8 are no better
MOST = 5  # features with forms, alone and in pairs: 15 forms, each 0.12 MB of the page
ROOM = 1_300_000  # limit for the numbers in their Gram matrices
ROWS = 20_000  # limit for the rows that they are fitted to: one takes 0.7 s at N = 500, 2.3 s at N = 3,000


class Without(NamedTuple):
    """The posterior without some features."""

    features: tuple[int, ...]  # positions among the form's features
    form: Excerpt
    sets: list[IntArray]  # positions among the form's features
    evidence: float  # mean log evidence of these sets


def forms_without(fit: Sample, form: Excerpt) -> list[Without]:
    """Forms without one or two features: pairs first, then by lost evidence, largest first; [] if `form` is exact."""
    p = fit.inclusion[form.features]
    certain = [int(m) for m in np.argsort(-p, kind="stable") if p[m] > CERTAIN]
    certain = [m for m in certain if form.features[m] not in fit.included][:MOST]
    N = fit.target.standardised(np.arange(1)).shape[1]
    n = min(ROOM // (len(form.gram) * form.gram.shape[1] * (form.gram.shape[1] + 1) // 2), ROWS // N)
    left_out = [*((m,) for m in certain), *combinations(certain, 2)][: 0 if form.exact else n]
    found = [_without(fit, form, out) for out in left_out]
    return sorted((one for one in found if one is not None), key=lambda one: (-len(one.features), one.evidence))


def _without(fit: Sample, form: Excerpt, out: tuple[int, ...]) -> Without | None:
    """The form with `out` excluded, over the same features; None if too few are left for the fixed size."""
    gone = form.features[list(out)]
    others = np.setdiff1d(np.arange(fit.target.n_features), form.features)
    excluded = np.union1d(np.union1d(others, gone), fit.excluded)
    if len(form.features) - len(out) < (fit.target.size or 0):
        return None
    starts = [np.setdiff1d(S, excluded) for S in fit.draw(CHAINS, np.random.default_rng(0))]
    short = replace(fit.settings, tol=np.inf, max_laps=LAPS)
    drawn = sample(fit.target, 0, short, included=fit.included, excluded=excluded, starts=starts)
    if drawn.interrupted:
        raise KeyboardInterrupt
    target, nuisance = fit.target, drawn.target.nuisance
    if np.isfinite(nuisance):  # counts that fewer features explain vary more
        target = target.with_nuisance(nuisance)
    draws = Draws(drawn.sets, drawn.slab_precisions, Draws.of(fit, form.features).left_out)
    some = [draws.sets[i] for i in np.linspace(0, len(draws.sets) - 1, 20).astype(int)]
    return Without(
        out,
        form_of(target, fit.settings, draws, form.features, gone),
        [np.searchsorted(form.features, S) for S in draws.sets],
        float(np.mean([target.log_evidence(S) for S in some])),
    )
