"""The training problem: all that a solver sees.

    P(w) = lam/2 |w|^2 + 1/n sum_i s_i max_y psi( h_i(y), g_i(y) )

A solver's pass is a function of `View`, whose fields are NamedTuples of arrays (then it runs
compiled) or a user's objects (then the same function runs as Python). `Problem` owns the view, the
regularisation and the counting, and computes primal values, on several threads if asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import compiled, jitable
from maxmargin.core.contract import (
    Identity,
    capabilities,
    find,
    inner,
    memory,
    n_weights,
    output_sizes,
    potentials,
    search_room,
    spare_size,
    truths,
    workspace,
)
from maxmargin.core.precision import Precision, measure
from maxmargin.core.workers import Workers, cut, small_chunk

#: Operations, about, that one compiled call may take: between two calls an interrupt is seen, and
#: the clock is looked at. No call visits more than `STRIDE` examples.
STRIDE_WORK = 1 << 26
STRIDE = 4096


#: The regulariser of a problem that is given no other.
EUCLIDEAN = Identity()


def lam_from_C(C: float, n_samples: int) -> float:
    """Return lam: |w|^2/2 + C sum_i xi_i has the argmin of lam |w|^2/2 + mean_i xi_i."""
    return 1.0 / (C * n_samples)


class View(NamedTuple):
    """A problem as passes see it."""

    data: Any
    cost: Any
    surrogate: Any
    search: Any
    weight: Any  # (n_examples,) float64, s_i


class Desk(NamedTuple):
    """Room for the work on one example at a time. One desk a thread."""

    theta: Any
    room: Any  # the structure's, beside theta
    theta_difference: Any
    y: Any  # cells of one output
    spare: Any  # cells for `difference_potentials`, see `spare_size`
    search_room: Any  # the search's own
    calls: Any  # (1,) int64: oracle calls so far
    slack: Any  # (1,): the loss of the example in hand that its known planes account for


class Primal(NamedTuple):
    """P(w) as far as it is known.

    ``value`` is P(w), or a bound above it where the search of the most violating output is not
    exact; the loss of the outputs that were found makes it less by ``excess``, which no amount of
    training can take off a gap.
    """

    value: float
    excess: float


@jitable
def evaluate(
    problem: Any,
    first: int,
    last: int,
    w: Any,
    desk: Any,
    losses: Any,
    bounds: Any,
) -> None:
    """Find the most violating output of examples first..last-1 at w.

    losses[i] receives its psi, bounds[i] what psi of no output exceeds.
    """
    desk.slack[0] = 0.0
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        value, _, _, bound = find(problem.search, problem, i, desk, desk.y, 0)
        # y_i itself has psi = 0, whatever a heuristic oracle may have missed.
        losses[i] = value if value > 0.0 else 0.0
        bounds[i] = bound if bound > losses[i] else losses[i]


def _n_numbers(value: Any) -> int:
    """Return how many numbers there are in arrays, however deep in tuples."""
    if isinstance(value, tuple):
        return sum(_n_numbers(item) for item in value)
    return int(np.size(value)) if isinstance(value, np.ndarray) else 0


class Problem:
    """Data, cost, surrogate and regularisation of one training run.

    Parameters
    ----------
    data : NamedTuple or object implementing the structure functions of `maxmargin.core.contract`
    cost, surrogate : what `output_cost` and `psi` are given
    n_examples : int
    lam : float > 0
    sample_weight : array of shape (n_examples,) or None (all 1)
    search : object for whose type `find` is implemented; `Direct(1.0, 1.0)` is right for margin
        rescaling
    is_convex, is_linear : bool, whether the surrogate is convex, and affine, in h; if it is not
        convex P has no dual
    n_jobs : int >= 1, threads for batch oracles; never changes a result
    compile : bool, False runs everything as plain Python (slow; for debugging and tests)
    regularizer : object for whose type `times_metric` is implemented, whose |w|^2 is kept small
    """

    def __init__(
        self,
        data: Any,
        cost: Any,
        surrogate: Any,
        n_examples: int,
        lam: float,
        sample_weight: np.ndarray | None = None,
        *,
        search: Any,
        is_convex: bool = True,
        is_linear: bool = True,
        n_jobs: int = 1,
        compile: bool = True,
        regularizer: Any = EUCLIDEAN,
    ) -> None:
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam must be positive and finite, got {lam!r}.")
        if n_examples < 1:
            raise ValueError("There must be at least one example to train on, got none.")
        weight = np.ones(n_examples) if sample_weight is None else np.asarray(sample_weight, float)
        if weight.shape != (n_examples,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError(f"sample_weight must be {n_examples} finite numbers >= 0.")
        self.view = View(data, cost, surrogate, search, weight)
        self.n_examples = int(n_examples)
        self.n_weights = int(n_weights(data))
        self.lam = float(lam)
        self.is_convex, self.is_linear = is_convex, is_linear
        self.n_jobs = int(n_jobs)
        self.regularizer = regularizer
        self.is_compiled = compile and all(isinstance(part, tuple) for part in self.view[:4])
        self._calls = 0
        self.sizes = np.asarray(output_sizes(data), dtype=np.int64)
        self.truths = truths(data)
        if len(self.sizes) != n_examples or len(self.truths) != self.sizes.sum():
            raise ValueError(
                f"The data have {len(self.sizes)} examples and {len(self.truths)} cells of true "
                f"outputs; expected {n_examples} and {self.sizes.sum()}."
            )
        self.precision: Precision = self._measure()
        #: Called between two compiled calls of a pass or a certificate; what it raises ends them.
        self.watch: Callable[[], None] | None = None
        self._desks: list[Desk] = []
        self._workers = Workers(self.n_jobs)
        self._known: dict[str, Any] = {}

    def with_lam(self, lam: float) -> Problem:
        """Return the same problem at another regularisation (the data are shared)."""
        other = object.__new__(Problem)
        other.__dict__.update(self.__dict__, lam=float(lam), _calls=0)
        other.precision = other._measure()
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what is of this process: desks, threads (see `Workers`), who watches."""
        return {**self.__dict__, "_calls": self.n_oracle_calls, "_desks": [], "watch": None}

    def _measure(self) -> Precision:
        data, cost, surrogate, _, weight = self.view
        return measure(data, cost, surrogate, weight, self.sizes, self.n_weights, self.lam)

    @property
    def capabilities(self) -> frozenset[str]:
        """What the data with their cost offer, see `maxmargin.core.contract.capabilities`."""
        if "capabilities" not in self._known:
            self._known["capabilities"] = capabilities(self.view.data, self.view.cost)
        return self._known["capabilities"]

    @property
    def objective(self) -> str:
        """What P is: "integral", or of a "relaxed" problem's outputs."""
        return "relaxed" if "relaxed" in self.capabilities else "integral"

    @property
    def is_euclidean(self) -> bool:
        """Whether |w|^2 is w.w."""
        return isinstance(self.regularizer, Identity)

    def inner(self, u: np.ndarray, v: np.ndarray) -> float:
        """Return the inner product of two weight vectors, <u, v>."""
        return float(inner(self.regularizer, u, v))

    def length(self, w: np.ndarray) -> float:
        """Return |w|."""
        return math.sqrt(self.inner(w, w))

    @property
    def n_oracle_calls(self) -> int:
        """Calls of the oracle, by all threads, since this was set to 0."""
        return self._calls + sum(int(desk.calls[0]) for desk in self._desks)

    @n_oracle_calls.setter
    def n_oracle_calls(self, count: int) -> None:
        for desk in self._desks:
            desk.calls[0] = 0
        self._calls = count

    def memory(self) -> dict[str, np.ndarray]:
        """Return the arrays that the search remembers from pass to pass."""
        return memory(self.view.search)

    def forget(self) -> None:
        """Let the search begin as if it had seen nothing."""
        for array in self.memory().values():
            array[...] = 0
        for desk in self._desks:
            desk.spare[:] = 0.0  # where an interrupt may have left something

    def bind(self, function: Callable) -> Callable:
        """Return a pass as this problem runs it: compiled, or as it is."""
        return compiled(function) if self.is_compiled else function

    def remember(self, function: Callable) -> Any:
        """Return function(data), computed at the first use."""
        if function.__name__ not in self._known:
            self._known[function.__name__] = function(self.view.data)
        return self._known[function.__name__]

    def empty_outputs(self, n_cells: int) -> np.ndarray:
        """Return room for outputs."""
        return np.zeros(n_cells, dtype=self.truths.dtype)

    def desk(self, number: int = 0) -> Desk:
        """Return the desk of a thread, made at the first use."""
        data = self.view.data
        while len(self._desks) <= number:
            theta, room = workspace(data)
            self._desks.append(
                Desk(
                    theta,
                    room,
                    workspace(data)[0],
                    self.empty_outputs(int(self.sizes.max(initial=1))),
                    np.zeros(int(spare_size(data))),
                    search_room(self.view.search, self),
                    np.zeros(1, dtype=np.int64),
                    np.zeros(1),
                )
            )
        return self._desks[number]

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Cut the examples into the fixed chunks of the batch oracles."""
        yield from cut(self.n_examples, min(small_chunk(self.sizes), self.stride))

    def pause(self) -> None:
        """Let whoever watches the run end it here."""
        if self.watch is not None:
            self.watch()

    @property
    def stride(self) -> int:
        """Examples that one compiled call may visit; 1 where passes run as Python.

        By the sizes of arrays alone. A position is scored by its features against the labels that
        it may have, and labels are held against labels.
        """
        if not self.is_compiled:
            return 1
        if "stride" not in self._known:
            cells = max(int(self.sizes.max(initial=1)), 1)
            scores = _n_numbers(self.desk()[:2]) / cells
            inputs = _n_numbers(self.view.data) / max(int(self.sizes.sum()), 1)
            mean = max(float(self.sizes.mean()), 1.0)
            work = mean * (scores + inputs) * scores
            self._known["stride"] = int(min(max(STRIDE_WORK // max(work, 1.0), 1), STRIDE))
        return self._known["stride"]

    def strides(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Cut visits first..last-1 into compiled calls; `pause` between two of them."""
        step = self.stride
        for start in range(first, last, step):
            self.pause()
            yield start, min(start + step, last)

    def over_chunks(
        self, work: Callable[[int, int, Desk], Any], pieces: list[tuple[int, int]] | None = None
    ) -> list[Any]:
        """Call work(first, last, desk) for every chunk, on n_jobs threads; results in order.

        ``pieces`` are other chunks than the usual ones; they must not depend on n_jobs either.
        """
        pieces = list(self.chunks()) if pieces is None else pieces
        workers = self._workers if self.is_compiled else Workers(1)
        self.desk(workers.n_workers(len(pieces)) - 1)  # made here, not by two threads at once
        return workers.share(
            len(pieces), lambda k, worker: work(*pieces[k], self.desk(worker)), self.pause
        )

    def losses(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest psi found of every example at w, and bounds above the largest."""
        losses, bounds = np.zeros((2, self.n_examples))
        run = self.bind(evaluate)
        self.over_chunks(
            lambda first, last, desk: run(self.view, first, last, w, desk, losses, bounds)
        )
        return losses, bounds

    def risk(self, w: np.ndarray) -> Primal:
        """Return R(w) = 1/n sum_i s_i max_y psi."""
        return self.mean_loss(*self.losses(w))

    def mean_loss(self, losses: np.ndarray, bounds: np.ndarray) -> Primal:
        """Return the weighted mean of losses that are known up to bounds."""
        share = self.view.weight / self.n_examples
        value = float(share @ bounds)
        return Primal(value, float(share @ (bounds - losses)))

    def assess(self, w: np.ndarray) -> Primal:
        """Return P(w)."""
        return self.regularized(self.risk(w), w)

    def regularized(self, risk: Primal, w: np.ndarray) -> Primal:
        """Return P(w), given R(w)."""
        return Primal(risk.value + 0.5 * self.lam * self.inner(w, w), risk.excess)

    def primal(self, w: np.ndarray) -> float:
        """Return P(w), or a bound above it where the search is not exact."""
        return self.assess(w).value
