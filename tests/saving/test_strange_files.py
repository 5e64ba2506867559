"""What is no model is refused, and nothing in a file is run."""

import io
import os
import pickle
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import variegate as vg
from saved_models import FRAME, made, rewritten
from variegate.saving import UnreadableModel

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "fit.vg"
    model = made("classifier").set_params(choose="probability")
    most_probable = replace(model.selection_, chosen=model.selection_.posterior.map(), choose="probability")
    vg.save(model.publish(most_probable), path)
    return path.read_bytes()


def refuse(content, tmp_path, match):
    path = tmp_path / "strange.vg"
    path.write_bytes(content)
    with pytest.raises(UnreadableModel, match=match) as caught:
        vg.load(path)
    assert "strange.vg" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", bytes(1000)])
def test_no_model_at_all(content, tmp_path):
    refuse(content, tmp_path, "not a variegate model, or truncated")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_cut_off(saved, share, tmp_path):
    refuse(saved[: int(len(saved) * share)], tmp_path, "truncated")


def test_every_flipped_byte_is_noticed_or_harmless(saved, tmp_path):
    path = tmp_path / "flipped.vg"
    healthy = made("classifier").predict_proba(FRAME)
    for position in np.random.default_rng(0).integers(0, len(saved), 60):
        content = bytearray(saved)
        content[position] ^= 0x55
        path.write_bytes(content)
        try:
            model = vg.load(path)
        except UnreadableModel:
            continue
        np.testing.assert_allclose(model.predict_proba(FRAME), healthy, atol=1e-10)  # a byte of zip's own bookkeeping


def test_newer_format(saved, tmp_path):
    newer = rewritten(saved, lambda header, _: header.update(format=99, version="9.0"))
    refuse(newer, tmp_path, "written in format 99 by variegate 9.0.*version that wrote it")


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header.update(kind="os.system"),
        lambda header, arrays: header["params"].update(unknown=1),
        lambda header, arrays: header["fitted"].pop("inclusion"),
        lambda header, arrays: header["fitted"].pop("grid_probability"),
        lambda header, arrays: header["fitted"].update(inclusion={"array": "a999"}),
        lambda header, arrays: header["fitted"].update(inclusion={"list": [1, 2]}),
        lambda header, arrays: header["fitted"].update(theta=header["fitted"]["inclusion"]),
        lambda header, arrays: header["fitted"].update(unit=[99]),
        lambda header, arrays: header.update(params=[]),
        lambda header, arrays: header["fitted"].update(map={"list": [0.5]}),
        lambda header, arrays: header["fitted"].update(X=header["fitted"]["inclusion"]),
    ],
)
def test_damaged_inside(saved, change, tmp_path):
    refuse(rewritten(saved, change), tmp_path, "damaged")


def npy(kind, shape, content=b""):
    """An array file whose header says anything."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue() + content


@pytest.mark.parametrize(
    "member",
    [
        npy("|S0", (10**10,)),
        npy("|U0", (10**10,)),
        npy("<f8", (10**10,)),
        npy("<f8", (2,), b"x" * 8),
        b"no npy at all",
    ],
)
def test_arrays_that_are_not_what_they_say_ask_for_no_memory(member, tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("header.npy", member)
    refuse(out.getvalue(), tmp_path, "not a variegate model")


def test_counts_are_bounded_before_anything_is_computed(saved, tmp_path):
    def many(header, arrays):
        arrays[header["fitted"]["set_sizes"]["array"]] = np.zeros(8_000_000, dtype=np.int64)
        arrays[header["fitted"]["sets"]["array"]] = np.zeros(0, dtype=np.int64)

    def text(header, arrays):
        name = header["fitted"]["X"]["array"]
        arrays[name] = arrays[name].astype(str)

    refuse(rewritten(saved, many), tmp_path, "damaged")
    refuse(rewritten(saved, text), tmp_path, "damaged")


class Boom:
    def __reduce__(self):
        return os.mkdir, ("boom",)


def test_hostile_files_run_nothing(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = io.BytesIO()
    np.savez(out, header=np.array([Boom()], dtype=object))
    refuse(out.getvalue(), tmp_path, "allow_pickle|not a variegate model")
    refuse(pickle.dumps(Boom()), tmp_path, "not a variegate model")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.npy", bytes(10_000_000))
    refuse(bomb.getvalue(), tmp_path, "contains more than plain arrays")
    climbing = io.BytesIO()
    with zipfile.ZipFile(climbing, "w") as file:
        file.writestr("../../escaped.txt", "x")
    refuse(climbing.getvalue(), tmp_path, "contains more than plain arrays")
    assert sorted(os.listdir(tmp_path)) == ["strange.vg"]


def replaced(name, value):
    def change(header, arrays):
        arrays["strange"] = value
        header["fitted"][name] = {"array": "strange"}

    return change


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unit", np.r_[np.arange(7), 10**9]),  # would be counted up to
        ("unit", np.arange(3)),
        ("role", np.full(8, 3, dtype=np.int8)),
        ("role", np.ones((8, 1), dtype=np.int8)),
        ("set_sizes", -np.ones(3, dtype=np.int64)),
        ("sets", np.full(1000, 99)),
        ("map", np.array([-1])),
        ("map", np.array([1, 1])),
        ("map", np.array([2, 1])),
        ("map", np.zeros(0, dtype=np.int64)),
        ("inclusion", np.full(8, 1.5)),
        ("inclusion", np.full(8, np.nan)),
        ("inclusion", np.full(9, 0.5)),
        ("inclusion_errors", np.full(8, -0.1)),
        ("disagreement", np.ones(3)),
        ("disagreement", np.full(8, np.nan)),
        ("disagreement", np.full(8, -1.0)),
        ("disagreement", np.full(8, "a")),
        ("set_weights", np.ones(1)),
        ("set_weights", np.ones(1000)),
        ("slab_precisions", np.zeros(1000)),
        ("slab_precisions", np.ones(3)),
        ("grid_sizes", np.ones(99)),
        ("grid_precisions", np.ones(99)),
        ("grid_probability", np.ones((2, 2))),
        ("classes", np.array(["one"])),
        ("y", np.full(50, 7)),
        ("X", np.zeros((50, 9))),
    ],
)
def test_arrays_that_do_not_fit_each_other(saved, name, value, tmp_path):
    refuse(rewritten(saved, replaced(name, value)), tmp_path, "damaged.*does not fit the rest")


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header["fitted"].update(n_iter="many"),
        lambda header, arrays: header["fitted"].update(n_steps=-1),
        lambda header, arrays: header["fitted"].update(n_steps=True),
        lambda header, arrays: header["fitted"].update(rank="x"),
        lambda header, arrays: header["fitted"].update(rank=3),
        lambda header, arrays: header["fitted"].update(diversity=0.5),
        lambda header, arrays: header["fitted"].update(size=True),
        lambda header, arrays: header["fitted"].update(others=True),
        lambda header, arrays: header["fitted"].update(settings={"map": []}),
        lambda header, arrays: header["params"].update(n_features_to_select=7),
        lambda header, arrays: header["fitted"].update(settings={"map": [["tol", -1.0]]}),
        lambda header, arrays: header["fitted"].update(settings={"map": [["speed", 1.0]]}),
        lambda header, arrays: header["fitted"].update(converged="no"),
        lambda header, arrays: header["fitted"].update(feature_names={"list": list("abc")}),
        lambda header, arrays: header["fitted"].update(feature_names={"list": list(range(8))}),
        lambda header, arrays: header["fitted"].update(prior="normal"),
        lambda header, arrays: header["params"].update(tol="small"),
        lambda header, arrays: header["fitted"].update(X={"sparse": {}, "shape": [10**15, 1]}),
    ],
)
def test_values_that_make_no_sense(saved, change, tmp_path):
    refuse(rewritten(saved, change), tmp_path, "damaged")


def test_a_huge_sparse_table(saved, tmp_path):
    def change(header, arrays):
        arrays |= {"i": np.zeros(1, dtype=np.int64), "p": np.arange(2), "d": np.ones(1)}
        parts = {"data": {"array": "d"}, "indices": {"array": "i"}, "indptr": {"array": "p"}}
        header["fitted"]["X"] = {"sparse": parts, "shape": [10**15, 1]}

    refuse(rewritten(saved, change), tmp_path, "damaged")


@pytest.mark.parametrize("depth", [2000, 100_000])
def test_a_deep_header(depth, tmp_path):
    out = io.BytesIO()
    header = '{"format": 1, "params": ' + '{"list":[' * depth + "1" + "]}" * depth + "}"
    np.savez(out, header=np.frombuffer(header.encode(), dtype=np.uint8))
    refuse(out.getvalue(), tmp_path, "no readable header")


def test_one_array_under_many_names(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a.npy", bytes(1000))
        file.filelist.extend([file.filelist[0]] * 50)  # the directory names the same bytes again and again
    refuse(out.getvalue(), tmp_path, "contains more than plain arrays")


def table_of(values, numbers, times=1):
    """Replace X by a list of tables that are looked up in the same values."""

    def change(header, arrays):
        arrays["values"], arrays["numbers"] = values, numbers
        table = {"values": {"array": "values"}, "numbers": {"array": "numbers"}}
        header["fitted"]["X"] = {"list": [table] * times}

    return change


@pytest.mark.parametrize(
    "change",
    [
        table_of(np.ones((2, 10_000)), np.ones((1000, 1), dtype=np.uint8)),
        table_of(np.array(["a" * 10_000, "b"]), np.ones((1000, 1), dtype=np.uint8)),
        table_of(np.ones(2), np.ones((1000, 100), dtype=np.uint8), times=100),
    ],
)
def test_a_small_file_asks_for_little_memory(saved, change, tmp_path):
    """Each of these unpacks to 80 MB or more."""
    content = rewritten(saved, change)
    tracemalloc.start()
    refuse(content, tmp_path, "damaged")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(content) < 500_000
    assert peak < 10e6


def test_numbers_of_values_that_do_not_exist(saved, tmp_path):
    def strange(header, arrays):
        arrays["few"], arrays["which"] = np.ones(2), np.full((50, 8), 7, dtype=np.uint8)
        header["fitted"]["X"] = {"values": {"array": "few"}, "numbers": {"array": "which"}}

    refuse(rewritten(saved, strange), tmp_path, "damaged")


def test_a_panel_may_be_empty_but_not_shorter_than_asked_for(tmp_path):
    """A budget may allow nothing; a size is missed only if no more features can be added."""
    vg.save(made("regressor"), tmp_path / "fit.vg")
    content = (tmp_path / "fit.vg").read_bytes()
    (tmp_path / "fit.vg").write_bytes(rewritten(content, replaced("map", np.zeros(0, dtype=np.int64))))
    assert vg.load(tmp_path / "fit.vg").panel_.members == []
    refuse(rewritten(content, lambda header, arrays: header["params"].update(n_features_to_select=7)), tmp_path, "fit")
