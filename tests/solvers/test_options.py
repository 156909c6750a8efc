"""Options of solvers are refused by name: another kind than declared, or a value that cannot be."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from maxmargin import MulticlassSVM
from maxmargin.solvers import (
    SOLVERS,
    BlockFrankWolfe,
    ExponentiatedGradient,
    NSlack,
    OneSlack,
    PartialLinearization,
    run,
)
from maxmargin.testing import optimum, tiny_problem
from maxmargin.training.race import named_solver

OPTIONS = [(name, field) for name, kind in SOLVERS.items() for field in fields(kind)]


@pytest.mark.parametrize(("name", "field"), OPTIONS, ids=lambda part: getattr(part, "name", part))
def test_an_option_of_another_kind_is_refused(name, field):
    for value in (b"1", [1.0], None):
        if value is None and "None" in field.type:
            continue
        with pytest.raises(
            TypeError, match=f"{SOLVERS[name].__name__}: {field.name} must be .*got"
        ):
            SOLVERS[name](**{field.name: value})
    SOLVERS[name](**{field.name: field.default})


def test_kinds_are_those_of_numbers_as_numpy_has_them():
    assert PartialLinearization(tau=np.float32(0.5), fall=1, block=np.bool_(False)).tau == 0.5
    assert BlockFrankWolfe(cache=np.int64(3)).cache == 3
    for make, kind, message in [
        (lambda: PartialLinearization(tau="0.1"), TypeError, "tau must be a number, got '0.1'"),
        (lambda: PartialLinearization(tau=True), TypeError, "tau must be a number, got True"),
        (lambda: ExponentiatedGradient(eta=1j), TypeError, "eta must be a number"),
        (lambda: OneSlack(radius="1"), TypeError, "radius must be a number or None, got '1'"),
        (lambda: NSlack(max_inner=2.5), ValueError, "max_inner must be an integer, got 2.5"),
        (lambda: BlockFrankWolfe(cache=-1), ValueError, "cache must be >= 0, got -1"),
        (lambda: BlockFrankWolfe(max_steps=0), ValueError, "max_steps must be >= 1, got 0"),
        (lambda: named_solver("partial_linearization(tau=None)"), ValueError,
         r"solver 'partial_linearization.*PartialLinearization: tau must be a number, got None\.$"),
        (lambda: named_solver("bcfw(speed=2)"), ValueError, "unexpected keyword argument 'speed'"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=message):
            make()


@pytest.mark.parametrize(
    ("structure", "surrogate", "features"),
    [("ranking", "margin", "dense"), ("multiclass", "slack", "dense"), ("chain", "margin", "gram")],
)
def test_without_temperature_nothing_is_needed_that_frank_wolfe_does_not(
    structure, surrogate, features
):
    problem = tiny_problem(structure, surrogate=surrogate, features=features, compile=False)
    plain = tiny_problem(structure, surrogate=surrogate, compile=False)
    result, _ = run(
        problem, PartialLinearization(tau=0.0), rng=np.random.default_rng(0), tol=0.05, max_iter=500
    )
    best = optimum(plain)
    assert result.status == "converged" and result.dual <= best.upper + 1e-9
    assert best.lower - 1e-9 <= result.primal <= best.upper / 0.95
    with pytest.raises(ValueError, match=r"PartialLinearization needs|Expectations need"):
        run(problem, PartialLinearization(), rng=np.random.default_rng(0))
    if features == "gram":
        with pytest.raises(ValueError, match="needs features in rows"):
            run(problem, PartialLinearization(0.0, block=False), rng=np.random.default_rng(0))


def test_estimators_take_it_without_temperature_too(monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")
    X, y = np.eye(6)[:, :3] + 0.1, np.arange(6) % 3
    for more in ({"surrogate": "slack"}, {"kernel": "rbf"}):
        model = MulticlassSVM(solver=PartialLinearization(tau=0.0), random_state=0, tol=0.1, **more)
        assert model.fit(X, y).result_.status == "converged"
