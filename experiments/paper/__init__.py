"""The paper's experiments, one command each: a folder with tables, figures and a README."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


class Experiment(NamedTuple):
    """An experiment: its title, and the folders that it reads below the data folder."""

    title: str
    folders: tuple[str, ...] = ()


EXPERIMENTS: dict[str, Experiment] = {
    "toy": Experiment("Figure 1: collinear items count as one"),
    "simulation": Experiment("The supplement's claims: more robust than matching pursuit; finds alternatives"),
    "genes": Experiment(
        "Figure 2: tumour stage I against II, diversity by a gene network",
        ("tcga_brca_rnaseq", "biogrid_human", "gene_sets"),
    ),
    "temperature": Experiment(
        "Figure 3: July temperature of the United States, a grid of basis functions", ("us_july_temperature",)
    ),
}


def run_experiment(
    name: str,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    config: str | Path | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    seed: int = 0,
    verbose: bool = True,
) -> Path:
    """Run one of the paper's experiments and return the folder with its results.

    Parameters
    ----------
    name : one of `EXPERIMENTS`
    data : folder with the real data (genes, temperature); None: the environment variable VARIEGATE_DATA
    out : folder for the results, created if necessary; None: `paper/NAME` in the current folder
        `README.md` has tables and figures, `config.toml` the settings; the same call continues an interrupted run.
    config : TOML file with settings that differ from the defaults, such as the `config.toml` of another run
    quick : few repeats, to see whether everything runs; the numbers mean little
    n_jobs : number of processes; it does not change the results
    seed : seed of everything random
    verbose : whether to show a progress bar on stderr

    Raises ValueError if name, config or data are wrong, ImportError if an extra is missing.

    >>> run_experiment("figure 1")
    Traceback (most recent call last):
        ...
    ValueError: There is no experiment 'figure 1'; there are toy, simulation, genes, temperature.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}.")
    from .outputs import start_results
    from .settings import Running, read_settings

    _check_extra()
    _check_data(name, data)
    experiment: Any = import_module(f".{name}", __name__)
    settings = read_settings(experiment.Settings, experiment.QUICK if quick else {}, config)
    folder = Path("paper", name) if out is None else Path(out)
    start_results(folder, settings)
    experiment.run(settings, data, folder, Running(n_jobs, seed, verbose))
    return folder


def _check_extra() -> None:
    missing = [name for name in ("matplotlib", "networkx") if find_spec(name) is None]
    if missing:
        raise ImportError(f'The experiments need {", ".join(missing)}: pip install "variegate[paper]".')


def _check_data(name: str, data: str | Path | None) -> None:
    """Raise if a data folder is missing, before anything is written."""
    from experiments.data import data_home

    folders = EXPERIMENTS[name].folders
    if not folders:
        return
    home = data_home(data)
    missing = [folder for folder in folders if not (home / folder).is_dir()]
    if missing:
        raise FileNotFoundError(
            f"The experiment {name} reads {', '.join(folders)} below {home}; there is no {', '.join(missing)}."
        )
