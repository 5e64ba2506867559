"""Every parameter does what its description says."""

import sys

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from chain_problems import Enumerated, model_of
from estimator_problems import FRAME, LABELS, RNG, M, N, Terminal, X, Y, classify, regress
from variegate.estimators import EmptySelectionWarning
from variegate.estimators.progress import ProgressLine
from variegate.inference import Progress

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


# --- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "size"), [(1, 1), (3, 3), (M, M), (0.3, 3), (0.01, 1), (1.0, M), (np.int64(2), 2)])
@pytest.mark.parametrize("fixed", [False, True])
def test_number_of_features(asked, size, fixed):
    model = regress(n_features_to_select=asked, fixed_size=fixed).fit(X, Y)
    assert model.support_.sum() == size
    if fixed:
        assert model.inclusion_probabilities_.sum() == pytest.approx(size)
        assert all(len(S) == size for S in model.posterior_.sample(5, 0))


def test_the_path_reuses_the_fit():
    model = regress().fit(X, Y)
    path = model.path([1, 3, 5])
    assert {k: int(mask.sum()) for k, mask in path.items()} == {1: 1, 3: 3, 5: 5}
    np.testing.assert_array_equal(path[3], regress(n_features_to_select=3).fit(X, Y).support_)
    assert path[1][9]  # the strongest
    assert path[3][1]


def test_expected_size_moves_the_posterior():
    few, many = (regress(expected_size=k, diversity=0).fit(X, Y) for k in (0.1, 5))
    assert few.posterior_.diagnostics().prior_expected_size == pytest.approx(0.1)
    assert few.inclusion_probabilities_.sum() < many.inclusion_probabilities_.sum() - 0.3


def test_slab_precision_is_learned_or_given():
    assert regress(slab_precision=7.0).fit(X, Y).posterior_.diagnostics().slab_precision == 7.0
    assert regress().fit(X, Y).posterior_.diagnostics().slab_precision != 10.0


def test_the_chain_averages_over_what_is_not_given():
    def averaged(**options):
        return regress(**options).fit(X, Y).posterior_.fit.hyperparameters.probability.shape

    sizes, precisions = averaged()
    assert sizes > 5
    assert precisions > 5
    assert averaged(slab_precision=7.0) == (sizes, 1)
    assert averaged(expected_size=2.0)[0] == 1
    assert averaged(expected_size=2.0, slab_precision=7.0) == (1, 1)
    assert averaged(n_features_to_select=3, fixed_size=True)[0] == 1


def test_probabilities_of_the_chain_are_those_of_the_posterior():
    """Hyperparameters averaged over; and given ones, which are easier to check by hand."""
    for options, average in (({}, True), ({"expected_size": 2.0, "slab_precision": 7.0}, False)):
        model = regress(max_iter=300, tol=0.01, **options).fit(X[:, :8], Y)
        exact = Enumerated(model_of(model.posterior_.target, average_size=average, average_slab=average))
        off = np.abs(model.inclusion_probabilities_ - exact.inclusion)
        assert (off <= 4 * model.inclusion_errors_ + 1e-4).all()
        assert model.converged_
        assert model.inclusion_errors_.max() <= 0.01


def test_tol_is_the_error_that_is_asked_for(chains):
    rough, fine = (regress(tol=tol, max_iter=300).fit(X[:, :8], Y) for tol in (0.05, 0.005))
    assert rough.inclusion_errors_.max() <= 0.05
    assert fine.inclusion_errors_.max() <= 0.005
    assert fine.n_iter_ > rough.n_iter_
    assert fine.posterior_.diagnostics().tol == 0.005


@pytest.mark.filterwarnings("default::variegate.ConvergenceWarning")
def test_max_iter_is_the_number_of_laps_and_stopping_there_is_said(chains):
    with pytest.warns(vg.ConvergenceWarning, match="After 9 laps .* above 0.0001: allow more laps"):
        model = regress(max_iter=9, tol=1e-4).fit(X, Y)
    assert model.n_iter_ == 9
    assert not model.converged_


# --- empty sets ----------------------------------------------------------------------------------------------------


def test_an_empty_set_is_said_and_predictions_go_on():
    noise = np.random.default_rng(1).normal(size=(N, M))
    y = np.random.default_rng(2).normal(size=N)
    with pytest.warns(EmptySelectionWarning, match="worth measuring.*give a size .n_features_to_select"):
        model = regress(expected_size=0.2, slab_precision=10.0).fit(noise, y)
    assert not model.support_.any()
    assert np.isfinite(model.predict(noise)).all()
    assert model.set_params(average=False).predict(noise).std() > 0
    with pytest.warns(UserWarning, match="[Nn]o features were selected"):
        assert model.transform(noise).shape == (N, 0)
    assert model.path([2])[2].sum() == 2


# --- similarity ------------------------------------------------------------------------------------------------------


def test_similarity_by_position_and_by_name():
    phi = vg.similarity.from_columns(FRAME)
    plain = regress(similarity=np.asarray(phi)).fit(X, Y)
    order = RNG.permutation(M)
    shuffled = vg.similarity.SimilarityFeatures(np.asarray(phi)[order], FRAME.columns[order])
    named = regress(similarity=shuffled).fit(FRAME, Y)
    np.testing.assert_array_equal(plain.inclusion_probabilities_, named.inclusion_probabilities_)
    frame = pd.DataFrame(np.asarray(phi)[order], index=FRAME.columns[order])
    np.testing.assert_array_equal(
        plain.inclusion_probabilities_, regress(similarity=frame).fit(FRAME, Y).inclusion_probabilities_
    )


def test_similarity_of_more_columns_than_the_table_has():
    phi = vg.similarity.from_columns(FRAME)
    part = FRAME[["age", "b", "a"]]
    assert regress(similarity=phi).fit(part, Y).posterior_.target.phi == pytest.approx(np.asarray(phi)[[9, 1, 0]])


def test_a_function_of_the_training_columns():
    seen = []

    def similarity(Z):
        seen.append(Z.shape)
        return vg.similarity.from_columns(Z)

    regress(similarity=similarity, always_include=[9]).fit(X, Y)
    assert seen == [(N, 9)]


def test_multi_class_shares_one_set():
    y = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
    model = classify(n_features_to_select=3).fit(X, y)
    assert model.coef_.shape == model.map_coef_.shape == (3, M)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.support_[9]
    assert model.score(X, y) > 0.6
    S = np.array([0, 9])
    parts = [vg.Logistic(X, y == k, slab_precision=model.posterior_.target.slab_precision) for k in range(3)]
    assert model.posterior_.target.log_evidence(S) == pytest.approx(sum(p.log_evidence(S) for p in parts), abs=1e-4)


# --- chance, threads, progress ---------------------------------------------------------------------------------------


def test_random_state_decides():
    y = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
    first = classify().fit(X, y).inclusion_probabilities_
    np.testing.assert_array_equal(first, classify().fit(X, y).inclusion_probabilities_)
    assert (first != classify(random_state=1).fit(X, y).inclusion_probabilities_).any()
    for state in (np.random.RandomState, np.random.default_rng):
        one, two = (classify(random_state=state(3)).fit(X, LABELS) for _ in range(2))
        np.testing.assert_array_equal(one.inclusion_probabilities_, two.inclusion_probabilities_)


def test_silent_unless_asked(capsys, chains):
    regress().fit(X, Y)
    assert capsys.readouterr() == ("", "")
    regress(verbose=1, max_iter=8).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "8 laps, probabilities known to ±0." in err
    assert "features" in err


def test_a_terminal_line_is_redrawn(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("variegate.estimators.progress.EVERY", 0.0)
    with ProgressLine(stream) as show:
        show(Progress(8, 3.0, 0.1))
        show(Progress(9, 3.5, 0.0421))
    assert stream.getvalue().count("\r") == 3
    assert stream.getvalue().endswith("variegate: 9 laps, probabilities known to ±0.042, 3.5 features, 0 s\n")
    assert ProgressLine().stream is sys.stderr


def test_a_terminal_line_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with ProgressLine(stream) as show:
        show(Progress(12, 123.4, 0.1))
    assert stream.getvalue() == "\r\x1b[Kvariegate: 12 laps, probabilities known to ±0.100"[:43] + "\n"
