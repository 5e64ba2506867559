"""A store answers only for what it was filled with."""

import copy
import functools
import importlib
import os
import runpy
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.preprocessing import normalize

import variegate as vg
from comparison_methods import METHODS, assert_same, small_comparison, small_problem
from variegate.comparison import StoreError
from variegate.comparison.identity import described

NAMES = [f"gene {i}" for i in range(12)]
PHI = normalize(np.random.default_rng(0).normal(size=(12, 3)))
WEIGHT = 1.0


def strongest(sign):
    """One of two functions that differ in a value of their closure only."""
    return lambda problem, size, rng: np.argsort(sign * np.abs(np.corrcoef(problem.X.T, problem.y)[-1, :-1]))[:size]


@pytest.mark.parametrize(
    "named", [lambda names: vg.similarity.SimilarityFeatures(PHI, names), lambda names: pd.DataFrame(PHI, index=names)]
)
def test_row_names_of_a_similarity_count(named, tmp_path):
    small_comparison(similarity=named(NAMES), store=tmp_path / "run.jsonl")
    with pytest.raises(StoreError, match=r"another call \(similarity: "):
        small_comparison(similarity=named(NAMES[::-1]), store=tmp_path / "run.jsonl")


def test_functions_count_with_their_code_and_closure(tmp_path):
    options = {"size": 2, "reference": "any"}
    for method in (strongest(1), strongest(-1), lambda problem, size, rng: np.arange(size)):
        methods = {"any": METHODS["any"], "it": method}
        stored = small_comparison(methods, store=tmp_path / "run.jsonl", **options)
        assert_same(stored, small_comparison(methods, **options))


def test_similarity_by_another_function_is_another_call(tmp_path):
    small_comparison(similarity=lambda X: X.T, store=tmp_path / "run.jsonl")
    with pytest.raises(StoreError, match=r"another call \(similarity: "):
        small_comparison(similarity=lambda X: X.T[:, ::2], store=tmp_path / "run.jsonl")


def test_estimator_with_another_function_is_another_call(tmp_path):
    X, y = small_problem()
    options = {"n_bootstraps": 3, "store": tmp_path / "run.jsonl", "progress": False}
    vg.stability_selection(SelectKBest(lambda X, y: f_regression(X, y), k=3), X, y, **options)
    with pytest.raises(StoreError, match=r"another call \(estimator: "):
        vg.stability_selection(SelectKBest(lambda X, y: f_regression(-X, -y, center=False), k=3), X, y, **options)


def test_what_cannot_be_described_is_refused_with_a_store_only(tmp_path):
    lock = threading.Lock()

    def guarded(problem, size, rng):
        with lock:
            return np.arange(size)

    methods = {"any": METHODS["any"], "guarded": guarded}
    options = {"size": 2, "reference": "any", "repeats": 2}
    with pytest.raises(StoreError, match=r"guarded must be something that a later run can recognise.*lock"):
        small_comparison(methods, store=tmp_path / "run.jsonl", **options)
    assert small_comparison(methods, **options).failures.empty


def test_state_that_changes_during_a_run_loses_nothing(tmp_path):
    calls = []

    def counting(problem, size, rng):
        calls.append(size)
        return np.arange(size)

    found = small_comparison(
        {"any": METHODS["any"], "it": counting}, size=2, reference="any", store=tmp_path / "run.jsonl"
    )
    assert len(calls) == 6
    assert found.failures.empty


class Plain:
    factor = 1

    def times(self, x):
        return self.factor * x


class Changed:
    factor = 1

    def times(self, x):
        return self.factor + x


@functools.lru_cache
def cached(x):
    return WEIGHT * x


def weighted(x, power=2):
    def inside(z):
        return WEIGHT * z**power

    return inside(x)


def both_kinds():
    """Pairs of values that differ."""
    frame, stamp = pd.DataFrame({"a": [1.0, 2.0]}), np.array(["2020-01-01"], dtype="M8[D]")
    return {
        "order": ([1, 2], [2, 1]),
        "type of number": ([1], [1.0]),
        "type of sequence": ([1], (1,)),
        "nesting": ([[1], 2], [[1, 2]]),
        "dtype": (np.zeros(2), np.zeros(2, dtype=np.float32)),
        "shape": (np.zeros((2, 1)), np.zeros((1, 2))),
        "layout is no difference, content is": (np.array([[0, 1], [2, 3]]), np.array([[0, 1], [2, 3]]).T),
        "dates": (stamp, stamp + 1),
        "text in arrays": (np.array(["a", None], dtype=object), np.array(["a", "None"], dtype=object)),
        "index": (frame, frame.set_axis(["p", "q"])),
        "columns": (frame, frame.rename(columns={"a": "b"})),
        "dtype of a frame": (frame, frame.astype(int)),
        "name of an index": (frame, frame.rename_axis("row")),
        "defaults": (lambda x, y=1: x, lambda x, y=2: x),
        "constants": (lambda x: x + 1, lambda x: x + 2),
        "names": (lambda x: x.min(), lambda x: x.max()),
        "partial": (functools.partial(weighted, power=1), functools.partial(weighted, power=3)),
        "method of an object": (Plain().times, Changed().times),
        "class": (Plain, Changed),
        "installed": (np.linalg.norm, np.linalg.det),
        "parameters": (SelectKBest(k=1), SelectKBest(k=2)),
    }


@pytest.mark.parametrize("what", both_kinds())
def test_different_things_are_told_apart(what):
    first, second = both_kinds()[what]
    assert described(first, what) != described(second, what)
    assert described(first, what) == described(both_kinds()[what][0], what)


@pytest.mark.parametrize("function", [weighted, cached, lambda x: (lambda z: WEIGHT * z)(x)])
def test_variables_that_a_function_reads_count(function, monkeypatch):
    before = described(function, "f")
    monkeypatch.setattr(sys.modules[__name__], "WEIGHT", 2.0)
    assert described(function, "f") != before


def test_layout_in_memory_is_no_difference():
    X = np.arange(6.0).reshape(2, 3)
    assert described(np.asfortranarray(X), "X") == described(X, "X") == described(np.repeat(X, 2, axis=0)[::2], "X")


def test_what_contains_itself():
    rings = [[1], [1], [2]]
    for ring in rings:
        ring.append(ring)
    first, same, other = (described(ring, "ring") for ring in rings)
    assert first == same != other


SCRIPT = """
import enum, dataclasses, functools, sys
import numpy as np, pandas as pd, variegate as vg
from variegate.comparison.identity import described
WORDS = {"a", "b", "c", "d"}
@dataclasses.dataclass
class Setting:
    words: set = dataclasses.field(default_factory=lambda: {"x", "y", "z"})
class Kind(enum.Enum):
    ONE = 1
class Method:
    __slots__ = ("setting",)
    def __init__(self): self.setting = Setting()
    @property
    def kind(self): return Kind.ONE
    @functools.cached_property
    def size(self): return 1
    @classmethod
    def made(cls): return cls()
    def __call__(self, problem, size, rng): return [w for w in WORDS if w in {"p", "q", "r"}]
frame = pd.DataFrame({"a": ["u", "v"], "b": [1.0, 2.0]})
model = vg.DiverseRegressor(similarity=lambda X: X.T, always_include=["a"])
member = lambda x: x in {"p", "q", "r"}
things = (Method(), Method().__call__, member, frame, frame["a"], model, np.random.default_rng(0))
for thing in things:
    print(described(thing, "it"))
"""


def test_another_process_describes_the_same(tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    runpy.run_path(str(path), run_name="__main__")
    here = capsys.readouterr().out
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout == here
    assert len(set(here.splitlines())) == 7


def test_use_changes_nothing():
    class Fresh:
        def __init__(self):
            self.weight = 1.0

        def __call__(self, x):
            return [self.weight * value for value in x]

    before, fresh = described(Fresh(), "it"), Fresh()
    for _ in range(100):  # Python rewrites code that runs often, and copies of objects leave traces in their class
        copy.copy(fresh)(range(100))
    assert described(fresh, "it") == before


def test_a_changed_module_of_the_user_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "my_similarity.py"
    path.write_text("def rows(X):\n    return X.T\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("my_similarity")
    users = [module.rows, lambda X: module.rows(X)]
    before = [described(user, "f") for user in users]
    path.write_text("def rows(X):\n    return X.T[:, ::2]\n")
    importlib.reload(module)
    after = [described(user, "f") for user in (module.rows, users[1])]
    assert not set(before) & set(after)
