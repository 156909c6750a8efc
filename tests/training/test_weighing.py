"""Features with weights of their own: as if their columns were scaled, whatever the estimator."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin import (
    ChainSVM,
    GraphSVM,
    HierarchySVM,
    MulticlassSVM,
    MultilabelSVM,
    RankingSVM,
    StructuredSVM,
)
from maxmargin.core.contract import weigh_columns
from maxmargin.regularizers import REGULARIZERS, Diagonal
from maxmargin.structures import STRUCTURES, Structure
from maxmargin.testing.tiny import tiny_problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ALPHA = np.array([4.0, 0.25, 0.0, 1.0])
ROOT = np.sqrt(ALPHA)


def rows(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.argmax(X[:, :3] + 0.5 * rng.normal(size=(n, 3)), axis=1)


def classes():
    X, y = rows()
    return MulticlassSVM(random_state=0), X, y, X * ROOT


def classes_in_csr():
    X, y = rows()
    scaled = sp.csr_matrix(X)
    scaled.data *= ROOT[scaled.indices]
    return MulticlassSVM(random_state=0), sp.csr_matrix(X), y, scaled


def label_sets():
    X, _ = rows()
    Y = (X[:, :3] > 0).astype(int)
    return MultilabelSVM(random_state=0, pairwise="tree"), X, Y, X * ROOT


def chains():
    X, y = rows()
    cut = [slice(0, 5), slice(5, 12), slice(12, 24)]
    scaled = [X[c] * ROOT for c in cut]
    return ChainSVM(random_state=0), [X[c] for c in cut], [y[c] for c in cut], scaled


def rankings():
    X, _ = rows()
    cut = [slice(0, 8), slice(8, 16), slice(16, 24)]
    grades = [np.arange(8) % 2 for _ in cut]
    return (
        RankingSVM(random_state=0, normalize_queries=None), [X[c] for c in cut], grades,
        [X[c] * ROOT for c in cut],
    )  # fmt: skip


def graphs():
    X, y = rows()
    edges = [(0, 1), (1, 2), (0, 2)]
    cut = [slice(3 * i, 3 * i + 3) for i in range(8)]
    return (
        GraphSVM(random_state=0), [(X[c], edges) for c in cut], [y[c] for c in cut],
        [(X[c] * ROOT, edges) for c in cut],
    )  # fmt: skip


def places(alpha="maxmin"):
    X, y = rows()
    names = np.array(["a/x", "a/y", "b"])[y]
    return HierarchySVM(random_state=0, alpha=alpha), X, list(names), X * ROOT


def places_with_learnt_weights():
    return places("shared")


CASES = [
    classes, classes_in_csr, label_sets, chains, graphs, places, places_with_learnt_weights,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_weights_of_features_are_scaled_columns(case):
    model, X, y, scaled = case()
    plain = type(model)(**model.get_params()).fit(scaled, y)
    model.set_params(regularizer=Diagonal(ALPHA)).fit(X, y)
    # The same run: only w is given back in the units of X.
    assert model.result_.primal == plain.result_.primal
    assert model.result_.dual == plain.result_.dual
    coef, other = np.asarray(model.coef_), np.asarray(plain.coef_)
    np.testing.assert_allclose(coef, other * ROOT, rtol=1e-12)
    for ours, theirs in zip(model.predict(X), plain.predict(scaled), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("two_stage", [False, True])
def test_rankings_have_weights_on_top_of_the_units_of_their_features(two_stage):
    model, X, y, _ = rankings()
    model.set_params(two_stage=two_stage, cost="ap")
    plain = model.fit(X, y).coef_.copy()
    weighed = model.set_params(regularizer=Diagonal(ALPHA)).fit(X, y).coef_
    of_third = model.columns_.features() == 2  # steps of a feature are columns of it
    assert of_third.sum() > 1 and plain[of_third].any()
    assert (weighed[of_third] == 0.0).all() and weighed[~of_third].any()
    assert model.result_.status == "converged"


def test_the_certificate_is_that_of_the_diagonal_norm():
    model, X, y, _ = classes()
    model.set_params(regularizer=Diagonal(ALPHA), tol=1e-3).fit(X, y)
    used = ALPHA > 0
    square = (model.coef_[:, used] ** 2 / ALPHA[used]).sum() + (model.intercept_**2).sum()
    scores = X @ model.coef_.T + model.intercept_
    margins = 1.0 - np.eye(3)[y] + scores - scores[np.arange(len(y)), y][:, None]
    primal = square / (2.0 * len(y)) + margins.max(axis=1).mean()  # lam = 1/(C n), C = 1
    assert model.result_.primal == pytest.approx(primal, rel=1e-9)
    assert (model.coef_[:, 2] == 0.0).all()


def test_weights_go_by_names():
    X = [{"word=a": 1.0, "shape": 2.0}, {"word=b": 1.0, "shape": -2.0}] * 4
    y = [0, 1] * 4
    named = MulticlassSVM(random_state=0, regularizer=Diagonal({"word=*": 0.0})).fit(X, y)
    names = list(named.get_feature_names_out())
    of_words = [name.startswith("word") for name in names]
    assert (named.coef_[:, of_words] == 0.0).all() and named.coef_.any()
    later = Diagonal({"word=*": 0.0, "word=a": 3.0})
    assert later.of(names, 3)[names.index("word=a")] == 3.0


def test_columns_that_are_added_have_the_weight_of_their_feature():
    X, y = rows()
    X[::5, 2] = X[::7, 0] = np.nan
    model = MulticlassSVM(random_state=0, regularizer=Diagonal(ALPHA)).fit(X, y)
    assert model.coef_.shape[1] == 6
    assert (model.coef_[:, [2, 5]] == 0.0).all() and model.coef_[:, 4].any()


def test_held_out_scores_and_callbacks_see_weights_of_X():
    model, X, y, scaled = classes()
    seen = []
    fitted = model.set_params(regularizer=Diagonal(ALPHA), tol=1e-4).fit(
        X, y, eval_set=(X, y), callbacks=[lambda event: seen.append(event.w.copy())]
    )
    plain = MulticlassSVM(random_state=0, tol=1e-4).fit(scaled, y, eval_set=(scaled, y))
    scores, others = (
        [record.validation_score for record in each.result_.history] for each in (fitted, plain)
    )
    assert scores == others
    assert all((w.reshape(-1, 3)[2] == 0.0).all() for w in seen)


def test_warm_starts_paths_and_batches_keep_the_norm():
    model, X, y, _ = classes()
    model.set_params(regularizer=Diagonal(ALPHA), warm_start=True).fit(X, y)
    again = model.fit(X, y)
    assert again.result_.status == "converged" and again.result_.n_iter <= 2
    model.fit(X[:20], y[:20])  # other data: from the weights
    path = MulticlassSVM(random_state=0, regularizer=Diagonal(ALPHA)).path(X, y, [0.1, 1.0])
    assert all((each.coef_[:, 2] == 0.0).all() for each in path.estimators)
    online = MulticlassSVM(random_state=0, regularizer=Diagonal(ALPHA), solver="sgd")
    for _ in range(3):
        online.partial_fit(X, y, classes=[0, 1, 2], lam=0.1)
    assert (online.coef_[:, 2] == 0.0).all() and online.coef_.any()


def test_a_model_file_holds_the_weights(tmp_path):
    model, X, y, _ = classes()
    model.set_params(regularizer=Diagonal(ALPHA)).fit(X, y).save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.regularizer == Diagonal(ALPHA)
    assert (again.predict(X) == model.predict(X)).all()


class Signs(Structure):
    """Outputs -1 and 1, two features."""

    n_features = 2

    def joint_feature(self, x, y):
        return y * np.asarray(x, dtype=float)

    def cost(self, y, y_true):
        return float(y != y_true)

    def maximize(self, x, w, score_scale, cost_scale, y_true):
        def value(y):
            price = 0.0 if y_true is None else self.cost(y, y_true)
            return score_scale * (w @ self.joint_feature(x, y)) + cost_scale * price

        return max((-1, 1), key=value)


@pytest.mark.parametrize("solver", ["bcfw", "one_slack", "n_slack"])
def test_a_users_structure_has_weights_of_joint_features(solver):
    X, y = rows()
    X, y, alpha = X[:, :2], np.where(X[:, 0] + 0.3 * X[:, 3] > 0, 1, -1), np.array([0.2, 3.0])
    options = {"solver": solver, "tol": 1e-3, "random_state": 0, "max_iter": 300}
    model = StructuredSVM(Signs(), regularizer=Diagonal(alpha), **options).fit(list(X), list(y))
    plain = StructuredSVM(Signs(), **options).fit(list(X * np.sqrt(alpha)), list(y))
    assert model.result_.status == plain.result_.status == "converged"
    assert model.result_.dual <= plain.result_.primal + 1e-9
    assert plain.result_.dual <= model.result_.primal + 1e-9
    np.testing.assert_allclose(model.coef_, plain.coef_ * np.sqrt(alpha), atol=0.2)


# Templates of parses are hashed: their features have no columns.
@pytest.mark.parametrize("structure", [name for name in STRUCTURES if name != "parse"])
def test_every_structure_can_weigh_its_columns(structure):
    """Scores of scaled columns at w are those of the columns at w times the factors."""
    from maxmargin.core.contract import margin_error, n_weights, potentials, workspace
    from maxmargin.testing.outputs import all_outputs

    data = tiny_problem(structure, compile=False).view.data
    rng = np.random.default_rng(0)
    n = getattr(data, "n_columns", None) or getattr(data, "n_weights", None)
    if hasattr(data, "layout"):
        n = data.layout.n_columns
    if hasattr(data, "graphs"):
        n = data.graphs.layout.n_columns
    alpha = rng.uniform(0.1, 4.0, size=n)
    other, factors = weigh_columns(data, alpha)
    w = rng.normal(size=int(n_weights(data)))
    if factors is None:
        return  # tested above
    with pytest.raises(ValueError, match="columns of features"):
        weigh_columns(data, np.ones(n + 1))
    (theta, _), (theirs, _) = workspace(data), workspace(other)
    potentials(data, 0, w * factors, 1.0, theta)
    potentials(other, 0, w, 1.0, theirs)
    for y in list(all_outputs(data, 0, None))[:20]:
        here, there = margin_error(data, 0, theta, y, 0), margin_error(other, 0, theirs, y, 0)
        assert here == pytest.approx(there, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Diagonal([1.0, -1.0]), ValueError, r"alpha\[1\] must be a finite number >= 0"),
        (lambda: Diagonal([1.0, np.nan]), ValueError, r"alpha\[1\] must be"),
        (lambda: Diagonal({"a": "much"}), ValueError, r"alpha\['a'\] must be"),
        (lambda: Diagonal({1: 1.0}), TypeError, "names of features, got 1"),
        (lambda: Diagonal(3.0), TypeError, "one per feature, or a dict"),
        (lambda: fitted(Diagonal([1.0])), ValueError, "alpha has 1 numbers, but X has 4 features"),
        (lambda: fitted(Diagonal({"a": 1.0})), ValueError, "the features of X have none"),
        (lambda: fitted("diagonal"), ValueError, "pass maxmargin.regularizers.Diagonal"),
        (lambda: fitted("l1"), ValueError, "regularizer='l1' is not known"),
        (lambda: Diagonal({"b": 1.0}).of(["a"], 1), ValueError, "no feature of X is called 'b'"),
    ],
)
def test_bad_weights_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def fitted(regularizer):
    return MulticlassSVM(regularizer=regularizer).fit(*rows())


def test_regularizers_are_made_of_their_parameters():
    for value in (REGULARIZERS["euclidean"](), Diagonal([1.0, 2.0]), Diagonal({"a": 1.0})):
        assert REGULARIZERS[value.name](**value.parameters()) == value
