"""Features that share a group or annotations are alike."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from variegate import similarity
from variegate.similarity import SimilarityWarning

LABELS = [f"g{i % 7}" for i in range(40)]


# groups


def dense_groups(labels, within):
    values = np.array(labels, dtype=object)
    same = (values[:, None] == values[None, :]).astype(bool)
    return np.where(np.eye(len(labels), dtype=bool), 1.0, within * same)


def test_groups_are_exact_when_there_is_room():
    phi = np.asarray(similarity.from_labels(LABELS, within=0.7))
    assert phi.shape == (40, 47)
    np.testing.assert_allclose(phi @ phi.T, dense_groups(LABELS, 0.7), atol=1e-12)


def test_many_features_keep_the_similarity_within_groups_exact():
    labels = [i // 10 for i in range(2500)]
    phi = np.asarray(similarity.from_labels(labels, within=0.9))
    K = dense_groups(labels, 0.9)
    assert phi.shape[1] <= 1000
    inside = K > 0
    np.testing.assert_allclose((phi @ phi.T)[inside], K[inside], atol=1e-10)
    assert (phi @ phi.T)[~inside].std() < 1.2 * 0.1 / np.sqrt(700)


def test_more_groups_than_columns_stay_nearly_apart():
    phi = np.asarray(similarity.from_labels(np.arange(3000) // 2, within=0.5, rank=200))
    assert phi.shape == (3000, 200)
    K = phi @ phi.T
    assert np.abs(K - dense_groups((np.arange(3000) // 2).tolist(), 0.5)).mean() < 0.07


@pytest.mark.parametrize("rank", [1, 2, 3, 5, 46, 47, 60])
@pytest.mark.parametrize("within", [0.0, 0.9])
def test_groups_have_at_most_the_rank(rank, within):
    phi = similarity.from_labels(LABELS, within=within, rank=rank)
    assert phi.shape == (40, min(rank, 47))
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1.0)


@pytest.mark.parametrize("labels", ["abc", None, 5, np.array([["a", "b"]]), [["a"], ["b", "c"]]])
def test_what_is_no_list_of_labels(labels):
    with pytest.raises(ValueError, match="labels must be a list"):
        similarity.from_labels(labels)


def test_features_without_a_label_are_alone():
    phi = similarity.from_labels(["a", None, float("nan"), pd.NA, "a"])
    K = np.asarray(phi @ phi.T).round(12)
    np.testing.assert_array_equal(K, dense_groups(["a", 1, 2, 3, "a"], 0.9).round(12))


@pytest.mark.parametrize("within", [-0.1, 1.0, float("nan"), "0.5", None])
def test_within_is_a_similarity(within):
    with pytest.raises(ValueError, match="within"):
        similarity.from_labels(LABELS, within=within)


# annotations


def test_annotations_are_cosines():
    table = (np.random.default_rng(7).random((30, 12)) < 0.3).astype(float)
    table[:, 0] = 1  # so that every feature has a term
    for weights, W in {"equal": table, "idf": table * np.log(30 / table.sum(0))}.items():
        norms = np.linalg.norm(W, axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimilarityWarning)
            dense = np.asarray(similarity.from_annotations(table, weights=weights))
            thin = np.asarray(similarity.from_annotations(sparse.csr_array(table), weights=weights))
        K = (W / norms[:, None]) @ (W / norms[:, None]).T if (norms > 0).all() else None
        np.testing.assert_array_equal(dense, thin)
        if K is not None:
            np.testing.assert_allclose(dense @ dense.T, K, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e200])
def test_annotations_do_not_depend_on_units(scale):
    table = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 0.0, 1.0]])
    phi = similarity.from_annotations(table * scale, weights="equal", tol=0.0)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    np.testing.assert_allclose(phi @ phi.T, unit @ unit.T, atol=1e-12)


def test_features_without_terms_are_similar_to_none():
    sets = {"one": ["a", "b"], "two": ["b", "c"]}
    with pytest.warns(SimilarityWarning, match=r"1 of 4 features have no annotation \(e.g. z\)"):
        phi = similarity.from_annotations(sets, ["a", "z", "b", "c"])
    np.testing.assert_allclose((phi @ phi.T)[1], [0, 1, 0, 0], atol=1e-12)
    assert phi.names == ("a", "z", "b", "c")


def test_annotated_features_are_found_as_in_a_network():
    """Numbers as text, any case if unambiguous, features named twice, names listed twice."""
    sets = {"one": [7, "Tp53", "x", "X", 7], "two": iter(["8", "mdm2"])}
    with pytest.warns(SimilarityWarning, match=r"1 of 6 features have no annotation \(e.g. nobody\)"):
        phi = similarity.from_annotations(sets, ["7", 8, "TP53", "X", "7", "nobody"], weights="equal")
    expected = np.zeros((6, 6))
    expected[np.ix_([0, 2, 3, 4], [0, 2, 3, 4])] = 1
    expected[[1, 5], [1, 5]] = 1
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-12)
    with pytest.warns(SimilarityWarning, match=r"1 of 2 features have no annotation \(e.g. GENE\)"):
        similarity.from_annotations({"one": ["gene", "Gene", "a"]}, ["GENE", "a"], weights="equal")


@pytest.mark.parametrize(
    ("table", "features", "message"),
    [
        ({"one": ["a"]}, None, "features must be given"),
        ({"one": "abc"}, ["a", "b"], "the term 'one' must have a list of names, got 'abc'"),
        ({"one": None}, ["a", "b"], "the term 'one' must have a list of names, got None"),
        ({"one": ["a"]}, ["x", "y"], "same kind of names"),
        (np.array([[-1.0]]), None, "non-negative"),
        (np.array([["x"]]), None, "numbers"),
        (np.eye(3), ["a"], "1 rows, one per feature, got 3"),
    ],
)
def test_bad_annotations(table, features, message):
    with pytest.raises(ValueError, match=message):
        similarity.from_annotations(table, features)
