"""The updated triangular system against the textbook."""

import numpy as np
import pytest

from chain_problems import make_target, model_of
from variegate.inference import ChainSettings
from variegate.inference.chain.problem import part
from variegate.inference.chain.system import D, R, U, Y, append, clear, delete
from variegate.inference.chain.workspace import Workspace

pytestmark = pytest.mark.usefixtures("chains")

NOT = {"average_size": False, "average_slab": False}
GIVEN = ChainSettings(**NOT)
NONE = np.empty(0, dtype=np.int64)
RARELY = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])


def test_kept_system_equals_the_textbook_after_many_moves():
    target = make_target("dpp", M=8)
    model = model_of(target)
    rng = np.random.default_rng(0)
    local = Workspace.of(model, NONE, np.ones(8, dtype=bool))
    problem = local.problem(NONE, None)
    G, b, c = target.likelihood._data.gram_block(np.arange(8)), target.likelihood._data.information, 10.0
    system = part(problem, 0)
    system.gram[:] = G
    clear(system, c)
    members = []
    for _ in range(200):
        j = int(rng.integers(8))
        if j in members:
            delete(system, len(members), members.index(j))
            members.remove(j)
        else:
            append(system, len(members), j, c)
            members.append(j)
    S, k = np.array(members), len(members)
    inverse = np.linalg.inv(G[np.ix_(S, S)] + c * np.eye(k))
    out = np.setdiff1d(np.arange(8), S)
    d = np.diag(G) + c - np.einsum("ij,ik,kj->j", G[S], inverse, G[S])
    assert np.allclose(system.vectors[D, out], d[out])
    assert np.allclose(system.vectors[R, out], (b - G[:, S] @ inverse @ b[S])[out])
    assert np.allclose(np.square(system.tables[Y, :k, :k]).sum(axis=0), np.diag(inverse))
    assert np.allclose(system.tables[Y, :k, :k].T @ system.vectors[U, :k], inverse @ b[S])
