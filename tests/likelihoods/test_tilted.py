"""Tilted moments against brute-force integration."""

import numpy as np
import pytest
from scipy import special

from variegate.likelihoods.tilted import log_averages, log_link, tilted

LOG_LINK = {False: special.log_expit, True: special.log_ndtr}


@pytest.mark.parametrize("probit", [False, True])
def test_links_and_their_derivatives(probit):
    for x in (-800.0, -40.0, -5.001, -4.999, -1.0, 0.0, 0.7, 6.0, 30.0):
        value, slope, curvature = log_link(x, probit)
        assert value == pytest.approx(LOG_LINK[probit](x), rel=1e-12)
        h = 1e-5 * max(1.0, abs(x))
        near = [log_link(x + d, probit) for d in (-h, h)]
        assert slope == pytest.approx((near[1][0] - near[0][0]) / (2 * h), rel=1e-5, abs=1e-9)
        assert curvature == pytest.approx((near[1][1] - near[0][1]) / (2 * h), rel=1e-3, abs=1e-9)
        assert curvature <= 0


def reference(m, v, e, probit):
    """log Z, α, κ from the moments on a very fine grid: α = (E f − m)/v, κ = (v − Var f)/v²."""
    sd = np.sqrt(v)
    wide = np.linspace(m - 12 * sd, m + 12 * sd + v * e, 100_001)
    f = wide[np.argmax(e * LOG_LINK[probit](wide) - (wide - m) ** 2 / (2 * v))] + np.linspace(-12, 12, 40_001) * sd
    log_p = e * LOG_LINK[probit](f) - (f - m) ** 2 / (2 * v) - 0.5 * np.log(2 * np.pi * v)
    p = np.exp(log_p - log_p.max())
    mean = f[0] + np.average(f - f[0], weights=p)
    variance = np.average((f - mean) ** 2, weights=p)
    log_z = np.log(p.sum() * (f[1] - f[0])) + log_p.max()
    return log_z, (mean - m) / v, (v - variance) / v**2


@pytest.mark.parametrize("probit", [False, True])
@pytest.mark.parametrize("e", [1.0, 0.3])
@pytest.mark.parametrize("v", [1e-4, 0.5, 9.0, 400.0])
@pytest.mark.parametrize("m", [-25.0, -2.0, 0.4, 12.0])
def test_tilted_moments(m, v, e, probit):
    for guess in (m, m + 3 * np.sqrt(v)):
        np.testing.assert_allclose(tilted(m, v, e, probit, guess), reference(m, v, e, probit), rtol=1e-5, atol=1e-7)


def test_far_on_the_wrong_side():
    """σ(f) = exp(f) there, so log Z = m + v/2."""
    log_z, alpha, kappa = tilted(-900.0, 4.0, 1.0, False, -900.0)
    assert (log_z, alpha, kappa) == pytest.approx((-898.0, 1.0, 0.0))
    near = np.array([tilted(m, 4.0, 1.0, False, m) for m in (-57.1, -56.9)])  # across the switch
    np.testing.assert_allclose(near[:, 0], [-55.1, -54.9], rtol=1e-9)


def test_a_very_wide_gaussian_sees_a_step():
    for m in (-300.0, 0.0, 200.0):
        narrow, wide = tilted(m, 99.99**2, 1.0, False, m), tilted(m, 100.01**2, 1.0, False, m)
        np.testing.assert_allclose(narrow, wide, rtol=3e-3)
        np.testing.assert_allclose(wide, reference(m, 100.01**2, 1.0, False), rtol=2e-3)
        for probit in (False, True):  # powers: only roughly
            rough, fine = tilted(m, 300.0**2, 0.4, probit, m), reference(m, 300.0**2, 0.4, probit)
            np.testing.assert_allclose(rough, fine, rtol=0.02)


def test_averages_of_a_sharp_law_are_the_link():
    f = np.array([-3.0, 0.0, 2.0])
    np.testing.assert_allclose(np.exp(log_averages(f, np.full(3, 1e-10), False)), special.expit(f), rtol=1e-8)
