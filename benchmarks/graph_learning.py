"""Learning graphs: street scenes and snakes; edges, surrogates, integral and relaxed training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import Check, Line, cpu_seconds
from sklearn.svm import LinearSVC

from maxmargin import GraphSVM
from maxmargin.datasets import load_camvid, load_snakes
from maxmargin.metrics import mean_recall, node_accuracy

#: Values of C that are tried on the validation images, and passes of each trial.
CAMVID_CS, CAMVID_PASSES = (0.01, 0.03, 0.1), 8


def lines() -> Iterator[Line]:
    yield from snakes()
    yield from camvid()


def facts_of(model: GraphSVM) -> dict[str, Any]:
    result = model.result_
    return {
        "status": result.status,
        "objective": result.objective,
        "relative_gap": result.relative_gap,
        "search_gap": result.search_gap,
        "passes": result.n_iter,
    }


def learnt(data: Any, **options: Any) -> tuple[float, GraphSVM]:
    """Return CPU seconds of a fit, and the model; what it needs was compiled before."""
    cpu_seconds(lambda: GraphSVM(random_state=0, **{**options, "max_iter": 1}).fit(*data))
    return cpu_seconds(lambda: GraphSVM(random_state=0, **options).fit(*data))


# Snakes ------------------------------------------------------------------------------------------


def snakes() -> Iterator[Line]:
    data = load_snakes()
    train, test = _sparse(data.X_train), _sparse(data.X_test)
    common = {"C": 0.1, "tol": 0.05, "fit_edge_intercept": False}
    for name, options in {
        "margin, integral": {},
        "slack, integral": {"surrogate": "slack"},
        "margin, relaxed": {"training": "relaxed"},
        "margin, Potts": {"pairs": "potts"},
    }.items():
        seconds, model = learnt((train, data.y_train), **common, **options)
        accuracy = node_accuracy(data.y_test, model.predict(test))
        facts = facts_of(model) | {"accuracy": accuracy}
        checks = []
        if name == "margin, integral":
            checks = [
                Check("accuracy", accuracy, ">=", 0.998),
                Check("seconds", seconds, "<=", 3.0),
                Check("gap", facts["relative_gap"], "<=", 0.05),
            ]
        yield Line(
            f"snakes, {name}",
            seconds,
            checks=checks,
            note=f"accuracy {accuracy:.4f}, gap {facts['relative_gap']:.3f}",
            facts=facts,
        )


def _sparse(X: list[Any]) -> list[Any]:
    return [(nodes, edges, sp.csr_matrix(features)) for nodes, edges, features in X]


# Street scenes -----------------------------------------------------------------------------------


def camvid() -> Iterator[Line]:
    data = load_camvid()
    scale = _scales(data.X_train)
    train, dev, test = (_scaled(X, *scale) for X in (data.X_train, data.X_dev, data.X_test))
    common = {"tol": 0.05, "fit_edge_intercept": False}
    yield _independent(train, data.y_train, test, data.y_test)

    # C is chosen on the validation images; the test images are looked at once.
    scores = {}
    for C in CAMVID_CS:
        _, model = cpu_seconds(
            lambda C=C: GraphSVM(C=C, max_iter=CAMVID_PASSES, random_state=0, **common).fit(
                train, data.y_train
            )
        )
        found = model.predict(dev)
        accuracy, recall = node_accuracy(data.y_dev, found), mean_recall(data.y_dev, found)
        scores[C] = accuracy + recall
    best = max(scores, key=scores.get)
    seconds, model = learnt((train, data.y_train), C=best, max_iter=CAMVID_PASSES, **common)
    found = model.predict(test)
    accuracy, recall = node_accuracy(data.y_test, found), mean_recall(data.y_test, found)
    yield Line(
        f"camvid, C={best} chosen on validation",
        seconds,
        checks=[
            Check("accuracy", accuracy, ">=", 0.770),
            Check("mean recall", recall, ">=", 0.42),
            Check("seconds", seconds, "<=", 15.0),
        ],
        note=f"accuracy {accuracy:.4f}, mean recall {recall:.3f}",
        facts=facts_of(model) | {"validation": scores},
    )
    for name, options in {
        "margin, integral": {},
        "slack, integral": {"surrogate": "slack", "max_iter": CAMVID_PASSES},
        "margin, relaxed": {"training": "relaxed"},
        "margin, Potts": {"pairs": "potts"},
    }.items():
        seconds, model = learnt((train, data.y_train), C=0.01, **common, **options)
        found = model.predict(dev)
        facts = facts_of(model)
        checks = []
        if name == "margin, integral":
            gap = facts["relative_gap"]
            checks = [Check("gap", gap, "<=", 0.05), Check("seconds", seconds, "<=", 60.0)]
        yield Line(
            f"camvid, C=0.01, {name}",
            seconds,
            checks=checks,
            note=f"validation accuracy {node_accuracy(data.y_dev, found):.4f}, "
            f"mean recall {mean_recall(data.y_dev, found):.3f}, gap {facts['relative_gap']:.3f}",
            facts=facts,
        )


def _independent(train: list[Any], y: list[Any], test: list[Any], y_test: list[Any]) -> Line:
    """Return what nodes alone say, by LinearSVC."""
    codes = np.concatenate(y)
    X = np.concatenate([nodes for nodes, _, _ in train])[codes >= 0]
    seconds, model = cpu_seconds(lambda: LinearSVC(C=0.01).fit(X, codes[codes >= 0]))
    found = [model.predict(nodes) for nodes, _, _ in test]
    accuracy, recall = node_accuracy(y_test, found), mean_recall(y_test, found)
    return Line(
        "camvid, nodes alone (LinearSVC)",
        None,
        seconds,
        note=f"accuracy {accuracy:.4f}, mean recall {recall:.3f}",
    )


def _scales(X: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nodes, edges = (np.concatenate([x[k] for x in X]) for k in (0, 2))
    return nodes.mean(axis=0), nodes.std(axis=0) + 1e-9, np.sqrt(np.square(edges).mean(axis=0))


def _scaled(X: list[Any], mean: np.ndarray, spread: np.ndarray, size: np.ndarray) -> list[Any]:
    return [((nodes - mean) / spread, edges, features / size) for nodes, edges, features in X]
