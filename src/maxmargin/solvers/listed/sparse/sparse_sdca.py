"""Dual coordinate ascent over the labels of a hierarchy, where dense weights would not fit.

Weights are rows by feature that hold what is not 0 (rows.py), coefficients are short lists of
(label, mass) per example (passes.py), and visits may look for labels by a beam. Certificates look
at all labels of all examples, so primal, dual and gap are those of the whole problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.contract import ListedPaths, listed_gram, listed_norms, listed_paths
from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.listed.sdca import visit_moving
from maxmargin.solvers.listed.sdca_planes import sheet_for
from maxmargin.solvers.listed.sparse.passes import (
    ALL_LABELS,
    LISTED_ALONE,
    MOST_NEW,
    Few,
    MassLists,
    Visit,
    sparse_losses,
    sparse_pass,
    sum_pass,
)
from maxmargin.solvers.listed.sparse.rows import Touched, squared_length
from maxmargin.solvers.listed.sparse.scores import Tree, scores_for, tree_of
from maxmargin.solvers.listed.sparse.weights import SparseWeights

#: After so many passes by beams there is one that looks at all labels; and beams follow again if
#: the sum of gaps that it found is at most TRUSTED times that of the last beams.
MOST_BEAMS, TRUSTED = 3, 2.0


class SparseState(State):
    """Weights in rows, and coefficients in lists."""

    def __init__(self, problem: Problem, most: int) -> None:
        paths = problem.remember(listed_paths)
        n = problem.n_examples
        self.w = SparseWeights.zeros(paths.n_features, len(paths.parent))  # type: ignore
        self.label = np.zeros((n, most), dtype=np.int32)
        self.mass = np.zeros((n, most))
        self.count = np.zeros(n, dtype=np.int64)
        self.linear = np.zeros(n)
        self.gap = np.full(n, np.inf)
        #: The mass that full lists have given back to truths, in all passes together.
        self.given_back = np.zeros(1)
        #: Passes by beams since the last one over all labels, and the sum of gaps of the last one.
        self.n_beams, self.beam_gap = 0, np.inf

    @property
    def weights(self) -> SparseWeights:
        """The weights."""
        return cast(SparseWeights, self.w)

    @property
    def n_bytes(self) -> int:
        """The memory of weights and coefficients."""
        arrays = (self.label, self.mass, self.count, self.linear, self.gap)
        return self.weights.n_bytes + sum(array.nbytes for array in arrays)

    def lists(self, problem: Problem) -> MassLists:
        """Return the coefficients as passes see them."""
        return MassLists(
            self.label, self.mass, self.count, self.linear, self.gap, self.given_back,
            problem.truths, problem.remember(listed_norms),
        )  # fmt: skip

    def arrays(self) -> dict[str, np.ndarray]:
        """Refuse: rows that grow are not written to checkpoints."""
        raise TypeError("sparse_sdca cannot be written to a checkpoint; sdca can.")

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> SparseState:
        """Refuse, as `arrays` does."""
        raise TypeError("sparse_sdca cannot be resumed from a checkpoint; sdca can.")


@dataclass(frozen=True)
class SparseSDCA(Solver):
    """Dual coordinate ascent for very many labels of a tree, without a dense matrix of weights.

    For one path per example in a hierarchy without nodes of two parents, and surrogates that are
    affine in h. Memory grows with the features and labels that meet in violated examples, and not
    with their product. ``coef_`` is a sparse matrix then, and there are no checkpoints.

    Parameters
    ----------
    beam : int
        Visits go down the tree with so many of the best inner nodes of each level, and look at the
        labels that they meet. 0: at all labels. Every fourth pass looks at all labels, and so do
        those that follow while beams miss too much; certificates always do.
    most : int
        The most labels of an example that have mass, besides the true one. A list that is full
        gives its least mass back to the truth.
    repeats : int
        Largest number of passes over the moving blocks, with the labels that have mass alone, after
        each pass.

    Examples
    --------
    >>> from maxmargin.solvers.listed.sparse.sparse_sdca import SparseSDCA
    >>> SparseSDCA(beam=0).most
    16
    """

    beam: int = 10
    most: int = 16
    repeats: int = 5

    name: ClassVar[str] = "sparse_sdca"
    state_class: ClassVar[type[State]] = SparseState
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "linear", "listed", "paths"})
    has_dense_weights: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("beam", 0), ("most", 1), ("repeats", 0)):
            if getattr(self, name) < least:
                raise ValueError(
                    f"SparseSDCA: {name} must be >= {least}, got {getattr(self, name)!r}."
                )

    def start(self, problem: Problem, w: Any = None) -> SparseState:
        """Start at w = 0, all mass on the true outputs; given weights say nothing of the dual."""
        return SparseState(problem, self.most)

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Visit every block once, and those that still move again."""
        state = cast(SparseState, state)
        n = problem.n_examples

        is_all = self.beam == ALL_LABELS or state.n_beams >= MOST_BEAMS
        whole = self._pass(problem, state, rng.permutation(n), ALL_LABELS if is_all else self.beam)
        if is_all:
            # A beam that missed half of what there is to gain is not taken up again at once.
            state.n_beams = 0 if whole <= TRUSTED * state.beam_gap else MOST_BEAMS
            state.beam_gap = np.inf
        else:
            state.n_beams += 1
            state.beam_gap = whole

        def again(order: np.ndarray) -> float:
            return self._pass(problem, state, order, LISTED_ALONE)

        visit_moving(again, state.gap, state.count > 0, whole, self.repeats, rng)
        return Progress(self._dual(problem, state), whole / n)

    def _pass(self, problem: Problem, state: SparseState, order: np.ndarray, width: int) -> float:
        """Visit blocks; make room between visits where it is lacking."""
        run, y = problem.bind(sparse_pass), problem.desk().y
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        paths, tree = problem.remember(listed_paths), problem.remember(_tree)
        lists, gram = state.lists(problem), problem.remember(listed_gram)
        visit = _visit(paths, max(width, 1), self.most)

        def call(first: int, last: int, total: float) -> float:
            problem.n_oracle_calls += last - first
            while first < last:
                total = run(
                    problem.view, order, first, last, inv_lam_n, width, paths, tree,
                    state.weights.rows, lists, gram, visit, y, total,
                )  # fmt: skip
                first = int(visit.upto[0])
                if first < last:
                    state.weights.grow(int(visit.lacking[0]), int(visit.lacking[1]))
            return total

        return run_strides(problem, call, len(order), state.w, None)[0]

    def assess(self, problem: Problem, w: Any) -> Primal:
        """Return P(w), from the scores of all labels of all examples."""
        paths, y = problem.remember(listed_paths), problem.desk().y
        losses, scores = np.zeros(problem.n_examples), scores_for(paths, 1)
        run = problem.bind(sparse_losses)
        for first, last in problem.strides(0, problem.n_examples):
            run(problem.view, first, last, paths, w.rows, problem.truths, scores, y, losses)
        problem.n_oracle_calls += problem.n_examples
        risk = float(problem.view.weight @ losses) / problem.n_examples
        return Primal(risk + 0.5 * problem.lam * self.length(problem, w) ** 2, 0.0)

    def length(self, problem: Problem, w: Any) -> float:
        """Return |w| in the norm of the data."""
        return math.sqrt(squared_length(w.rows, problem.remember(listed_paths).alpha))

    def _dual(self, problem: Problem, state: SparseState) -> float:
        linear = float(problem.view.weight @ state.linear) / problem.n_examples
        return linear - 0.5 * problem.lam * self.length(problem, state.w) ** 2

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the last iterate."""
        return [(state.w, self._dual(problem, cast(SparseState, state)))]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        n_sums = 100.0 * math.sqrt(problem.n_examples)  # as in `SDCA`
        length = self.length(problem, state.w)
        return problem.precision.of_dual(length, dual, problem.lam, n_sums)

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum the weights anew from the coefficients; return D and its rounding."""
        state = cast(SparseState, state)
        self._sum(problem, state)
        dual, n_sums = self._dual(problem, state), 2.0 * state.count.sum() + self.most
        length = self.length(problem, state.w)
        return dual, problem.precision.of_dual(length, dual, problem.lam, n_sums)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep w if lam has fallen, by moving mass to the truths; else keep the coefficients."""
        state = cast(SparseState, state)
        state.mass *= min(problem.lam / lam, 1.0)
        state.gap[:] = np.inf
        self._sum(problem, state)

    def repair(self, problem: Problem, state: State) -> None:
        """Make the coefficients of each block sum to at most 1 again, and compute w from them."""
        state = cast(SparseState, state)
        is_used = np.arange(self.most) < state.count[:, None]
        state.mass[:] = np.where(is_used, np.maximum(state.mass, 0.0), 0.0)
        state.mass /= np.maximum(state.mass.sum(axis=1, keepdims=True), 1.0)
        self._sum(problem, state)

    def _sum(self, problem: Problem, state: SparseState) -> None:
        """Sum weights and the linear part of the dual from the coefficients."""
        paths, y = problem.remember(listed_paths), problem.desk().y
        state.w = SparseWeights.zeros(paths.n_features, len(paths.parent))  # type: ignore
        run, lists = problem.bind(sum_pass), state.lists(problem)
        visit = _visit(paths, 1, self.most)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        for first, last in problem.strides(0, problem.n_examples):
            while first < last:
                run(
                    problem.view, first, last, inv_lam_n, paths, state.weights.rows, lists, visit, y
                )
                first = int(visit.upto[0])
                if first < last:
                    state.weights.grow(int(visit.lacking[0]), int(visit.lacking[1]))


def _tree(data: Any) -> Tree:
    return tree_of(listed_paths(data))


def _visit(paths: ListedPaths, width: int, most: int) -> Visit:
    """Return scratch of visits."""
    n_nodes, size = len(paths.parent), 1 + most + MOST_NEW
    few = Few(np.zeros((1, size), dtype=np.int32), np.zeros(1, dtype=np.int64))
    touched = Touched(
        np.zeros(n_nodes, dtype=np.int32), np.zeros(n_nodes),
        np.full(n_nodes, -1, dtype=np.int32), np.zeros(n_nodes, dtype=np.int64),
    )  # fmt: skip
    return Visit(
        few, sheet_for(size), scores_for(paths, width), touched,
        np.zeros(MOST_NEW, dtype=np.int32), np.zeros(MOST_NEW), np.zeros(1, dtype=np.int64),
        np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64),
    )  # fmt: skip
