"""A diagonal norm: every feature has a weight of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Real
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Diagonal:
    """The norm |w|^2 = sum_f |w_f|^2 / alpha_f, where w_f are all weights of feature f.

    A feature of larger alpha is regularised less, as if it were multiplied by sqrt(alpha). A
    feature of alpha 0 is not used. Weights that belong to no feature, such as intercepts and
    transitions, have alpha = 1.

    Parameters
    ----------
    alpha : array of shape (n_features,), or dict
        One number >= 0 per feature. Or numbers by the names of features, 1 for those not named;
        ``"word=*"`` stands for all names that begin so, and of several that fit the last counts.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MulticlassSVM
    >>> from maxmargin.regularizers import Diagonal
    >>> X, y = np.array([[2.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-2.0, -0.1]]), [0, 0, 1, 1]
    >>> MulticlassSVM(regularizer=Diagonal([0.0, 1.0])).fit(X, y).coef_[:, 0].tolist()
    [0.0, 0.0]
    >>> Diagonal({"word=*": 0.5}).of(["word=a", "shape=A"], 2).tolist()
    [0.5, 1.0]
    """

    alpha: Any

    name: ClassVar[str] = "diagonal"

    def __post_init__(self) -> None:
        if isinstance(self.alpha, Mapping):
            numbers: Any = dict(self.alpha)
            wrong = next((key for key in numbers if not isinstance(key, str)), None)
            if wrong is not None:
                raise TypeError(f"Diagonal: alpha must go by names of features, got {wrong!r}.")
            pairs = numbers.items()
        else:
            numbers = np.asarray(self.alpha).tolist()
            if not isinstance(numbers, list) or len(numbers) == 0:
                raise TypeError(
                    "Diagonal: alpha must be numbers, one per feature, or a dict; got "
                    f"{self.alpha!r}."
                )
            numbers = tuple(numbers)
            pairs = enumerate(numbers)
        for key, number in pairs:
            if not isinstance(number, Real) or not 0.0 <= float(number) < np.inf:
                raise ValueError(
                    f"Diagonal: alpha[{key!r}] must be a finite number >= 0, got {number!r}."
                )
        object.__setattr__(self, "alpha", numbers)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal regulariser."""
        return {"alpha": self.alpha if isinstance(self.alpha, dict) else list(self.alpha)}

    def of(self, names: Sequence[str] | None, n_features: int) -> np.ndarray:
        """Return alpha of every feature, given their names if they have any."""
        if not isinstance(self.alpha, dict):
            if len(self.alpha) != n_features:
                raise ValueError(
                    f"Diagonal: alpha has {len(self.alpha)} numbers, but X has {n_features} "
                    "features."
                )
            return np.array(self.alpha, dtype=np.float64)
        if names is None:
            raise ValueError(
                "Diagonal: alpha goes by names of features, but the features of X have none; give "
                f"{n_features} numbers."
            )
        alpha = np.ones(n_features)
        place = {str(name): f for f, name in enumerate(names)}
        for key, number in self.alpha.items():
            if key in place:
                alpha[place[key]] = number
                continue
            found = [f for name, f in place.items() if fnmatchcase(name, key)]
            if not found:
                raise ValueError(f"Diagonal: no feature of X is called {key!r}.")
            alpha[found] = number
        return alpha
