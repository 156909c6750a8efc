"""Training rankers: a million negatives beside peers, web search, 0-1 loss, threads, two stages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import ranking_accuracy
import ranking_losses
from harness import Check, Line, cpu_seconds, median_seconds
from ranking_losses import retrieval
from sklearn.svm import LinearSVC
from threads import differing_bits, limit

from maxmargin import RankingSVM
from maxmargin.core.problem import lam_from_C
from maxmargin.datasets import make_rankings
from maxmargin.inputs.request import Request
from maxmargin.metrics import average_precision, ndcg
from maxmargin.solvers.cutting.planes import risk_plane
from maxmargin.surrogates import MarginRescaling

N_NEGATIVES, N_POSITIVES, N_FEATURES = 1_000_000, 1000, 100
#: What `choose_C()` found, for AP; NDCG takes the same.
C = 1000.0
#: LightGBM takes no more rows per query.
MOST_ROWS = 10_000
THREAD_PASSES, THREAD_REPEATS = 40, 7


def ranker(**options: Any) -> RankingSVM:
    """Return a ranker that takes features as they are, which have one scale here."""
    return RankingSVM(**{"normalize_queries": None, "zeros": "value", "steps": 0, **options})


def lines() -> Iterator[Line]:
    warm_up()
    yield from million()
    yield from ranking_accuracy.lines()
    yield from ranking_losses.lines()
    yield threads()
    yield from two_stages()


def warm_up() -> None:
    """Compile what is timed."""
    X, y = retrieval(0, 2000, 20, N_FEATURES)
    for options in ({"cost": "ap"}, {"cost": "ndcg"}, {"cost": "ap", "two_stage": True}):
        cpu_seconds(lambda options=options: ranker(C=100.0, max_iter=3, **options).fit(X, y))


# A million negatives -----------------------------------------------------------------------------


def million() -> Iterator[Line]:
    X, y = retrieval(1, N_NEGATIVES, N_POSITIVES, N_FEATURES)
    X_test, y_test = retrieval(11, 300_000, 300, N_FEATURES)
    seconds: dict[str, float] = {}
    measures: dict[str, dict[str, float]] = {}
    results = {}
    learners: dict[str, Callable[[], Any]] = {
        "ours, AP": lambda: ranker(C=C, cost="ap", tol=0.01).fit(X, y),
        "ours, NDCG": lambda: ranker(C=C, cost="ndcg", tol=0.01).fit(X, y),
        "LinearSVC": lambda: LinearSVC(class_weight="balanced").fit(X, y),
        "pairwise SVM": lambda: pairwise(X, y),
        "LightGBM": lambda: lambdarank(X, y),
    }
    for who, learn in learners.items():
        seconds[who], model = cpu_seconds(learn)
        scores = model.predict(X_test) if hasattr(model, "predict") else X_test @ model
        if who == "LinearSVC":
            scores = model.decision_function(X_test)
        measures[who] = {"AP": average_precision(y_test, scores), "NDCG": ndcg(y_test, scores)}
        if isinstance(model, RankingSVM):
            results[who] = model.result_
    table = "; ".join(
        f"{who} AP {each['AP']:.3f}, NDCG {each['NDCG']:.3f} in {seconds[who]:.1f} s"
        for who, each in measures.items()
    )
    facts = {"seconds": seconds, "measures": measures}
    for who in list(learners)[2:]:
        yield Line(
            f"a million negatives, {N_FEATURES} features, P = {N_POSITIVES}: AP-SVM to a relative "
            f"gap of 1%, beside {who}",
            seconds["ours, AP"],
            seconds[who],
            checks=[Check("relative gap", results["ours, AP"].relative_gap, "<=", 0.01)],
            facts=facts,
        )
    best = max(list(learners)[2:], key=lambda who: measures[who]["AP"])
    yield Line(
        f"the same: test AP, beside the best of the others, {best}",
        measures["ours, AP"]["AP"],
        measures[best]["AP"],
        unit="",
        note=f"{table}. Ours: C {C:g}, {results['ours, AP'].n_iter} passes for AP, "
        f"{results['ours, NDCG'].n_iter} for NDCG (gap {results['ours, NDCG'].relative_gap:.2%}). "
        "LinearSVC with its defaults and balanced classes; pairwise: LinearSVC on the differences "
        "of each relevant sample and 100 others, drawn; LightGBM with its defaults on 10 queries "
        f"of 100 relevant samples and {MOST_ROWS - 100} others, drawn, as it takes {MOST_ROWS} "
        "rows per query at most. Test: another draw, 300 relevant samples among 300300.",
        facts=facts,
    )
    yield one_pass(X, y)


def choose_C() -> None:
    """Print the AP of some C on two other draws; no part of the run."""
    X, y = retrieval(5, N_NEGATIVES, N_POSITIVES, N_FEATURES)
    X_test, y_test = retrieval(15, 300_000, 300, N_FEATURES)
    for value in (10.0, 100.0, 1000.0, 10_000.0):
        model = ranker(C=value, cost="ap", tol=0.01).fit(X, y)
        found = average_precision(y_test, model.predict(X_test))
        print(f"C {value:g}: AP {found:.4f}, {model.n_iter_} passes", flush=True)


def one_pass(X: np.ndarray, y: np.ndarray) -> Line:
    """A pass reads the features twice: for scores, and for the sum of what is violated."""
    reading, training = cpu_seconds(
        lambda: ranker(C=C, cost="ap")._encode(Request(X, y), reset=True)
    )
    problem = training.problem(MarginRescaling(), lam_from_C(C, 1))
    w = np.random.default_rng(0).normal(size=N_FEATURES)
    one, _ = median_seconds(lambda: risk_plane(problem, w), 5)
    sum_, _ = median_seconds(X.sum, 5)
    return Line(
        "the same: a pass, beside reading the features twice (numpy.sum)",
        one,
        2.0 * sum_,
        note=f"Checking X and y and putting rows in order took {reading:.2f} s, once.",
        facts={"pass": one, "sum": sum_, "encoding": reading, "bytes": X.nbytes},
    )


def pairwise(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of an SVM on differences of sampled pairs."""
    rng = np.random.default_rng(0)
    high, low = np.repeat(np.flatnonzero(y), 100), rng.choice(np.flatnonzero(y == 0), 100_000)
    sign = np.where(np.arange(len(low)) % 2 == 0, 1.0, -1.0)
    differences = sign[:, None] * (X[high] - X[low])
    return LinearSVC(fit_intercept=False).fit(differences, sign).coef_[0]


def lambdarank(X: np.ndarray, y: np.ndarray) -> Any:
    """LightGBM on queries of as many rows as it takes."""
    rng = np.random.default_rng(0)
    high = rng.permutation(np.flatnonzero(y)).reshape(10, -1)
    low = rng.choice(np.flatnonzero(y == 0), (10, MOST_ROWS - high.shape[1]), replace=False)
    rows = np.hstack([high, low]).ravel()
    model = lightgbm.LGBMRanker(n_jobs=1, verbose=-1)
    return model.fit(X[rows], y[rows], group=[MOST_ROWS] * 10)


# Threads -----------------------------------------------------------------------------------------


def threads() -> Line:
    """Two threads over queries, as in threads.py: the best of some runs, taken in turn."""
    data = make_rankings(512, 400, 20, grades=2, test_size=0.0, random_state=0)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    limits, weights = [], {}
    for _ in range(THREAD_REPEATS):
        limits.append(limit())
        for n_jobs in seconds:
            model = ranker(
                C=10.0, cost="ap", solver="one_slack", tol=0.0, max_iter=THREAD_PASSES,
                n_jobs=n_jobs,
            )  # fmt: skip
            cpu_seconds(
                lambda model=model: model.fit(
                    data.X_train, data.y_train, qid=data.extra["qid_train"]
                )
            )
            seconds[n_jobs].append(model.result_.seconds)
            weights[n_jobs] = model.result_.w
    one, two = (min(seconds[n_jobs]) for n_jobs in (1, 2))
    return Line(
        f"512 queries of 400 documents: {THREAD_PASSES} passes of one-slack on two threads, beside "
        "one (wall clock)",
        two,
        one,
        checks=[
            Check("times faster", one / two, ">=", 1.6),
            Check("bits that differ", float(differing_bits(weights[1], weights[2])), "==", 0.0),
        ],
        note=f"AP, 20 features; the best of {THREAD_REPEATS} runs each, taken in turn; "
        f"{os.cpu_count()} cores, load at the end {os.getloadavg()[0]:.1f}. Two threads that share "
        f"nothing were {min(limits):.2f} to {max(limits):.2f} times faster than one in the same "
        f"minutes, {median(limits):.2f} in the median: the limit of the machine.",
        facts={"one": seconds[1], "two": seconds[2], "limits": limits},
    )


# Two stages --------------------------------------------------------------------------------------


def two_stages() -> Iterator[Line]:
    """AP-SVM in two stages beside the exact one, with the paper's shares of easy samples."""
    X, y = retrieval(2, 100_000, 300, N_FEATURES)
    X_test, y_test = retrieval(12, 100_000, 300, N_FEATURES)

    def run(**options: Any) -> tuple[float, RankingSVM, float]:
        took, model = cpu_seconds(lambda: ranker(C=100.0, cost="ap", tol=0.01, **options).fit(X, y))
        return took, model, average_precision(y_test, model.predict(X_test))

    exact, plain, ap = run()
    for keep in (0.25, 0.5, 0.75):
        took, model, found = run(two_stage=True, easy_fraction=keep)
        yield Line(
            f"100000 negatives, P = 300: AP-SVM in two stages, easy_fraction={keep:g}, beside the "
            "exact one",
            took,
            exact,
            note=f"test AP {found:.3f} beside {ap:.3f}; {model.n_easy_} of {len(y)} samples are "
            f"easy. Second stage: {model.result_.n_iter} passes in {model.result_.seconds:.1f} s "
            f"(wall clock), {model.result_.objective} objective, gap "
            f"{model.result_.relative_gap:.2%}; exact: {plain.result_.n_iter} passes.",
            facts={"AP": found, "exact AP": ap, "easy": model.n_easy_},
        )
