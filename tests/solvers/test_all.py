"""What every solver of the registry must keep: checkpoints, plain Python, interrupts, accounts."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.solvers import SOLVERS, BlockFrankWolfe, OneSlack, Snapshot, run
from tests.helpers import PLAIN_SOLVERS, structure_fits, tiny_chain, tiny_multiclass

CASES = {name: SOLVERS[name]() for name in PLAIN_SOLVERS} | {
    "bcfw, plain, gap sampling": BlockFrankWolfe(
        step="plain", sampling="gap", cache=1, average=True
    ),
    "one_slack, ball": OneSlack(radius=2.0),
    "one_slack, inwards": OneSlack(inwards=True),
}
TINY = {"classes": tiny_multiclass(weighted=True), "chains": tiny_chain(sparse=True)}
FITTING = [
    (case, tiny)
    for case, solver in CASES.items()
    for tiny in TINY
    if structure_fits({"classes": "multiclass", "chains": "chain"}[tiny], solver.needs)
]
#: One problem for every solver: chains, or what fits.
ONE_EACH = dict(FITTING)


def passes(problem, solver, n, **options):
    """Run that many passes, without a word about the gap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(problem, solver, rng=np.random.default_rng(7), tol=0.0, max_iter=n, **options)


@pytest.mark.parametrize(("case", "tiny"), FITTING)
def test_resumed_run_ends_where_an_uninterrupted_one_does(case, tiny):
    solver, kept = CASES[case], []

    def keep(event):
        taken = event.snapshot()
        # Through text and copies, as through a file.
        kept.append(Snapshot(json.loads(json.dumps(taken.meta)), copy.deepcopy(taken.arrays)))

    whole, state = passes(TINY[tiny].problem(0.01), solver, 6, callbacks=[keep])
    assert whole.n_iter == 6
    resumed, other = passes(TINY[tiny].problem(0.01), solver, 6, snapshot=kept[2])
    np.testing.assert_array_equal(resumed.w, whole.w)
    assert resumed.n_iter == 6 and len(resumed.history) == 6
    for name in ("primal", "dual", "n_oracle_calls"):
        np.testing.assert_equal(getattr(resumed, name), getattr(whole, name))
    assert state.arrays().keys() == other.arrays().keys()
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(other.arrays()[name], array, err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_checkpoint_of_another_solver_or_problem_is_refused(case):
    solver, kept = CASES[case], []
    problem = TINY["classes"].problem(0.01)
    passes(problem, solver, 1, callbacks=[lambda event: kept.append(event.snapshot())])
    with pytest.raises(ValueError, match="another problem"):
        passes(TINY["classes"].problem(0.02), solver, 2, snapshot=kept[0])
    stranger = SOLVERS["sgd" if solver.name != "sgd" else "perceptron"]()
    with pytest.raises(ValueError, match="The checkpoint is of solver"):
        passes(problem, stranger, 2, snapshot=kept[0])


@pytest.mark.parametrize(("case", "tiny"), FITTING)
def test_compiled_is_what_plain_python_computes(case, tiny):
    solver, lam = CASES[case], 0.05
    compiled, _ = passes(TINY[tiny].problem(lam), solver, 5)
    plain, _ = passes(TINY[tiny].problem(lam, compile=False), solver, 5)
    scale = np.abs(plain.w).max()
    np.testing.assert_allclose(compiled.w, plain.w, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(compiled.primal, plain.primal, rtol=1e-12)
    np.testing.assert_allclose(compiled.dual, plain.dual, rtol=1e-12, atol=1e-15)
    assert compiled.n_oracle_calls == plain.n_oracle_calls


@pytest.mark.parametrize("case", CASES)
def test_same_seed_gives_the_same_bits(case):
    solver, problem = CASES[case], TINY[ONE_EACH[case]].problem(0.01)
    first, _ = passes(problem, solver, 3)
    again, _ = passes(problem, solver, 3)
    np.testing.assert_array_equal(first.w, again.w)
    assert first.n_oracle_calls == again.n_oracle_calls >= 3 * problem.n_examples


@pytest.mark.parametrize("case", CASES)
def test_interrupted_run_returns_the_best_so_far(case):
    solver, tiny, lam = CASES[case], TINY[ONE_EACH[case]], 0.01

    def stop(event):
        if event.record.pass_ == 3:
            raise KeyboardInterrupt

    result, state = passes(tiny.problem(lam), solver, 10, callbacks=[stop])
    assert result.status == "interrupted" and result.n_iter == 3
    assert np.isfinite(result.w).all()
    if solver.minimizes:
        exact = tiny.risk(result.w)
        if not isinstance(solver, OneSlack) or solver.radius is None:
            exact = tiny.primal(result.w, lam)
        assert result.primal == pytest.approx(exact, rel=1e-12)
    # And the state goes on.
    more, _ = passes(tiny.problem(lam), solver, 2, state=state)
    assert more.n_iter == 2 and np.isfinite(more.w).all()


@pytest.mark.parametrize("case", CASES)
def test_parameters_make_an_equal_solver(case):
    solver = CASES[case]
    assert type(solver)(**solver.parameters()) == solver
    assert SOLVERS[solver.name] is type(solver)
    known = {"convex", "linear", "unit_slope", "listed", "marginals", "parts", "euclidean"}
    assert solver.needs <= known
    json.dumps(solver.parameters())


@pytest.mark.parametrize("case", CASES)
def test_one_example_of_one_class(case):
    # Nothing can be wrong: w = 0 is the answer of all.
    tiny = tiny_multiclass(n=1, n_labels=1)
    result, _ = passes(tiny.problem(0.1), CASES[case], 2)
    assert not result.w.any() and not result.primal > 0.0
