"""Run golden cases with the maxmargin that is imported: the one place that knows its names.

A tree is asked for as little as can be: registries, the makers of data, `tiny_problem` of
`maxmargin.testing` (which makes a `Problem` from names, whatever lies between) and `run`. When
something moves or is renamed, add where it is now to `PLACES`, or what it is called to `ALIASES`.

    PYTHONPATH=TREE/src python benchmarks/golden_tree.py words
    PYTHONPATH=TREE/src python benchmarks/golden_tree.py run CASES.json RESULTS.json
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from golden_cases import PROGRAMS, VARIANTS, Case, Drawn, Vocabulary, draw

#: Where a thing lies, first in the newest tree.
PLACES: dict[str, tuple[str, ...]] = {
    "STRUCTURES": ("maxmargin.structures:STRUCTURES",),
    "COSTS": ("maxmargin.costs:COSTS",),
    "RANKING_COSTS": ("maxmargin.costs:RANKING_COSTS", "maxmargin.costs.ranking:RANKING_COSTS"),
    "SURROGATES": ("maxmargin.surrogates:SURROGATES",),
    "SOLVERS": ("maxmargin.solvers:SOLVERS",),
    "SEARCHES": ("maxmargin.search:SEARCHES",),
    "run": ("maxmargin.solvers:run", "maxmargin.solvers.run:run"),
    "tiny_problem": ("maxmargin.testing:tiny_problem", "maxmargin.testing.tiny:tiny_problem"),
    "Agreement": ("maxmargin.testing.tiny:Agreement",),
    "multiclass_data": (
        "maxmargin.structures:multiclass_data",
        "maxmargin.structures:class_data",
        "maxmargin.structures:classes_data",
    ),
    "chain_data": ("maxmargin.structures:chain_data",),
    "chain_layout": ("maxmargin.structures:chain_layout",),
    "labels_data": ("maxmargin.structures:labels_data",),
    "ranking_data": ("maxmargin.structures:ranking_data",),
    "UserData": ("maxmargin.structures:UserData",),
    "best_outputs": ("maxmargin.core.predict:best_outputs",),
    "Task": ("maxmargin.training.task:Task",),
    "reduce_task": ("maxmargin.training.stages:reduce_task",),
    "OneSlackRows": ("maxmargin.solvers.cutting.one_slack_rows:OneSlackRows",),
}

#: What newer trees call the structures, costs, ... of the harness.
ALIASES: dict[str, tuple[str, ...]] = {
    "multiclass": ("classes",),
    "multilabel": ("labels", "labels_independent"),
    "multilabel_tree": ("labels_tree",),
    "multilabel_listed": ("labels_listed",),
    "multilabel_pairwise": ("labels_pairwise",),
    "multilabel_relaxed": ("labels_relaxed",),
    "multilabel_program": ("labels_program",),
    "multilabel_relaxed_program": ("labels_relaxed_program", "multilabel_program_relaxed"),
    "f1": ("example_f1", "instance_f1"),
}

#: Passes at most, and the relative gap to stop at. Runs in plain Python are long enough to show
#: every kind of step, and short enough for a thousand of them to take minutes.
LIMITS = {"tol": 1e-4, "max_iter": 20}
LIMITS_COMPILED = {"tol": 1e-6, "max_iter": 60}

LAM = 0.1


class MissingError(Exception):
    """The tree has nothing of that name."""


def find(name: str) -> Any:
    """Return a thing of the tree, wherever it lies."""
    for place in PLACES[name]:
        module, _, attribute = place.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError):
            continue
    raise MissingError(f"no {name} in {', '.join(PLACES[name])}: extend PLACES of golden_tree.py")


def registry(name: str) -> dict[str, Any]:
    """Return a registry of the tree by the names of the harness."""
    old_name = {new: old for old, news in ALIASES.items() for new in news}
    return {old_name.get(key, key): value for key, value in find(name).items()}


def name_in(name: str, known: Any) -> str:
    """Return what the tree calls a structure, a cost, ..."""
    for candidate in (name, *ALIASES.get(name, ())):
        if candidate in known:
            return candidate
    raise MissingError(f"{name!r} is not among {', '.join(known)}")


def vocabulary() -> Vocabulary:
    """Return the names of all that the tree has."""
    costs = registry("COSTS")
    with suppress(MissingError):  # merged with the others
        costs = costs | registry("RANKING_COSTS")
    structures = list(registry("STRUCTURES"))
    return Vocabulary(
        structures + [name for name in PROGRAMS if name not in structures],
        list(costs),
        list(registry("SURROGATES")),
        list(registry("SOLVERS")),
        list(registry("SEARCHES")),
    )


# -- from a case to a Problem --------------------------------------------------------------------


def make_data(structure: str, drawn: Drawn) -> Any:
    """Return drawn numbers as the tree holds the examples of a structure."""
    if structure == "multiclass":
        return find("multiclass_data")(drawn.X, drawn.labels, drawn.n_labels)
    if structure == "chain":
        offsets = np.concatenate([[0], np.cumsum(drawn.sizes)])
        layout = find("chain_layout")(drawn.X.shape[1], drawn.n_labels)
        limits = {"edge_barrier": drawn.steps, "node_barrier": drawn.nodes}
        return find("chain_data")(drawn.X, offsets, drawn.labels, layout, **limits)
    if structure == "ranking":
        return find("ranking_data")(drawn.X, drawn.first, drawn.sizes, drawn.n_relevant)
    if structure == "user":
        agreement = find("Agreement")(drawn.n_labels, drawn.X.shape[1])
        return find("UserData")(agreement, drawn.X, drawn.labels.tolist())
    inference = structure.removeprefix("multilabel").removeprefix("_") or "independent"
    return find("labels_data")(drawn.X, drawn.labels, drawn.edges, inference=inference)


def make_problem(case: Case) -> Any:
    """Return the problem of a case, as the tree makes it."""
    tiny_problem = find("tiny_problem")
    tiny = import_module(tiny_problem.__module__)
    names = find("STRUCTURES")
    if case.structure in PROGRAMS and case.structure not in registry("STRUCTURES"):
        structure = case.structure  # outside the registry of older trees
    else:
        structure = name_in(case.structure, names)
    cost = _cost_name(case.cost)
    surrogate = name_in(case.surrogate, find("SURROGATES"))
    search = case.search if case.search == "auto" else name_in(case.search, find("SEARCHES"))
    options = {
        "search": search,
        "lam": LAM,
        "features": case.features,
        "n_jobs": 2 if case.start == "threads" else 1,
        "compile": case.compiled,
    }
    drawn = draw(case.structure, case.features, case.compiled, case.outputs)
    if drawn is None:  # a newer structure, of which the tree itself draws examples
        return tiny_problem(structure, cost, surrogate, **options)
    made = tiny.TinyData(make_data(case.structure, drawn), drawn.sizes)
    with replaced(tiny, tiny_data=lambda *_, **__: made, N_LABELS=drawn.n_labels):
        return tiny_problem(structure, cost, surrogate, **options)


def _cost_name(name: str) -> str:
    if name == "own":
        return name
    try:
        return name_in(name, find("COSTS"))
    except MissingError:
        return name_in(name, find("RANKING_COSTS"))


@contextmanager
def replaced(module: Any, **values: Any) -> Iterator[None]:
    """Give a module other values for a while; it must have had each of them."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


# -- running -------------------------------------------------------------------------------------


def run_case(case: Case) -> dict[str, Any]:
    """Return what a case gives; where the tree refuses it, what it says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _predict(case) if case.start == "predicted" else _record(_solve(case))
    except Exception as error:  # a refusal, or a fault: the other tree tells which
        return {"refused": f"{type(error).__name__}: {error}"[:300]}


def _solve(case: Case) -> Any:
    name, options = VARIANTS.get(case.solver, (case.solver, {}))
    solver = registry("SOLVERS")[name](**options)
    _check_surrogate(solver, registry("SURROGATES")[case.surrogate]())
    problem = make_problem(case)
    limits = LIMITS_COMPILED if case.compiled else LIMITS
    if "relaxed" in case.structure:
        # May differ by certificate: with few passes, the path alone decides whether it converges.
        limits = {**limits, "max_iter": 200}
    run, rng = find("run"), np.random.default_rng(0)
    if case.start == "two_stage":
        problem, solver = _second_stage(problem)
    if case.start == "resumed":
        _, state = run(problem, solver, rng=rng, tol=limits["tol"], max_iter=3)
        held = {name: np.array(array) for name, array in state.arrays().items()}
        state = solver.state_class.from_arrays(held)
        return run(problem, solver, rng=rng, state=state, **limits)[0]
    if case.start != "warm":
        return run(problem, solver, rng=rng, **limits)[0]
    lighter = problem.with_lam(3.0 * LAM)
    _, state = run(lighter, solver, rng=rng, **limits)
    solver.adapt(problem, state, lighter.lam)
    return run(problem, solver, rng=np.random.default_rng(1), state=state, **limits)[0]


def _second_stage(problem: Any) -> tuple[Any, Any]:
    """Return the problem without its easy samples, and the solver that holds them."""
    view, n = problem.view, problem.n_examples
    task = find("Task")(view.data, view.cost, n, view.weight)
    reduced, rows = find("reduce_task")(task, 1.0 / (problem.lam * n), 0.5, 1)
    if rows is None:
        raise ValueError("no sample is easy")
    margin = registry("SURROGATES")["margin"]()
    return reduced.problem(margin, problem.lam), find("OneSlackRows")(inwards=True, rows=rows)


def _predict(case: Case) -> dict[str, Any]:
    """Return the best outputs at drawn weights, as a record without a certificate."""
    problem = make_problem(case)
    w = np.random.default_rng(5).normal(size=problem.n_weights).round(2)
    outputs, costs = find("best_outputs")(
        problem.view.data, w, problem.view.cost, problem.view.cost, n_jobs=2
    )
    return {
        "w": w.tobytes().hex(),
        "primal": float(costs.sum()).hex(),
        "dual": float("-inf").hex(),
        "gap": float("inf").hex(),
        "status": "predicted",
        "passes": 0,
        "calls": 0,
        "outputs": outputs.tobytes().hex(),
    }


def _check_surrogate(solver: Any, surrogate: Any) -> None:
    """Refuse what estimators refuse: a solver may run on where its certificate does not hold."""
    flags = {"convex": "is_convex", "linear": "is_linear", "unit_slope": "has_unit_slope"}
    for need, flag in flags.items():
        if need in solver.needs and not getattr(surrogate, flag):
            raise ValueError(f"{solver.name} needs a surrogate that is {need}")


def _record(result: Any) -> dict[str, Any]:
    """Return a result with all bits of its numbers."""
    w = np.ascontiguousarray(result.w, dtype=np.float64)
    return {
        "w": w.tobytes().hex(),
        "primal": float(result.primal).hex(),
        "dual": float(result.dual).hex(),
        "gap": float(result.gap).hex(),
        "status": str(result.status),
        "passes": int(result.n_iter),
        "calls": int(result.n_oracle_calls),
        "outputs": "",
    }


def main(arguments: list[str]) -> None:
    """Answer the harness, which runs this file with PYTHONPATH set to a tree."""
    if arguments == ["words"]:
        import maxmargin

        where = str(Path(maxmargin.__file__).resolve().parents[1])
        print(json.dumps({"source": where, "words": vocabulary()}))
        return
    _, cases, results = arguments
    asked = [Case(**fields) for fields in json.loads(Path(cases).read_text())]
    answers = {case.name: run_case(case) for case in asked}
    Path(results).write_text(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1:])
