"""What a smaller tol buys: CPU seconds, passes and the held-out score at four of them.

Every fit starts anew, with the default solver, on training data without a fifth of its samples, on
which it is scored; test parts are not looked at. The peer of a line is the same fit at tol 1e-3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Line, cpu_seconds
from sklearn.base import clone

from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM
from maxmargin.datasets import load_conll2000, load_letter, load_lgbm_rank, load_ocr, load_yeast
from maxmargin.io import FeatureTemplate
from maxmargin.metrics import chunk_f1, micro_f1, ndcg, token_accuracy

TOLS = (1e-1, 5e-2, 1e-2, 1e-3)
#: No fit takes longer, so that a slow machine still finishes; what was cut short says so.
BUDGET = 120.0


@dataclass
class Case:
    """A machine, the data it learns from, and how it scores on those held out."""

    name: str
    measure: str
    machine: Any
    parts: tuple[tuple[Any, ...], tuple[Any, ...]]
    score: Callable[[Any, tuple[Any, ...]], float]
    options: Callable[[tuple[Any, ...]], dict[str, Any]] = lambda part: {}

    def fit(self, tol: float, **limits: Any) -> Any:
        model = clone(self.machine).set_params(tol=tol, random_state=0, **limits)
        part = self.parts[0]
        return model.fit(part[0], part[1], **self.options(part))


def lines() -> Iterator[Line]:
    for make in (words, chunks, letters, genes, searches):
        case = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of queries without relevant documents
            case.fit(1.0, max_iter=2)  # compiles
            found = {tol: measured(case, tol) for tol in TOLS}
        for tol in TOLS:
            yield line(case, tol, found)


def measured(case: Case, tol: float) -> dict[str, Any]:
    seconds, model = cpu_seconds(lambda: case.fit(tol, time_budget=BUDGET))
    result = model.result_
    return {
        "tol": tol,
        "data": case.name,
        "measure": case.measure,
        "score": case.score(model, case.parts[1]),
        "seconds": seconds,
        "passes": result.n_iter,
        "gap": result.relative_gap,
        "status": result.status,
        "solver": result.solver,
    }


def line(case: Case, tol: float, found: dict[float, dict[str, Any]]) -> Line:
    one, least = found[tol], found[min(TOLS)]
    return Line(
        f"{case.name}, tol {tol:g}: beside tol {min(TOLS):g}",
        one["seconds"],
        least["seconds"],
        note=f"{one['solver']}, {one['passes']} passes, {one['status']}, relative gap "
        f"{one['gap']:.2g}; {case.measure} {one['score']:.4f}, {one['score'] - least['score']:+.4f}"
        f" of that at tol {min(TOLS):g}.",
        facts=one,
    )


def held_out(n: int) -> np.ndarray:
    """Return which of n samples are held out, about a fifth."""
    return np.random.default_rng(0).random(n) < 0.2


def cut(X: list[Any], Y: list[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    out = held_out(len(X))
    parts = [[i for i in range(len(X)) if out[i] == flag] for flag in (False, True)]
    fitted, scored = (([X[i] for i in part], [Y[i] for i in part]) for part in parts)
    return fitted, scored


def cut_rows(*arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    out = held_out(len(arrays[1]))
    return tuple(a[~out] for a in arrays), tuple(a[out] for a in arrays)


# -- the cases -------------------------------------------------------------------------------------


def words() -> Case:
    data = load_ocr("small")
    return Case(
        "handwritten words, C = 1",
        "character accuracy",
        ChainSVM(C=1.0),
        cut(data.X_train, data.y_train),
        lambda model, part: token_accuracy(part[1], model.predict(part[0])),
    )


def chunks(n_sentences: int = 2500) -> Case:
    data = load_conll2000()
    template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
    X = template.transform(data.X_train[:n_sentences])
    return Case(
        f"chunking, {n_sentences} sentences, C = 0.2",
        "chunk F1",
        ChainSVM(C=0.2),
        cut(X, data.y_train[:n_sentences]),
        lambda model, part: chunk_f1(part[1], model.predict(part[0])),
    )


def letters() -> Case:
    data = load_letter(scale=True)
    return Case(
        "letter, C = 1",
        "accuracy",
        MulticlassSVM(C=1.0),
        cut_rows(np.ascontiguousarray(data.X_train), data.y_train),
        lambda model, part: model.score(*part),
    )


def genes() -> Case:
    data = load_yeast()
    return Case(
        "yeast, all pairs of 14 labels, C = 1",
        "micro-F1",
        MultilabelSVM(C=1.0, pairwise="full"),
        cut_rows(np.ascontiguousarray(data.X_train), np.asarray(data.y_train)),
        lambda model, part: micro_f1(part[1], model.predict(part[0])),
    )


def searches() -> Case:
    data = load_lgbm_rank()
    X, y, qid = data.X_train, data.y_train, data.extra["qid_train"]
    X = X.toarray() if hasattr(X, "toarray") else X
    queries = np.unique(qid)
    out = np.isin(qid, queries[held_out(len(queries))])

    def score(model: Any, part: tuple[Any, ...]) -> float:
        scores = model.predict(part[0], qid=part[2])
        own = [part[2] == q for q in np.unique(part[2])]
        return float(np.nanmean([ndcg(part[1][rows], scores[rows], 10) for rows in own]))

    return Case(
        "lgbm_rank, C = 1",
        "NDCG@10",
        RankingSVM(C=1.0, normalize="standard"),
        ((X[~out], y[~out], qid[~out]), (X[out], y[out], qid[out])),
        score,
        lambda part: {"qid": part[2]},
    )
