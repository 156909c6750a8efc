"""What a model file holds of an estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.costs import COSTS
from maxmargin.features.kernels import KERNELS
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.stored import Arrays, Fields, check_options, read_result
from maxmargin.persistence import read_estimator, restore_rng, rng_state, save_estimator
from maxmargin.regularizers import REGULARIZERS
from maxmargin.search import SEARCHES
from maxmargin.solvers import SOLVERS
from maxmargin.surrogates import SURROGATES
from maxmargin.training.scoring import scoring_name
from maxmargin.training.settings import check_settings

#: Parameters that stand for objects, and where their names are found.
REGISTRIES: dict[str, dict[str, Any]] = {
    "cost": COSTS,
    "surrogate": SURROGATES,
    "regularizer": REGULARIZERS,
    "search": SEARCHES,
    "solver": SOLVERS,
    "kernel": KERNELS,
}


def param_to_state(name: str, value: Any) -> Any:
    """Return a parameter as a model file can hold it.

    Costs, surrogates, regularisers, searches and solvers are held by registered name and
    parameters. A callable `scoring` is code, which a model file never holds: only its name is
    kept, by which checkpoints are told apart.
    """
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
    if name == "random_state" and isinstance(value, dict):
        return restore_rng(Fields(value, name).take("rng_state"))
    if name == "scoring" and isinstance(value, dict):
        return None  # it was a callable, of which a file holds only the name
    if name not in REGISTRIES or not isinstance(value, dict):
        return value
    key, options = named_object(name, value)
    if key not in REGISTRIES[name]:
        raise unknown(name, key, REGISTRIES[name])
    cls = REGISTRIES[name][key]
    return cls(**check_options(cls, options, f"{name} {key!r}"))


def named_object(name: str, value: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of an object as a model file holds it."""
    fields = Fields(value, name)
    key, options = fields.take("name"), fields.take("parameters")
    fields.close()
    if not isinstance(key, str) or not isinstance(options, dict):
        raise ValueError(f"{name} must have a name and parameters, got {value!r:.80}")
    if not all(isinstance(option, str) for option in options):
        raise ValueError(f"the parameters of {name} {key!r} must go by names")
    return key, options


def params_to_state(estimator: Any) -> dict[str, Any]:
    """Return all parameters as a model file can hold them."""
    params = estimator.get_params(deep=False)
    return {name: estimator._param_to_state(name, value) for name, value in params.items()}


def with_params(cls: Any, params: Any) -> Any:
    """Return an unfitted estimator with these parameters, which pass the checks that `fit` makes.

    A parameter that the file does not have, because it is older, keeps its default.
    """
    estimator = cls()
    if not isinstance(params, dict):
        raise ValueError(f"params is a {type(params).__name__}, not a mapping")
    known = estimator.get_params(deep=False)
    for name, value in params.items():
        if name not in known:
            raise ValueError(f"{cls.__name__} has no parameter {name!r}")
        setattr(estimator, name, estimator._param_from_state(name, value))
    check_settings(estimator)
    return estimator


def left_out(estimator: Any) -> dict[str, str]:
    """Return what of a fitted estimator a model file leaves out, and what follows from that.

    Examples
    --------
    >>> from maxmargin import MulticlassSVM
    >>> model = MulticlassSVM(scoring=lambda model, X, y: 1.0)
    >>> sorted(left_out(model))
    ['scoring']
    """
    dropped = {}
    if callable(estimator.scoring):
        dropped["scoring"] = "a callable is code: set it again after loading, or name a measure"
    if estimator._memory is not None:
        dropped["the dual that warm_start keeps"] = "the next fit of the loaded model starts anew"
    if estimator._online is not None and estimator._online.n_batches > 0:
        dropped["the state of partial_fit"] = (
            "partial_fit of the loaded model keeps the weights and starts its steps anew"
        )
    return dropped


def save(
    path: str | os.PathLike[str], estimator: Any, extra: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted estimator to one file, with what else it shall hold, by name.

    Warns of what is left out.
    """
    check_is_fitted(estimator, "result_")
    save_estimator(path, estimator, extra)
    for name, meaning in left_out(estimator).items():
        warnings.warn(
            f"{os.fspath(path)!r} does not hold {name}: {meaning}.", UserWarning, stacklevel=3
        )


def load(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the estimator that `save` wrote, and the meta of the file for what else it holds."""
    import_module("maxmargin.estimators")  # registers the classes that a file may name
    return read_estimator(path)


def common_state(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what every estimator may have: classes, number and names of features."""
    names = ("classes_", "n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}, {}


def restore_features(estimator: Any, fields: Fields) -> None:
    """Set number and names of features, as `common_state` found them."""
    n_features = fields.count("n_features_in_", least=1)
    estimator.n_features_in_ = n_features
    if "feature_names_in_" in fields:
        estimator.feature_names_in_ = fields.names("feature_names_in_", n_features)


def to_state(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (meta, arrays) of a fitted estimator.

    Raises an error where `from_state` would: if a parameter was set to a wrong value after `fit`.
    """
    check_settings(estimator)
    result = {name: value for name, value in vars(estimator.result_).items() if name != "w"}
    result["history"] = [asdict(record) for record in result["history"]]
    fitted, arrays = estimator._fitted_state()
    meta = {"params": params_to_state(estimator), "result": result, "fitted": fitted}
    return meta, {**arrays, **estimator._weights_to_arrays(estimator.result_.w)}


def from_state(cls: Any, meta: Any, arrays: dict[str, Any]) -> Any:
    """Return the estimator that `to_state` was called on.

    Raises
    ------
    ValueError, TypeError
        For what no estimator would have given: parameters that `fit` refuses, weights that do not
        fit classes and features, values of other types, anything missing or left over.
    """
    parts = Fields(meta, "it")
    estimator = with_params(cls, parts.take("params"))
    fitted, result = parts.fields("fitted"), parts.take("result")
    parts.close()
    own = Arrays(arrays)
    estimator._restore_fitted(fitted, own)
    fitted.close()
    w = estimator._weights_from_arrays(own)
    own.close()
    estimator._check_restored()
    return estimator._adopt(read_result(result, w))
