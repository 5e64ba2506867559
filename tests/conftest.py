"""Fixtures of all tests."""

import numpy as np
import pytest

from chain_problems import chains_only


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def chains():
    """Chains, however few sets there are."""
    with chains_only():
        yield
