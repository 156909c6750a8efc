"""Rankings with default settings, nothing tuned, beside ridge and LightGBM: pooled folds.

Every query of the training part is held out once in each of three cuts into five folds (mslr_5k,
which has few queries: of four), and its value is the mean: what one cut of folds says is half luck.
The test parts are not read. Differences
are by query, with the standard error of their mean. By these lines the default was chosen: the
drawn queries, whose features lie from 0 to 1 within each query as those of LETOR do, show what the
loss of NDCG itself loses where queries have many documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from harness import Check, Line, cpu_seconds
from ranking_accuracy import LOADERS, dense, lambdarank, parts, ridge, standard_error

from maxmargin import RankingSVM
from maxmargin.metrics import ndcg

#: What the defaults were before: NDCG itself, features as they are.
OLD = {"C": 1.0, "cost": "ndcg", "normalize_queries": None, "zeros": "value", "steps": 0}
#: The default, and what each of its parts gives.
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "C 1": {"C": 1.0},
    "no steps": {"steps": 0},
    "no steps, zeros as values": {"steps": 0, "zeros": "value"},
    "ndcg, C 1": {"cost": "ndcg", "C": 1.0},
    "ndcg_at_k, C 1": {"cost": "ndcg_at_k", "C": 1.0},
    "ap, C 1": {"cost": "ap", "C": 1.0},
    "old default": OLD,
}
TOL, MAX_ITER = 0.01, 300
N_CUTS = {"mslr_5k": 4, "lgbm_rank": 3}


def ours(options: dict[str, Any], X: Any, y: Any, qid: Any, X_new: Any, qid_new: Any) -> Any:
    model = RankingSVM(**{"tol": TOL, "max_iter": MAX_ITER, "random_state": 0, **options})
    return model.fit(X, y, qid=qid).predict(X_new, qid=qid_new)


def standardised(learn: Callable[..., Any], X: Any, y: Any, qid: Any, X_new: Any, new: Any) -> Any:
    """Learn from features that a pipeline would standardise first, as it does for ridge."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    return learn((X - mean) / deviation, y, qid, (X_new - mean) / deviation, new)


def pooled(learn: Callable[..., Any], X: Any, y: Any, qid: Any, n_cuts: int) -> np.ndarray:
    """Return the NDCG@10 of each query, held out; the mean where there are several cuts."""
    queries = np.unique(qid)
    total = np.zeros(len(queries))
    for out in parts(qid, n_cuts):
        scores = learn(X[~out], y[~out], qid[~out], X[out], qid[out])
        for q in np.unique(qid[out]):
            own = qid[out] == q
            total[np.searchsorted(queries, q)] += ndcg(y[out][own], scores[own], 10)
    return total / n_cuts


def draw(seed: int, n_queries: int = 500, n_features: int = 46) -> tuple[Any, Any, Any]:
    """Return queries of 20 to 60 documents in three grades, features from 0 to 1 by query."""
    fixed, rng = np.random.default_rng(99), np.random.default_rng(seed)
    true = fixed.normal(size=n_features) * (fixed.random(n_features) < 0.5)
    mix = fixed.normal(size=(8, n_features))
    rows, grades, qid = [], [], []
    for q in range(n_queries):
        size = int(rng.integers(20, 60))
        values = rng.normal(size=(size, 8)) @ mix + 1.5 * rng.normal(size=(size, n_features))
        values = np.maximum(values, -0.5)
        score = values @ true
        score = (score - score.mean()) / score.std() + 0.7 * rng.normal()
        grades.append(np.digitize(score + 1.5 * rng.normal(size=size), [1.5, 3.2]))
        low, high = values.min(axis=0), values.max(axis=0)
        rows.append((values - low) / np.where(high > low, high - low, 1.0))
        qid.append(np.full(size, q))
    return np.vstack(rows), np.concatenate(grades), np.concatenate(qid)


def data_sets() -> Iterator[tuple[str, Any, int]]:
    for name, load in LOADERS.items():
        data = load()
        part = dense(data.X_train), np.asarray(data.y_train), np.asarray(data.extra["qid_train"])
        yield name, part, N_CUTS[name]
    yield "500 drawn queries", draw(1), 1


def lines() -> Iterator[Line]:
    warnings.simplefilter("ignore")  # of queries that teach nothing
    for name, part, n_cuts in data_sets():
        peers = {"ridge": ridge, "lambdarank": lambdarank}
        values = {who: pooled(learn, *part, n_cuts) for who, learn in peers.items()}
        skipped = sum(len(np.unique(part[1][part[2] == q])) == 1 for q in np.unique(part[2]))
        for what, options in OURS.items():
            learn: Callable[..., Any] = partial(ours, options)
            if what == "old default" and name in LOADERS:
                learn = partial(standardised, learn)
            seconds, found = cpu_seconds(partial(pooled, learn, *part, n_cuts))
            yield beside(name, what, found, values, seconds, skipped)


def beside(
    name: str,
    what: str,
    found: np.ndarray,
    peers: dict[str, np.ndarray],
    seconds: float,
    skipped: int,
) -> Line:
    known = np.isfinite(found)
    mine = float(found[known].mean())
    apart = {who: (found - values)[known] for who, values in peers.items()}
    said = "; ".join(
        f"{who} {peers[who][known].mean():.4f}, ours less that {gap.mean():+.4f} (standard error "
        f"{standard_error(gap):.4f})"
        for who, gap in apart.items()
    )
    return Line(
        f"{name}, {what}: NDCG@10 over pooled folds, beside ridge",
        mine,
        float(peers["ridge"][known].mean()),
        unit="",
        checks=[
            Check(
                f"less {who}, in standard errors",
                float(gap.mean() / standard_error(gap)),
                ">=",
                -1.0,
            )
            for who, gap in apart.items()
        ]
        if what == "default"
        else [],
        note=f"{said}; {int(known.sum())} queries, {skipped} of all of one grade; {seconds:.1f} "
        "CPU s for all folds."
        + (" Features standardised before." if what == "old default" and name in LOADERS else ""),
        facts={
            "NDCG@10": mine,
            **{
                who: {"difference": float(gap.mean()), "standard error": standard_error(gap)}
                for who, gap in apart.items()
            },
        },
    )
