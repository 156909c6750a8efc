"""What Python says, in the words of the command line."""

from __future__ import annotations

#: What errors and warnings call parameters by, and the options that stand for them.
_OPTIONS = {
    "Constraints(..., strict=True)": "--strict",
    " (the parameter classes may name more than occur in Y)": "",
    "a run with another eval_set": "a run with another --dev",
    "raise max_iter or time_budget": "raise --max-iter or --time-budget",
    "lower C": "lower --C",
    "a larger tol": "a larger --tol",
    "gain='linear' takes": "--gain linear takes",
    "format= (--format on the command line)": "--format",
}


def in_options(message: str) -> str:
    """Return a message that tells of options where it told of Python.

    Examples
    --------
    >>> in_options("... Constraints(..., strict=True) refuses such labels.")
    '... --strict refuses such labels.'
    """
    for said, option in _OPTIONS.items():
        message = message.replace(said, option)
    return message
