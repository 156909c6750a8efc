"""The one-slack cutting plane where w must also keep some rows on their side.

    min_w  lam/2 |w|^2 + R(w)    subject to  z_i.w >= 1  for all rows that it is given.

w misses row i if z_i.w < 1. The master knows only the rows that were missed so far, so its value is
a lower bound. All rows are looked at only when the gap over the known rows is well below the
certified gap of the whole problem; that takes one product per row, where a pass takes two per
sample. If the least margin z_i.w of any row is m, 0 < m < 1, then w / m misses no row and gives an
upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.contract import Progress, State
from maxmargin.solvers.cutting.one_slack import OneSlack, OneSlackState
from maxmargin.solvers.cutting.planes import Plane, risk_plane, zero_plane
from maxmargin.solvers.cutting.rows_qp import solve_with_rows

#: Largest number of rows added to the master at a time, those missed most.
N_ROWS = 50
#: A row counts as met if its margin is at least 1 - MET.
MET = 1e-9
#: Look at all rows when the gap over the known rows is this share of the certified gap.
SHRINKAGE = 0.7


class OneSlackRowsState(OneSlackState):
    """The state of `OneSlack`, with rows among the planes.

    ``row`` has the number of each row, and -1 for planes. ``upper``, at ``best``, is the lowest
    objective since rows were last added to the master; ``best`` may miss other rows. ``primal``, at
    ``kept``, is the lowest objective at weights that miss no row. ``is_kept`` says whether w misses
    no row.
    """

    def __init__(self, w: np.ndarray) -> None:
        super().__init__(w, zero_plane(len(w)))
        self.row = np.full(1, -1, dtype=np.int64)
        self.kept = w
        self.primal = math.inf
        self.is_kept = True

    def add(self, new: Plane, regularizer: Any, row: int = -1) -> None:
        """Add a plane, or a row."""
        super().add(new, regularizer)
        self.row = np.append(self.row, row)

    def forget(self) -> None:
        """Drop planes and rows that have been idle for long."""
        kept = self.in_memory()
        super().forget()
        self.row = self.row[kept]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        numbers = np.array([self.primal, float(self.is_kept)])
        own = {"row": self.row, "kept": self.kept, "numbers": numbers}
        return super().arrays() | own

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> OneSlackRowsState:
        """Make the state that `arrays` was called on."""
        plain = OneSlackState.from_arrays(arrays)
        state = cls(plain.w)
        state.__dict__.update(plain.__dict__)
        state.row, state.kept = arrays["row"].copy(), arrays["kept"].copy()
        state.primal, state.is_kept = float(arrays["numbers"][0]), bool(arrays["numbers"][1])
        return state


@dataclass(frozen=True)
class OneSlackRows(OneSlack):
    """One-slack cutting plane whose weights keep rows on their side.

    Every result keeps all rows on their side, wherever a run stops, because a run begins at weights
    that do. Users do not choose this solver: `RankingSVM(two_stage=True)` does.

    Parameters
    ----------
    radius, inwards : see `OneSlack`; no pass of blocks, as a run begins at weights
    rows : object with ``margins(w)``, z_i.w of every row; ``signed(i)``, the vector z_i; and
        ``start``, weights that keep all rows on their side
    """

    rows: Any = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "one_slack"
    state_class: ClassVar[type[State]] = OneSlackRowsState
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "euclidean"})

    def start(self, problem: Problem, w: np.ndarray | None = None) -> OneSlackRowsState:
        """Start at the weights that the rows come with; others may miss some."""
        return OneSlackRowsState(self.rows.start.copy())

    def objective(self, problem: Problem) -> str:
        """Return "reduced": the data that the rows come from have no loss."""
        return "reduced"

    def given(self) -> tuple[Any, ...]:
        """Return the rows."""
        return (self.rows,)

    def parameters(self) -> dict[str, Any]:
        """Return the options that make an equal solver, without the rows, which are data."""
        return {"radius": self.radius, "inwards": self.inwards}

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Add the plane at w, move w to the new master's solution, and look at rows if it is time.

        An interrupt leaves at worst a plane without a coefficient.
        """
        state = cast(OneSlackRowsState, state)
        w = state.w
        risk, plane = risk_plane(problem, w)
        primal = problem.regularized(risk, w).value
        if state.is_kept and primal < state.primal:
            state.primal, state.kept = primal, w
        self._compare(state, w, primal)
        state.add(plane, problem.regularizer)
        self._solve_master(problem, state)
        self._turn_inwards(state)
        state.is_kept = False
        if state.upper - state.lower <= SHRINKAGE * (state.primal - state.lower):
            self._look_at_rows(problem, state)
        return Progress(dual=state.lower, primal=state.primal, w=state.kept)

    def _look_at_rows(self, problem: Problem, state: OneSlackRowsState) -> None:
        """Add the rows missed most to the master; scale the best w so that it misses no row."""
        margins = self.rows.margins(state.best)
        least = float(margins.min())
        if least >= 1.0 - MET:
            state.primal, state.kept = state.upper, state.best
            return
        new = np.setdiff1d(np.flatnonzero(margins < 1.0 - MET), state.row)
        if len(new):
            for i in new[np.argsort(margins[new], kind="stable")[:N_ROWS]]:
                plane = Plane(1.0, -self.rows.signed(i), 0.0)
                state.add(plane, problem.regularizer, row=int(i))
            # Earlier weights may miss the new rows: compare only later ones from now on.
            state.upper, state.share = math.inf, 1.0
            self._solve_master(problem, state)
        if least > 0.0:
            moved = state.best / least
            if problem.regularized(Primal(0.0, 0.0), moved).value < state.primal:
                state.w, state.is_kept = moved, True

    def _solve_master(self, problem: Problem, state: OneSlackState) -> None:
        """Replace alpha, w and lower by the master's solution, solved to a tenth of the gap."""
        state = cast(OneSlackRowsState, state)
        gap = min(state.upper, state.primal) - state.lower
        tol = 0.1 * gap if 0.0 < gap < math.inf else 0.0
        alpha = state.alpha
        solve_with_rows(state.gram, state.offset, problem.lam, alpha, state.row >= 0, tol)
        state.w = state.planes.combine(alpha) / -problem.lam
        lower = float(state.offset @ alpha) - 0.5 * problem.lam * problem.inner(state.w, state.w)
        state.idle = np.where(alpha > 0.0, 0, state.idle + 1)
        if lower > state.lower:
            noise = self._noise(problem, state, alpha, problem.length(state.w), lower, problem.lam)
            # Weights that miss rows by up to MET count as feasible, and may be better than the
            # optimum by this much.
            missed = MET * float(alpha[state.row >= 0].sum())
            state.lower, state.lower_noise = lower, noise + missed

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the best weights that miss no row."""
        state = cast(OneSlackRowsState, state)
        return [(state.kept, state.lower)]

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the planes and rows, whatever lam is, and begin at weights that miss no row."""
        state = cast(OneSlackRowsState, state)
        state.upper, state.primal, state.lower, state.share = math.inf, math.inf, 0.0, 1.0
        state.lower_noise = 0.0
        self._solve_master(problem, state)
        state.w, state.is_kept = state.kept, True
