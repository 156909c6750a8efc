"""A run taken up from a snapshot: everything in it is held against the problem before it runs.

A snapshot may come from anywhere. Indices are rebuilt from sizes or checked, and the state of the
solver must be one that the solver could have left (states.py). The certificate is computed anew:
the primal at the snapshot's weights, and the dual of its state. If these agree with the snapshot up
to rounding, its own digits are kept, so that the run ends with the same bits as without the
interruption. If they do not, the snapshot is refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import are_outputs, maximize, output_cost, potentials
from maxmargin.core.outputs import cells_of
from maxmargin.core.problem import Problem
from maxmargin.search.recall import slot_sizes
from maxmargin.search.reference.bisecting import BisectingSearch
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.cutting.one_slack import OneSlackState
from maxmargin.solvers.restore.checked import Arrays, Fields, read_history
from maxmargin.solvers.restore.shared import ROUNDING, bound, told_lengths
from maxmargin.solvers.restore.states import checked_state, proved_dual
from maxmargin.solvers.result import STATUSES, Record, relative


@dataclass
class Restored:
    """The contents of a snapshot that passed all checks."""

    state: State
    n_passes: int
    ended: str
    seconds: float
    oracle_calls: int
    rng: Any
    tally: dict[str, Any]
    history: list[Record]
    best_w: np.ndarray | None
    validated_w: np.ndarray | None


def restore(
    problem: Problem, solver: Solver, rng: np.random.Generator, tol: float, snapshot: Any
) -> Restored:
    """Return what a snapshot holds, and restore what the problem's search remembered.

    Raises
    ------
    ValueError
        If the snapshot is of another run, or one that no run could have left.
    """
    name = repr(snapshot.source) if snapshot.source else "The checkpoint"
    with _naming(name):
        fields = Fields(snapshot.meta, "it")
        told_solver, lam = fields.take("solver"), fields.number("lam")
        if not isinstance(told_solver, str):
            raise fields.refuse("solver", "a name", told_solver)
    if told_solver != solver.name:
        raise ValueError(f"{name} is of solver {told_solver!r:.80}, not of {solver.name!r}.")
    if lam != problem.lam:
        raise ValueError(f"{name} is of another problem (other C, data or features).")
    with _naming(name):
        memory = _memory(problem, Arrays(_below("memory.", snapshot.arrays)))
        with _unseen(problem):
            found = _read(problem, solver, rng, fields, snapshot.arrays)
            _audit(problem, solver, tol, found)
            _audit_memory(problem, memory)
    for name, array in problem.memory().items():
        array[...] = memory[name]
    return found


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Turn every error in the block into a ValueError that says what could not be restored."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{name} cannot be resumed: there is no {error}.") from error
    except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError) as error:
        message = str(error).rstrip(".")
        raise ValueError(f"{name} cannot be resumed: {message}.") from error


@contextmanager
def _unseen(problem: Problem) -> Iterator[None]:
    """Make the search forget before and after the block, and restore the count of oracle calls."""
    n_calls = problem.n_oracle_calls
    problem.forget()
    try:
        yield
    finally:
        problem.forget()
        problem.n_oracle_calls = n_calls


def _below(prefix: str, arrays: Any) -> dict[str, Any]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def _read(
    problem: Problem, solver: Solver, rng: np.random.Generator, fields: Fields, arrays: Any
) -> Restored:
    n_passes = fields.count("n_passes", least=1)
    found = Restored(
        state=checked_state(problem, solver, Arrays(_below("state.", arrays))),
        n_passes=n_passes,
        ended=fields.text("ended", ("", *STATUSES)),
        seconds=fields.number("seconds", 0.0, 1e15),
        oracle_calls=fields.count("oracle_calls"),
        rng=_rng_state(rng, fields.take("rng")),
        tally=_tally(fields.fields("tally"), n_passes),
        history=read_history(fields.take("history"), "history"),
        best_w=None,
        validated_w=None,
    )
    fields.close()
    passes = [record.pass_ for record in found.history]
    if len(passes) != n_passes or passes != list(range(1, n_passes + 1)):
        raise ValueError(f"its history is not that of {n_passes} passes")
    others = Arrays(
        {
            name: array
            for name, array in arrays.items()
            if not name.startswith(("state.", "memory."))
        }
    )
    d = (problem.n_weights,)
    found.best_w = others.take("best.w", d).copy() if "best.w" in others else None
    found.validated_w = others.take("validated.w", d).copy() if "validated.w" in others else None
    others.close()
    return found


def _tally(fields: Fields, n_passes: int) -> dict[str, Any]:
    soonest = n_passes + max(1, n_passes // 4)
    tally = {
        "primal": fields.number("primal"),
        "dual": fields.number("dual"),
        "excess": fields.number("excess", 0.0),
        "n_open": fields.count("n_open", default=0),  # older files have none
        "primal_rounding": fields.number("primal_rounding", 0.0),
        "dual_rounding": fields.number("dual_rounding", 0.0),
        "n_at_bound": fields.count("n_at_bound"),
        "validation": fields.number("validation"),
        "since_validation": fields.count("since_validation"),
        "next_check": fields.count("next_check", least=1),
        "ratio": fields.number("ratio", 0.0, 1e9),
    }
    fields.close()
    if tally["next_check"] > soonest:
        raise ValueError(f"tally['next_check'] must be at most {soonest}")
    return tally


def _rng_state(rng: np.random.Generator, state: Any) -> Any:
    """Return the state of a generator, if a generator of the kind of ``rng`` accepts it."""
    trial: Any = type(rng.bit_generator)()
    try:
        trial.state = state
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        kind = type(rng.bit_generator).__name__
        raise ValueError(f"rng is no state of a {kind}: {error}") from error
    return trial.state


def _audit(problem: Problem, solver: Solver, tol: float, found: Restored) -> None:
    """Compute primal and dual anew; refuse a snapshot that does not agree with them."""
    tally = found.tally
    room = _audit_primal(problem, solver, found)
    proved = proved_dual(problem, solver, found.state)
    told = max(tally["dual"], getattr(found.state, "lower", -math.inf))
    rounding = room + ROUNDING * abs(proved) if math.isfinite(proved) else 0.0
    if told > proved + rounding:
        message = f"its dual is {told:.9g}, but its state proves no more than {proved:.9g}"
        if not isinstance(found.state, OneSlackState):
            raise ValueError(message)
        # The larger dual may have been proved by a plane that was forgotten since.
        warnings.warn(f"Of a checkpoint, {message}: going on from there.", stacklevel=2)
        tally["dual"] = found.state.lower = proved
        found.ended = ""
    if math.isfinite(proved):
        tally["dual_rounding"] = max(tally["dual_rounding"], tally["dual"] - proved)
    if found.ended == "converged" and solver.minimizes:
        rounding = tally["primal_rounding"] + tally["dual_rounding"]
        gap = max(tally["primal"] - tally["dual"] + rounding, 0.0)
        if not relative(gap, tally["primal"]) <= tol:
            raise ValueError(f"it says that the run converged, but its gap is {gap:.3g}")


def _audit_primal(problem: Problem, solver: Solver, found: Restored) -> float:
    """Check the snapshot's primal against its weights; return the tolerance for rounding."""
    told, excess = found.tally["primal"], found.tally["excess"]
    if found.best_w is None or not solver.minimizes:
        if told < math.inf:
            raise ValueError("it has a primal, but no weights that it is of")
        return 0.0
    value, missing, _ = solver.assess(problem, found.best_w)
    length = solver.length(problem, found.best_w)
    room = ROUNDING * (abs(value) + problem.lam * length * length)
    # The bound of an inexact search depends on what it remembers, and it may remember less now than
    # it did then, or more.
    is_too_low = told < value - missing - room
    is_off = max(missing, excess) == 0.0 and not abs(told - value) <= room
    if is_too_low or is_off:
        raise ValueError(f"its primal is {told:.9g}, but that of its weights is {value:.9g}")
    found.tally["primal_rounding"] = max(
        found.tally["primal_rounding"],
        problem.precision.of_primal(length, told),
        value - missing - told,
    )
    return room


# -- what the search remembers -------------------------------------------------------------------


def _memory(problem: Problem, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays that the search remembers; their shapes and types must be its own."""
    own = problem.memory()
    found = {
        name: arrays.take(name, array.shape, array.dtype, *_limits(name, own, problem))
        for name, array in own.items()
    }
    arrays.close()
    return found


def _limits(name: str, own: dict[str, np.ndarray], problem: Problem) -> tuple[float, float]:
    if name == "counts":
        n_cells = int(slot_sizes(problem.view.data).sum())
        n_slots = len(own["outputs"]) // max(n_cells, 1) if "outputs" in own else 0
        return 0.0, n_slots + 1.0
    return (0.0, np.inf) if name == "numbers" else (-np.inf, np.inf)


def _audit_memory(problem: Problem, memory: dict[str, np.ndarray]) -> None:
    """Check remembered outputs against their examples, and largest costs against the oracle."""
    if not {"outputs", "counts", "numbers"} <= memory.keys() or problem.truths.dtype == object:
        return
    data, sizes = problem.view.data, slot_sizes(problem.view.data)
    starts, n_cells = np.cumsum(sizes) - sizes, int(sizes.sum())
    n_slots = len(memory["outputs"]) // max(n_cells, 1)
    for slot in range(n_slots):
        users = np.flatnonzero(memory["counts"] > slot)
        at = slot * n_cells + starts[users]
        lengths = told_lengths(data, users, memory["outputs"], at, sizes[users])
        cells = memory["outputs"][cells_of(at, lengths)]
        if len(users) and not are_outputs(data, users, cells, lengths).all():
            raise ValueError("its search remembers an output that its example does not have")
    known = np.flatnonzero(memory["numbers"] > 0.0)
    if len(known) and not isinstance(problem.view.search, BisectingSearch):
        costs, w = np.zeros(len(known)), np.zeros(problem.n_weights)
        bound(problem, largest_costs, len(known))(problem.view, known, w, costs, problem.desk())
        told = memory["numbers"][known]
        if not np.allclose(told, costs, rtol=1e-6, atol=1e-12):
            raise ValueError("its search remembers a largest cost that is none")


@jitable
def largest_costs(problem: Any, examples: Any, w: Any, costs: Any, desk: Any) -> None:
    """Write the largest cost of an output of each example."""
    for k in range(examples.shape[0]):
        i = examples[k]
        potentials(problem.data, i, w, 1.0, desk.theta)
        maximize(problem.data, problem.cost, i, desk.theta, desk.room, 0.0, 1.0, desk.y, 0)
        costs[k] = output_cost(problem.data, problem.cost, i, desk.y, 0)
