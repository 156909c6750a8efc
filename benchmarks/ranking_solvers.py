"""Rankings by the default solver, the cutting plane with inward steps, beside block steps.

Both train to a relative gap of 1%, within 500 passes and 10 seconds. Where C is small and queries
are many block steps are the faster; where C is large they often do not end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from harness import Line, cpu_seconds
from ranking_accuracy import LOADERS, dense

from maxmargin import RankingSVM
from maxmargin.datasets import make_rankings

TOL, MAX_ITER, BUDGET = 0.01, 500, 10.0
COSTS = ("ndcg", "ap")
CS = (0.1, 1.0, 10.0)


def lines() -> Iterator[Line]:
    drawn = make_rankings(
        n_queries=2700, n_documents=(25, 40), n_features=50, grades=4, random_state=0
    )
    for name, load in {**LOADERS, "2025 drawn queries": lambda: drawn}.items():
        data = load()
        part = dense(data.X_train), data.y_train, data.extra["qid_train"]
        for cost in COSTS:
            for C in CS:
                yield beside_blocks(name, part, cost, C)


def beside_blocks(name: str, part: Any, cost: str, C: float) -> Line:
    ours, theirs = (train(part, cost, C, solver) for solver in ("auto", "bcfw"))
    return Line(
        f"{name}, cost {cost}, C {C:g}: to a gap of 1%, beside bcfw",
        ours["s"],
        theirs["s"],
        note="; ".join(
            f"{one['solver']}: {one['passes']} passes, gap {one['gap']:.2%}, {one['status']}"
            for one in (ours, theirs)
        ),
        facts={"ours": ours, "bcfw": theirs},
    )


def train(part: Any, cost: str, C: float, solver: str) -> dict[str, Any]:
    X, y, qid = part
    model = RankingSVM(
        C=C, cost=cost, solver=solver, normalize_queries="standard", zeros="value", steps=0,
        tol=TOL, max_iter=MAX_ITER, time_budget=BUDGET, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of queries without relevant documents
        model.set_params(max_iter=1).fit(X, y, qid=qid)  # compiles
        seconds, _ = cpu_seconds(partial(model.set_params(max_iter=MAX_ITER).fit, X, y, qid=qid))
    result = model.result_
    return {
        "solver": result.solver,
        "s": seconds,
        "passes": result.n_iter,
        "gap": result.relative_gap,
        "status": result.status,
    }
