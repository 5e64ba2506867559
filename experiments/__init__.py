"""The paper's experiments: `python -m experiments.NAME`; code in `paper/`, loaders of real data in `data/`."""
