"""StructuredSVM: structures in plain Python and compiled ones, as an estimator."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import maxmargin
from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.costs import COSTS, Hamming
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.estimators.structured import STORED, StructuredSVM, register_structure
from maxmargin.search.direct import Direct
from maxmargin.solvers import SOLVERS, BlockFrankWolfe
from maxmargin.structures import OwnCost, UserData, chain_data, chain_layout, multiclass_data
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import optimum
from maxmargin.testing.tiny import Agreement
from maxmargin.training.checkpoint import Checkpoint
from tests.grades import Grades

DIRECT = Direct(1.0, 1.0)

ONLINE = [name for name, cls in SOLVERS.items() if cls.is_online]
#: Those that need no more than every structure has.
COMMON = [name for name, cls in SOLVERS.items() if not {"listed", "marginals", "parts"} & cls.needs]
EXACT = [name for name in COMMON if SOLVERS[name].reach <= 1e-6 and "convex" in SOLVERS[name].needs]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(12, 2))
    return X, np.argmax(X @ [[1, -1, 0], [0, 0.5, -1]], axis=1).tolist()


def agreement(**options):
    return StructuredSVM(Agreement(3, 2), random_state=0, **options)


# -- in plain Python -----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", EXACT)
def test_fit_reaches_the_optimum(solver, data):
    X, Y = data
    model = agreement(solver=solver, C=2.0, tol=1e-7).fit(X, Y)
    user = UserData(Agreement(3, 2), X, Y)
    psi = MarginRescaling().compiled()
    best = optimum(Problem(user, OwnCost(), psi, 12, lam_from_C(2.0, 12), search=DIRECT))
    assert model.result_.primal == pytest.approx(best.upper, rel=1e-6)
    assert model.result_.status == "converged" and model.result_.relative_gap <= 1e-7
    assert model.coef_ is model.result_.w and model.n_iter_ == model.result_.n_iter


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", COMMON)
def test_every_solver_takes_a_python_structure(solver, data):
    X, Y = data
    model = agreement(solver=solver, C=10.0, max_iter=100).fit(X, Y)
    predicted = model.predict(X)
    assert isinstance(predicted, list) and isinstance(predicted[0], int)
    assert model.score(X, Y) > 0.8


def test_score_is_one_less_the_mean_normalised_cost(data):
    X, Y = data
    model = agreement(C=0.1).fit(X, Y)
    cost = [abs(p - y) for p, y in zip(model.predict(X), Y, strict=True)]
    largest = [max(y, 2 - y) for y in Y]
    assert model.score(X, Y) == pytest.approx(1 - np.mean(np.divide(cost, largest)))
    weight = np.arange(1.0, 13.0)
    expected = 1 - np.average(np.divide(cost, largest), weights=weight)
    assert model.score(X, Y, sample_weight=weight) == pytest.approx(expected)


def test_sample_weights_count_as_repetition(data):
    X, Y = data
    twice = [*range(12), 0, 0, 3]
    weight = np.bincount(twice).astype(float)
    # The same objective up to a factor: C sum s_i xi_i.
    repeated = agreement(C=1.0, tol=1e-9).fit(X[twice], [Y[i] for i in twice])
    weighted = agreement(C=1.0, tol=1e-9).fit(X, Y, sample_weight=weight)
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-4)


def test_outputs_may_be_any_objects(rng):
    class Sorting:
        """Orders two numbers: outputs are arrays, inputs tuples, features a list."""

        n_features = 2

        def joint_feature(self, x, y):
            return [x[y[1]] - x[y[0]], float(y[0])]

        def cost(self, y, y_true):
            return float(not np.array_equal(y, y_true))

        def maximize(self, x, w, y_true, score_scale, cost_scale):
            def value(y):
                price = 0.0 if y_true is None else self.cost(y, y_true)
                return score_scale * (w @ self.joint_feature(x, y)) + cost_scale * price

            return max((np.array([0, 1]), np.array([1, 0])), key=value)

    X = [tuple(pair) for pair in rng.normal(size=(10, 2))]
    Y = [np.argsort(x) for x in X]
    model = StructuredSVM(Sorting(), C=100.0, random_state=0).fit(X, Y)
    assert all(np.array_equal(p, y) for p, y in zip(model.predict(X), Y, strict=True))
    assert model.score(X, Y) == 1.0


class LabelledRows:
    """Rows as pandas has them: [] goes by label, iloc and iteration by place."""

    def __init__(self, values, labels):
        self.values = list(values)
        self.labels = list(labels)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, label):
        return self.values[self.labels.index(label)]

    @property
    def iloc(self):
        return self.values


def test_samples_are_taken_by_place_whatever_their_labels(data):
    X, Y = data
    backwards = range(len(Y))[::-1]
    plain = agreement(C=0.1).fit(X, Y)
    labelled = agreement(C=0.1).fit(LabelledRows(X, backwards), LabelledRows(Y, backwards))
    np.testing.assert_array_equal(labelled.coef_, plain.coef_)
    assert labelled.predict(LabelledRows(X, backwards)) == plain.predict(X)


def test_cloning_and_searching(data):
    X, Y = data
    model = agreement(C=3.0)
    twin = clone(model)
    assert twin.C == 3.0 and twin.structure is not model.structure and "structure" in repr(twin)
    assert len(cross_val_score(model, X, Y, cv=2)) == 2
    search = GridSearchCV(model, {"C": [0.1, 10.0]}, cv=2).fit(X, Y)
    assert search.best_params_["C"] in (0.1, 10.0)


def test_path_reuses_the_dual(data):
    X, Y = data
    path = agreement(tol=1e-6).path(X, Y, [0.1, 1.0, 10.0], cv=2)
    assert path.scores.shape == (3, 2)
    for C, result in zip(path.Cs, path.results, strict=True):
        alone = agreement(tol=1e-6, C=C).fit(X, Y).result_
        assert result.primal == pytest.approx(alone.primal, rel=1e-5)


def test_warm_start_keeps_the_dual_on_the_same_data(data):
    X, Y = data
    model = agreement(tol=1e-6, warm_start=True).fit(X, Y)
    first = model.result_
    second = model.fit(X, Y).result_
    assert second.n_iter == 1 and second.relative_gap <= 1e-6
    assert second.primal <= first.primal * (1 + 1e-9)
    with pytest.warns(UserWarning, match="data differ .* the dual restarts"):
        model.fit(X + 1.0, Y)


class Closure(Agreement):
    """Cannot be pickled, and counts what it is asked."""

    def __init__(self):
        super().__init__(3, 2)
        self.hidden = lambda: None
        self.n_calls = 0

    def maximize(self, *arguments):
        self.n_calls += 1
        return super().maximize(*arguments)


def test_warm_start_refuses_before_any_work_what_it_cannot_tell_apart(data):
    model = StructuredSVM(Closure(), random_state=0, warm_start=True)
    with pytest.raises(TypeError, match=r"warm_start=True .* Closure"):
        model.fit(*data)
    assert model.structure.n_calls == 0
    assert model.set_params(warm_start=False).fit(*data).result_.status == "converged"


def test_warm_start_with_another_structure_starts_anew(data):
    model = agreement(warm_start=True).fit(*data)
    model.set_params(structure=StoredAgreement(3, 2))
    with pytest.warns(UserWarning, match="The classes or features differ"):
        model.fit(*data)


def test_an_inexact_oracle_gives_no_certificate(data):
    class Guessing(Agreement):
        is_exact = False

    result = StructuredSVM(Guessing(3, 2), random_state=0).fit(*data).result_
    assert not result.is_certified and np.isnan(result.relative_gap)
    assert np.isfinite(result.primal) and np.isfinite(result.dual)
    assert all(np.isnan(record.gap) for record in result.history)
    path = StructuredSVM(Guessing(3, 2), random_state=0).path(*data, Cs=[0.1, 1.0])
    assert not any(result.is_certified for result in path.results)
    assert agreement().fit(*data).result_.is_certified


@pytest.mark.parametrize("solver", ONLINE)
def test_partial_fit(solver, data):
    X, Y = data
    model = agreement(solver=solver)
    for first in range(0, 12, 4):
        model.partial_fit(X[first : first + 4], Y[first : first + 4], n_total=12)
    assert np.isfinite(model.coef_).all() and len(model.predict(X)) == 12


def test_eval_set_and_patience(data):
    X, Y = data
    model = agreement(C=10.0, tol=0.0).fit(X, Y, eval_set=(X, Y), patience=3)
    assert model.result_.status == "patience"
    assert not np.isnan(model.result_.history[0].validation_score)


def test_no_convergence_is_a_warning(data):
    with pytest.warns(ConvergenceWarning, match="relative gap .* above tol"):
        agreement(C=100.0, tol=1e-12, max_iter=1).fit(*data)


# -- compiled ------------------------------------------------------------------------------------


@pytest.fixture
def grades(rng):
    X = rng.normal(size=(15, 2))
    position = X @ [1.0, 0.5]
    return X, [("low", "mid", "high")[int(k)] for k in np.digitize(position, [-0.5, 0.5])]


def ordinal(**options):
    return StructuredSVM(Grades(["low", "mid", "high"]), random_state=0, **options)


@pytest.mark.parametrize("solver", ["bcfw"])
def test_a_compiled_structure(solver, grades):
    X, Y = grades
    model = ordinal(solver=solver, C=100.0, tol=1e-5).fit(X, Y)
    assert model.result_.relative_gap <= 1e-5
    assert model.predict(X) == Y and model.score(X, Y) == 1.0
    assert model.coef_.shape == (4,)


def test_a_compiled_structure_may_have_a_cost_of_ours_if_it_has_the_oracle(grades):
    with pytest.raises(TypeError, match="GradesData has no maximize and output_cost for PartCost"):
        ordinal(cost="hamming").fit(*grades)

    class Nameless(Grades):
        def __init__(self):
            super().__init__(["low", "mid", "high"])
            self.classes = None

    with pytest.raises(ValueError, match="has no attribute classes"):
        StructuredSVM(Nameless(), cost=Hamming()).fit(*grades)


def test_a_compiled_structure_without_a_cost(grades):
    class Free(Grades):
        cost = None

    with pytest.raises(ValueError, match=r"cost is None, but the structure has no method cost"):
        StructuredSVM(Free(["low", "mid", "high"])).fit(*grades)


class Rated(Grades):
    """Says that something else than the labels are the true outputs."""

    def __init__(self, codes, n_classes=3):
        super().__init__(["low", "mid", "high"])
        self.codes = codes
        self.classes = self.grades[:n_classes]

    def data(self, X, Y):
        return super().data(X, None)._replace(grades=np.array(self.codes, dtype=np.int32))


@pytest.mark.parametrize(
    ("codes", "cost", "message"),
    [
        ([0, 1], None, r"truths has 2 cells, but output_sizes adds up to 3"),
        ([0, 1, 2, 1], None, r"truths has 4 cells, but output_sizes adds up to 3"),
        ([0, 3, 1], "hamming", r"truths\[1\] is 3, but the structure has 3 classes"),
        ([0, 1, -1], "hamming", r"truths\[2\] is -1, but the structure has 3 classes"),
    ],
)
def test_true_outputs_that_do_not_fit_the_tables(codes, cost, message):
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Rated(codes), cost=cost).fit(X, ["low"] * 3)


def test_outputs_have_at_least_one_cell():
    class Sized(Grades):
        def data(self, X, Y):
            data = chain_data(np.asarray(X), [0, 1, 2, 3], np.zeros(3), chain_layout(2, 3))
            return data._replace(offsets=np.array([0, 2, 2, 3]))

    with pytest.raises(ValueError, match=r"output_sizes\[1\] is 0; an output has at least one"):
        StructuredSVM(Sized(["a", "b", "c"]), cost="hamming").fit(np.ones((3, 2)), ["a"] * 3)


def test_built_in_data_serve_too(data):
    from maxmargin.structures import multiclass_data

    class Classes:
        classes = ("a", "b", "c")

        def data(self, X, Y):
            codes = np.zeros(len(X)) if Y is None else [self.classes.index(y) for y in Y]
            return multiclass_data(np.asarray(X), codes, 3)

        def decode(self, data, i, cells):
            return self.classes[cells[0]]

    X, Y = data
    Y = ["abc"[y] for y in Y]
    ours = StructuredSVM(Classes(), cost="zero_one", random_state=0, tol=1e-6).fit(X, Y)
    theirs = MulticlassSVM(cost="zero_one", random_state=0, tol=1e-6).fit(X, Y)
    assert ours.result_.primal == pytest.approx(theirs.result_.primal, rel=1e-5)
    assert ours.predict(X) == theirs.predict(X).tolist()
    assert ours.score(X, Y) == pytest.approx(theirs.score(X, Y))


# -- files ---------------------------------------------------------------------------------------


@register_structure
class StoredAgreement(Agreement):
    def parameters(self):
        return {"n_classes": self.n_classes, "n_columns": self.n_features // self.n_classes}


def test_a_registered_structure_is_saved_and_loaded(data, tmp_path, monkeypatch):
    X, Y = data
    model = StructuredSVM(StoredAgreement(3, 2), random_state=0, solver="bcfw").fit(X, Y)
    path = tmp_path / "model.mm"
    model.save(path)
    again = maxmargin.load(path)
    assert (again.coef_ == model.coef_).all() and again.predict(X) == model.predict(X)
    assert again.score(X, Y) == model.score(X, Y)
    monkeypatch.delitem(STORED, "StoredAgreement")
    with pytest.raises(ValueError, match="'StoredAgreement' is not known here: import the module"):
        maxmargin.load(path)


def test_other_structures_are_not_saved(data, tmp_path):
    model = agreement().fit(*data)
    with pytest.raises(TypeError, match="cannot be stored, since a file holds no code"):
        model.save(tmp_path / "model.mm")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="has no method parameters"):
        register_structure(Agreement)


def test_objects_cannot_be_checkpointed(data, tmp_path):
    with pytest.raises(TypeError, match="outputs that are Python objects cannot be written"):
        agreement().fit(*data, callbacks=[Checkpoint(tmp_path / "run.mm")])
    assert list(tmp_path.iterdir()) == []


class Classes:
    """Classes, compiled, as a structure of one's own."""

    classes = (0, 1, 2)

    def data(self, X, Y):
        return multiclass_data(X, np.zeros(len(X), int) if Y is None else np.array(Y), 3)

    def decode(self, data, i, cells):
        return int(cells[0])


def test_a_compiled_structure_may_list_its_outputs(data):
    X, Y = data
    options = {"solver": "sdca", "cost": "zero_one", "tol": 1e-6, "random_state": 0}
    own = StructuredSVM(Classes(), **options).fit(X, Y)
    ours = MulticlassSVM(**options).fit(X, Y)
    np.testing.assert_array_equal(own.result_.w, ours.result_.w)
    assert own.predict(X) == ours.predict(X).tolist()


# -- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [*COSTS, Hamming()])
def test_a_python_structure_has_its_own_cost_only(cost, data):
    with pytest.raises(ValueError, match="cost must be None for a structure in plain Python"):
        agreement(cost=cost).fit(*data)


class Marginal(BlockFrankWolfe):
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "marginals"})


def test_a_solver_that_needs_what_a_structure_lacks_names_those_that_fit(data):
    with pytest.raises(ValueError, match="which Agreement does not provide") as error:
        agreement(solver=Marginal()).fit(*data)
    assert "Solvers that fit: bcfw" in str(error.value)


def test_a_python_structure_has_no_marginals(data):
    message = (
        r"ExponentiatedGradient needs expectations of outputs \(marginals\), which Agreement does "
        r"not provide\. "
        rf"Solvers that fit: {', '.join(COMMON)}\."
    )
    with pytest.raises(ValueError, match=message):
        agreement(solver="exponentiated_gradient").fit(*data)


@pytest.mark.parametrize(
    ("structure", "error", "message"),
    [
        (None, TypeError, "structure must be an object with the methods of a structure, got None"),
        (Agreement, TypeError, "structure must be an object"),
        (object(), TypeError, "has no n_features and no joint_feature and no maximize and no cost"),
        ("chain", TypeError, "structure must have n_features"),
    ],
)
def test_structures_that_are_none(structure, error, message, data):
    with pytest.raises(error, match=message):
        StructuredSVM(structure).fit(*data)


@pytest.mark.parametrize(
    ("X", "Y", "error", "message"),
    [
        ([], [], ValueError, "X is empty"),
        (np.eye(2), [0], ValueError, "X has 2 samples but y has 1"),
        (np.eye(2), [0, None], ValueError, r"Y\[1\] is None"),
        (5, [0], TypeError, "X must be a sequence of samples, got int"),
        (np.array(5.0), [0], TypeError, "X must be a sequence of samples"),
        (iter([1]), [0], TypeError, "X must be a sequence of samples"),
        (np.eye(2), None, TypeError, "y must be a sequence of samples, got NoneType"),
    ],
)
def test_bad_samples(X, Y, error, message):
    with pytest.raises(error, match=message):
        agreement().fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": -1.0}, "C must be a number > 0"),
        ({"solver": "newton"}, "solver='newton' is not known. There are: 'auto', 'bcfw'"),
        ({"surrogate": "hinge"}, "surrogate='hinge' is not known"),
    ],
)
def test_bad_parameters(options, message, data):
    with pytest.raises(ValueError, match=message):
        agreement(**options).fit(*data)


def test_prediction_needs_a_fit_and_the_same_number_of_features(data):
    X, Y = data
    with pytest.raises(NotFittedError):
        agreement().predict(X)
    model = agreement().fit(X, Y)
    model.structure = Agreement(4, 2)
    with pytest.raises(ValueError, match="now has 8 features, but the model was fitted with 6"):
        model.predict(X)


def test_an_oracle_that_returns_nothing_at_prediction(data):
    X, Y = data

    class Shy(Agreement):
        def maximize(self, x, w, y_true, score_scale, cost_scale):
            found = super().maximize(x, w, y_true, score_scale, cost_scale)
            return None if y_true is None else found

    model = StructuredSVM(Shy(3, 2), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="maximize must return an output, but for sample 0"):
        model.predict(X)
