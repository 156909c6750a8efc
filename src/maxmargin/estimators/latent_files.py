"""Model files of `LatentSVM`: its parameters, and the fitted estimator within."""

from __future__ import annotations

import copy
import os
import warnings
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from maxmargin.inputs.stored import Fields, check_options
from maxmargin.persistence import estimator_class, save_estimator
from maxmargin.solvers import Result
from maxmargin.training.latent import LatentRecord, LatentResult

__all__ = ["LatentFiles"]


class LatentFiles:
    """The part of `LatentSVM` that writes and reads model files."""

    latent: Any
    result_: Any
    get_params: Any
    _fitted: Any
    _check_parameters: Any

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `maxmargin.load` reads.

        A structure must be registered (`register_structure`), as for `StructuredSVM`. A file holds
        neither `latent_` nor code (a function `latent`).
        """
        self._fitted()
        save_estimator(path, self)
        if self.latent is not None:
            warnings.warn(
                f"{os.fspath(path)!r} does not hold latent: a function is code. Set it again "
                "before the next fit.",
                UserWarning,
                stacklevel=2,
            )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays): parameters and the fitted estimator, for a model file."""
        own, inner = self.result_, copy.copy(self._fitted())
        # The file of the estimator wants a result with a gap, which is not known here.
        inner.result_ = Result(
            own.w, own.objective, np.nan, np.nan, "max_iter", own.n_iter, own.n_oracle_calls,
            own.seconds, [],
        )  # fmt: skip
        state, arrays = inner.to_state()
        result = {name: value for name, value in vars(own).items() if name != "w"}
        result["history"] = [asdict(record) for record in own.history]
        params = self.get_params(deep=False)
        del params["estimator"], params["latent"]
        if not isinstance(params["random_state"], (int, np.integer, type(None))):
            raise TypeError("random_state must be an integer or None in a model file.")
        name = type(inner).__name__
        return {"params": params, "inner": name, "state": state, "result": result}, arrays

    @classmethod
    def from_state(cls, meta: Any, arrays: dict[str, Any]) -> Self:
        """Return what `to_state` was called on; ValueError for what none gave."""
        parts = Fields(meta, "it")
        params, name, state = (parts.take(key) for key in ("params", "inner", "state"))
        result = check_options(LatentResult, parts.take("result"), "result")
        parts.close()
        if name not in ("ChainSVM", "StructuredSVM"):
            raise ValueError(f"it has an estimator {name!r:.80}, not ChainSVM or StructuredSVM")
        inner: Any = estimator_class(name)
        fitted = inner.from_state(state, arrays)
        if "w" in result or not isinstance(result.get("history"), list):
            raise ValueError("result must have a history, a list, and no weights")
        result["history"] = [
            LatentRecord(**check_options(LatentRecord, record, "result['history']"))
            for record in result["history"]
        ]
        own = check_options(cls, params, "params")
        if own.keys() & {"estimator", "latent"}:
            raise ValueError("params has an estimator or a function")
        model: Any = cls(**{"estimator": clone(fitted), **own})
        model._check_parameters()
        model.estimator_, model.coef_ = fitted, fitted.result_.w
        fitted.result_ = model.result_ = LatentResult(w=model.coef_, **result)
        return model
