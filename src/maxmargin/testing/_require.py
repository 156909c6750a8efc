"""How a check fails."""

from __future__ import annotations

from typing import Any


def require(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence unless the contract holds.

    Not an ``assert`` statement: those vanish under ``python -O``.
    """
    if not bool(holds):
        raise AssertionError(sentence)


def require_parameters(value: Any) -> None:
    """Require that ``parameters()`` makes an equal object, since that is how it is stored."""
    kind = type(value)
    parameters = value.parameters()
    require(
        isinstance(parameters, dict),
        f"{kind.__name__}.parameters() must return a dict, got {parameters!r}.",
    )
    again = kind(**parameters)
    require(
        again == value,
        f"{kind.__name__}(**parameters()) must equal the original: {again!r} is not {value!r}.",
    )
