"""Checkpoints: a run written to a file now and then and at its end, and taken up from it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.request import Request
from maxmargin.persistence import damaged, read, write
from maxmargin.solvers import Iteration, Snapshot
from maxmargin.solvers.restore.checked import Fields
from maxmargin.training.storage import params_to_state
from maxmargin.training.warm import digest, fingerprint

#: Parameters that a resumed run may change: they move the end of a run, or change no result.
FREE = frozenset({"max_iter", "time_budget", "n_jobs", "verbose", "warm_start"})


class Watch(NamedTuple):
    """What may stop a run by its scores: the held-out examples, and the patience."""

    eval_set: Request | None = None
    patience: int | None = None


NOBODY = Watch()


class Checkpoint:
    """A callback that writes the run to a file, for ``fit(X, y, resume=path)``.

    It is written every so many passes, and once more when the run is over: because it converged, at
    a limit (`max_iter`, `time_budget`, `patience`), or by Ctrl-C. The file always holds the state
    after a whole pass: a pass that was interrupted is not in it, and a resumed run repeats it. For
    this the state is copied after each pass that is not written.

    Parameters
    ----------
    path : path-like
        The file; each checkpoint replaces the one before, in one step.
    every : int
        Passes between two checkpoints.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import Checkpoint, MulticlassSVM
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.mm")
    ...     model = MulticlassSVM(random_state=0).fit(X, y, callbacks=[Checkpoint(path, every=1)])
    ...     again = MulticlassSVM(random_state=0).fit(X, y, resume=path)
    >>> bool((model.coef_ == again.coef_).all())
    True
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10) -> None:
        self.path = path
        self.every = check_number("every", every, 1, closed=True, integer=True)

    def bind(self, estimator: Any, problem: Problem, watch: Watch = NOBODY) -> _Writer:
        """Return the callback of one run."""
        if problem.truths.dtype == object:
            raise TypeError("Checkpoint: outputs that are Python objects cannot be written.")
        owner = {
            "estimator": type(estimator).__name__,
            "params": params_to_state(estimator),
            "layout": digest(estimator._layout()),
            "fingerprint": fingerprint(problem),
            "eval_set": _eval_digest(estimator, watch.eval_set),
            "patience": watch.patience,
        }
        return _Writer(self.path, self.every, owner)


class _Writer:
    """The callback of one run, which knows whose run it is."""

    def __init__(self, path: str | os.PathLike[str], every: int, owner: dict[str, Any]) -> None:
        self._path = path
        self._every = every
        self._owner = owner
        #: A copy of the run after its last whole pass; None if that is in the file.
        self._unwritten: Snapshot | None = None

    def __call__(self, event: Iteration) -> None:
        snapshot = event.snapshot()
        if event.record.pass_ % self._every == 0:
            self._write(snapshot)
        else:
            # Copy: the next pass changes these arrays, and may be interrupted.
            arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
            self._unwritten = Snapshot(snapshot.meta, arrays)

    def end(self) -> None:
        """Write the last whole pass of a run that is over."""
        if self._unwritten is not None:
            self._write(self._unwritten)

    def _write(self, snapshot: Snapshot) -> None:
        meta = {"owner": self._owner, "run": snapshot.meta}
        write(self._path, "checkpoint", meta, snapshot.arrays)
        self._unwritten = None


def bind_callbacks(
    callbacks: list[Any], estimator: Any, problem: Problem, watch: Watch = NOBODY
) -> list[Any]:
    """Return callbacks as `run` calls them; those with a method `bind` are told of the run."""
    return [
        callback.bind(estimator, problem, watch) if hasattr(callback, "bind") else callback
        for callback in callbacks
    ]


def read_checkpoint(
    path: str | os.PathLike[str], estimator: Any, problem: Problem, watch: Watch = NOBODY
) -> Snapshot:
    """Return the run of a checkpoint, refused unless it is of this estimator and this problem."""
    document = read(path, kind="checkpoint")
    name = repr(os.fspath(path))
    with damaged(path, "is a damaged checkpoint"):
        fields = Fields(document.meta, "it")
        owner, meta = fields.take("owner"), fields.take("run")
        fields.close()
        whose = Fields(owner, "owner")
        for key in ("estimator", "layout", "fingerprint", "eval_set"):
            value = whose.take(key, "") if key == "eval_set" else whose.take(key)
            if not isinstance(value, str) and (value is not None or key != "eval_set"):
                raise whose.refuse(key, "text", value)
        if not isinstance(whose.take("params"), dict):
            raise ValueError("its parameters are no mapping")
        patience = whose.take("patience", None)
        if patience is not None and type(patience) is not int:
            raise whose.refuse("patience", "an integer or None", patience)
        whose.close()
    if owner["estimator"] != type(estimator).__name__:
        raise ValueError(
            f"{name} is of a {owner['estimator']!s:.80}, not of a {type(estimator).__name__}."
        )
    theirs = owner["params"] | {"patience": patience}
    ours = params_to_state(estimator) | {"patience": watch.patience}
    with damaged(path, "is a damaged checkpoint"):
        differ = [key for key in ours if key not in FREE and _differ(theirs.get(key), ours[key])]
    if differ:
        each = ", ".join(
            f"{key}={theirs.get(key)!r:.80} there, {ours[key]!r} here" for key in differ
        )
        raise ValueError(f"{name} is of a run with other parameters: {each}.")
    same_layout = owner["layout"] == digest(estimator._layout())
    if not same_layout or owner["fingerprint"] != fingerprint(problem):
        raise ValueError(f"{name} is of a run on other data, so it cannot be resumed on these.")
    if owner.get("eval_set") != _eval_digest(estimator, watch.eval_set):
        raise ValueError(
            f"{name} is of a run with another eval_set, whose scores its own would not go with."
        )
    return Snapshot(meta, document.arrays, os.fspath(path))


def _differ(a: Any, b: Any) -> bool:
    # Leave generators out: a run changes their state, which the checkpoint holds.
    if isinstance(a, dict) and isinstance(b, dict) and "rng_state" in a and "rng_state" in b:
        return False
    return digest(_plain(a)) != digest(_plain(b))


def _eval_digest(estimator: Any, eval_set: Request | None) -> str | None:
    """Return a hash of held-out examples, whatever kind of lists or arrays they came in."""
    if eval_set is None:
        return None
    return digest((estimator._encode_inputs(eval_set), _plain(list(eval_set.y))))


def _plain(value: Any) -> Any:
    """Return a value in one form for all that is equal: 1 and 1.0, arrays and lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        pairs = [(_plain(key), _plain(item)) for key, item in value.items()]
        return ["dict", *sorted(pairs, key=repr)]
    if isinstance(value, int) and not isinstance(value, bool) and value == _as_float(value):
        return float(value)
    return value


def _as_float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
