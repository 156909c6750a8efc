"""What a model file holds of an estimator."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from maxmargin.costs import COSTS, RANKING_COSTS
from maxmargin.estimators.scoring import scoring_name
from maxmargin.estimators.settings import unknown
from maxmargin.persistence import restore_rng, rng_state
from maxmargin.search import SEARCHES
from maxmargin.solvers import SOLVERS, Record, Result
from maxmargin.surrogates import SURROGATES

#: Parameters that stand for objects, and where their names are found.
REGISTRIES: dict[str, dict[str, Any]] = {
    "cost": {**COSTS, **RANKING_COSTS},
    "surrogate": SURROGATES,
    "search": SEARCHES,
    "solver": SOLVERS,
}


def param_to_state(name: str, value: Any) -> Any:
    """Return a parameter as a model file can hold it.

    Costs, surrogates, searches and solvers are held by registered name and parameters. Callbacks
    are code, which a model file never holds: they are left out. So is a callable `scoring`, but for
    its name, by which checkpoints are told apart.
    """
    if name == "callbacks":
        return None
    if name == "scoring" and callable(value):
        return {"callable": scoring_name(value)}
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return {"rng_state": rng_state(value)}
    if name not in REGISTRIES or value is None or isinstance(value, str):
        return value
    for key, cls in REGISTRIES[name].items():
        if type(value) is cls:
            return {"name": key, "parameters": value.parameters()}
    raise TypeError(
        f"{name}={value!r} cannot be stored: {type(value).__name__} is not in the registry of "
        f"{name}s, so that a reader would not know what it is."
    )


def param_from_state(name: str, value: Any) -> Any:
    """Return the parameter that `param_to_state` was given."""
    if name == "scoring" and isinstance(value, dict):
        return None
    if isinstance(value, dict) and "rng_state" in value:
        return restore_rng(value["rng_state"])
    if name not in REGISTRIES or not isinstance(value, dict):
        return value
    if value["name"] not in REGISTRIES[name]:
        raise unknown(name, value["name"], REGISTRIES[name])
    return REGISTRIES[name][value["name"]](**value["parameters"])


def params_to_state(estimator: Any) -> dict[str, Any]:
    """Return all parameters as a model file can hold them."""
    params = estimator.get_params(deep=False)
    return {name: estimator._param_to_state(name, value) for name, value in params.items()}


def common_state(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what every estimator may have: classes, number and names of features."""
    names = ("classes_", "n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}, {}


def restore_common(estimator: Any, meta: dict[str, Any]) -> None:
    """Set what `common_state` found."""
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if name in meta:
            setattr(estimator, name, meta[name])


def to_state(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (meta, arrays) of a fitted estimator."""
    result = {name: value for name, value in vars(estimator.result_).items() if name != "w"}
    result["history"] = [asdict(record) for record in result["history"]]
    fitted, arrays = estimator._fitted_state()
    meta = {"params": params_to_state(estimator), "result": result, "fitted": fitted}
    return meta, {**arrays, "w": estimator.result_.w}


def from_state(cls: Any, meta: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Return the estimator that `to_state` was called on."""
    estimator = cls()
    params = {
        name: estimator._param_from_state(name, value) for name, value in meta["params"].items()
    }
    estimator.set_params(**params)
    arrays = dict(arrays)
    result = dict(meta["result"])
    result["history"] = [Record(**record) for record in result["history"]]
    w = arrays.pop("w")
    estimator._restore_fitted(meta["fitted"], arrays)
    return estimator._adopt(Result(w=w, **result))
