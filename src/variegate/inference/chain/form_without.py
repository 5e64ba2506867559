"""Further forms, each of the posterior without a feature that nearly every set has.

The form of an outcome that is not a number is fitted to the posterior. Without such a feature sets lose many nats, the
rows count differently, and that form is wrong. A short chain shows what sets are like then; a form is made of these.

Two classes, N = 500, M = 2000, six features with probabilities above .998: without one of them the first form was off
by .5 and .8 from `Posterior.condition`, one of its own by .04 and .02. Without two of them it is off by .6, and the
page says "Rough".
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...types import IntArray
from .form import Form
from .form_fit import Draws, form_of
from .sample import CHAINS, Sample, sample

# Inclusion probability from which on a feature gets a form: below it, the first form was off by at most .04.
CERTAIN = 0.9
LAPS = 8  # of a chain that shows where to expand
FORMS = 5  # at most: each takes two seconds, and 0.22 MB of the page, at N = 500, M = 2000
ROOM = 500_000  # numbers in their Gram matrices


class Without(NamedTuple):
    """The posterior without a feature."""

    feature: int  # position among the form's features
    form: Form
    sets: list[IntArray]  # positions among the form's features
    evidence: float  # mean log evidence of these sets


def forms_without(fit: Sample, form: Form) -> list[Without]:
    """Such forms, those that lose the most evidence first. None if the form is exact."""
    p = fit.inclusion[form.features]
    certain = [m for m in np.argsort(-p, kind="stable") if p[m] > CERTAIN and form.features[m] not in fit.included]
    n = min(FORMS, ROOM // max(len(form.gram) * form.gram.shape[1] * (form.gram.shape[1] + 1) // 2, 1))
    found = [] if form.exact else [_without(fit, form, int(m)) for m in certain[:n]]
    return sorted((one for one in found if one is not None), key=lambda one: one.evidence)


def _without(fit: Sample, form: Form, m: int) -> Without | None:
    """The form without feature number m, over the same features; None if no set of this size is left."""
    out = int(form.features[m])
    others = np.setdiff1d(np.arange(fit.target.n_features), form.features)
    excluded = np.union1d(np.append(others, out), fit.excluded)
    if len(form.features) - 1 < (fit.target.size or 0):
        return None
    starts = [np.setdiff1d(S, excluded) for S in fit.draw(CHAINS, np.random.default_rng(0))]
    short = replace(fit.settings, tol=np.inf, max_laps=LAPS)
    drawn = sample(fit.target, 0, short, included=fit.included, excluded=excluded, starts=starts)
    if drawn.interrupted:
        raise KeyboardInterrupt
    draws = Draws(drawn.sets, drawn.slab_precisions, Draws.of(fit, form.features).left_out)
    some = [draws.sets[i] for i in np.linspace(0, len(draws.sets) - 1, 20).astype(int)]
    return Without(
        m,
        form_of(fit.target, fit.settings, draws, form.features, out),
        [np.searchsorted(form.features, S) for S in draws.sets],
        float(np.mean([fit.target.likelihood.log_evidence(S) for S in some])),
    )
