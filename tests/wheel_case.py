"""Fit every estimator with a wheel that is installed; run by test_wheel.py, without a compiler."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
import warnings

import numpy as np

from maxmargin import TreeSVM
from maxmargin.cli.kinds import KINDS
from maxmargin.core.compile import listen

COMPILED: list[str] = []
#: Parameters that choose other structures or costs, by kind.
CHOICES = {
    "multilabel": [{}, {"pairwise": "tree"}, {"pairwise": "full"}],
    "ranking": [{}, {"cost": "ap"}, {"cost": "ndcg"}],
    "graph": [{}, {"training": "relaxed"}],
    "hierarchy": [{}, {"model": "edges"}, {"space": "paths"}],
}


def sample(name, storage, dtype):
    """Return small data of a kind, and what makes its estimator; trees are rings cut open."""
    if name != "tree":
        return *KINDS[name].sample(storage, dtype), KINDS[name].new_estimator
    X, y = KINDS["graph"].sample(storage, dtype)
    trees = [(nodes, edges[:-1], own[:-1]) for nodes, edges, own in X]
    return trees, y, lambda params: TreeSVM(**params)


def main():
    warnings.simplefilter("ignore")
    listen(lambda news: COMPILED.append(news.data["dispatcher"].__name__), lambda news: None)
    rows = []
    choices = [(name, each) for name in (*KINDS, "tree") for each in CHOICES.get(name, [{}])]
    features = itertools.product(("dense", "sparse"), ("float64", "float32"))
    cases = itertools.product(choices, features, ("margin", "slack"))
    for (name, choice), (storage, dtype), surrogate in cases:
        X, y, make = sample(name, storage, dtype)
        params = {"max_iter": 20, "random_state": 0, "surrogate": surrogate, **choice}
        if name == "parser" and surrogate == "slack":
            params["solver"] = "bcfw"  # MIRA, its own choice, takes no slack rescaling
        seconds = []
        for _ in range(2):
            made = make(params)
            started = time.process_time()
            outputs = made.fit(X, y, eval_set=(X, y)).predict(X)
            seconds.append(time.process_time() - started)
        for method in ("decision_function", "predict_topk", "predict_marginals"):
            if hasattr(made, method):
                with contextlib.suppress(TypeError, ValueError):  # not every model has every answer
                    getattr(made, method)(X)
        made.set_params(C=0.5, warm_start=True).fit(X, y)
        rows.append([name, choice, storage, dtype, surrogate, *seconds, len(outputs)])
    from maxmargin.core.ahead import library

    answer = {"rows": rows, "compiled": COMPILED, "numpy": np.__version__}
    json.dump(answer | {"level": library().level, "reason": library().reason}, sys.stdout)


if __name__ == "__main__":
    main()
