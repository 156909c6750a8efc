"""Files of strangers: a model file or checkpoint is what its maker would have written, or refused.

The files are made by a process that compiles nothing; to refuse one, nothing has to be compiled.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.persistence import read, write
from maxmargin.solvers import SGD
from maxmargin.training.partial import OnlineRun

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fuzz.targets import (  # noqa: E402
    checkpoint_bcfw,
    checkpoint_n_slack,
    checkpoint_one_slack,
    checkpoint_perceptron,
    checkpoint_sdca,
    checkpoint_sgd,
    model_structured,
)

CASES = {
    "bcfw": checkpoint_bcfw, "n_slack": checkpoint_n_slack, "sdca": checkpoint_sdca,
    "one_slack": checkpoint_one_slack, "sgd": checkpoint_sgd, "perceptron": checkpoint_perceptron,
}  # fmt: skip
MODELS = ("multiclass", "multilabel", "chain", "ranking", "structured")
MAKER = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
for name in sys.argv[2:]:
    for k, data in enumerate(importlib.import_module("fuzz.targets." + name).seeds()):
        open(f"{sys.argv[1]}/{name}-{k}.mm", "wb").write(data)
"""


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """A folder with model files of every estimator and checkpoints of every solver."""
    folder = tmp_path_factory.mktemp("seeds")
    names = [f"model_{name}" for name in MODELS] + [f"checkpoint_{name}" for name in CASES]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", MAKER, folder, *names], env=env, check=True)
    return folder


@pytest.fixture
def changed(seeds, tmp_path):
    """Write a file of the folder again with its meta and arrays changed; return where."""

    def change(name, change_it):
        document = read(seeds / f"{name}.mm")
        change_it(document.meta, document.arrays)
        path = tmp_path / "changed.mm"
        write(path, document.kind, document.meta, document.arrays)
        return path

    return change


def put(*keys, to):
    """Return the change that puts a value under meta["state"][...]."""

    def change(meta, arrays):
        inner = meta["state"]
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = to

    return change


def array(name, change_it):
    def change(meta, arrays):
        arrays[name] = change_it(arrays[name].copy())

    return change


def cell(at, value):
    def change(values):
        values[at] = value
        return values

    return change


def drop(*keys):
    def change(meta, arrays):
        inner = meta["state"]
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


@pytest.mark.parametrize("name", MODELS)
def test_what_was_saved_comes_back(seeds, tmp_path, name):
    model_structured._register()
    for path in sorted(seeds.glob(f"model_{name}-*.mm")):
        model = maxmargin.load(path)
        model.save(tmp_path / "again.mm")
        ours, theirs = read(tmp_path / "again.mm"), read(path)
        assert ours.meta["state"].keys() == theirs.meta["state"].keys()
        for key, value in theirs.arrays.items():
            np.testing.assert_array_equal(ours.arrays[key], value)


DAMAGES = {
    "a layout that leads outside": (
        "chain-0", put("fitted", "layout", 4, to=10**9), "layout is .* which no chain of 2"),
    "a layout below zero": ("chain-0", put("fitted", "layout", 3, to=-1), "layout"),
    "a layout that is none": ("chain-0", put("fitted", "layout", to="x"), "layout"),
    "weights that are not finite": ("chain-0", array("w", cell(0, np.nan)), "'w' has nan at"),
    "too many weights": ("chain-0", array("w", lambda w: np.append(w, 0.0)), r"shape \(14,\)"),
    "weights of another type": ("multiclass-0", array("w", np.float32), "'w' must be float64"),
    "weights in a matrix": ("multiclass-0", array("w", lambda w: w.reshape(2, -1)), "shape"),
    "no weights": ("ranking-0", lambda meta, arrays: arrays.pop("w"), "no array 'w'"),
    "an array too many": (
        "ranking-0", lambda meta, arrays: arrays.update(x=np.zeros(1)), "array 'x', which nothing"),
    "no classes": ("multiclass-0", drop("fitted", "classes_"), "fitted has no 'classes_'"),
    "one class twice": (
        "multiclass-0", put("fitted", "classes_", to=np.array(["x", "x"])), "'x' twice"),
    "one class": ("multiclass-0", put("fitted", "classes_", to=np.array(["x"])), "2 labels"),
    "features beyond the weights": (
        "multiclass-0", put("fitted", "n_features_in_", to=10**9), "columns_n_missing"),
    "a flag that is none": ("multiclass-0", put("fitted", "has_bias", to=1), "True or False"),
    "names for other columns": (
        "multiclass-1", put("fitted", "features", "names", to=["a"]), "1 columns where 2"),
    "a name twice": ("multiclass-1", put("fitted", "features", "names", to=["a", "a"]), "twice"),
    "an edge that leads outside": ("multilabel-1", array("edges", cell((0, 0), 9)), "has 9 at"),
    "an edge below zero": ("multilabel-1", array("edges", cell((0, 0), -1)), "'edges' has -1"),
    "an edge of one label": ("multilabel-1", array("edges", cell((0, 0), 1)), "with itself"),
    "thresholds for other labels": (
        "multilabel-0", array("thresholds", lambda t: t[:1]), "'thresholds' must be"),
    "thresholds that are no numbers": (
        "multilabel-0", array("thresholds", cell(0, np.nan)), "'thresholds' has nan"),
    "an unknown form": ("multilabel-0", put("fitted", "form", to=["list", "int64"]), "form"),
    "a form of another type": ("multilabel-0", put("fitted", "form", to=["dense", "V9"]), "dtype"),
    "an inference that edges forbid": (
        "multilabel-1", put("fitted", "inference_", to="independent"), "knows no pairs"),
    "threads without end": ("multiclass-0", put("params", "n_jobs", to=10**9), "n_jobs"),
    "no threads": ("multiclass-0", put("params", "n_jobs", to="all"), "n_jobs"),
    "a parameter that fit refuses": ("ranking-0", put("params", "C", to=-1.0), "C must be"),
    "a parameter of another type": (
        "chain-0",
        put("params", "fit_start", to=1),
        "fit_start must be True",
    ),
    "an unknown parameter": ("chain-0", put("params", "frobnicate", to=1), "no parameter"),
    "an unknown solver": ("chain-0", put("params", "solver", to="newton"), "solver='newton'"),
    "an option that a cost has not": (
        "ranking-1", put("params", "cost", "parameters", to={"n": 3}), "has 'n'"),
    "an option of another type": (
        "ranking-1", put("params", "cost", "parameters", to={"k": "3"}), "must be int"),
    "code": ("chain-0", put("params", "callbacks", to=["print"]), "has no parameter 'callbacks'"),
    "constraints of other labels": (
        "chain-1", put("params", "constraints", "forbidden_end", to=("q",)), "no class"),
    "a status that no run has": ("chain-0", put("result", "status", to="optimal"), "'status'"),
    "a gap below 0": ("chain-0", put("result", "gap", to=-5.0), "must be >= 0, got -5.0"),
    "a gap that is no number": ("chain-0", put("result", "gap", to="0"), "must be float"),
    "a history that is none": ("chain-0", put("result", "history", to=3), "list of records"),
    "no result": ("chain-0", drop("result"), "no 'result'"),
    "weights for another structure": (
        "structured-0", array("w", lambda w: np.append(w, 1.0)), r"shape \(2,\)"),
    "a structure that is not known": (
        "structured-0", put("params", "structure", "name", to="Other"), "not known here"),
    "something else": (
        "chain-0", lambda meta, arrays: meta.update(state=[1]), "not a mapping"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_refused_by_name(changed, damage):
    model_structured._register()
    name, change, message = DAMAGES[damage]
    path = changed(f"model_{name}", change)
    with pytest.raises(ValueError, match=message) as caught:
        maxmargin.load(path)
    assert str(path) in str(caught.value)


def test_a_model_that_would_not_load_is_not_saved(seeds, tmp_path):
    model = maxmargin.load(seeds / "model_multiclass-0.mm").set_params(C=-1.0)
    with pytest.raises(ValueError, match="C must be"):
        model.save(tmp_path / "model.mm")
    assert os.listdir(tmp_path) == []


def test_save_tells_what_it_leaves_out(seeds, tmp_path):
    model = maxmargin.load(seeds / "model_multiclass-0.mm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.save(tmp_path / "model.mm")
    model.set_params(scoring=lambda estimator, X, y: 1.0)
    model._memory = object()
    model._online = OnlineRun(SGD(), np.random.default_rng(0))
    model._online.n_batches = 1
    with pytest.warns(UserWarning, match="does not hold") as told:
        model.save(tmp_path / "model.mm")
    names = ("scoring", "the dual that warm_start keeps", "the state of partial_fit")
    for name, warning in zip(names, told, strict=True):
        assert f"does not hold {name}" in str(warning.message)
    assert maxmargin.load(tmp_path / "model.mm").scoring is None


# --- Checkpoints


def resume(solver, path):
    case = CASES[solver].CASE
    return case.make(tol=1e-3, max_iter=case.n_passes + 2).fit(case.X, case.Y, resume=path)


def run_meta(*keys, to):
    def change(meta, arrays):
        inner = meta["run"]
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = to

    return change


def close_the_gap(meta, arrays):
    tally = meta["run"]["tally"]
    tally["dual"] = tally["primal"]


FORGERIES = {
    "counts beyond the room": (
        "bcfw", array("state.blocks.count", cell(0, 10**6)), "more planes than"),
    "counts below zero": ("n_slack", array("state.blocks.count", cell(0, -1)), "'blocks.count'"),
    "cells elsewhere": ("bcfw", array("state.blocks.spans", cell((1, 0), 10**9)), "'blocks.spans'"),
    "cells behind the end": ("bcfw", array("state.blocks.end", cell(0, 1)), "not in use"),
    "more cells than there are": (
        "bcfw", array("state.blocks.end", cell(0, 10**9)), "'blocks.end'"),
    "outputs of no length": ("n_slack", array("state.blocks.spans", cell((0, 1), 0)), "true one"),
    "costs of other outputs": (
        "bcfw", array("state.blocks.planes", cell((slice(None), 4), 9.0)), "not below"),
    "squares elsewhere": ("bcfw", array("state.blocks.square", cell(1, -5)), "'blocks.square'"),
    "starts elsewhere": ("bcfw", array("state.blocks.start", cell(1, 10**9)), "'blocks.start'"),
    "outputs that are none": (
        "n_slack", array("state.blocks.outputs", lambda y: np.full_like(y, 10**9)), "output"),
    "planes above the losses": (
        "bcfw", array("state.blocks.planes", cell((slice(None), 2), 9.0)), "offset 0|not below"),
    "coefficients that do not sum to 1": (
        "n_slack", array("state.blocks.planes", cell((0, 0), 7.0)), "sum to 1"),
    "weights of other blocks": ("bcfw", array("state.w", lambda w: 0.5 * w), "'w' is not what"),
    "weights that are not finite": ("sgd", array("state.total", cell(0, np.inf)), "has inf at"),
    "too many weights": ("sgd", array("state.w", lambda w: np.append(w, 0.0)), "'w' must be"),
    "another lam": ("sgd", array("state.clock", cell(2, 1e-9)), "'clock'"),
    "mistakes below zero": ("perceptron", array("state.clock", cell(0, -1)), "'clock' has -1"),
    "a list of other outputs": ("sdca", array("state.beta", lambda b: b[:, :2]), "'beta' must be"),
    "losses that are none": ("sdca", array("state.linear", lambda x: x + 1.0), "'linear' is above"),
    "other slopes": ("sdca", array("state.slope", lambda x: 2.0 * x), "'linear'|'w'"),
    "planes above the risk": (
        "one_slack", array("state.offset", lambda b: np.append(b[:1], b[1:] + 5.0)), "above the"),
    "products of other planes": ("one_slack", array("state.gram", lambda g: g + 1.0), "'gram'"),
    "a memory of other outputs": (
        "bcfw", array("memory.outputs", lambda y: np.full_like(y, 7)), "does not have|'outputs'"),
    "a memory without end": ("bcfw", array("memory.counts", cell(0, 10**9)), "'counts' has"),
    "a forged dual": ("bcfw", close_the_gap, "proves no more than"),
    "a dual without a proof": ("sgd", run_meta("tally", "dual", to=0.1), "proves no more than"),
    "a forged primal": ("n_slack", run_meta("tally", "primal", to=0.0), "that of its weights"),
    "best weights of others": ("n_slack", array("best.w", lambda w: w + 1.0), "of its weights"),
    "converged, it says": ("bcfw", run_meta("ended", to="converged"), "its gap is"),
    "an end that there is not": ("bcfw", run_meta("ended", to="done"), "'ended'"),
    "passes that were not made": ("bcfw", run_meta("n_passes", to=10**12), "history"),
    "a generator that is none": ("sgd", run_meta("rng", "state", "state", to=-1), "rng is no"),
    "another lam, it says": ("sgd", run_meta("lam", to=1.0), "another problem"),
    "another solver": ("sgd", run_meta("solver", to="bcfw"), "is of solver 'bcfw'"),
    "no tally": ("sgd", lambda meta, arrays: meta["run"].pop("tally"), "no 'tally'"),
    "no owner": ("sgd", lambda meta, arrays: meta.pop("owner"), "no 'owner'"),
    "an owner that is none": ("sgd", lambda meta, arrays: meta.update(owner=3), "not a mapping"),
    "another estimator": (
        "sgd", lambda meta, arrays: meta["owner"].update(estimator="ChainSVM"), "of a ChainSVM"),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_checkpoint_is_refused_by_name(changed, forgery):
    solver, change, message = FORGERIES[forgery]
    path = changed(f"checkpoint_{solver}-1", change)
    with pytest.raises(ValueError, match=message) as caught:
        resume(solver, path)
    assert re.search(re.escape(str(path)), str(caught.value))
