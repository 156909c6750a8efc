"""The state of numpy's random generators as JSON, so that a resumed run draws the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_BIT_GENERATORS = {
    "MT19937": np.random.MT19937,
    "PCG64": np.random.PCG64,
    "PCG64DXSM": np.random.PCG64DXSM,
    "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
}


def rng_state(rng: np.random.Generator | np.random.RandomState) -> dict[str, Any]:
    """Return the state of a numpy random generator as plain JSON-able data.

    The generator that `restore_rng` makes from it draws what `rng` would have drawn next. What a
    Generator would *spawn* is not part of its state and is not kept.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> twin = restore_rng(rng_state(rng))
    >>> bool(rng.random() == twin.random())
    True
    """
    if isinstance(rng, np.random.Generator):
        name, state = "Generator", rng.bit_generator.state
    elif isinstance(rng, np.random.RandomState):
        name, state = "RandomState", rng.get_state(legacy=False)
    else:
        raise TypeError(f"rng must be a numpy Generator or RandomState, got {type(rng).__name__}.")
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise ValueError(
            f"rng draws from {state['bit_generator']}; those that can be stored are "
            f"{', '.join(_BIT_GENERATORS)}."
        )
    return {"rng": name, **_lists(state)}


def restore_rng(state: Mapping[str, Any]) -> Any:
    """Return a new Generator or RandomState in the state that `rng_state` returned."""
    try:
        bits: Any = _BIT_GENERATORS[state["bit_generator"]]()
        rng: Any = {"Generator": np.random.Generator, "RandomState": np.random.RandomState}[
            state["rng"]
        ](bits)
        rest = {key: value for key, value in state.items() if key != "rng"}
        if isinstance(rng, np.random.RandomState):
            rng.set_state(rest)
        else:
            bits.state = rest
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"state is not one that rng_state returned: {error!r}.") from error
    return rng


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
