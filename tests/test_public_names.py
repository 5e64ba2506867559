"""Every public name explains itself: a docstring, with an example that runs (doctests are tests)."""

import importlib
import inspect

import pytest

import variegate

ROOMS = [
    "variegate", "variegate.baselines", "variegate.comparison", "variegate.data", "variegate.datasets",
    "variegate.dpp", "variegate.estimators", "variegate.inference", "variegate.likelihoods", "variegate.metrics",
    "variegate.paper", "variegate.plots", "variegate.posterior", "variegate.predictions", "variegate.priors",
    "variegate.report", "variegate.saving", "variegate.screening", "variegate.similarity", "variegate.tasks",
]  # fmt: skip


def public_names(room):
    """What `__all__` says, or what the module defines without an underscore."""
    module = importlib.import_module(room)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == room]
        names = [name for name in names if not name.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    return {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}


def all_names():
    found = {}
    for room in ROOMS:
        for name, value in public_names(room).items():
            if not inspect.isabstract(value) and getattr(value, "__module__", "").startswith("variegate"):
                found[f"{value.__module__}.{name}"] = value
    return found


NAMES = all_names()


@pytest.mark.parametrize("name", NAMES)
def test_docstring_with_an_example(name):
    text = NAMES[name].__doc__ or ""
    assert len(text.split(".")[0].split()) >= 2, f"{name} has no docstring that says what it is"
    assert ">>>" in text, f"{name} has no example in its docstring"


def test_all_rooms_of_the_front_door_are_checked():
    rooms = {f"variegate.{name}" for name in variegate.__all__ if inspect.ismodule(getattr(variegate, name))}
    assert rooms <= set(ROOMS)
    assert len(NAMES) > 80


def test_methods_have_docstrings():
    bare = [
        f"{name}.{attribute}"
        for name, value in NAMES.items()
        if inspect.isclass(value)
        for attribute, method in vars(value).items()
        if inspect.isfunction(method) and not attribute.startswith("_") and not method.__doc__
    ]
    assert bare == []
