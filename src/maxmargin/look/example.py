"""One example of an estimator as a problem of its own, for looking at closely."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.problem import Problem
from maxmargin.estimators.ranking.svm import RankingSVM
from maxmargin.inputs.request import Request
from maxmargin.inputs.rows import RowInputs
from maxmargin.search.trace import Trace, trace_search
from maxmargin.training.settings import resolve_search, resolve_surrogate


def example_problem(estimator: Any, x: Any, y: Any, search: Any = None) -> Problem:
    """Return the problem of one example, with the cost and the surrogate of a fitted estimator.

    Parameters
    ----------
    estimator : fitted estimator
    x, y : one input and its true output, as one element of what `fit` takes
        Of a matrix that is a row; of an indicator matrix too; of queries all rows of one, and their
        grades, 0 and 1 where under NDCG each grade would be an example of its own.
    search : name, `Search` or None
        None: the estimator's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM(C=0.1, random_state=0).fit(X, y)
    >>> problem = example_problem(model, X[60], y[60])
    >>> problem.n_examples, problem.losses(model.result_.w)[0].shape
    (1, (1,))
    """
    if not callable(getattr(estimator, "_encode", None)):
        raise TypeError(f"estimator must be one of maxmargin's, got {type(estimator).__name__}.")
    check_is_fitted(estimator, "result_")
    surrogate = resolve_surrogate(estimator.surrogate)
    chosen = resolve_search(estimator.search if search is None else search)
    if isinstance(estimator, RankingSVM):
        inputs, outputs = x, y
    else:
        alone = _alone if isinstance(estimator, RowInputs) else _listed
        inputs, outputs = alone(x), alone(y)
    task = estimator._encode(Request(inputs, outputs), reset=False, weighted=False)
    if isinstance(estimator, RankingSVM) and task.n_examples != 1:
        raise ValueError(
            f"y has {task.n_examples} grades above others, and under {estimator.cost!r} each "
            "is an example of its own: pass 1 for the documents that count as relevant and 0 for "
            "the others."
        )
    return task.problem(surrogate, 1.0, 1, chosen)


def trace_example(
    estimator: Any, x: Any, y: Any, search: Any = None, *, slack: float = 0.0
) -> Trace:
    """Return what a search asks on one example, at the weights of a fitted estimator.

    Parameters are those of `example_problem`, and the ``slack`` of `trace_search`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM(C=0.1, surrogate="slack", solver="bcfw").fit(X, y)
    >>> trace = trace_example(model, X[70], y[70], search="hull")
    >>> trace.n_calls == len(trace.queries), trace.psi <= trace.bound
    (True, True)
    """
    problem = example_problem(estimator, x, y, search)
    return trace_search(problem, 0, estimator.result_.w, slack=slack)


def _listed(item: Any) -> Any:
    return [item]


def _alone(item: Any) -> Any:
    """Return rows, of which this is the only one."""
    if sp.issparse(item):
        return item.reshape(1, -1) if item.ndim == 1 else item
    if isinstance(item, np.ndarray) and item.ndim == 1:
        return item[None]
    if isinstance(item, np.ndarray) and item.ndim == 2:
        return item
    if hasattr(item, "to_frame"):  # a row of a data frame
        return item.to_frame().T
    return [item]
