"""Parameters that all estimators share: names looked up, values checked, before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.core.workers import n_threads
from maxmargin.costs import COSTS, Cost, check_priced, fitting_costs
from maxmargin.inputs.checks import check_number, unknown
from maxmargin.regularizers import REGULARIZERS, Regularizer
from maxmargin.search import SEARCHES, Search
from maxmargin.solvers import SOLVERS, Solver
from maxmargin.solvers.needs import check_fit_together
from maxmargin.surrogates import SURROGATES, Surrogate
from maxmargin.training.scoring import check_scoring_known


def resolve(kind: str, value: Any, registry: Mapping[str, Any], method: str) -> Any:
    """Return the object that a parameter stands for: itself, or what the registry has by name."""
    if isinstance(value, str):
        if value not in registry:
            raise unknown(kind, value, registry)
        try:
            return registry[value]()
        except TypeError as error:
            name = registry[value].__name__
            raise ValueError(
                f"{kind}={value!r} has parameters of its own: pass {kind}={name}(...). ({error})"
            ) from None
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        what = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise TypeError(
            f"{kind} must be a name ({', '.join(map(repr, registry))}) or an object with a method "
            f"{method!r}, got {what}."
        )
    return value


def resolve_cost(value: Any, kind: str, hint: str | None = None) -> Cost:
    """Return the cost that a parameter stands for, of a structure with parts of this kind.

    ``hint`` follows the error that a name is not known, where there is one.

    Examples
    --------
    >>> resolve_cost("hamming", "switches")
    Hamming(average='sum')
    >>> resolve_cost("ap", "switches")
    Traceback (most recent call last):
    ValueError: AveragePrecision is no cost of label sets: ... Costs that fit: hamming, ...
    """
    if isinstance(value, str) and value in COSTS:
        check_priced(COSTS[value], kind)
    fitting = {name: COSTS[name] for name in fitting_costs(kind)}
    if isinstance(value, str) and value not in fitting:
        raise unknown("cost", value, fitting, hint)
    if not isinstance(value, str | Cost):
        what = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise TypeError(
            f"cost must be a name ({', '.join(map(repr, fitting))}) or a maxmargin.costs.Cost, got "
            f"{what}."
        )
    cost = resolve("cost", value, fitting, "tabulate")
    check_priced(cost, kind)
    return cost


def resolve_surrogate(value: Any) -> Surrogate:
    """Return the surrogate that a parameter stands for."""
    return resolve("surrogate", value, SURROGATES, "compiled")


def resolve_regularizer(value: Any) -> Regularizer:
    """Return the regulariser that a parameter stands for.

    Examples
    --------
    >>> resolve_regularizer("euclidean")
    Euclidean()
    >>> resolve_regularizer("diagonal")
    Traceback (most recent call last):
    ValueError: regularizer='diagonal' has no weights: pass maxmargin.regularizers.Diagonal(alpha).
    """
    if isinstance(value, str) and value == "diagonal":
        raise ValueError(
            "regularizer='diagonal' has no weights: pass maxmargin.regularizers.Diagonal(alpha)."
        )
    return resolve("regularizer", value, REGULARIZERS, "of")


def resolve_search(value: Any) -> Search | str:
    """Return the search that a parameter stands for; "auto" stays a word until data are known."""
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, str) and value not in SEARCHES:
        raise unknown("search", value, {"auto": None} | SEARCHES)
    return resolve("search", value, SEARCHES, "bind")


def resolve_solver(value: Any) -> Solver:
    """Return the solver that a parameter stands for; automatic.py says what "auto" does."""
    if isinstance(value, str) and value not in SOLVERS:
        raise unknown("solver", value, {"auto": None} | SOLVERS)
    return resolve("solver", value, SOLVERS, "advance")


#: The least and the largest C: beyond them 1/(C n), or a product with it, may overflow.
SMALLEST_C, LARGEST_C = 1e-100, 1e100


def check_C(C: Any, name: str = "C") -> float:
    """Return C, or raise an error that says which values make sense.

    Examples
    --------
    >>> check_C(1e300)
    Traceback (most recent call last):
    ValueError: C must lie between 1e-100 and 1e+100, got 1e+300: ...
    """
    number = check_number(name, C)
    if not SMALLEST_C <= number <= LARGEST_C:
        raise ValueError(
            f"{name} must lie between {SMALLEST_C:g} and {LARGEST_C:g}, got {number:g}: beyond, "
            "lam = 1/(C n) and the weights cannot be told from 0 or infinity. Values from 1e-4 to "
            "1e4 are usual."
        )
    return number


def check_random_state(random_state: Any) -> None:
    """Refuse a `random_state` that is no source of randomness; draw nothing from it."""
    if random_state is None or isinstance(
        random_state, (np.random.Generator, np.random.RandomState)
    ):
        return
    if not isinstance(random_state, Integral):
        raise TypeError(
            "random_state must be None, an integer, a numpy Generator or a RandomState, got "
            f"{random_state!r}."
        )
    if random_state < 0:
        raise ValueError(f"random_state must be >= 0, got {random_state!r}.")


def generator(random_state: Any) -> np.random.Generator:
    """Return the source of randomness that `random_state` stands for."""
    check_random_state(random_state)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(None if random_state is None else int(random_state))


def check_flags(estimator: Any, *names: str) -> None:
    """Refuse parameters that are not True or False."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be True or False, got {value!r}.")


@dataclass(frozen=True)
class Settings:
    """The common parameters of an estimator, checked and resolved."""

    surrogate: Surrogate
    search: Search | str
    solver: Solver
    n_jobs: int


def check_settings(estimator: Any) -> Settings:
    """Check the common parameters of an estimator."""
    check_C(estimator.C)
    check_number("tol", estimator.tol, closed=True)
    check_number("max_iter", estimator.max_iter, 1, closed=True, integer=True)
    if estimator.time_budget is not None:
        check_number("time_budget", estimator.time_budget)
    if not isinstance(estimator.warm_start, (bool, np.bool_)):
        raise TypeError(f"warm_start must be True or False, got {estimator.warm_start!r}.")
    if not isinstance(estimator.verbose, (int, np.integer)) or estimator.verbose < 0:
        raise ValueError(f"verbose must be an integer >= 0, got {estimator.verbose!r}.")
    check_random_state(estimator.random_state)
    check_scoring_known(estimator)
    surrogate, solver = (
        resolve_surrogate(estimator.surrogate),
        resolve_solver(estimator._named_solver()),
    )
    resolve_regularizer(estimator.regularizer)
    search = resolve_search(estimator.search)
    check_fit_together(solver, surrogate)
    check_slack_known(search, solver)
    estimator._check_parameters()
    return Settings(surrogate, search, solver, n_threads(estimator.n_jobs))


def check_patience(patience: Any, eval_set: Any) -> None:
    """Refuse a patience that is no number of passes, or comes without `eval_set`."""
    if patience is None:
        return
    check_number("patience", patience, 1, closed=True, integer=True)
    if eval_set is None:
        raise ValueError("patience needs an eval_set to look at; got eval_set=None.")


def check_callbacks(callbacks: Any) -> None:
    """Refuse callbacks that cannot be called."""
    for i, callback in enumerate(callbacks or ()):
        if not callable(callback) and not hasattr(callback, "bind"):
            raise TypeError(f"callbacks[{i}] must be callable, got {callback!r}.")


def knows_enough(solver: Solver, search: Search | str) -> bool:
    """Tell whether a search needs no slacks, or the solver knows them."""
    return isinstance(search, str) or not search.needs_slack or solver.knows_slack


def check_slack_known(search: Search | str, solver: Solver) -> None:
    """Refuse a search that needs the slack of each example, if the solver does not know it.

    Examples
    --------
    >>> from maxmargin.search import SarawagiGupta
    >>> from maxmargin.solvers import SGD
    >>> check_slack_known(SarawagiGupta(), SGD())
    Traceback (most recent call last):
    ValueError: search=SarawagiGupta(...) needs the slack of each example, which only the solver ...
    """
    if knows_enough(solver, search):
        return
    knowing = [name for name, kind in SOLVERS.items() if kind.knows_slack]
    raise ValueError(
        f"search={search!r} needs the slack of each example, which only the solver "
        f"{', '.join(knowing)} knows, not {solver.name}."
    )
