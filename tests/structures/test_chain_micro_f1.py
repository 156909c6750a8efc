"""Micro-F1 on sequences: sets of the positions that are inside, each with its label."""

from itertools import product

import numpy as np
import pytest

from maxmargin import ChainSVM, MulticlassSVM, load
from maxmargin.core.contract import (
    TrueParts,
    margin_error,
    output_cost,
    potentials,
    shift,
    workspace,
)
from maxmargin.costs import Hamming, ShiftedPartCost, tabulate
from maxmargin.costs.micro_f1 import micro_f1_criteria, micro_f1_of_positions
from maxmargin.structures import chain_data, chain_layout, multiclass_data
from maxmargin.surrogates import MicroF1
from maxmargin.testing import check_oracles
from maxmargin.training.task import Task

LENGTHS = (1, 4, 3, 2)


def sequences(rng, outside=2, barrier=False):
    """Return sequences of three labels; the true labels of the last are all outside."""
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    labels = rng.integers(3, size=offsets[-1])
    labels[-LENGTHS[-1] :] = outside
    edges = np.zeros((5, 3))
    if barrier:
        labels = np.where(labels == 1, 0, labels)
        edges[0, 1] = -np.inf
    return chain_data(
        rng.normal(size=(offsets[-1], 2)), offsets, labels, chain_layout(2, 3), edge_barrier=edges
    )


def as_set(labels, outside):
    return {(t, int(k)) for t, k in enumerate(labels) if k != outside}


def criteria(data, outside):
    return micro_f1_criteria(
        MicroF1(outside=outside), data, tabulate(Hamming(), data, ["a", "b", "c"])
    )


@pytest.mark.parametrize("outside", [0, 2])
def test_criteria_are_those_of_sets(rng, outside):
    data = sequences(rng, outside)
    cost = criteria(data, outside)
    assert isinstance(cost, ShiftedPartCost)
    for i, length in enumerate(LENGTHS):
        right = as_set(data.labels[data.offsets[i] :][:length], outside)
        for labels in product(range(3), repeat=length):
            y, own = np.array(labels, dtype=np.int32), as_set(labels, outside)
            assert shift(data, cost, i, y, 0) == len(own ^ right)
            assert output_cost(data, cost, i, y, 0) == -len(own) - len(right)


@pytest.mark.parametrize("barrier", [False, True])
def test_oracles_are_those_of_the_list(rng, barrier):
    data = sequences(rng, barrier=barrier)
    check_oracles(data, criteria(data, 2))


def listed_losses(data, w, outside):
    """Return the largest (H + m) / (|y| + |y_i|) of each example, by trying all labellings."""
    theta, _ = workspace(data)
    found = []
    for i, length in enumerate(LENGTHS):
        potentials(data, i, w, 1.0, theta)
        right = as_set(data.labels[data.offsets[i] :][:length], outside)
        best = 0.0
        for labels in product(range(3), repeat=length):
            y, own = np.array(labels, dtype=np.int32), as_set(labels, outside)
            m, size = margin_error(data, i, theta, y, 0), len(own) + len(right)
            if size:
                best = max(best, (len(own ^ right) + m) / size)
        found.append(best)
    return found


@pytest.mark.parametrize("compile", [False, True])
def test_losses_are_the_best_of_all_labellings(rng, compile):
    data = sequences(rng)
    task = Task(data, tabulate(Hamming(), data, [0, 1, 2]), len(LENGTHS), np.ones(len(LENGTHS)))
    problem = task.problem(MicroF1(outside=2), 0.1, compile=compile)
    for scale in (0.0, 0.1, 1.0, 10.0):
        w = scale * rng.normal(size=problem.n_weights)
        losses, bounds = problem.losses(w)
        assert losses == pytest.approx(listed_losses(data, w, 2), abs=1e-12)
        assert bounds == pytest.approx(losses, abs=1e-9)


X = [[["w=In"], ["w=New"], ["w=York"]], [["w=New"], ["w=York"], ["w=is"]], [["w=is"], ["w=In"]]]
Y = [["O", "B", "I"], ["B", "I", "O"], ["O", "O"]]


def test_a_tagger_learns_by_it(tmp_path):
    tagger = ChainSVM(surrogate="micro_f1", C=10.0, random_state=0).fit(X, Y)
    assert tagger.result_.status == "converged" and tagger.result_.is_certified
    assert [labels.tolist() for labels in tagger.predict(X)] == Y
    tagger = ChainSVM(surrogate=MicroF1(outside="I"), max_iter=2).fit(X, Y)
    tagger.save(tmp_path / "tagger.mm")
    again = load(tmp_path / "tagger.mm")
    assert again.surrogate == MicroF1(outside="I")
    assert (again.coef_ == tagger.coef_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrogate": MicroF1(outside="none")}, r"outside='none' is none of the labels 'B', 'I'"),
        ({"surrogate": "micro_f1", "cost": "zero_one"}, "has a cost of its own, 1 - F1"),
        ({"surrogate": "micro_f1", "cost": Hamming("mean")}, "has a cost of its own, 1 - F1"),
        ({"surrogate": "micro_f1", "class_weight": {"O": 0.5}}, "has a cost of its own, 1 - F1"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ChainSVM(**options).fit(X, Y)


def test_classes_have_no_sets():
    with pytest.raises(ValueError, match=r"label sets \(Multi.* and sequences \(ChainSVM"):
        MulticlassSVM(surrogate="micro_f1").fit(np.eye(2), [0, 1])
    data = multiclass_data(np.eye(2), [0, 1], 2)
    with pytest.raises(ValueError, match="not for MulticlassData"):
        micro_f1_criteria(MicroF1(), data, tabulate(Hamming(), data, [0, 1]))


def test_no_label_inside_means_nothing_to_find():
    parts = TrueParts("positions", np.array([2]), np.array([1, 1]))
    cost = micro_f1_of_positions(parts, np.array([False, True]))
    assert cost.base.tolist() == [0.0] and cost.shift[1].tolist() == [1.0, 0.0]
