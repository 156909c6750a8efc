"""The training problem: all that a solver sees.

    P(w) = lam/2 |w|^2 + 1/n sum_i s_i max_y psi( h_i(y), g_i(y) )

A solver's pass is a function of `View`, whose fields are NamedTuples of arrays (then it runs
compiled) or a user's objects (then the same function runs as Python). `Problem` owns the view, the
regularisation and the counting, and computes primal values, on several threads if asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import compiled, jitable
from maxmargin.core.contract import (
    Identity,
    capabilities,
    check_square,
    connect,
    find,
    inner,
    kernel_use,
    make_ready,
    memory,
    most_ready,
    n_weights,
    name_of,
    norm_of,
    oracle_memory,
    output_sizes,
    potentials,
    search_room,
    spare_size,
    tell_haste,
    truth_sizes,
    truths,
    workspace,
)
from maxmargin.core.modes import choose_mode
from maxmargin.core.precision import Precision, measure
from maxmargin.core.strides import STRIDE, visits_per_call
from maxmargin.core.workers import Workers, cut, small_chunk

#: A bound that is above a loss by this share of both, or of the mean of all losses, is the loss.
ROUNDING = 1e-9


def lam_from_C(C: float, n_samples: int) -> float:
    """Return lam = 1 / (C n_samples).

    Then |w|^2/2 + C sum_i xi_i and lam |w|^2/2 + mean_i xi_i have the same argmin.
    """
    return 1.0 / (C * n_samples)


class View(NamedTuple):
    """A problem as passes see it."""

    data: Any
    cost: Any
    surrogate: Any
    search: Any
    weight: Any  # (n_examples,) float64, s_i


class Desk(NamedTuple):
    """All scratch that one thread needs to work on one example. There is one desk per thread."""

    theta: Any
    room: Any  # scratch of the structure's oracles, besides theta
    theta_difference: Any
    y: Any  # cells of one output
    spare: Any  # cells for `difference_potentials`, see `spare_size`
    search_room: Any  # scratch of the search
    calls: Any  # (1,) int64: oracle calls so far
    slack: Any  # (1,): the largest value of the known planes of the current example


class Primal(NamedTuple):
    """P(w) as far as it is known.

    ``value`` is P(w), or an upper bound of it if the search of the most violating output is not
    exact. With the losses of the outputs that were found in place of their bounds, it would be
    smaller by ``excess``. Training cannot make a gap smaller than that. ``n_open`` examples have a
    bound above the loss that was found; the losses of all others are exact.
    """

    value: float
    excess: float
    n_open: int = 0


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

    losses[i] receives the psi of that output, bounds[i] an upper bound of psi over all outputs.
    """
    desk.slack[0] = 0.0
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        value, _, _, bound = find(problem.search, problem, i, desk, desk.y, 0)
        # The truth y_i has psi = 0, so the loss is never negative, even if a heuristic oracle found
        # only outputs of negative psi.
        losses[i] = value if value > 0.0 else 0.0
        bounds[i] = bound if bound > losses[i] else losses[i]


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
    is_convex, is_linear : bool, whether the surrogate is convex in h, and whether it is affine in
        h; if it is not convex, P has no dual
    n_jobs : int >= 1, threads for batch oracles; never changes a result
    compile : bool, False runs everything as plain Python (slow; for debugging and tests)
    mode : {"typed", "erased", "python"} or None, how passes run; None for the default
        of `maxmargin.core.modes`
    regularizer : object for whose type `times_metric` is implemented; it defines |w|^2. None for
        the `metric` of the data, which alone is right if that is not the Euclidean one
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
        mode: str | None = None,
        regularizer: Any = None,
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
        #: Where features are known by a kernel: None if they are not.
        self.kernel = kernel_use(data)
        own: Any = norm_of(data)
        if regularizer is not None and not isinstance(own, (Identity, type(regularizer))):
            raise ValueError(
                f"The updates of {name_of(data)} belong to the norm {type(own).__name__}, so "
                f"regularizer must be None; got {type(regularizer).__name__}."
            )
        self.regularizer = own if regularizer is None else regularizer
        self._calls = 0
        self.sizes = np.asarray(output_sizes(data), dtype=np.int64)
        self.truths = truths(data)
        parts = dict(zip(View._fields[:4], self.view, strict=False))
        #: How passes run, and why they are not erased if they are not.
        self.mode, self.why_not_erased = choose_mode(
            mode if compile else "python", parts, self.truths.dtype
        )
        self.is_compiled = self.mode != "python"
        own = np.asarray(truth_sizes(data), dtype=np.int64)
        #: Where each true output begins in `truths`, and the end of the last one.
        self.truth_places = np.concatenate([[0], np.cumsum(own)])
        if len(self.sizes) != n_examples or len(self.truths) != self.truth_places[-1]:
            raise ValueError(
                f"The data have {len(self.sizes)} examples and {len(self.truths)} cells of true "
                f"outputs; expected {n_examples} and {self.truth_places[-1]}."
            )
        self.precision: Precision = self._measure()
        #: Called between two compiled calls of a pass or a certificate. If it raises, the run ends.
        self.watch: Callable[[], None] | None = None
        self._desks: list[Desk] = []
        self._workers = Workers(self.n_jobs)
        self._known: dict[str, Any] = {}
        self._boundary: Any = None
        self._passes: dict[Callable, Callable] = {}

    def with_lam(self, lam: float) -> Problem:
        """Return the same problem with another `lam` (the data are shared)."""
        other = object.__new__(Problem)
        other.__dict__.update(self.__dict__, lam=float(lam), _calls=0)
        other.precision = other._measure()
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what belongs to this process: desks, threads and `watch`."""
        own = {"_calls": self.n_oracle_calls, "_desks": [], "watch": None}
        return {**self.__dict__, **own, "_boundary": None, "_passes": {}}

    def _measure(self) -> Precision:
        data, cost, surrogate, _, weight = self.view
        return measure(data, cost, surrogate, weight, self.sizes, self.n_weights, self.lam)

    @property
    def capabilities(self) -> frozenset[str]:
        """What the data offer with this cost, see `maxmargin.core.contract.capabilities`."""
        if "capabilities" not in self._known:
            self._known["capabilities"] = capabilities(self.view.data, self.view.cost)
        return self._known["capabilities"]

    @property
    def calls_python(self) -> bool:
        """Whether passes run as Python, or call data or cost that do."""
        return not (self.is_compiled and all(isinstance(part, tuple) for part in self.view[:2]))

    @property
    def objective(self) -> str:
        """Which P this is: "relaxed" if outputs are those of a relaxation, else "integral"."""
        return "relaxed" if "relaxed" in self.capabilities else "integral"

    @property
    def is_euclidean(self) -> bool:
        """Whether |w|^2 is w.w."""
        return isinstance(self.regularizer, Identity)

    def inner(self, u: np.ndarray, v: np.ndarray) -> float:
        """Return the inner product of two weight vectors, <u, v>."""
        return float(inner(self.regularizer, u, v))

    def square(self, w: np.ndarray) -> float:
        """Return |w|^2; refuse a kernel by which it is below 0, and not by rounding alone."""
        square = self.inner(w, w)
        if square < 0.0 and self.kernel is not None:
            check_square(self.regularizer, w, square)
            return 0.0
        return square

    def length(self, w: np.ndarray) -> float:
        """Return |w|."""
        return math.sqrt(self.square(w))

    @property
    def n_oracle_calls(self) -> int:
        """Calls of the oracle by all threads, since this number was last set."""
        return self._calls + sum(int(desk.calls[0]) for desk in self._desks)

    @n_oracle_calls.setter
    def n_oracle_calls(self, count: int) -> None:
        for desk in self._desks:
            desk.calls[0] = 0
        self._calls = count

    def memory(self) -> dict[str, np.ndarray]:
        """Return the arrays that the search, and the oracles, remember from pass to pass."""
        of_data = oracle_memory(self.view.data)
        return memory(self.view.search) | {f"oracle.{name}": a for name, a in of_data.items()}

    def forget(self) -> None:
        """Make the search forget what it remembers from earlier passes."""
        for array in self.memory().values():
            array[...] = 0
        for desk in self._desks:
            desk.spare[:] = 0.0  # an interrupt may have left numbers here

    @contextmanager
    def in_haste(self) -> Iterator[None]:
        """Let oracles be hasty, see `tell_haste`: for passes that read outputs and no bounds."""
        tell_haste(self.view.data, True)
        try:
            yield
        finally:
            tell_haste(self.view.data, False)

    def bind(self, function: Callable) -> Callable:
        """Return a pass as this problem runs it: compiled, or unchanged if it runs as Python."""
        if not self.is_compiled:
            return function
        if self.mode == "typed":
            return compiled(function)
        if self._boundary is None:
            from maxmargin.core.erase import Boundary

            self._boundary = Boundary(self)
        # A pass refers to the boundary, so it is kept here and not there. A cycle of references
        # would keep the data in memory after the problem has gone, until Python looks for cycles.
        if function not in self._passes:
            self._passes[function] = self._boundary.bind(function)
        return self._passes[function]

    def remember(self, function: Callable) -> Any:
        """Return function(data), computed once; functions are told apart by their names."""
        if function.__name__ not in self._known:
            self._known[function.__name__] = function(self.view.data)
        return self._known[function.__name__]

    def recompute(self, function: Callable) -> None:
        """Forget what `remember` keeps of a function, because the data have changed."""
        self._known.pop(function.__name__, None)

    def empty_outputs(self, n_cells: int) -> np.ndarray:
        """Return an array of n_cells zeros of the type of outputs."""
        return np.zeros(n_cells, dtype=self.truths.dtype)

    def desk(self, number: int = 0) -> Desk:
        """Return the desk of thread `number`, made at the first use."""
        data = self.view.data
        while len(self._desks) <= number:
            theta, room = workspace(data)
            if self.is_compiled:
                connect(room, self.view.cost)
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
        yield from cut(self.n_examples, min(small_chunk(np.diff(self.truth_places)), self.stride))

    def pause(self) -> None:
        """Call `watch`, if there is one; it may end the run by raising."""
        if self.watch is not None:
            self.watch()

    @property
    def stride(self) -> int:
        """How many examples one compiled call may visit; 1 if it calls Python."""
        if self.calls_python:
            return 1
        if "stride" not in self._known:
            self._known["stride"] = min(self._visits_per_call(), self._most_ready())
        return self._known["stride"]

    def prepare(self, examples: np.ndarray) -> None:
        """Compute what visits of these examples read, where features are known by a kernel."""
        if self.kernel is not None:
            make_ready(self.kernel.features, self.kernel.rows_of(examples))

    def _most_ready(self) -> int:
        """Return how many examples can be ready at the same time: at least one."""
        most = 0 if self.kernel is None else most_ready(self.kernel.features)
        if most == 0:
            return STRIDE
        return max(most // int(np.diff(self.kernel.row_at).max(initial=1)), 1)  # type: ignore

    def _visits_per_call(self) -> int:
        desk = self.desk()
        return visits_per_call(self.view.data, self.sizes, desk.theta, desk.room)

    def strides(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Cut visits first..last-1 into ranges, one per compiled call; `pause` before each."""
        step = self.stride
        for start in range(first, last, step):
            self.pause()
            yield start, min(start + step, last)

    def over_chunks(
        self, work: Callable[[int, int, Desk], Any], pieces: list[tuple[int, int]] | None = None
    ) -> list[Any]:
        """Call work(first, last, desk) for every chunk, on n_jobs threads; results in order.

        ``pieces`` are the chunks; None takes those of `chunks`. They must not depend on n_jobs.
        """
        pieces = list(self.chunks()) if pieces is None else pieces
        workers = Workers(1) if self.calls_python else self._workers
        self.desk(workers.n_workers(len(pieces)) - 1)  # make all desks now, before threads start
        return workers.share(
            len(pieces), lambda k, worker: work(*pieces[k], self.desk(worker)), self.pause
        )

    def losses(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return per example the largest psi found at w, and an upper bound of psi at w."""
        losses, bounds = np.zeros((2, self.n_examples))
        run = self.bind(evaluate)
        for pieces in self._ready_together():
            self.prepare(np.arange(pieces[0][0], pieces[-1][1]))
            self.over_chunks(
                lambda first, last, desk: run(self.view, first, last, w, desk, losses, bounds),
                pieces,
            )
        return losses, bounds

    def _ready_together(self) -> list[list[tuple[int, int]]]:
        """Return the chunks in groups whose examples can be ready at the same time."""
        pieces = list(self.chunks())
        if self.kernel is None or most_ready(self.kernel.features) == 0:
            return [pieces]
        n_together = max(self._most_ready() // max(last - first for first, last in pieces), 1)
        return [pieces[k : k + n_together] for k in range(0, len(pieces), n_together)]

    def risk(self, w: np.ndarray) -> Primal:
        """Return R(w) = 1/n sum_i s_i max_y psi."""
        return self.mean_loss(*self.losses(w))

    def mean_loss(self, losses: np.ndarray, bounds: np.ndarray) -> Primal:
        """Return the weighted mean of the losses, given the losses found and their upper bounds."""
        share = self.view.weight / self.n_examples
        value, left = float(share @ bounds), bounds - losses
        weight = self.view.weight
        is_open = weight * left > ROUNDING * np.maximum(weight * bounds, value)
        return Primal(value, float(share @ left), int(np.count_nonzero(is_open)))

    def assess(self, w: np.ndarray) -> Primal:
        """Return P(w)."""
        return self.regularized(self.risk(w), w)

    def regularized(self, risk: Primal, w: np.ndarray) -> Primal:
        """Return P(w), given R(w)."""
        return risk._replace(value=risk.value + 0.5 * self.lam * self.square(w))

    def primal(self, w: np.ndarray) -> float:
        """Return P(w), or an upper bound of it if the search is not exact."""
        return self.assess(w).value
