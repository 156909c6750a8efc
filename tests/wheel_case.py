"""Fit every estimator with a wheel that is installed; run by test_wheel.py, without a compiler."""

from __future__ import annotations

import itertools
import json
import sys
import time
import warnings

import numpy as np

from maxmargin.cli.kinds import KINDS
from maxmargin.core.compile import listen

COMPILED: list[str] = []
#: Parameters that choose other structures or costs, by kind.
CHOICES = {
    "multilabel": [{}, {"pairwise": "tree"}, {"pairwise": "full"}],
    "ranking": [{}, {"cost": "ap"}, {"cost": "ndcg"}],
}


def main():
    warnings.simplefilter("ignore")
    listen(lambda news: COMPILED.append(news.data["dispatcher"].__name__), lambda news: None)
    rows = []
    choices = [(name, each) for name in KINDS for each in CHOICES.get(name, [{}])]
    features = itertools.product(("dense", "sparse"), ("float64", "float32"))
    cases = itertools.product(choices, features, ("margin", "slack"))
    for (name, choice), (storage, dtype), surrogate in cases:
        X, y = KINDS[name].sample(storage, dtype)
        params = {"max_iter": 20, "random_state": 0, "surrogate": surrogate, **choice}
        seconds = []
        for _ in range(2):
            made = KINDS[name].new_estimator(params)
            started = time.process_time()
            outputs = made.fit(X, y, eval_set=(X, y)).predict(X)
            seconds.append(time.process_time() - started)
        rows.append([name, choice, storage, dtype, surrogate, *seconds, len(outputs)])
    from maxmargin.core.ahead import library

    answer = {"rows": rows, "compiled": COMPILED, "numpy": np.__version__}
    json.dump(answer | {"level": library().level, "reason": library().reason}, sys.stdout)


if __name__ == "__main__":
    main()
