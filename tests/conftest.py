"""Fixtures of all tests."""

import numpy as np
import pytest

from chain_problems import chains_only


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def chains():
    """Chains instead of enumeration, even if there are few sets."""
    with chains_only():
        yield
