"""Pictures show the numbers that they are given."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest, f_regression

import variegate as vg
from comparison_methods import small_comparison, small_problem
from variegate import plots

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_boxes(rng):
    samples = {"ours": rng.normal(size=9), "theirs": np.append(rng.normal(size=8), -np.inf)}
    ax = plots.boxes(samples, "R2", highlighted="ours")
    medians = [line.get_ydata()[0] for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() == "black"]
    assert np.median(samples["ours"]) in medians
    assert [t.get_text() for t in ax.get_xticklabels()] == ["ours", "theirs"]
    assert ax.get_ylabel() == "R2 (left out: 1 infinite)"
    ax.figure.canvas.draw()


def test_loss_by_size():
    sizes, lost = np.arange(4), np.array([1.0, 0.5, 0.2, 0.1])
    ax = plots.loss_by_size(sizes, lost, lost / 2, np.minimum(2 * lost, 1), chosen=2)
    line, mark = ax.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([sizes, lost]))
    np.testing.assert_array_equal(mark.get_xydata(), [[2, 0.2]])


def test_tradeoff(rng):
    clouds = {"ours": rng.normal(size=(9, 2)), "copies": np.full((9, 2), -np.inf)}
    ax = plots.tradeoff(clouds, "log det", "AUC", highlighted="ours")
    (drawn,) = ax.containers
    np.testing.assert_allclose([drawn[0].get_xdata()[0], drawn[0].get_ydata()[0]], clouds["ours"].mean(axis=0))
    assert ax.get_xlabel() == "log det (left out: 9 infinite)"


def test_methods_can_be_told_apart(rng):
    ax = plots.tradeoff({f"method {i}": rng.normal(size=(4, 2)) for i in range(30)}, "log det", "AUC")
    looks = {(drawn[0].get_color(), drawn[0].get_marker()) for drawn in ax.containers}
    assert len(looks) == 30


def test_legends_stay_inside_the_picture(rng):
    names = np.array([f"a rather long name of a gene {i}" for i in range(6)])
    for ax in (
        plots.frequencies(rng.random(6), rng.random(6), names, threshold=0.6),
        plots.tradeoff({name: rng.normal(size=(4, 2)) for name in names}, "log det", "AUC"),
    ):
        ax.figure.canvas.draw()
        legend, picture = ax.get_legend().get_window_extent(), ax.figure.bbox
        assert picture.x0 <= legend.x0 < legend.x1 <= picture.x1
        assert picture.y0 <= legend.y0 < legend.y1 <= picture.y1


def test_from_results():
    found = small_comparison()
    _, given = plt.subplots()
    assert found.plot_boxes(ax=given) is given
    assert given.get_ylabel() == "R2"
    assert found.plot_tradeoff().get_ylabel() == "R2"
    X, y = small_problem()
    bars = vg.stability_selection(SelectKBest(f_regression, k=3), X, y, 5, progress=False).plot(n=4)
    assert len(bars.patches) == 4
    assert bars.get_yticklabels()[0].get_text() in ("gene 0", "gene 5")


def test_groups_have_colours_of_their_own():
    p = np.array([0.5, 0.1, 0.4, 0.9])
    ax = plots.groups(p, [np.array([0, 2]), np.array([3])])
    everyone, first, second = ax.lines
    assert len(everyone.get_xdata()) == 4
    assert first.get_xdata().tolist() == [0, 2]
    assert first.get_ydata().tolist() == [0.5, 0.4]
    assert len({line.get_color() for line in (everyone, first, second)}) == 3
