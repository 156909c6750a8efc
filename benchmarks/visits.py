"""What a visit of block-coordinate Frank-Wolfe costs, part by part, on every structure.

No solver that asks for the most violating output of an example can do with less than one oracle
call (scores of its parts, and the search) and one sparse update of the weights. What a visit of the
plain step takes beyond these two is told apart:

- its step: values of all known planes of the example, the length of the step, and the updates by
  these planes, whose coefficients a plain step shrinks. It is what a visit of known planes takes,
  less the scores that this reads and one update.
- its bookkeeping, the rest: whether the output is a known plane, its products with the others, the
  list of planes, the means of w and the dual of the pass.

Who keeps the sum of each example instead of its planes (textbook block-coordinate Frank-Wolfe) has
neither, but a dense vector per example, and cannot solve a block over its planes, as the default
does; a visit of that stands beside it.

Every number is the least of `TURNS` passes over all examples after `PASSES` passes of the default,
in CPU microseconds per example. An update is the mean over all active planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from graph_learning import scaled, scales
from harness import Line, cpu_seconds
from hierarchy_cases import load
from race import PROBLEMS, _labels

from maxmargin import GraphSVM, HierarchySVM, ParserSVM, TreeSVM
from maxmargin.core.compile import jitable
from maxmargin.core.contract import potentials_of
from maxmargin.datasets import load_camvid, load_ocr, load_treebank
from maxmargin.solvers import BlockFrankWolfe
from maxmargin.solvers.blocks.arena import ALPHA, in_use
from maxmargin.solvers.blocks.dual import sum_blocks
from maxmargin.training.race import Case, problem_of

PASSES, TURNS = 5, 5
#: Visits of known planes alone, after each with the oracle, by which these are measured.
KNOWN = 2


def _scenes() -> Case:
    data = load_camvid()
    X = scaled(data.X_train, *scales(data.X_train))
    estimator = GraphSVM(C=0.01, fit_edge_intercept=False, random_state=0)
    return Case(estimator, X[:100], data.y_train[:100], {})


def _relaxed_scenes() -> Case:
    case = _scenes()
    return Case(case.estimator.set_params(training="relaxed"), case.X[:20], case.y[:20], {})


def _forests() -> Case:
    data = load_ocr("small")
    X = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in data.X_train]
    return Case(TreeSVM(C=1.0 / len(X), random_state=0), X, data.y_train, {})


def _edge_fields() -> Case:
    case = PROBLEMS["imclef07d"]()
    estimator = HierarchySVM(
        hierarchy=case.estimator.hierarchy, model="edges", C=0.1, random_state=0
    )
    return Case(estimator, case.X[::16], [(label,) for label in case.y[::16]], {})


def _genes() -> Case:
    case = load("cellcycle_fun")
    estimator = HierarchySVM(hierarchy=case.hierarchy, space="closed", C=0.1, random_state=0)
    return Case(estimator, case.X["fit"], case.y["fit"], {})


def _parses() -> Case:
    data = load_treebank()
    heads = [[head for head, _ in tree] for tree in data.y_train[:1000]]
    return Case(ParserSVM(C=0.02, relations="none", random_state=0), data.X_train[:1000], heads, {})


#: Problems by what they are called here.
CASES: dict[str, Callable[[], Case]] = {
    "classes (letter)": PROBLEMS["letter"],
    "chains (words)": PROBLEMS["words_small"],
    "chains (chunking, CSR)": PROBLEMS["chunking_1000"],
    "independent labels (Yeast)": partial(_labels, "yeast", C=0.1),
    "label sets (Yeast, a tree)": PROBLEMS["yeast_tree"],
    "label sets (Scene, all pairs)": PROBLEMS["scene_full"],
    "rankings (NDCG)": PROBLEMS["lgbm_rank_ndcg"],
    "one place in a hierarchy (imclef07d)": PROBLEMS["imclef07d"],
    "closed sets of nodes (cellcycle_fun)": _genes,
    "edge fields of a hierarchy (imclef07d)": _edge_fields,
    "forests (words as paths)": _forests,
    "graphs (street scenes)": _scenes,
    "relaxed graphs (street scenes)": _relaxed_scenes,
    "parses (UD EWT)": _parses,
}


def lines() -> Iterator[Line]:
    for name, make in CASES.items():
        yield visits(name, make())


def visits(name: str, case: Case) -> Line:
    """Return the microseconds of a plain visit, beside those of an oracle call and an update."""
    problem, default = problem_of(case, BlockFrankWolfe())
    rng = np.random.default_rng(0)
    states = {}
    solvers = {
        "plain": BlockFrankWolfe(step="plain", cache=0, average=False),
        "active": BlockFrankWolfe(cache=0, average=False),
        "cached": BlockFrankWolfe(cache=KNOWN, average=False),
        "plain cached": BlockFrankWolfe(step="plain", cache=KNOWN, average=False),
    }
    for key, solver in solvers.items():
        # All start from the planes of the default, so that their visits see blocks of one size.
        problem.forget()
        states[key] = default.start(problem)
        for _ in range(PASSES):
            default.advance(problem, states[key], rng)
        solver.advance(problem, states[key], rng)  # compiles
    n = problem.n_examples

    def least(work: Callable[[], Any], per: float = n) -> float:
        work()
        return 1e6 * min(cpu_seconds(work)[0] for _ in range(TURNS)) / per

    state = states["plain"]
    with problem.in_haste():
        oracle = least(lambda: problem.losses(state.w))
    scratch, blocks = np.zeros(problem.n_weights), state.blocks
    add = partial(problem.bind(sum_blocks), problem.view)
    active = in_use(blocks) & (blocks.planes[:, ALPHA] > 0.0)
    active[blocks.start[:-1]] = False  # the truth, which nothing is added for
    n_active = int(active.sum())
    update = least(lambda: add(1.0, blocks, scratch), max(n_active, 1))
    took = {
        key: least(lambda s=solver, k=key: s.advance(problem, states[k], rng))
        for key, solver in solvers.items()
    }
    known, known_plain = (
        max(took[with_cache] - took[without], 0.0) / KNOWN
        for with_cache, without in (("cached", "active"), ("plain cached", "plain"))
    )
    read = problem.bind(read_known)
    problem.forget()
    blocks = state.blocks  # by now planes may lie in other arrays
    scores = least(lambda: read(problem.view, state.w, blocks, problem.desk(), n))
    step = max(known_plain - scores - update, 0.0)
    bookkeeping = max(took["plain"] - oracle - update - step, 0.0)
    n_planes = float((states["cached"].blocks.count - 1).mean())
    return Line(
        f"{name}: a visit of the plain step, beside one oracle call and one update",
        took["plain"],
        oracle + update,
        unit="us",
        note=f"Oracle {oracle:.2f} us, an update {update:.2f}, the step over known planes "
        f"{step:.2f}, bookkeeping {bookkeeping:.2f}. By default a visit with the oracle takes "
        f"{took['active']:.2f} us and one of known planes {known:.2f}, {n_planes:.1f} planes an "
        f"example. {n} examples, {problem.n_weights} weights.",
        facts={
            "oracle": oracle, "update": update, "step": step, "bookkeeping": bookkeeping, **took,
            "known": known, "n_examples": n, "n_weights": problem.n_weights, "planes": n_planes,
        },
    )  # fmt: skip


@jitable
def read_known(problem: Any, w: Any, blocks: Any, desk: Any, n: int) -> None:
    """Read what the margins of known planes need, of all examples."""
    for i in range(n):
        start, count = blocks.start[i], blocks.count[i]
        potentials_of(problem.data, i, w, blocks.outputs, blocks.spans, start, count, desk.theta)
