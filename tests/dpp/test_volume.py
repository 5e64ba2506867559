"""The volume of a set and its gains, against determinants."""

import numpy as np
import pytest

from variegate.dpp import Rows, Volume


class TestVolume:
    @pytest.mark.parametrize("nugget", [0.0, 1e-3])
    def test_gains_are_differences(self, nugget):
        rng = np.random.default_rng(0)
        phi = rng.normal(size=(9, 5)) * 10.0 ** rng.integers(-3, 3, size=(9, 1))
        phi[3] = 2 * phi[0]
        volume = Volume(Rows.of(phi), nugget)
        gram = phi @ phi.T + nugget * np.diag((phi**2).sum(axis=1))
        for S in ([], [0], [1, 4, 7], [0, 2, 5, 8]):
            S = np.array(S, dtype=np.int64)
            found = volume.flip_gains(S)
            assert found.log_volume == pytest.approx(np.linalg.slogdet(gram[np.ix_(S, S)])[1], abs=1e-9)
            for m in range(9):
                with_m, without = np.union1d(S, [m]), np.setdiff1d(S, [m])
                want = volume.log_volume(with_m) - volume.log_volume(without)
                assert found.gains[m] == pytest.approx(want, abs=1e-7), (S, m)

    @pytest.mark.parametrize("nugget", [0.0, 1e-3])
    def test_exchanges_are_differences(self, nugget):
        rng = np.random.default_rng(0)
        phi = rng.normal(size=(9, 5)) * 10.0 ** rng.integers(-3, 3, size=(9, 1))
        volume = Volume(Rows.of(phi), nugget)
        for S in (np.array([1]), np.array([1, 4, 7]), np.array([0, 2, 5, 8])):
            found = volume.exchange_gains(S)
            for j in range(len(S)):
                for m in np.setdiff1d(np.arange(9), S):
                    want = volume.log_volume(np.union1d(np.delete(S, j), [m])) - volume.log_volume(S)
                    assert found[j, m] == pytest.approx(want, abs=1e-7), (S, j, m)
        if not nugget:
            with pytest.raises(ValueError, match="linearly dependent"):
                Volume(Rows.of(np.ones((3, 2)))).exchange_gains(np.array([0, 1]))

    def test_a_copy_of_a_member_is_worth_nothing(self):
        phi = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1e-5]])
        gains = Volume(Rows.of(phi)).flip_gains(np.array([0])).gains
        assert gains[1] == -np.inf
        assert gains[2] == pytest.approx(2 * np.log(1e-5), rel=1e-6)

    def test_dependent_sets(self):
        volume = Volume(Rows.of(np.ones((3, 2))))
        assert volume.log_volume(np.array([0, 1])) == -np.inf
        with pytest.raises(ValueError, match="linearly dependent"):
            volume.flip_gains(np.array([0, 1]))
