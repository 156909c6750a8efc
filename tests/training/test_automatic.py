"""The defaults that all estimators share, and what solver="auto" stands for."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import maxmargin
from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM, StructuredSVM
from maxmargin.cli.commands.train import train
from maxmargin.estimators.base import BaseSVM
from maxmargin.search import SarawagiGupta
from maxmargin.solvers import SDCA, SGD, BlockFrankWolfe, NSlack, OneSlack, run
from maxmargin.surrogates import ProbLoss
from maxmargin.training.automatic import automatic_solver
from maxmargin.training.partial import is_online
from maxmargin.training.settings import check_settings

ESTIMATORS = [BaseSVM, ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM, StructuredSVM]


class Nothing:
    """A structure that offers what every structure must, and is never asked for it."""


@pytest.mark.parametrize("made", ESTIMATORS, ids=lambda made: made.__name__)
def test_everyone_has_the_same_defaults(made):
    parameters = inspect.signature(made).parameters
    assert parameters["tol"].default == inspect.signature(run).parameters["tol"].default == 1e-2
    assert parameters["solver"].default == "auto"


@pytest.mark.parametrize("name", ["C", "cost", "surrogate", "solver", "tol", "max_iter"])
def test_the_command_line_leaves_defaults_to_the_estimator(name):
    assert inspect.signature(train).parameters[name].default is None


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (ChainSVM(), BlockFrankWolfe()),
        (ChainSVM(surrogate="slack"), BlockFrankWolfe()),
        (MultilabelSVM(pairwise="full"), BlockFrankWolfe()),
        (MultilabelSVM(surrogate="micro_f1"), BlockFrankWolfe()),
        (MulticlassSVM(), BlockFrankWolfe()),
        (MulticlassSVM(search=SarawagiGupta()), NSlack()),
        (MulticlassSVM(surrogate=ProbLoss(convex=False)), SGD()),
        (ChainSVM(surrogate=ProbLoss(convex=False)), SGD()),
        (RankingSVM(), OneSlack(inwards=True)),
        (StructuredSVM(Nothing()), BlockFrankWolfe()),
    ],
    ids=lambda made: type(made).__name__,  # the same in every process, as no address is
)
def test_auto_takes_the_first_solver_that_fits(estimator, expected):
    """Of what the data offer nothing is known yet."""
    assert automatic_solver(estimator) == expected
    assert check_settings(estimator).solver == expected


LISTED = frozenset({"weighted", "listed"})


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (MulticlassSVM(), SDCA()),
        (MulticlassSVM(surrogate="slack"), SDCA()),
        (MulticlassSVM(search=SarawagiGupta()), NSlack()),
        (MulticlassSVM(surrogate=ProbLoss(convex=False)), SGD()),
        (StructuredSVM(Nothing()), SDCA()),
    ],
    ids=lambda made: type(made).__name__,
)
def test_auto_lists_outputs_where_the_data_can(estimator, expected):
    assert automatic_solver(estimator, LISTED) == expected


def test_auto_is_settled_once_data_are_known():
    X, y = np.eye(3), [0, 1, 2]
    assert MulticlassSVM(random_state=0).fit(X, y).result_.solver == "sdca"


def test_a_name_or_an_object_is_taken_as_it_is():
    assert check_settings(MulticlassSVM(solver="sgd")).solver == SGD()
    assert check_settings(RankingSVM(solver=OneSlack())).solver == OneSlack()


def test_the_search_and_the_loss_are_both_looked_at():
    model = MulticlassSVM(search=SarawagiGupta(), surrogate=ProbLoss(convex=False))
    with pytest.raises(ValueError, match=r"needs the slack of each example.*not sgd"):
        check_settings(model)


def test_a_model_keeps_auto_and_says_what_it_was(tmp_path):
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 0, 1]
    model = MulticlassSVM(random_state=0).fit(X, y)
    assert model.solver == "auto" and model.result_.solver == "sdca"
    model.save(tmp_path / "a.mm")
    again = maxmargin.load(tmp_path / "a.mm")
    assert again.solver == "auto" and again.result_.solver == "sdca"
    same = MulticlassSVM(random_state=0, solver="sdca").fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_auto_is_for_whole_data_sets():
    model = MulticlassSVM()
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"'auto'.*not online.*'sgd', 'perceptron'"):
        is_online(model)
