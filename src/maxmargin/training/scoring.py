"""What held-out examples are scored by: one measure, with a name, for `eval_set` and `patience`.

The parameter `scoring` is None (the estimator's default), the name of a measure, or a callable. A
measure becomes a function w -> score, larger is better, that a run calls after each pass.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from maxmargin.inputs.request import Request
from maxmargin.solvers import Result

Score = Callable[[np.ndarray], float]

#: How errors about held-out examples begin; the rest reads as in errors about X and y.
ABOUT_EVAL_SET = "eval_set: "
#: Functions of `maxmargin.metrics` of which smaller is better.
_ERRORS = frozenset({"hamming_error", "hamming_loss", "sequence_error"})
_CAPITALS = {"f1": "F1", "auc": "AUC", "ndcg": "NDCG"}


class Measure(NamedTuple):
    """A function of the weights that scores held-out examples, and its name; None: no examples."""

    name: str
    score: Score | None


def measure_title(name: str) -> str:
    """Return a measure's name as progress lines and tables show it.

    Examples
    --------
    >>> measure_title("chunk_f1"), measure_title("ndcg@10"), measure_title("1 - cost")
    ('chunk F1', 'NDCG@10', '1 - cost')
    """
    words = []
    for word in name.replace("_", " ").split(" "):
        stem, at, rest = word.partition("@")
        words.append(_CAPITALS.get(stem, stem) + at + rest)
    return " ".join(words)


def eval_measure(estimator: Any, eval_set: Request | None) -> Measure:
    """Return what `eval_set` is scored by after each pass; errors say that they are about it."""
    if eval_set is None:
        return Measure("", None)
    with _about_eval_set():
        found: Any = measure_for(estimator, eval_set)

    def named_score(w: np.ndarray) -> float:
        """Return the score; errors say that they are about `eval_set`."""
        with _about_eval_set():
            return float(found.score(w))

    return Measure(found.name, named_score)


@contextmanager
def _about_eval_set() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{ABOUT_EVAL_SET}{error}") from error


def check_scoring_known(estimator: Any) -> None:
    """Refuse a parameter `scoring` that is neither None, a known name nor callable."""
    scoring = estimator.scoring
    if scoring is None:
        return
    if callable(scoring) and not isinstance(scoring, type):
        name = scoring_name(scoring)
        if _is_ours(scoring) and name in _ERRORS:
            raise ValueError(
                f"scoring={name}: smaller is better there, and larger is taken; pass "
                f"make_scorer({name}, greater_is_better=False)."
            )
        return
    if not isinstance(scoring, str):
        raise TypeError(
            "scoring must be None, the name of a measure or a callable (estimator, X, y) -> score, "
            f"got {scoring!r}."
        )
    from sklearn.metrics import get_scorer_names

    if estimator._measure(scoring) is None and scoring not in get_scorer_names():
        own = ", ".join(map(repr, estimator._measure_names()))
        raise ValueError(
            f"scoring={scoring!r} is not known. There are: {own + ', and ' if own else ''}"
            "the names of sklearn.metrics.get_scorer_names()."
        )


def measure_for(estimator: Any, request: Request) -> Measure:
    """Return what held-out examples are scored by, for an estimator that knows its classes."""
    scoring = estimator.scoring
    if scoring is None:
        name = estimator._default_measure(request)
        builder = None if name is None else estimator._measure(name)
        if builder is None:
            return Measure(estimator._score_name(), estimator._scorer(request))
        return Measure(name, builder(request))
    if isinstance(scoring, str):
        builder = estimator._measure(scoring)
        if builder is not None:
            return Measure(scoring, builder(request))
        from sklearn.metrics import get_scorer

        return Measure(scoring, _by_scorer(estimator, get_scorer(scoring), scoring, request))
    name = scoring_name(scoring)
    if _is_ours(scoring):
        builder = estimator._measure(name)
        if builder is None:  # a metric of ours, which takes (y_true, y_pred)
            return Measure(name, by_prediction(estimator, scoring, request))
        return Measure(name, builder(request))
    from sklearn.metrics import check_scoring

    scorer = check_scoring(estimator, scoring=scoring)
    return Measure(name, _by_scorer(estimator, scorer, name, request))


def _is_ours(scoring: Any) -> bool:
    return str(getattr(scoring, "__module__", "")).startswith("maxmargin.metrics")


def by_prediction(estimator: Any, metric: Callable[..., Any], request: Request) -> Score:
    """Return the function w -> metric(y, predictions at w)."""
    predict = estimator._predictor(request)
    return lambda w: float(metric(request.y, predict(w)))


def _by_scorer(estimator: Any, scorer: Any, name: str, request: Request) -> Score:
    """Return the function w -> scorer(estimator with weights w, X, y)."""
    estimator._encode_inputs(request)  # so that errors about X come now, not after a pass

    def score(w: np.ndarray) -> float:
        """Return what the scorer says at weights w."""
        found = _apply(scorer, _with_weights(estimator, w), request)
        if not isinstance(found, (int, float, np.number)) or math.isnan(found):
            raise ValueError(f"scoring={name} must return a number, got {found!r}.")
        return float(found)

    return score


def _apply(scorer: Any, estimator: Any, request: Request) -> Any:
    """Return what a scorer of scikit-learn's form says of an estimator, told what is beside X."""
    beside = request.beside
    if beside and getattr(scorer, "_response_method", None) == "predict":
        # Scorers of scikit-learn take only X and y; they read true outputs and predictions.
        guess = estimator.predict(request.X, **beside)
        return scorer._sign * scorer._score_func(request.y, guess, **scorer._kwargs)
    return scorer(estimator, request.X, request.y, **beside)


def _with_weights(estimator: Any, w: np.ndarray) -> Any:
    """Return a copy of an estimator that predicts with weights w."""
    nan = math.nan
    return copy.copy(estimator)._adopt(Result(w, nan, nan, nan, "", 0, 0, 0.0, []))


def scoring_name(scoring: Any) -> str:
    """Return the name of a callable: that of the function, or that of the scorer."""
    inner = getattr(scoring, "_score_func", scoring)
    return str(getattr(inner, "__name__", type(inner).__name__))
