"""The exact hull search over structures in plain Python, by branches on the parts of outputs."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import StructuredSVM
from maxmargin.core.contract import capabilities, psi
from maxmargin.core.problem import Problem
from maxmargin.search import ConvexHull
from maxmargin.search.choose import bind_search
from maxmargin.search.hull.branch import Branching
from maxmargin.search.hull.points import ORDER, G, H, rank
from maxmargin.search.trace import trace_search
from maxmargin.structures import OwnCost, UserData
from maxmargin.surrogates import BetaScaling, LogLoss, SlackRescaling
from maxmargin.testing import check_oracles, check_structure
from tests.matchings import (
    BranchingMatching,
    ForbiddingMatching,
    Matching,
    Picking,
    WholeMatching,
    matchings,
)

SURROGATES = [SlackRescaling(), BetaScaling(0.5), LogLoss()]


def problem_of(structure, X, Y, surrogate, search="auto"):
    data, cost = UserData(structure, X, Y), OwnCost()
    bound = bind_search(search, surrogate, data, cost)
    return Problem(data, cost, surrogate.compiled(), len(X), 1.0, search=bound)


def best_psi(structure, X, Y, surrogate, w):
    """Return the largest psi of every example, over the list of all outputs."""
    form, found = surrogate.compiled(), []
    for x, truth in zip(X, Y, strict=True):
        h = [w @ (structure.joint_feature(x, y) - structure.joint_feature(x, truth))
             for y in structure.outputs(x)]  # fmt: skip
        g = [structure.cost(y, truth) for y in structure.outputs(x)]
        found.append(max(0.0, *(psi(form, *point)[0] for point in zip(h, g, strict=True))))
    return np.array(found)


def picks(seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(3, 4)) for _ in range(6)]
    return X, [(), (0,), (1, 2), (0, 1, 2, 3), (3,), (0, 2)]


def near_truth(seed, scale):
    """Return weights at which the best output is often under the hull."""
    noise = 0.2 * np.random.default_rng(seed).normal(size=3)
    return scale * (np.array([1.0, -0.5, 0.3]) + noise)


CASES = {
    "forbid and require": (BranchingMatching(), matchings(8, 4, seed=0)),
    "forbid": (ForbiddingMatching(), matchings(8, 4, seed=0)),
    "whole outputs": (WholeMatching(), matchings(8, 4, seed=0)),
    "parts of one among those of another": (Picking(), picks(0)),
}


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
@pytest.mark.parametrize("case", CASES)
def test_the_best_output_is_that_of_the_list(case, surrogate):
    structure, (X, Y) = CASES[case]
    problem = problem_of(structure, X, Y, surrogate)
    for seed, scale in enumerate((0.3, 0.6, 1.0, 2.0)):  # from what is remembered, after the first
        w = near_truth(seed, scale)
        losses, bounds = problem.losses(w)
        expected = best_psi(structure, X, Y, surrogate, w)
        np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(bounds, expected, rtol=1e-9, atol=1e-9)


def test_without_forbid_there_is_only_a_bound():
    X, Y = matchings(20, 4, seed=0)
    missed = 0
    for structure in (Matching(), BranchingMatching()):
        problem = problem_of(structure, X, Y, SlackRescaling(), ConvexHull())
        for seed in range(3):
            w = near_truth(seed, 0.6)
            best = best_psi(structure, X, Y, SlackRescaling(), w)
            losses, bounds = problem.losses(w)
            assert (losses <= best + 1e-9).all() and (bounds >= best - 1e-9).all()
            wrong = int((losses < best - 1e-9).sum())
            missed += wrong if type(structure) is Matching else 0
            assert wrong == 0 or type(structure) is Matching
    assert missed > 0


def test_too_few_branches_leave_a_bound():
    X, Y = matchings(20, 4, seed=0)
    w = near_truth(0, 0.6)
    best = best_psi(Matching(), X, Y, SlackRescaling(), w)
    excess = []
    for most in (1, 3, 1000):
        search = ConvexHull(max_branches=most)
        problem = problem_of(BranchingMatching(), X, Y, SlackRescaling(), search)
        losses, bounds = problem.losses(w)
        assert (losses <= best + 1e-9).all() and (bounds >= best - 1e-9).all()
        excess.append(float((bounds - losses).sum()))
        n_open = problem.mean_loss(losses, bounds).n_open
        assert n_open == (bounds - losses > 1e-7).sum() >= (best - losses > 1e-7).sum()
    assert n_open == 0
    assert excess[0] > excess[1] > excess[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("solver", ["bcfw", "n_slack"])
def test_matchings_of_eight_reach_the_tolerance_under_slack_rescaling(solver):
    X, Y = matchings(8, 8, seed=2)
    model = StructuredSVM(
        BranchingMatching(), C=0.1, surrogate="slack", solver=solver, tol=0.01, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, Y)
    result = model.result_
    assert result.status == "converged" and result.relative_gap <= 0.01
    assert result.search_gap <= 1e-9 * result.primal and result.n_open == 0


def test_a_trace_has_the_queries_of_branches():
    X, Y = matchings(8, 4, seed=0)
    problem = problem_of(BranchingMatching(), X, Y, SlackRescaling())
    w = near_truth(0, 0.6)
    best = best_psi(Matching(), X, Y, SlackRescaling(), w)
    traces = [trace_search(problem, i, w) for i in range(8)]
    assert [t.psi for t in traces] == pytest.approx(best)
    assert all(t.n_calls == len(t.queries) for t in traces)
    branches = [query for t in traces for query in t.queries if query.kind == "forbid"]
    assert branches and not any(query.excludes(100.0, 100.0) for query in branches)


# -- what the structure says of itself -----------------------------------------------------------


def test_oracles_are_named_by_what_the_structure_has():
    X, Y = matchings(1, 3, seed=0)
    assert "forbid" in capabilities(UserData(BranchingMatching(), X, Y), OwnCost())
    assert "forbid" not in capabilities(UserData(Matching(), X, Y), OwnCost())
    with pytest.raises(ValueError, match="needs the oracle 'forbid', which Matching does not have"):
        problem_of(Matching(), X, Y, SlackRescaling(), ConvexHull(fallback="forbid"))


@pytest.mark.parametrize("case", CASES)
def test_checks_pass(case):
    structure, (X, Y) = CASES[case]
    check_oracles(UserData(structure, X[:2], Y[:2]), OwnCost())
    check_structure(structure, X, Y, max_examples=2)


class Forgetful(BranchingMatching):
    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=(), require=()):
        return super().maximize(x, w, y_true, score_scale, cost_scale, forbid)


class Weak(BranchingMatching):
    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=(), require=()):
        if forbid or require:
            cost_scale = 0.0
        return super().maximize(x, w, y_true, score_scale, cost_scale, forbid, require)


class Resigned(BranchingMatching):
    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=(), require=()):
        if len(forbid) > 2:
            return None
        return super().maximize(x, w, y_true, score_scale, cost_scale, forbid, require)


class Coarse(BranchingMatching):
    def parts(self, y):
        return y[:1]


class Nested(Picking):
    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=()):
        return super().maximize(x, w, y_true, score_scale, cost_scale, forbid)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Forgetful(), "was told to require the part .* has it not"),
        (Weak(), "maximize with forbid=.* is best"),
        (Resigned(), "found None for example 0, but .* outputs are left"),
        (Coarse(), "parts must tell outputs apart"),
        (Nested(), "without require none may have all of another's"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_checks_find_what_is_wrong(structure, message):
    X, Y = picks(0) if isinstance(structure, Picking) else matchings(2, 4, seed=0)
    with pytest.raises(AssertionError, match=message):
        check_oracles(UserData(structure, X, Y), OwnCost())


def test_parts_are_asked_for_and_must_be_hashable():
    X, Y = matchings(1, 3, seed=0)

    class Partless(Matching):
        def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=()):
            return super().maximize(x, w, y_true, score_scale, cost_scale)

    with pytest.raises(TypeError, match=r"Partless takes forbid, but there is no method parts"):
        StructuredSVM(Partless(), surrogate="slack").fit(X, Y)

    class Unhashable(BranchingMatching):
        def parts(self, y):
            return [[pair] for pair in enumerate(y)]

    with pytest.raises(TypeError, match="parts must return a collection of hashable parts"):
        check_oracles(UserData(Unhashable(), X, Y), OwnCost())


def test_a_check_says_that_it_needs_outputs():
    X, Y = matchings(1, 3, seed=0)

    class Unlisted(Matching):
        outputs = None

    with pytest.raises(TypeError, match=r"Unlisted has no method outputs\(x\).* pass outputs="):
        check_structure(Unlisted(), X, Y)
    check_structure(Unlisted(), X, Y, outputs=lambda i: Matching().outputs(X[i]))


def test_the_k_best_of_objects_are_checked():
    class Ordered(Matching):
        def k_best(self, x, w, y_true, score_scale, cost_scale, k):
            def value(y):
                price = 0.0 if y_true is None else self.cost(y, y_true)
                return score_scale * (w @ self.joint_feature(x, y)) + cost_scale * price

            return sorted(self.outputs(x), key=value, reverse=True)[:k]

    class Repeating(Ordered):
        def k_best(self, *arguments):
            return [*super().k_best(*arguments)[:-1], super().k_best(*arguments)[0]]

    X, Y = matchings(2, 3, seed=0)
    check_structure(Ordered(), X, Y)
    with pytest.raises(AssertionError):
        check_structure(Repeating(), X, Y)


# -- warnings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["bcfw", "one_slack", "n_slack"])
def test_warnings_name_the_share_of_the_bound(solver):
    X, Y = matchings(8, 4, seed=0)
    model = StructuredSVM(
        Matching(), C=1.0, surrogate="slack", solver=solver, tol=1e-6, random_state=0, max_iter=3
    )
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    assert model.result_.search_gap > 0.0 and 0 < model.result_.n_open <= 8
    said = f"is the bound of the search, which left {model.result_.n_open} examples open"
    assert said in str(caught[0].message)


def test_the_end_at_a_bound_says_what_would_be_exact():
    X, Y = matchings(8, 4, seed=0)
    model = StructuredSVM(Matching(), C=1.0, surrogate="slack", tol=1e-4, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"% of it\) is the bound .* maximize with forbid"):
        model.fit(X, Y)
    assert model.result_.status == "oracle_bound"
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.set_params(structure=BranchingMatching()).fit(X, Y)
    assert model.result_.status == "converged"


SHRINKING = (178, 201, 1282, 1576, 1924, 2516, 2944, 3123, 3323, 3690)


class Cloud(Branching):
    """Outputs that are points alone, some of them met before; the oracle looks at all of them."""

    def __init__(self, h, g, n_known):
        self.view = SimpleNamespace(surrogate=SlackRescaling().compiled())
        self.everything = np.zeros((4, len(h)))
        self.everything[H], self.everything[G] = h, g
        self.everything[ORDER] = [
            rank(self.view.surrogate, *point) for point in zip(h, g, strict=True)
        ]
        self.met = list(range(n_known))

    @property
    def points(self):
        return self.everything[:, self.met]

    @property
    def outputs(self):
        return self.met

    def members(self, forbid, require):
        return list(range(len(self.met)))

    def ask(self, forbid, require, tilt):
        h, g = self.everything[H], self.everything[G]
        best = int(np.argmax(g if tilt == math.inf else h + tilt * g))
        if best not in self.met:
            self.met.append(best)
        return self.met.index(best)


def draw_cloud(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    h, g = 3.0 * rng.normal(size=n), rng.exponential(3.0, size=n)
    h[0] = g[0] = 0.0  # the true output
    return Cloud(h, g, n_known=int(rng.integers(1, n))), float(rng.exponential())


# In these a new output takes several corners off the hull at once, and more.
@pytest.mark.parametrize("seeds", [SHRINKING, range(200)], ids=["shrinking", "others"])
def test_the_bound_of_a_branch_is_above_all_its_outputs(seeds):
    for seed in seeds:
        cloud, tilt = draw_cloud(seed)
        branch = cloud.climb(frozenset(), frozenset(), tilt)
        assert branch.order >= cloud.everything[ORDER].max() - 1e-9
