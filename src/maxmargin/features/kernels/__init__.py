"""Kernels: products of rows that are known by a function of two rows alone."""

from __future__ import annotations

from typing import Any

from maxmargin.features.kernels.contract import Kernel
from maxmargin.features.kernels.function import CallableKernel
from maxmargin.features.kernels.linear import Linear
from maxmargin.features.kernels.poly import Poly
from maxmargin.features.kernels.precomputed import Precomputed
from maxmargin.features.kernels.rbf import Rbf
from maxmargin.features.strings.subsequence import SubsequenceKernel

#: Kernels by name. A new one is a file of its own and a line here.
KERNELS: dict[str, Any] = {
    "linear": Linear,
    "rbf": Rbf,
    "poly": Poly,
    "precomputed": Precomputed,
    "subsequence": SubsequenceKernel,
}


def as_kernel(value: Any) -> Kernel:
    """Return the kernel that a parameter stands for: a name, a kernel, or a function of two lists.

    Examples
    --------
    >>> as_kernel("rbf")
    Rbf(gamma='scale')
    >>> as_kernel("sigmoid")
    Traceback (most recent call last):
    ValueError: kernel='sigmoid' is not known. There are: 'linear', 'rbf', ...
    """
    if isinstance(value, str):
        if value not in KERNELS:
            known = ", ".join(map(repr, KERNELS))
            raise ValueError(f"kernel={value!r} is not known. There are: {known}.")
        return KERNELS[value]()
    if isinstance(value, type):
        raise TypeError(f"kernel must be an object, got the class {value.__name__}.")
    if hasattr(value, "gram"):
        return value
    if callable(value):
        return CallableKernel(value)
    known = ", ".join(map(repr, KERNELS))
    raise TypeError(
        f"kernel must be None, a name ({known}), a kernel, or a function of two lists of rows; got "
        f"{value!r}."
    )


__all__ = ["KERNELS", "CallableKernel", "Kernel", "Linear", "Poly", "Precomputed", "Rbf",
           "as_kernel"]  # fmt: skip
