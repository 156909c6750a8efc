"""Which estimator classes a model file may name, and how they go in and out of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from maxmargin.persistence.files import damaged, read, write


class Storable(Protocol):
    """What an estimator has so that it can be stored."""

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays): parameters and fitted state, as `write` takes them."""

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Storable:
        """Return an estimator equal to the one whose `to_state` gave these."""


E = TypeVar("E", bound=type)

ESTIMATORS: dict[str, type] = {}
"""Public class name -> class, of everything a model file may name. Filled by `register`."""


def register(cls: E) -> E:
    """Enter an estimator class in `ESTIMATORS` under its name; use it as a decorator.

    Examples
    --------
    >>> @register
    ... class Constant:
    ...     def __init__(self, value): self.value = value
    ...     def to_state(self): return {"value": self.value}, {}
    ...     @classmethod
    ...     def from_state(cls, meta, arrays): return cls(**meta)
    >>> estimator_class("Constant") is Constant
    True
    >>> del ESTIMATORS["Constant"]
    """
    name = cls.__name__
    for method in ("to_state", "from_state"):
        if not callable(getattr(cls, method, None)):
            raise TypeError(f"{name} cannot be registered: it has no method {method}.")
    known = ESTIMATORS.get(name)
    # A reloaded module registers its classes again: the same module may replace its own.
    if known is not None and known.__module__ != cls.__module__:
        raise ValueError(f"{name} of {cls.__module__} is already registered by {known.__module__}.")
    ESTIMATORS[name] = cls
    return cls


def estimator_class(name: str) -> type:
    """Return the registered class called `name`, or raise a ValueError that lists what there is."""
    try:
        return ESTIMATORS[name]
    except KeyError:
        known = ", ".join(sorted(ESTIMATORS)) or "none"
        raise ValueError(
            f"There is no estimator called {name!r} here. Known: {known}. "
            "If it is your own class, import the module that registers it first."
        ) from None


def save_estimator(
    path: str | os.PathLike[str], estimator: Storable, extra: Mapping[str, Any] | None = None
) -> None:
    """Write a registered estimator to a file of kind "model".

    ``extra`` is what else the file shall hold, under names of its own; `read_estimator` returns it.
    """
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(f"{name} is not registered; decorate it with persistence.register.")
    state, arrays = estimator.to_state()
    write(path, "model", {**(extra or {}), "estimator": name, "state": state}, arrays)


def read_estimator(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the estimator of a model file, and the meta of the file for what else it holds.

    Raises
    ------
    ValueError
        If the file is no model, is damaged, or holds an estimator that is not known here. The
        message names the file and what is wrong with it.
    """
    document = read(path, kind="model")
    with damaged(path, "is a damaged model file"):
        meta = document.meta
        if not {"estimator", "state"} <= meta.keys() or type(meta["estimator"]) is not str:
            raise ValueError("it names no estimator")
    with damaged(path, "cannot be loaded"):
        cls: Any = estimator_class(meta["estimator"])
        return cls.from_state(meta["state"], document.arrays), meta
