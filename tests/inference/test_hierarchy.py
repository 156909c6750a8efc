"""Public functions of hierarchies against the list of all outputs, in all spaces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from maxmargin.inference import hierarchy
from maxmargin.inference.hierarchy import hierarchy_shape
from maxmargin.inference.hierarchy.shape import ancestors
from maxmargin.inference.programs.hierarchy import PathsProgram
from maxmargin.testing.enumerate import node_sets
from tests.hierarchies import random_scores, random_shape, values

SPACES = ["leaf", "path", "paths", "closed"]


class Case:
    """A random hierarchy with scores, constraints and the list of allowed outputs."""

    def __init__(self, rng, space, is_dag):
        self.space = space
        self.shape = random_shape(rng, 6, is_dag)
        self.n = len(self.shape.parent_at) - 1
        self.scores = random_scores(rng, self.n)
        self.sets = node_sets(self.shape, space)
        self.values = values(self.sets, self.scores)
        self.required = rng.permutation(self.n)[: int(rng.random() < 0.3)]
        self.forbidden = rng.permutation(self.n)[: int(rng.random() < 0.3)]
        is_allowed = (self.sets[:, self.required] == 1).all(axis=1)
        is_allowed &= (self.sets[:, self.forbidden] == 0).all(axis=1)
        self.allowed = is_allowed & (self.values > -np.inf)

    @property
    def given(self):
        return self.scores, self.shape, self.space

    @property
    def constraints(self):
        return {"required": self.required, "forbidden": self.forbidden}

    def flags(self, output):
        if self.space in ("leaf", "path"):
            return ancestors(self.shape, [output]).astype(np.int32)
        return output


@pytest.fixture(params=[(space, dag) for space in SPACES for dag in (False, True)], ids=str)
def cases(request):
    space, is_dag = request.param
    rng = np.random.default_rng(3)
    n = 80 if request.param == ("paths", True) else 400  # programmes take milliseconds
    return [Case(rng, space, is_dag) for _ in range(n)]


def test_best_and_k_best(cases):
    for case in cases:
        if not case.allowed.any():
            with pytest.raises(ValueError, match="allow no output"):
                hierarchy.maximize(*case.given, **case.constraints)
            with pytest.raises(ValueError, match="allow no output"):
                hierarchy.k_best(*case.given, k=2, **case.constraints)
            continue
        expected = np.sort(case.values[case.allowed])[::-1]
        answer = hierarchy.maximize(*case.given, **case.constraints)
        assert answer.score == pytest.approx(expected[0], abs=1e-9)
        assert answer.exactness.value == "exact"
        answers = hierarchy.k_best(*case.given, k=4, **case.constraints)
        assert [a.score for a in answers] == pytest.approx(expected[:4].tolist(), abs=1e-9)
        found = [case.flags(a.output) for a in answers]
        assert len({y.tobytes() for y in found}) == len(found)
        for y, own in zip(found, answers, strict=True):
            assert (case.sets[case.allowed] == y).all(axis=1).any()
            assert hierarchy.score(*case.given, output=own.output) == pytest.approx(own.score)


def test_marginals_and_max_marginals(cases):
    for case in cases:
        best = np.array(
            [
                [case.values[case.sets[:, n] == state].max(initial=-np.inf) for state in (0, 1)]
                for n in range(case.n)
            ]
        )
        if case.space != "paths" or case.n < 5:
            found = hierarchy.max_marginals(*case.given)
            np.testing.assert_allclose(found, best, atol=1e-9)
        if case.space in ("paths", "closed") and np.diff(case.shape.parent_at).max() > 1:
            with pytest.raises(ValueError, match=r"marginals of .* needs a forest, but node"):
                hierarchy.marginals(*case.given)
        elif case.values.max() > -np.inf:
            found = hierarchy.marginals(*case.given, temperature=0.7)
            logs = case.values / 0.7
            assert found.log_partition == pytest.approx(logsumexp(logs), rel=1e-9, abs=1e-9)
            np.testing.assert_allclose(
                found.node, np.exp(logs - logsumexp(logs)) @ case.sets, atol=1e-10
            )


def test_profile(cases):
    rng = np.random.default_rng(4)
    for case in cases:
        truth = case.sets[rng.integers(len(case.sets))]
        reference = int(np.flatnonzero(truth)[-1]) if case.space in ("leaf", "path") else truth
        if case.space in ("paths", "closed") and np.diff(case.shape.parent_at).max() > 1:
            with pytest.raises(ValueError, match=r"a profile of .* needs a forest"):
                hierarchy.profile(*case.given, reference=reference)
            continue
        taken, left = rng.integers(0, 3, size=(2, case.n))
        found = hierarchy.profile(*case.given, reference=reference, taken=taken, left=left)
        costs = ((case.sets > truth) * taken + (case.sets < truth) * left).sum(axis=1)
        assert len(found.score) > costs.max()
        for level, value in enumerate(found.score):
            among = costs == level
            assert value == pytest.approx(case.values[among].max(initial=-np.inf), abs=1e-9)
            if value > -np.inf:
                assert (case.sets[among] == found.outputs[level]).all(axis=1).any()
            else:
                assert (found.outputs[level] == -1).all()


def test_the_relaxation_bounds_paths_and_is_tight_on_trees():
    rng = np.random.default_rng(5)
    n_fractional = 0
    for trial in range(600):
        shape = random_shape(rng, 7, is_dag=trial % 2 == 1)
        scores = rng.normal(size=len(shape.parent_at) - 1)
        best = values(node_sets(shape, "paths"), scores).max()
        found = PathsProgram(shape, integral=False).solve(scores)
        assert found.status == "optimal" and found.bound >= best - 1e-8
        if trial % 2 == 0:
            assert found.value == pytest.approx(best, abs=1e-8)
        n_fractional += bool((np.abs(found.node - np.rint(found.node)) > 1e-6).any())
    assert n_fractional > 0  # so that the test has seen some


SHAPE = hierarchy_shape(4, child=[1, 2, 3, 3], parent=[0, 0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.0] * 4, SHAPE, "leaves"), {}, "space must be one of leaf, path, paths, closed"),
        (([0.0] * 3, SHAPE), {}, r"scores has shape \(3,\); expected \(4,\)"),
        (([0.0, np.nan, 0.0, 0.0], SHAPE), {}, r"scores\[1\] is NaN"),
        (([0.0] * 4, SHAPE), {"required": [4]}, "required has node 4; expected 0 to 3"),
        (([0.0] * 4, SHAPE), {"forbidden": [-1]}, "forbidden has node -1"),
        (([0.0] * 4, SHAPE), {"required": [3], "forbidden": [0]}, "allow no output"),
        (([], hierarchy_shape(0, [], [])), {}, "has no nodes"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        hierarchy.maximize(*arguments, **options)


@pytest.mark.parametrize(
    ("space", "output", "message"),
    [
        ("leaf", 1, "output is node 1, which is no leaf"),
        ("path", 7, "output has node 7"),
        ("closed", [0, 1, 0, 0], "holds node 1, but not its parent 0"),
        ("closed", [0, 2, 0, 0], "zeros and ones"),
        ("closed", [0, 1], r"expected \(4,\)"),
        ("paths", [1, 1, 0, 0], "ends at node 1, which is no leaf"),
        ("paths", [0, 0, 0, 0], "is empty"),
    ],
)
def test_what_is_no_output_is_refused(space, output, message):
    with pytest.raises(ValueError, match=message):
        hierarchy.score([0.0] * 4, SHAPE, space, output=output)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="shape must be a HierarchyShape"):
        hierarchy.maximize([0.0], [(0, 1)])
    with pytest.raises(TypeError, match="required must be numbers of nodes"):
        hierarchy.maximize([0.0] * 4, SHAPE, required=["a"])
    with pytest.raises(TypeError, match="taken must be whole numbers"):
        hierarchy.profile([0.0] * 4, SHAPE, "leaf", reference=3, taken=0.5)
