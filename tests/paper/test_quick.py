"""Every longer experiment in its quick mode: tables, figures, text, and that it can be resumed."""

import re
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from experiments.paper import run_experiment

FIGURES = {
    "simulation": ["simulation"],
    "genes": ["figure2-boxes", "figure2-networks"],
    "temperature": ["figure3-curves", "figure3-maps"],
}


@pytest.fixture(scope="module")
def results(paper_data, tmp_path_factory):
    """Folders with results, created on first use."""
    made = {}

    def result(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            run_experiment(name, data=paper_data, out=made[name], quick=True, verbose=False)
        return made[name]

    return result


@pytest.mark.parametrize("name", FIGURES)
def test_figures_and_words(results, name):
    out = results(name)
    text = (out / "README.md").read_text(encoding="utf-8")
    for figure in FIGURES[name]:
        assert (out / f"{figure}.png").stat().st_size > 10_000
        assert (out / f"{figure}.svg").stat().st_size > 10_000
        assert f"({figure}.png)" in text
    assert not re.search(r"\bnan\b", text)
    assert "/tmp" not in text


@pytest.mark.parametrize(
    ("name", "place", "work"),
    [
        ("simulation", "experiments.paper.simulation", "run_task"),
        ("genes", "variegate.comparison.compare", "run_repeat"),
    ],
)
def test_the_same_call_again_computes_nothing(results, name, place, work, paper_data, monkeypatch):
    out = results(name)
    before = {path.name: path.read_bytes() for path in out.glob("*.csv")}
    assert before

    def never(*_):
        raise AssertionError("what is in the store was computed again")

    monkeypatch.setattr(import_module(place), work, never)
    run_experiment(name, data=paper_data, out=out, quick=True, verbose=False)
    assert {path.name: path.read_bytes() for path in out.glob("*.csv")} == before


def test_genes_are_chosen_by_every_method_in_every_repeat(results):
    out = results("genes")
    repeats = pd.read_csv(out / "repeats.csv")
    assert set(repeats["method"]) == {"Bernoulli-DPP", "FS", "OMP", "Random"}
    assert (repeats["size"] == 20).all()
    assert repeats["AUC"].between(0, 1).all()
    assert (repeats["log det"] < 0).all()
    top = pd.read_csv(out / "top-genes.csv")
    assert top["times"].between(1, 2).all()
    assert set(top["method"]) == {"Bernoulli-DPP", "OMP"}
    shares = pd.read_csv(out / "communities.csv")
    assert shares[["Bernoulli-DPP", "OMP"]].isin([0, 0.5, 1]).all(axis=None)
    assert (shares["genes"] >= 2).all()


def test_temperature_has_every_number_of_measurements(results):
    out = results("temperature")
    curves = pd.read_csv(out / "curves.csv")
    assert set(curves["measurements"]) == {100, 200}
    assert set(curves["metric"]) == {"MSE", "MSE, normal heights", "distance"}
    assert (curves["n"] == 2).all()
    sizes = pd.read_csv(out / "repeats-100.csv").groupby("repeat")["size"].nunique()
    assert (sizes == 1).all()  # all methods take as many as ours
    assert (pd.read_csv(out / "overshoot.csv")["beyond"] >= 0).all()
    averaged = pd.read_csv(out / "averaged.csv")
    assert averaged.groupby("measurements").size().to_dict() == {100: 2, 200: 2}
    assert (averaged["MSE"] > 0).all()
    assert "Averaged predictions against OMP's sets" in (out / "README.md").read_text(encoding="utf-8")


def test_simulations_have_every_design(results):
    out = results("simulation")
    decoys = pd.read_csv(out / "decoys.csv")
    assert len(decoys) == 3
    assert np.isfinite(decoys["R2"]).all()
    modes = pd.read_csv(out / "modes.csv")
    assert (modes["modes"] >= 1).all()
    assert modes[["alternatives", "sampled", "OMP"]].stack().between(0, 1).all()
    assert (modes["OMP"] <= 1 / modes["modes"] + 1e-4).all()
