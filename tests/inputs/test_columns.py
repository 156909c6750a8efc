"""Missing values and zeros: what fills them, which columns are added, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.impute import MissingIndicator, SimpleImputer

import maxmargin
from maxmargin import MulticlassSVM, RankingSVM
from maxmargin.inputs.columns import Columns
from maxmargin.inputs.stored import Arrays, Fields

NAN = np.nan
RNG = np.random.default_rng(0)
#: 60 rows in 6 queries; feature 1 has gaps, feature 2 is often zero, feature 3 has no value at all.
GRADES = RNG.integers(0, 3, size=60)
FULL = RNG.normal(size=(60, 4)) + GRADES[:, None]
QID = np.repeat(np.arange(6), 10)
ROWS = FULL.copy()
ROWS[RNG.random(60) < 0.3, 1] = NAN
ROWS[RNG.random(60) < 0.5, 2] = 0.0
ROWS[:, 3] = NAN


def as_csr(rows):
    """Return a CSR matrix whose zeros are not stored, and whose gaps are."""
    return sp.csr_matrix(rows)


FORMS = {
    "float64": lambda rows: rows,
    "float32": lambda rows: rows.astype(np.float32),
    "csr": as_csr,
    "csr, float32": lambda rows: as_csr(rows.astype(np.float32)),
}


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.mark.parametrize("form", FORMS)
def test_means_and_indicators_are_those_of_scikit_learn(form):
    rows = FORMS[form](ROWS)
    columns = Columns.learn(rows, "indicator")
    made = columns.transform(rows)
    assert made.dtype == rows.dtype and sp.issparse(made) == sp.issparse(rows)
    filled = SimpleImputer(keep_empty_features=True).fit_transform(dense(rows))
    where = MissingIndicator().fit_transform(dense(rows))
    np.testing.assert_allclose(dense(made)[:, :4], filled, rtol=1e-5)
    assert np.array_equal(dense(made)[:, 4:], where)
    assert np.array_equal(columns.n_missing, np.isnan(ROWS).sum(axis=0))
    assert columns.names(["a", "b", "c", "d"])[4:] == ["b is missing", "d is missing"]
    assert str(columns).startswith(
        f"{np.isnan(ROWS).sum()} values missing in 2 of 4 features (1, 3)"
    )


@pytest.mark.parametrize("form", FORMS)
def test_zeros_have_a_column_where_they_are_many(form):
    rows = FORMS[form](np.nan_to_num(ROWS))
    columns = Columns.learn(rows, "error", "indicator")
    # Feature 1 has many zeros too, feature 3 nothing else.
    assert columns.presence.tolist() == [1, 2]
    assert np.array_equal(dense(columns.transform(rows))[:, 4:], np.nan_to_num(ROWS)[:, 1:3] != 0)
    ones = FORMS[form]((ROWS[:, 2:3] != 0).astype(float))
    assert len(Columns.learn(ones, "error", "indicator").presence) == 0, "it would be the feature"


@pytest.mark.parametrize("form", FORMS)
def test_steps_are_quantiles_and_spare_zeros(form):
    given = np.nan_to_num(ROWS)
    given[:, 0] -= 0.3  # both signs
    rows = FORMS[form](given)
    columns = Columns.learn(rows, "error", steps=3)
    made = dense(columns.transform(rows))[:, 4:]
    assert made.shape[1] == len(columns.stepped) > 0
    for column, j, edge in zip(made.T, columns.stepped, columns.edges, strict=True):
        values = dense(rows)[:, j]
        levels = np.quantile(values[values != 0], [1 / 6, 3 / 6, 5 / 6], method="lower")
        assert any(
            (level < edge) and not ((values > level) & (values < edge)).any() for level in levels
        )
        assert np.array_equal(column, values > edge if edge >= 0 else values <= edge)
        assert 0.05 <= column.mean() <= 0.95 and not column[values == 0].any()
    assert 3 not in columns.stepped, "it is zero everywhere"
    ones = FORMS[form]((given[:, 2:3] != 0).astype(float))
    assert len(Columns.learn(ones, "error", steps=3).stepped) == 0, "it would be the feature"


def test_a_missing_value_is_beyond_no_edge():
    columns = Columns.learn(ROWS, "indicator", steps=5)
    last = dense(columns.transform(ROWS))[:, columns.n_columns - len(columns.stepped) :]
    assert not last[np.isnan(ROWS[:, columns.stepped])].any()
    names = columns.names()[-len(columns.stepped) :]
    assert all("is above" in name or "is at most" in name for name in names)


@pytest.mark.parametrize("steps", [-1, 21, 2.5, True, "many"])
def test_a_wrong_number_of_steps_is_refused(steps):
    with pytest.raises(ValueError, match="steps must be a whole number from 0 to 20"):
        fit(ranker, ROWS, steps=steps)


def test_steps_let_a_linear_ranker_bend():
    """Relevant are middle values, which no weight on the value can put on top."""
    rng = np.random.default_rng(0)
    rows = rng.random((400, 1))
    grades, qid = (np.abs(rows[:, 0] - 0.5) < 0.2).astype(int), np.repeat(np.arange(20), 20)
    options = {"C": 10.0, "tol": 0.05, "random_state": 0}
    straight = RankingSVM(steps=0, **options).fit(rows, grades, qid=qid)
    bent = RankingSVM(**options).fit(rows, grades, qid=qid)
    assert bent.result_.status == straight.result_.status == "converged"
    assert bent.score(rows, grades, qid=qid) > straight.score(rows, grades, qid=qid) + 0.1


def test_nothing_to_do_copies_nothing():
    columns = Columns.learn(FULL, "indicator", "indicator")
    assert columns.transform(FULL) is FULL
    assert str(columns) == "no value was missing"


def test_means_of_large_values_are_numbers():
    rows = np.array([[1.7e308], [1.7e308], [NAN]])
    assert Columns.learn(rows, "mean").fill == pytest.approx(1.7e308)


def ranker(**options):
    return RankingSVM(**{"tol": 0.01, "random_state": 0, **options})


def classifier(**options):
    return MulticlassSVM(**{"tol": 0.01, "random_state": 0, **options})


def fit(make, rows, **options):
    named = {"qid": QID} if make is ranker else {}
    return make(**options).fit(rows, GRADES, **named)


@pytest.mark.parametrize("make", [ranker, classifier])
def test_gaps_are_filled_as_by_hand(make):
    """The model is that of rows that were filled before, at fit and afterwards."""
    by_hand = {
        "mean": SimpleImputer(keep_empty_features=True).fit(ROWS),
        "zero": SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True).fit(
            ROWS
        ),
        "indicator": SimpleImputer(keep_empty_features=True, add_indicator=True).fit(ROWS),
    }
    late = ROWS.copy()
    late[3, 0] = NAN  # a feature that had no gap at fit
    for missing, imputer in by_hand.items():
        zeros = {"zeros": "value", "steps": 0} if make is ranker else {}
        model = fit(make, ROWS, missing=missing, **zeros)
        plain = fit(make, imputer.transform(ROWS), missing="error", **zeros)
        # Means differ by their rounding, so that the two stop at different weights within tol.
        assert model.result_.primal == pytest.approx(plain.result_.primal, rel=0.02)
        expected = imputer.transform(late) @ model.coef_.T
        if make is classifier:
            expected = expected + model.intercept_
        np.testing.assert_allclose(model.decision_function(late), expected, atol=1e-9)
        assert model.columns_.n_missing.sum() == np.isnan(ROWS).sum()
        assert len(model.get_feature_names_out()) == model.coef_.shape[-1]


@pytest.mark.parametrize("make", [ranker, classifier])
def test_forms_agree_and_files_keep_what_fills(make, tmp_path):
    model = fit(make, ROWS)
    assert model.result_.status == "converged"
    scores = model.decision_function(ROWS)
    assert np.isfinite(scores).all()
    for form in FORMS.values():
        np.testing.assert_allclose(
            model.decision_function(form(ROWS)), scores, rtol=1e-4, atol=1e-4
        )
    sparse = fit(make, as_csr(ROWS))
    assert np.array_equal(sparse.columns_.gaps, model.columns_.gaps)
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert np.array_equal(again.decision_function(ROWS), scores)
    assert str(again.columns_) == str(model.columns_)


@pytest.mark.parametrize("make", [ranker, classifier])
def test_what_is_not_a_number_is_refused_by_name(make):
    tags = make().__sklearn_tags__().input_tags
    assert tags.allow_nan and not make(missing="error").__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fit(make, ROWS, missing="error")
    with pytest.raises(ValueError, match="missing must be one of 'indicator', 'mean', 'zero'"):
        fit(make, ROWS, missing="median")
    for form in (np.array, as_csr):
        rows = np.where(np.arange(4) == 2, np.inf, ROWS)
        with pytest.raises(ValueError, match=r"contains infinity: .* at feature 2"):
            fit(make, form(rows))
        with pytest.raises(ValueError, match="contains infinity"):
            fit(make, ROWS).predict(form(rows))


def test_lists_of_queries_may_have_gaps_too():
    parts = [np.flatnonzero(q == QID) for q in range(6)]
    listed = ranker().fit([ROWS[own] for own in parts], [GRADES[own] for own in parts])
    np.testing.assert_array_equal(listed.coef_, fit(ranker, ROWS).coef_)


def test_weights_are_in_the_units_of_the_features():
    """Scores are the columns times coef_, whatever the features were divided by."""
    units = np.array([1e-3, 1.0, 1e3, 1e6])
    model = fit(ranker, FULL * units)
    columns = model.columns_.transform(FULL * units)
    assert columns.shape[1] > 4
    np.testing.assert_allclose(model.predict(FULL * units), columns @ model.coef_)
    assert model.result_.primal == pytest.approx(fit(ranker, FULL).result_.primal, rel=0.02)


def test_columns_of_a_damaged_file_are_refused():
    made = Columns.learn(ROWS, "indicator", steps=5)
    missing, arrays = made.to_state()
    for name, bad in (
        ("columns_gaps", np.array([9])),
        ("columns_fill", np.full(4, NAN)),
        ("columns_n_missing", np.zeros(3, dtype=np.int64)),
        ("columns_stepped", np.array([4])),
        ("columns_edges", np.zeros(3)),
    ):
        with pytest.raises(ValueError, match=f"array '{name}'"):
            Columns.from_state(Fields({"columns": missing}, "it"), 4, Arrays(arrays | {name: bad}))
