"""What a smaller tol buys: CPU seconds, passes and the held-out score at four of them.

Training data are cut into five parts; each is scored by a model of the other four, and every fit
starts anew, with the default solver. Test parts are not looked at. A line has the means of the five
fits, and what the score is above that at tol 1e-3, with the standard error of this difference over
the five parts. The peer of a line is the same fit at tol 1e-3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import Line, cpu_seconds
from sklearn.base import clone
from sklearn.model_selection import KFold

from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM
from maxmargin.datasets import load_conll2000, load_letter, load_lgbm_rank, load_ocr, load_yeast
from maxmargin.io import FeatureTemplate
from maxmargin.metrics import chunk_f1, micro_f1, ndcg, token_accuracy

TOLS = (1e-1, 5e-2, 1e-2, 1e-3)
LEAST = min(TOLS)
N_PARTS = 5
#: No fit takes longer, so that a slow machine still finishes; what was cut short says so.
BUDGET = 120.0


@dataclass
class Case:
    """A machine, its samples by number, and how it scores on some of them."""

    name: str
    measure: str
    machine: Any
    n_samples: int
    take: Callable[[np.ndarray], tuple[Any, ...]]
    score: Callable[[Any, tuple[Any, ...]], float]

    def fit(self, numbers: np.ndarray, tol: float, **limits: Any) -> Any:
        model = clone(self.machine).set_params(tol=tol, random_state=0, **limits)
        X, y, *qid = self.take(numbers)
        return model.fit(X, y, **({"qid": qid[0]} if qid else {}))


def lines() -> Iterator[Line]:
    for make in (words, chunks, letters, genes, searches):
        case = make()
        cuts = list(KFold(N_PARTS, shuffle=True, random_state=0).split(np.arange(case.n_samples)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of queries without relevant documents
            case.fit(cuts[0][0], 1.0, max_iter=2)  # compiles
            found = {tol: [measured(case, tol, *cut) for cut in cuts] for tol in TOLS}
        for tol in TOLS:
            yield line(case, tol, found)


def measured(case: Case, tol: float, rest: np.ndarray, out: np.ndarray) -> dict[str, Any]:
    seconds, model = cpu_seconds(partial(case.fit, rest, tol, time_budget=BUDGET))
    result = model.result_
    return {
        "score": case.score(model, case.take(out)),
        "seconds": seconds,
        "passes": result.n_iter,
        "gap": result.relative_gap,
        "status": result.status,
        "solver": result.solver,
    }


def line(case: Case, tol: float, found: dict[float, list[dict[str, Any]]]) -> Line:
    def mean(key: str, at: float = tol) -> float:
        return float(np.mean([one[key] for one in found[at]]))

    gains = np.array(
        [a["score"] - b["score"] for a, b in zip(found[tol], found[LEAST], strict=True)]
    )
    facts = {
        "data": case.name,
        "measure": case.measure,
        "tol": tol,
        "seconds": mean("seconds"),
        "passes": mean("passes"),
        "score": mean("score"),
        "gain": float(gains.mean()),
        "standard error": float(gains.std(ddof=1) / np.sqrt(N_PARTS)),
        "solver": found[tol][0]["solver"],
        "statuses": sorted({one["status"] for one in found[tol]}),
        "fits": found[tol],
    }
    return Line(
        f"{case.name}, tol {tol:g}: beside tol {LEAST:g}",
        facts["seconds"],
        mean("seconds", LEAST),
        note=f"{facts['solver']}, {facts['passes']:.0f} passes, {', '.join(facts['statuses'])}; "
        f"{case.measure} {facts['score']:.4f}, {facts['gain']:+.4f} (+- "
        f"{facts['standard error']:.4f}) of that at tol {LEAST:g}.",
        facts=facts,
    )


# -- the cases -------------------------------------------------------------------------------------


def words() -> Case:
    data = load_ocr("small")
    return Case(
        "handwritten words, C = 1",
        "characters right",
        ChainSVM(C=1.0),
        len(data.X_train),
        partial(take_lists, data.X_train, data.y_train),
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
        n_sentences,
        partial(take_lists, X, data.y_train),
        lambda model, part: chunk_f1(part[1], model.predict(part[0])),
    )


def letters() -> Case:
    data = load_letter(scale=True)
    return Case(
        "letter, C = 1",
        "accuracy",
        MulticlassSVM(C=1.0),
        len(data.y_train),
        partial(take_rows, np.ascontiguousarray(data.X_train), data.y_train),
        lambda model, part: model.score(*part),
    )


def genes() -> Case:
    data = load_yeast()
    X, Y = np.ascontiguousarray(data.X_train), np.asarray(data.y_train)
    return Case(
        "yeast, all pairs of 14 labels, C = 1",
        "micro-F1",
        MultilabelSVM(C=1.0, pairwise="full"),
        len(Y),
        partial(take_rows, X, Y),
        lambda model, part: micro_f1(part[1], model.predict(part[0])),
    )


def searches() -> Case:
    data = load_lgbm_rank()
    X, y, qid = data.X_train, data.y_train, data.extra["qid_train"]
    X = X.toarray() if hasattr(X, "toarray") else X
    queries = np.unique(qid)

    def take(numbers: np.ndarray) -> tuple[Any, ...]:
        rows = np.isin(qid, queries[numbers])
        return X[rows], y[rows], qid[rows]

    def score(model: Any, part: tuple[Any, ...]) -> float:
        scores = model.predict(part[0], qid=part[2])
        own = [part[2] == q for q in np.unique(part[2])]
        return float(np.nanmean([ndcg(part[1][rows], scores[rows], 10) for rows in own]))

    machine = RankingSVM(C=1.0, cost="ndcg", normalize_queries="standard", zeros="value", steps=0)
    return Case(
        "lgbm_rank, 201 queries, cost ndcg, C = 1", "NDCG@10", machine, len(queries), take, score
    )


def take_lists(X: list[Any], Y: list[Any], numbers: np.ndarray) -> tuple[Any, ...]:
    return [X[i] for i in numbers], [Y[i] for i in numbers]


def take_rows(X: np.ndarray, Y: np.ndarray, numbers: np.ndarray) -> tuple[Any, ...]:
    return X[numbers], Y[numbers]
